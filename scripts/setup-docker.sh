#!/usr/bin/env bash
# Makes a Docker engine answer on this machine. Installs Debian's docker.io (and what it needs) when there is no engine, and
# starts it: by systemd where systemd runs, else by hand in the background. It never changes an engine that already answers.
set -euo pipefail
cd "$(dirname "$0")"
. ./lib.sh

ENGINE_LOG=/var/log/ocsweep-dockerd.log
START_SECONDS=60
BY_HAND=0
STARTED=

answers() { timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# alive FILE NAME: the pid in FILE belongs to a living program NAME. A recycled pid or a zombie does not count, although it stops an engine
# that only asks whether the pid exists.
alive() {
    local pid
    pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] || return 1
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null
}

# A killed engine leaves its pid files behind, and for a moment its containerd, which the next engine would take for its own and wait for.
clean_after_killed_engine() {
    local containerd=/var/run/docker/containerd/containerd.pid deadline=$((SECONDS + 10))
    if alive "$containerd" containerd; then
        say "ending the containerd that a killed engine left behind"
        kill "$(cat "$containerd")" 2>/dev/null || true
        while alive "$containerd" containerd && [ "$SECONDS" -lt "$deadline" ]; do sleep 0.1; done
    fi
    rm -f /var/run/docker.pid "$containerd"
}

start_by_hand() {
    clean_after_killed_engine
    say "starting dockerd in the background, log in $ENGINE_LOG"
    setsid nohup dockerd >>"$ENGINE_LOG" 2>&1 </dev/null 9>&- &
    STARTED=$!
}

dockerd_runs() { alive /var/run/docker.pid dockerd || { [ -n "$STARTED" ] && kill -0 "$STARTED" 2>/dev/null; }; }

# An engine that was just stopped or started by someone else ends or answers while we wait, so the start belongs into the wait.
wait_for_engine() {
    local deadline=$((SECONDS + START_SECONDS)) starts=0
    until answers; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        if [ "$BY_HAND" = 1 ] && ! dockerd_runs; then
            [ "$starts" -lt 3 ] || return 1
            starts=$((starts + 1))
            start_by_hand
        fi
        sleep 0.3
    done
}

if have docker && answers; then exit 0; fi
if [ -n "${DOCKER_HOST:-}" ]; then
    fail "no Docker engine answers at DOCKER_HOST=$DOCKER_HOST" "start that engine, or unset DOCKER_HOST to use one on this machine"
fi

with_lock docker
if have docker && answers; then exit 0; fi

have dockerd || apt_install docker.io iptables ca-certificates
have docker || apt_install docker.io
if answers; then exit 0; fi

need_root "starting the Docker engine"
if [ -d /run/systemd/system ]; then
    say "starting the Docker engine: systemctl start docker"
    systemctl start docker || fail "systemctl could not start docker" "look at: journalctl -u docker"
else
    BY_HAND=1
fi
if ! wait_for_engine; then
    [ ! -f "$ENGINE_LOG" ] || tail -n 15 "$ENGINE_LOG" >&2
    fail "the Docker engine did not come up" "the log is $ENGINE_LOG (with systemd: journalctl -u docker)"
fi
say "Docker engine $(docker version --format '{{.Server.Version}}') is up"
