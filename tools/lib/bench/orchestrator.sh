# shellcheck shell=bash
# Sourced by tools/bench: the orchestrator, its database included, against h2load and pgbench.

install_prerequisites missing_test_packages
require_swift
export TALLY_BENCHES=1
for product in bench-sink bench-transport bench-orchestrator; do
    timed "Build of $product" swift build -c release --product "$product"
done
bin=$(swift build -c release --show-bin-path)
python=$(find_python) || die "there is no Python 3.10 or newer"
exec "$python" tools/lib/bench/orchestrator.py --bin "$bin" "$@" >&3
