# shellcheck shell=bash
# Sourced by tools/bench: kick-off from the start to the end with many phones, beside the least that Postgres needs.

install_prerequisites missing_bench_packages
run_bench kick-off "tallyd bench-sink bench-orchestrator bench-phones" "$@"
