# shellcheck shell=bash
# Sourced by tools/bench: what each piece of work costs, growth up to 10,000,000 subscriptions, operations on so many.

install_prerequisites missing_bench_packages
run_bench scale "tallyd apns-sim bench-sink bench-orchestrator" "$@"
