# shellcheck shell=bash
# Sourced by the scripts in tools/, after common.sh: runs the tests whose order of events has to be the same each time.

# Runs the tests that are built with these arguments so that one seed is one life: hashing without a random seed, and one
# thread for all tasks. Not by `swift test`, whose lock lets only one go on at a time.
test_in_order() {
    SWIFT_DETERMINISTIC_HASHING=1 LIBDISPATCH_COOPERATIVE_POOL_STRICT=1 \
        "$(swift build --show-bin-path)/tallyPackageTests.xctest" --testing-library swift-testing "$@"
}

# FIRST LAST: plays these seeds, shared out among as many processes as there are processors. Shows what fails; the last
# line says which promise was broken, if any was.
simulate_seeds() {
    local first=$1 last=$2 shards share status=0 logs shard from to pids=()
    shards=$(nproc)
    share=$(((last - first + shards) / shards))
    logs=$(mktemp -d)
    for ((shard = 0; shard < shards; shard++)); do
        from=$((first + shard * share))
        to=$((from + share - 1))
        ((to <= last)) || to=$last
        ((from <= to)) || break
        TALLY_SIMULATION_SEEDS=$from-$to test_in_order --filter '^SimulationTests[.].*keepsPromises' \
            >"$logs/$from-$to.log" 2>&1 &
        pids+=($!)
    done
    for shard in "${pids[@]}"; do wait "$shard" || status=$?; done
    if ((status != 0)); then
        grep -hvE '^\[|^Building' "$logs"/*.log || true
        printf '\n'
        grep -hE '^↳ seed [0-9]+' "$logs"/*.log | sed 's/^↳ //' || true
    fi
    rm -rf "$logs"
    return "$status"
}
