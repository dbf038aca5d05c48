#!/bin/bash
# Usage: images.sh
#
# Gives the Docker engine the image ipledger-test/postgres: PostgreSQL from Debian, in the place
# of postgres:17 where no registry can be reached. Made once and kept in the cache directory;
# remove that directory to have it made anew.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${IPLEDGER_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ipledger-tests}
image=ipledger-test/postgres
base=ipledger-test/debian:bookworm-slim
recipe=$(cat "$here"/postgres/* "$0" | sha256sum | cut -c 1-16)
archive=$cache/postgres-$recipe.tar

mkdir -p "$cache"
# One at a time; the others find the archive.
exec {lock}> "$cache/lock"
flock "$lock"

# A base under a name of our own, so that nobody's debian:bookworm-slim changes.
make_base() {
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap > /dev/null; then
        docker pull -q debian:bookworm-slim
        docker tag debian:bookworm-slim "$base"
        return
    fi
    root=$(mktemp -d "$cache/base.XXXXXX")
    trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase bookworm "$root/rootfs" > "$root/log" 2>&1 \
        || { tail -n 5 "$root/log" >&2; return 1; }
    tar -C "$root/rootfs" -c . | docker import - "$base"
}

if [ -e "$archive" ]; then
    docker load -q -i "$archive"
    exit
fi
rm -f "$cache"/postgres-*.tar
make_base
docker build -q --network host --build-arg BASE_IMAGE="$base" -t "$image" "$here/postgres"
docker save "$image" -o "$archive.part"
mv "$archive.part" "$archive"
