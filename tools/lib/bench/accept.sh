# shellcheck shell=bash
# Sourced by tools/bench: accepting changes over HTTP, the database included, against pgbench.

missing_accept_bench_packages() {
    missing_test_packages
    has_command wrk || echo wrk
}

install_prerequisites missing_accept_bench_packages
run_bench accept "tallyd bench-orchestrator" "$@"
