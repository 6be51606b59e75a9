# shellcheck shell=bash
# Sourced by tools/bench: start-up time and memory at rest, beside small HTTP servers and Postgres.

missing_start_bench_packages() {
    missing_packages
    find_python >/dev/null || printf '%s\n' python3 python3-venv
    has_command node || echo nodejs
}

install_prerequisites missing_start_bench_packages
require_swift
export TALLY_BENCHES=1
for product in tallyd bench-orchestrator; do
    timed "Build of $product" swift build -c release --product "$product"
done
bin=$(swift build -c release --show-bin-path)
python=$(find_python) || die "there is no Python 3.10 or newer"
exec "$python" tools/lib/bench/start.py --bin "$bin" "$@" >&3
