# shellcheck shell=bash
# Sourced by tools/bench: how fast the console's pages are with 10,000,000 subscriptions, and what 500 browsers cost.

install_prerequisites missing_bench_packages
run_bench console "tallyd bench-sink bench-orchestrator" "$@"
