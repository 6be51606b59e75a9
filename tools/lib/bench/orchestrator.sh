# shellcheck shell=bash
# Sourced by tools/bench: the orchestrator, its database included, against h2load and pgbench.

install_prerequisites missing_test_packages
run_bench orchestrator "bench-sink bench-transport bench-orchestrator" "$@"
