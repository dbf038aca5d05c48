#!/bin/bash
# Usage: with-engine.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND with a Docker engine: the one that answers, or else a private one that lives as
# long as the command, with its own data, socket and bridge. The machine's own Docker, firewall
# and forwarding settings are left alone.
# Exit status: the command's; 69 after one line that says why no engine can be had.
set -euo pipefail

unavailable() {
    echo "no Docker engine: $1" >&2
    exit 69
}

command -v docker > /dev/null || unavailable 'the docker client is not installed'
if docker version > /dev/null 2>&1; then
    exec "$@"
fi
[ -z "${DOCKER_HOST:-}" ] || unavailable "nothing answers at DOCKER_HOST=$DOCKER_HOST"
[ "$(id -u)" = 0 ] || unavailable 'none answers, and only root can start one'
for tool in dockerd ip setsid; do
    command -v "$tool" > /dev/null || unavailable "none answers, and $tool is not installed"
done

# Not in /tmp, which may be memory.
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/ipledger-docker.XXXXXX")
log=$dir/dockerd.log

# Cleans up behind us, however we end: it reads until the other end of the pipe is closed, which
# the system does even after kill -9. In a session of its own, because what is sent to our
# process group is not for it.
exec {lifeline}> >(exec setsid bash -c '
    trap "" HUP INT TERM
    cat
    cd "$1"
    if [ -e engine ]; then
        pid=$(cat engine)
        kill -TERM "$pid"
        for _ in $(seq 300); do
            kill -0 "$pid" || break
            sleep 0.1
        done
        kill -KILL "$pid"
    fi
    [ ! -e bridge ] || ip link delete "$(cat bridge)"
    # What an engine left mounted would keep its directory.
    tac /proc/mounts | while read -r _ target _; do
        case $target in "$1"/*) umount -l "$target" ;; esac
    done
    cd /
    rm -rf "$1"
' cleaner "$dir" > /dev/null 2>&1)
cleaner=$!

finish() {
    status=$?
    exec {lifeline}>&-
    wait "$cleaner" || true
    exit "$status"
}
trap finish EXIT
trap 'exit 143' HUP INT TERM

# The first free name is ours; its number makes the network, out of the block for benchmarks
# (RFC 2544), which nobody routes.
for number in $(seq 0 255); do
    if ip link add "ipledger-t$number" type bridge 2> "$dir/ip.log"; then
        bridge=ipledger-t$number
        echo "$bridge" > "$dir/bridge"
        break
    fi
done
[ -n "${bridge:-}" ] || unavailable "no bridge can be made: $(tail -n 1 "$dir/ip.log")"
ip address add "198.18.$number.1/24" dev "$bridge"
ip link set "$bridge" up

dockerd --host "unix://$dir/docker.sock" --data-root "$dir/data" --exec-root "$dir/exec" \
    --pidfile "$dir/pid" --bridge "$bridge" --iptables=false --ip-forward=false --ip-masq=false \
    --containerd-namespace "$bridge" --containerd-plugins-namespace "$bridge-plugins" \
    {lifeline}>&- < /dev/null > "$log" 2>&1 &
engine=$!
echo "$engine" > "$dir/engine"
export DOCKER_HOST=unix://$dir/docker.sock
tries=0
until docker version > /dev/null 2>&1; do
    kill -0 "$engine" 2> /dev/null || unavailable "dockerd ended: $(tail -n 1 "$log")"
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || unavailable "dockerd does not answer: $(tail -n 1 "$log")"
    sleep 0.1
done

"$@" {lifeline}>&- <&0 &
command=$!
trap 'kill -TERM "$command" 2> /dev/null || true; exit 143' HUP INT TERM
wait "$command"
