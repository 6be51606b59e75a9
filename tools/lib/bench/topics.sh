# shellcheck shell=bash
# Sourced by tools/bench: enrolment of the followers of a topic, registrations with topics, and how many follow each.

install_prerequisites missing_bench_packages
run_bench topics "tallyd bench-sink bench-orchestrator" "$@"
