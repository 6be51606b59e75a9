# shellcheck shell=bash
# Sourced by the scripts in tools/, after common.sh: runs the tests whose order of events has to be the same each time.

# Runs `swift test` with these arguments so that one seed is one order of events: hashing without a random seed, and one
# thread for all tasks.
swift_test_in_order() {
    SWIFT_DETERMINISTIC_HASHING=1 LIBDISPATCH_COOPERATIVE_POOL_STRICT=1 swift test --skip-build "$@"
}
