# shellcheck shell=bash
# Sourced by the scripts in tools/: messages and durations.

# Says what is going on.
say() { printf '\n== %s\n' "$*"; }

# Ends the script with a message.
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# The same where it was called wrongly.
refuse() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 2
}

# Prints what the head of the script says of it, if that is all that is asked for, and ends the script.
answer_help() {
    case " $* " in
        *' --help '* | *' -h '*)
            sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "tools/$(basename "$0")"
            exit 0
            ;;
    esac
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
