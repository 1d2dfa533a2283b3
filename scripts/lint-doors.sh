#!/usr/bin/env bash
# Rules of this repository that no compiler lint knows: which crate may be used where, how a file begins and how long it gets. Prints each
# violation as `file:line: rule` and exits 1. `--self-test` shows that every rule catches its own violation.
set -euo pipefail
SCRIPTS=$(cd "$(dirname "$0")" && pwd)
. "$SCRIPTS/lib.sh"

# Every product file of the tree, tracked or about to be, with a NUL after each name. Inputs of tests may hold anything.
list_files() {
    if [ -e .git ]; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -type f -printf '%P\0'
    fi
}

# A registry is what npm's, cargo's and apt's own configuration say. The dots are classes so that this list does not find itself.
HOSTS='registry[.]npmjs[.](org|com)|registry[.]yarnpkg[.]com|registry[.]npmmirror[.]com|npm[.]pkg[.]github[.]com'
HOSTS="$HOSTS|(registry-1|index|auth)[.]docker[.]io|ghcr[.]io|(static|index)[.]crates[.]io|deb[.]debian[.]org|(files[.]pythonhosted|pypi)[.]org"

host_rule() {
    grep -zvE '(^|/)([^/]*\.lock|package-lock\.json|npm-shrinkwrap\.json|bun\.lockb)$' |
        xargs -0 -r grep -nIHE "$HOSTS" -- 2>/dev/null |
        sed -E 's/^([^:]*:[0-9]+):.*/\1: names the host of a package registry/' || true
}

lint() {
    local list
    list=$(mktemp)
    while IFS= read -r -d '' file; do
        [ ! -f "$file" ] || printf '%s\0' "$file"
    done < <(list_files) >"$list"
    {
        { grep -zE '(\.rs|(^|/)Cargo\.toml|^executor/probe/.*\.m?js)$' <"$list" || true; } |
            xargs -0 -r awk -f "$SCRIPTS/lint-doors.awk"
        host_rule <"$list"
    } | sort -t: -k1,1 -k2,2n
    rm -f "$list"
}

run() {
    local found
    found=$(lint)
    if [ -n "$found" ]; then
        printf '%s\n' "$found"
        say "$(printf '%s\n' "$found" | wc -l) violations of the door rules"
        return 1
    fi
}

# put PATH: a file of the self-test's tree, from stdin.
put() { mkdir -p "$(dirname "$1")" && cat >"$1"; }

