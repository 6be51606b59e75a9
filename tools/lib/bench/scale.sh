# shellcheck shell=bash
# Sourced by tools/bench: what each piece of work costs, and growth up to 10,000,000 subscriptions.

install_prerequisites missing_packages
require_swift
export TALLY_BENCHES=1
for product in tallyd apns-sim bench-sink bench-orchestrator; do
    timed "Build of $product" swift build -c release --product "$product"
done
bin=$(swift build -c release --show-bin-path)
python=$(find_python) || die "there is no Python 3.10 or newer"
exec "$python" tools/lib/bench/scale.py --bin "$bin" "$@" >&3
