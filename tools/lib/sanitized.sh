# shellcheck shell=bash
# Sourced by the scripts in tools/: the modules that peers' and callers' bytes reach, under AddressSanitizer and LeakSanitizer.

# What both commands need: a package that holds only these modules, built apart from everything else.
readonly sanitized=(--package-path tools/sanitized --scratch-path .build/sanitized --sanitize address)

# Builds the modules and runs their tests; arguments go to `swift test`. Needs no database.
# Without XCTest, for which there are no tests: its runner leaks. Without the one test that measures the stack, of which
# every call takes more here than where it matters. Few at a time: with all at once each waits for the processor past any
# deadline.
test_sanitized() {
    swift build "${sanitized[@]}" --build-tests || return 1
    swift test "${sanitized[@]}" --experimental-maximum-parallelization-width $((2 * $(nproc))) --skip-build --disable-xctest --skip 'HostileSchemaTests/deep' "$@"
}