# breaks EXPECTED PATH: a file from stdin that must give exactly one violation, whose output begins with EXPECTED.
breaks() {
    rm -rf ./* && put "$2"
    local got
    got=$(run 2>/dev/null) && { echo "not caught: $2: $1"; return 1; }
    case "$got" in
        *$'\n'*) echo "more than one violation in $2: $got"; return 1 ;;
        "$2:$1"*) return 0 ;;
        *) echo "wrong violation in $2: got '$got', wanted '$1'"; return 1 ;;
    esac
}

keeps() {
    rm -rf ./* && put "$1"
    local got
    got=$(run 2>/dev/null) || { echo "wrongly caught: $got"; return 1; }
}

code() { printf '//! Purpose.\n%s\n' "$1"; }
deps() { printf '[package]\nname = "x"\n[dependencies]\n%s\n' "$1"; }

self_test_bad() {
    local failed=0 name
    printf 'use std::fs;\n' | breaks "1: the file does not start with //!" src/a.rs || failed=1
    code "$(seq 600 | sed 's,^,// ,')" | breaks "501: the file is longer" src/a.rs || failed=1
    code 'use bollard::Docker;' | breaks "2: bollard" executor/src/run.rs || failed=1
    code 'use bollard::Docker;' | breaks "2: bollard" tests/real.rs || failed=1
    code 'let x = lapin::Connection::new();' | breaks "2: lapin" proto/transport/src/queue/memory.rs || failed=1
    code 'use object_store as store;' | breaks "2: object_store" proto/transport/src/queue.rs || failed=1
    code 'use anyhow::Result;' | breaks "2: clap or anyhow" executor/src/run.rs || failed=1
    code 'use clap::Parser;' | breaks "2: clap or anyhow" scheduler/src/lib.rs || failed=1
    code 'fn f() { g().unwrap(); }' | breaks "2: unwrap()" src/a.rs || failed=1
    for name in todo unimplemented; do
        code "fn f() { $name!() }" | breaks "2: $name! is unfinished" executor/src/a.rs || failed=1
    done
    code 'fn f() { dbg!(1); }' | breaks "2: dbg!" src/a.rs || failed=1
    code 'fn f() { println!(); }' | breaks "2: println!" src/a.rs || failed=1
    code $'#[test]\n#[ignore = "slow"]' | breaks "3: #[ignore]" tests/a.rs || failed=1
    code $'#[cfg(test)]\nmod tests;\nfn f() { g().unwrap(); }' | breaks "4: unwrap()" src/a.rs || failed=1
    code $'#[cfg(test)]\nfn t() {\n}\nfn f() { g().unwrap(); }' | breaks "5: unwrap()" src/a.rs || failed=1
    for name in tokio tokio-util lapin bollard object_store clap ocsweep-transport; do
        deps "$name = \"1\"" | breaks "4: proto is pure" proto/Cargo.toml || failed=1
    done
    code '' | breaks "1: the agent's tests" executor/agent/tests/a.rs || failed=1
    deps 'ocsweep-executor.workspace = true' | breaks "4: scheduler, executor and collector" scheduler/Cargo.toml || failed=1
    deps 'x = { package = "ocsweep-collector", path = "../collector" }' | breaks "4: scheduler, exec" executor/Cargo.toml || failed=1
    printf '[dev-dependencies.ocsweep-scheduler]\nworkspace = true\n' | breaks "1: scheduler, exec" collector/Cargo.toml || failed=1
    deps 'ocsweep-transport.workspace = true' | breaks "4: this crate may depend" executor/agent/Cargo.toml || failed=1
    deps 'bollard.workspace = true' | breaks "4: only the executor" collector/Cargo.toml || failed=1
    deps 'object_store.workspace = true' | breaks "4: only the transport" collector/Cargo.toml || failed=1
    deps 'anyhow.workspace = true' | breaks "4: only the root" collector/Cargo.toml || failed=1
    printf 'export default {}\n' | breaks "1: the file does not start with //" executor/probe/pre.js || failed=1
    for name in registry.npmjs 'files.pythonhosted' pypi; do
        printf '# text\nurl: https://%s.org/x\n' "$name" | breaks "2: names the host" docs/a.md || failed=1
    done
    return "$failed"
}

self_test_good() {
    local failed=0
    code 'use bollard::Docker;' | keeps executor/src/container/api.rs || failed=1
    code 'use bollard::Docker;' | keeps executor/src/container.rs || failed=1
    code 'use object_store::ObjectStore;' | keeps proto/transport/src/store/local.rs || failed=1
    code 'use anyhow::Result;' | keeps src/main.rs || failed=1
    code 'fn f() { println!(); }' | keeps src/output.rs || failed=1
    code $'// lapin::x .unwrap()\nfn f() { g("todo! \\" .unwrap()").unwrap_or(1); } // dbg!' | keeps executor/src/a.rs || failed=1
    code $'fn f() {}\n#[cfg(test)]\nmod tests {\n    let x = r#"\n}\n"#;\n    fn f() { g().unwrap(); }\n}' | keeps src/a.rs || failed=1
    code 'fn f() { g().unwrap(); }' | keeps executor/src/a/tests.rs || failed=1
    printf '[workspace.dependencies]\nbollard = "1"\n[dependencies]\nclap = "4"\n' | keeps Cargo.toml || failed=1
    printf '{"resolved": "https://%s.npmjs.org/a"}' registry | keeps a/package-lock.json || failed=1
    return "$failed"
}

self_test() {
    local dir failed=0
    dir=$(mktemp -d)
    cd "$dir"
    self_test_bad || failed=1
    self_test_good || failed=1
    cd /
    rm -rf "$dir"
    [ "$failed" = 0 ] || fail "the door rules do not hold their own test"
    say "every door rule catches its own violation"
}

case "${1:-}" in
    --self-test) self_test ;;
    '') cd "$SCRIPTS/.." && run ;;
    *) fail "unknown argument $1" "usage: scripts/lint-doors.sh [--self-test]" ;;
esac
