# shellcheck shell=bash
# Sourced by tools/test, after common.sh and python.sh: other people's cases against the API of a running daemon.

# Lets schemathesis try a daemon of its own, by docs/openapi.yaml and Tests/ForeignPeers/schemathesis.toml.
try_api() (
    folder=$(mktemp -d)
    .build/debug/tallyd dev --state "$folder/state" >"$folder/log" 2>&1 &
    daemon=$!
    trap 'kill "$daemon" 2>/dev/null; wait "$daemon"; rm -rf "$folder"' EXIT
    for _ in {1..600}; do
        [[ ! -s $folder/state/dev.env ]] || break
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.2
    done
    [[ -s $folder/state/dev.env ]] || die "tallyd dev does not start:" "$(tail -n 20 "$folder/log")"
    set -a
    # shellcheck source=/dev/null
    . "$folder/state/dev.env"
    set +a
    "$TALLY_TEST_PYTHON" Tests/ForeignPeers/documented_app.py docs/openapi.yaml
    # One worker: several at once end CPython 3.11 now and then.
    PYTHONPATH=Tests/ForeignPeers "$(dirname "$TALLY_TEST_PYTHON")/schemathesis" --config-file Tests/ForeignPeers/schemathesis.toml \
        run docs/openapi.yaml --url "$TALLY_URL" --workers 1 --no-color
)
