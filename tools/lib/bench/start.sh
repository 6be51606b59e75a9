# shellcheck shell=bash
# Sourced by tools/bench: start-up time and memory at rest, beside small HTTP servers and Postgres.

missing_start_bench_packages() {
    missing_bench_packages
    has_command node || echo nodejs
}

install_prerequisites missing_start_bench_packages
run_bench start "tallyd bench-orchestrator" "$@"
