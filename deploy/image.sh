#!/bin/sh
# Usage: image.sh [NAME]
#
# Makes the image NAME (default: ipledger) out of binaries built with this machine's cargo. Needs
# a Docker engine, and no registry. docker-compose.yml then takes it as it is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
"$here/static-binaries.sh" "$context"
docker build -q -f "$here/Dockerfile" --target packed -t "${1:-ipledger}" "$context"
