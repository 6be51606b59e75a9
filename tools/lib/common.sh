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

# LABEL COMMAND…: runs commands at once, for commands that mostly wait for other processes. Shows the output of each when
# it has ended. If one fails, its exit code is the result.
timed_together() {
    local index status=0
    together_jobs=() together_logs=$(mktemp -d)
    trap end_together EXIT
    # Each leads a group of processes, so end_together also ends its children.
    set -m
    for ((index = 0; 2 * index < $#; index++)); do
        timed "${@:2 * index + 1:2}" >"$together_logs/$index" 2>&1 </dev/null &
        together_jobs+=($!)
    done
    set +m
    for index in "${!together_jobs[@]}"; do
        wait "${together_jobs[index]}" || status=$?
        cat "$together_logs/$index"
    done
    together_jobs=()
    end_together
    trap - EXIT
    return "$status"
}

# Ends the commands that still run, and removes the logs.
end_together() {
    local job
    for job in "${together_jobs[@]}"; do kill -- "-$job" 2>/dev/null || true; done
    rm -rf "$together_logs"
}
