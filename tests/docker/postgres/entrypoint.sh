#!/bin/bash
# Makes the cluster at the first start, then becomes the server. Variables as in the official
# image: POSTGRES_PASSWORD (required), POSTGRES_USER, POSTGRES_DB, POSTGRES_INITDB_ARGS, PGDATA.
set -euo pipefail

if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    mkdir -p "$PGDATA"
    chmod 700 "$PGDATA"
    # shellcheck disable=SC2086 # several arguments in one variable, as in the official image
    initdb -D "$PGDATA" --username="$user" --auth-host=scram-sha-256 \
        --pwfile=<(printf '%s\n' "${POSTGRES_PASSWORD:?must be set}") \
        ${POSTGRES_INITDB_ARGS:-}
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    # Only the socket: whoever asks over TCP finds no server before it is the final one.
    pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
    if [ "$database" != postgres ]; then
        PGPASSWORD=$POSTGRES_PASSWORD createdb --username="$user" --no-password "$database"
    fi
    pg_ctl -D "$PGDATA" -w -m fast stop
fi

exec "$@"
