#!/usr/bin/env bash
# Removes every container and volume with a label that begins with "ocsweep.", running or not, cached binaries and bundles too. Images stay.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh

docker version >/dev/null 2>&1 || fail "no Docker engine answers" "nothing to remove; scripts/setup-docker.sh starts one"
ours() { awk '{ id = $1; $1 = "" } /(^|[ ,])ocsweep\./ { print id }'; }
mapfile -t containers < <(docker ps -a --format '{{.ID}} {{.Labels}}' | ours)
[ "${#containers[@]}" = 0 ] || docker rm -f -v "${containers[@]}" >/dev/null
mapfile -t volumes < <(docker volume ls --format '{{.Name}} {{.Labels}}' | ours)
[ "${#volumes[@]}" = 0 ] || docker volume rm -f "${volumes[@]}" >/dev/null
say "removed ${#containers[@]} containers and ${#volumes[@]} volumes"
