# shellcheck shell=bash
# Sourced by tools/bench: what each piece of work costs, and growth up to 10,000,000 subscriptions.

install_prerequisites missing_bench_packages
run_bench scale "tallyd apns-sim bench-sink bench-orchestrator" "$@"
