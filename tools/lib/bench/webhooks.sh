# shellcheck shell=bash
# Sourced by tools/bench: events a second to the receiver of a webhook, alone and beside dead receivers.

install_prerequisites missing_test_packages
run_bench webhooks "bench-orchestrator" "$@"
