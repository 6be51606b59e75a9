# shellcheck shell=bash
# Sourced by tools/bench: the prototype of the next engine beside today's, and against pgbench.

install_prerequisites missing_test_packages
run_bench prototype "bench-sink bench-transport bench-orchestrator bench-prototype" "$@"
