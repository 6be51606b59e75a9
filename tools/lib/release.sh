# shellcheck shell=bash
# Sourced by tools/bench and tools/soak, after prerequisites.sh: the programs that are measured.

# PRODUCT…: makes release builds of these and sets RELEASE_FOLDER, where they are. With TALLY_BIN_DIR=FOLDER they are
# there, and nothing is built.
build_release() {
    local product
    if [[ -n ${TALLY_BIN_DIR:-} ]]; then
        # As the caller sees it, whose folder the scripts have left.
        RELEASE_FOLDER=$({ cd "$OLDPWD" && cd "$TALLY_BIN_DIR"; } 2>/dev/null && pwd) \
            || die "there is no folder '$TALLY_BIN_DIR'"
        return 0
    fi
    require_swift
    export TALLY_BENCHES=1
    for product in "$@"; do
        timed "Build of $product" swift build -c release --product "$product"
    done
    RELEASE_FOLDER=$(swift build -c release --show-bin-path)
}
