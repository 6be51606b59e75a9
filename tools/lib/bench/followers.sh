# shellcheck shell=bash
# Sourced by tools/bench: how long a change takes to all followers, with h2load beside it. tools/plots draws it.

install_prerequisites missing_test_packages
run_bench followers "tallyd apns-sim bench-sink bench-orchestrator bench-transport" "$@"
