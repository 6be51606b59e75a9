# shellcheck shell=bash
# Sourced by tools/bench: a hard hour in short: a share of nine million pushes a minute with failures; then 2,000 channels.

install_prerequisites missing_bench_packages
run_bench rehearsal "tallyd apns-sim bench-sink bench-orchestrator" "$@"
