# Helpers that the set-up scripts share. Sourced, never run; it must not install or start anything by being read.

# say TEXT...: one line of progress on stderr, so that stdout stays free for results.
say() { printf '==> %s\n' "$*" >&2; }

# fail TEXT [HINT]: an error with a hint, then exit 1.
fail() {
    printf 'error: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

need_root() {
    [ "$(id -u)" = 0 ] || fail "$1 needs root" "run it as root (sudo make setup), or do by hand what the message above says"
}

# apt_install PACKAGE...: installs Debian packages, after saying which. A source that does not answer fails `update`
# although the wanted package is elsewhere, so only the install decides.
apt_install() {
    have apt-get || fail "cannot install $*: no apt-get here" "install them by hand, then run this again"
    need_root "installing $*"
    say "installing Debian packages: $*"
    local log
    log=$(mktemp)
    if ! { apt-get update -q || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install $*" "check that the machine reaches its package sources"
    fi
    rm -f "$log"
}

# with_lock NAME: waits until no other set-up of that name runs. The lock is descriptor 9; daemons must be started with 9>&-.
with_lock() {
    local dir="${TMPDIR:-/tmp}"
    [ "$(id -u)" = 0 ] && dir=/run
    exec 9>"$dir/ocsweep-$1-$(id -u).lock"
    flock -w 900 9 || fail "another $1 set-up has been running for 15 minutes" "end it, then run this again"
}
