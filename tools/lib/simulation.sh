# shellcheck shell=bash
# Sourced by the scripts in tools/, after common.sh: runs the tests whose order of events has to be the same each time.

# Becomes the tests that are built, with these arguments, so that one seed is one life: hashing without a random seed, and
# one thread for all tasks. Not by `swift test`, whose lock lets only one go on at a time.
exec_in_order() {
    exec env SWIFT_DETERMINISTIC_HASHING=1 LIBDISPATCH_COOPERATIVE_POOL_STRICT=1 \
        "$(swift build --show-bin-path)/tallyPackageTests.xctest" --testing-library swift-testing "$@"
}

test_in_order() { (exec_in_order "$@"); }

# FIRST LAST: plays these seeds on as many processes as there are processors; twice as many took longer. Shows the lives
# that fail, or all with TALLY_SIMULATION_STORY. The last line names the broken promise, if there is one.
simulate_seeds() {
    local first=$1 last=$2 shards share shard from to status=0
    shards=$(nproc)
    share=$(((last - first + shards) / shards))
    simulation_pids=() simulation_logs=$(mktemp -d)
    trap end_simulation EXIT
    for ((shard = 0; shard < shards; shard++)); do
        from=$((first + shard * share))
        to=$((from + share - 1))
        ((to <= last)) || to=$last
        ((from <= to)) || break
        TALLY_SIMULATION_SEEDS=$from-$to exec_in_order --filter '^SimulationTests[.].*keepsPromises' \
            >"$simulation_logs/$from-$to.log" 2>&1 &
        simulation_pids+=($!)
    done
    for shard in "${simulation_pids[@]}"; do wait "$shard" || status=$?; done
    if ((status != 0)) || [[ -n ${TALLY_SIMULATION_STORY:-} ]]; then
        grep -hvE '^\[|^Building' "$simulation_logs"/*.log || true
    fi
    if ((status != 0)); then
        printf '\n'
        grep -hE '^↳ seed [0-9]+' "$simulation_logs"/*.log | sed 's/^↳ //' \
            || printf 'not every seed could be played; what was wrong stands above\n'
    fi
    simulation_pids=()
    end_simulation
    trap - EXIT
    return "$status"
}

# Ends what still plays, and removes its logs. The processes would not end by an interrupt from the keyboard, which all
# ignore that are started with '&'.
end_simulation() {
    local running
    # Not those that have ended: their numbers may be somebody else's by now.
    running=$(jobs -pr)
    # shellcheck disable=SC2086  # a list of numbers
    [[ -z $running ]] || kill $running 2>/dev/null || true
    rm -rf "$simulation_logs"
}
