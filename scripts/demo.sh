#!/usr/bin/env bash
# `make demo`: builds, starts a service with a private database in a temporary directory, plays the ETL job of
# examples/demo against it, stops everything and removes the directory. KEEP=1 leaves the service running until Ctrl-C.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$KINDRED_ROOT"

unset DATABASE_URL # the demo never touches another database
need_rust
need_postgres

echo "building (the first time takes some minutes)"
cargo build --locked --quiet --profile fast --bin kindred --example demo
target=${CARGO_TARGET_DIR:-$KINDRED_ROOT/target}/fast

# As root the database runs as another user, who must be able to walk to its directory.
if [ "$(id -u)" = 0 ]; then base=/tmp; else base=${TMPDIR:-/tmp}; fi
directory=$(mktemp -d "$base/kindred-demo.XXXXXX")
chmod 711 "$directory"
service=

stop() {
    trap - EXIT
    trap '' INT TERM
    if [ -n "$service" ] && kill -TERM "$service" 2>/dev/null; then
        for _ in $(seq 300); do
            kill -0 "$service" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$service" 2>/dev/null || true
    fi
    # Only if the service could not stop its own database.
    find "$directory" -name postmaster.pid -exec head -n 1 {} \; 2>/dev/null |
        while read -r process; do kill -INT "$process" 2>/dev/null || true; done
    rm -rf "$directory" 2>/dev/null || { sleep 1; rm -rf "$directory"; }
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

port=$(free_port)
echo "starting a service on http://127.0.0.1:$port with a private database in $directory"
KINDRED__SERVER__ADDRESS=127.0.0.1:$port KINDRED__DATA_DIRECTORY=$directory/data \
    "$target/kindred" serve >"$directory/service.log" 2>&1 &
service=$!

"$target/examples/demo" --url "http://127.0.0.1:$port" --out out || {
    code=$?
    if ! kill -0 "$service" 2>/dev/null; then
        echo "the service ended by itself; its last lines:"
        tail -n 20 "$directory/service.log"
    fi
    exit "$code"
}

echo
echo "next: look at out/release.csv and out/release.json; README.md has the same steps with curl."
if [ -n "${KEEP:-}" ]; then
    echo "the service still runs: open http://127.0.0.1:$port/docs; Ctrl-C ends it."
    wait "$service" || true
else
    echo "make demo KEEP=1 leaves the service running, with its API pages at /docs."
fi
