# shellcheck shell=bash
# Sourced by tools/bench: accepting changes over HTTP, the database included, against pgbench.

missing_bench_packages() {
    missing_test_packages
    has_command wrk || echo wrk
}

install_prerequisites missing_bench_packages
require_swift
export TALLY_BENCHES=1
for product in tallyd bench-orchestrator; do
    timed "Build of $product" swift build -c release --product "$product"
done
bin=$(swift build -c release --show-bin-path)
python=$(find_python) || die "there is no Python 3.10 or newer"
exec "$python" tools/lib/bench/accept.py --bin "$bin" "$@" >&3
