#!/usr/bin/env bash
# Installs the host tools that are missing, for one purpose: build (a C compiler and git for the build, npm for its registry settings, rg for
# process isolation), lint
# (rustfmt and clippy) or test (cargo-nextest, compiled from its crate, some minutes). Rust itself must be there.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh

have cargo || fail "cargo is not here" "install Rust 1.95 or later with rustup, then open a new shell"

component() {
    "cargo-$2" --version >/dev/null 2>&1 && return
    have rustup || fail "the Rust component $1 is missing and rustup is not here" "install $1 with the package manager that Rust came from"
    say "installing the Rust component $1"
    rustup component add "$1"
}

case "${1:-}" in
    build)
        missing=()
        have cc || missing+=(gcc libc6-dev)
        have git || missing+=(git)
        have npm || missing+=(npm)
        # What the host calls; in containers it is in the image, in process isolation it is the machine's.
        have rg || missing+=(ripgrep)
        [ "${#missing[@]}" = 0 ] || apt_install ca-certificates "${missing[@]}"
        ;;
    lint)
        component rustfmt fmt
        component clippy clippy
        ;;
    test)
        if ! cargo nextest --version >/dev/null 2>&1; then
            say "installing cargo-nextest with cargo, which compiles it (some minutes)"
            cargo install cargo-nextest --locked
        fi
        ;;
    *) fail "usage: scripts/setup-tools.sh build|lint|test" ;;
esac
