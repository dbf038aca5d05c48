#!/bin/sh
# Usage: static-binaries.sh DIRECTORY
#
# Builds the binaries that need no library of the system they run on, and puts them into
# DIRECTORY. They share target/HOST/release with every other static release build.
set -eu

out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
# With --target, build scripts and macros stay dynamic, as they must.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    cargo build --release --locked --target "$host" -p ipledger-api -p ipledger
built=${CARGO_TARGET_DIR:-target}/$host/release
cp "$built/ipledger-api" "$built/ipledger" "$out"
