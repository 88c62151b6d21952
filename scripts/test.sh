#!/usr/bin/env bash
# `make test`: format, lints, every test against a real Postgres, doc tests, documentation. All stages run even if one
# fails; the last line counts the tests.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
cd "$KINDRED_ROOT"
need_rust
need_rust_components
need_postgres

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()

stage() {
    local name=$1 begun=$SECONDS
    shift
    echo "== $name"
    if "$@"; then
        echo "== $name: ok, $((SECONDS - begun)) s"
    else
        failed+=("$name")
        echo "== $name: FAILED, $((SECONDS - begun)) s"
    fi
}

# Runs a command with DATABASE_URL: the given one, or that of a private server that lives as long as the command.
with_postgres() {
    if [ -n "${DATABASE_URL:-}" ]; then
        "$@"
    else
        cargo run --locked --quiet --bin kindred -- postgres --temporary -- "$@"
    fi
}

tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        with_postgres cargo nextest run --locked --no-fail-fast 2>&1 | tee -a "$log"
    else
        with_postgres cargo test --locked --no-fail-fast --lib --bins --tests 2>&1 | tee -a "$log"
    fi
}

doc_tests() { cargo test --locked --doc 2>&1 | tee -a "$log"; }

stage format cargo fmt --check
stage clippy cargo clippy --locked --quiet --all-targets -- -D warnings
stage documentation env RUSTDOCFLAGS="-D warnings" cargo doc --locked --quiet --no-deps --document-private-items
stage tests tests
stage "doc tests" doc_tests

# nextest: "Summary [1.0s] 12 tests run: 11 passed (1 slow), 1 failed, 0 skipped"; cargo test: "test result: ok. 3 passed; 0 failed; ..."
count() {
    sed 's/\x1b\[[0-9;]*m//g' "$log" |
        awk -v word="$1" '
            / tests? run: / || /^test result: / {
                for (i = 2; i <= NF; i++) if ($i ~ "^" word "[,;]?$") total += $(i - 1)
            }
            END { print total + 0 }'
}
failures=$(($(count failed) + $(count timed)))
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    # A stage without tests that fails (or tests that did not compile) counts as one failure.
    [ "$failures" -gt 0 ] || failures=${#failed[@]}
fi
echo "$(count passed) passed, $failures failed"
[ ${#failed[@]} -eq 0 ]
