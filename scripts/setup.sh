#!/usr/bin/env bash
# Makes sure that Rust and the Postgres binaries are there, installing only what is missing and saying so.
# Sourced by the other scripts (so that PATH holds), or run by itself.
#
# Rust comes from rustup into the home directory; Postgres from the system's package manager (apt-get as root or by
# sudo, or Homebrew). Nothing is installed when it is found, and no Postgres server is left running: Kindred starts
# private ones of its own.

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "need root for: $*"
    fi
}

apt_install() {
    say "installing $* (apt-get)"
    as_root apt-get update -qq || say "apt-get update failed, trying with the lists that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# True if version $1 is at least version $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

cargo_is_new_enough() {
    local found wanted
    found=$(cargo --version 2>/dev/null | awk '{print $2}')
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$KINDRED_ROOT/Cargo.toml")
    [ -n "$found" ] && at_least "$found" "$wanted"
}

need_rust() {
    if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    fi
    if ! cargo_is_new_enough; then
        if command -v rustup >/dev/null; then
            say "Rust is too old or has no toolchain: installing the stable one (rustup)"
            rustup toolchain install stable --profile minimal -c rustfmt -c clippy >&2
            export RUSTUP_TOOLCHAIN=stable
        else
            if ! command -v curl >/dev/null; then
                command -v apt-get >/dev/null || die "need curl to install Rust; or see https://rustup.rs"
                apt_install curl ca-certificates
            fi
            say "installing Rust into ${CARGO_HOME:-$HOME/.cargo} (https://rustup.rs)"
            curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
                RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -y -q --profile minimal -c rustfmt -c clippy >&2
            PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
        fi
        hash -r
        cargo_is_new_enough || die "no Rust that is new enough (Cargo.toml, rust-version)"
    fi
    if ! command -v cc >/dev/null; then
        command -v apt-get >/dev/null || die "need a C compiler and linker (cc)"
        apt_install gcc libc6-dev
    fi
    export PATH
}

# rustfmt and clippy, for lint and test.
need_rust_components() {
    if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        command -v rustup >/dev/null || die "need rustfmt and clippy of the installed Rust"
        say "installing rustfmt and clippy (rustup)"
        rustup component add rustfmt clippy >&2
    fi
}

postgres_is_there() {
    local directory
    command -v initdb >/dev/null && command -v postgres >/dev/null && return 0
    for directory in "${KINDRED_POSTGRES_BIN:-/nonexistent}" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
        /usr/libexec/postgresql* /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
        /Applications/Postgres.app/Contents/Versions/*/bin; do
        [ -x "$directory/initdb" ] && [ -x "$directory/postgres" ] && return 0
    done
    return 1
}

need_postgres() {
    if [ -n "${DATABASE_URL:-}" ] || postgres_is_there; then
        return 0
    fi
    if command -v apt-get >/dev/null; then
        # Debian's package would make a server of its own and run it: told not to, for this installation only.
        apt_install postgresql-common
        local conf=/etc/postgresql-common/createcluster.conf kept
        kept=$(mktemp)
        cp "$conf" "$kept"
        echo 'create_main_cluster = false' | as_root tee -a "$conf" >/dev/null
        apt_install postgresql || true
        as_root cp "$kept" "$conf"
        rm -f "$kept"
    elif command -v brew >/dev/null; then
        say "installing postgresql@17 (brew)"
        brew install postgresql@17 >&2
    fi
    postgres_is_there || die "no Postgres binaries (initdb, postgres); install them or set DATABASE_URL"
}

# A TCP port of the loopback interface that nobody listens on.
free_port() {
    local port
    for _ in $(seq 50); do
        port=$((20000 + RANDOM % 30000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return 0
        fi
    done
    die "no free port found"
}

KINDRED_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    need_rust
    need_rust_components
    need_postgres
    say "$(cargo --version); Postgres is there"
fi
