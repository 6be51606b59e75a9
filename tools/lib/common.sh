# shellcheck shell=bash
# Sourced by the scripts in tools/: messages and durations.

# Says what is going on.
say() { printf '\n== %s\n' "$*"; }

# Ends the script with a message.
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Runs a command, then says how long it took. Its exit code is the command's.
timed() {
    local label=$1 began=$SECONDS status=0 seconds
    shift
    say "$label"
    "$@" || status=$?
    seconds=$((SECONDS - began))
    printf -- '-- %s: %d min %d s\n' "$label" $((seconds / 60)) $((seconds % 60))
    return "$status"
}
