#!/usr/bin/env bash
# Runs the example plugin with the given ocsweep binary. It runs in a copy outside this repository: the bundle of a plugin is its whole git
# repository, and this one's build products are no part of the example.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

cli=$PWD/$1
demo=${XDG_CACHE_HOME:-$HOME/.cache}/ocsweep-demo
rm -rf --one-file-system "$demo"
mkdir -p "$demo"
cp -R examples/hello-plugin/. "$demo"
# A repository of its own, so that a dotfiles repository around it is not taken for the plugin's.
git -C "$demo" init -q

say "running ocsweep in a copy of examples/hello-plugin: $demo"
cd "$demo"
status=0
"$cli" run || status=$?
say "exit code $status; report and evidence are under $demo/.opencode-ci/out"
exit "$status"
