# shellcheck shell=bash
# Sourced by tools/test, after python.sh: tries the console in a real browser.

readonly BROWSER_PYTHON_FOLDER=.build/browser-python
readonly BROWSER_REQUIREMENTS=Tests/Browser/requirements.txt
# Where the screenshots of the last run are.
readonly BROWSER_SHOTS=.build/console

readonly BROWSER_MATCH=world-cup-final-2022-tokens

# Plays a match with `tallyd dev` and looks at it in the console, on a wide and on a narrow screen.
try_console() {
    prepare_python "$BROWSER_PYTHON_FOLDER" "$BROWSER_REQUIREMENTS"
    (
        set -euo pipefail
        folder=$(mktemp -d /tmp/tally-browser.XXXXXXXX)
        chmod 711 "$folder"
        tallyd_job=
        replay_job=
        # shellcheck disable=SC2329 # called by the trap
        finish() {
            [[ -z $replay_job ]] || kill "$replay_job" 2>/dev/null || true
            [[ -z $tallyd_job ]] || { kill "$tallyd_job" && wait "$tallyd_job"; } 2>/dev/null || true
            rm -rf "$folder"
        }
        trap finish EXIT
        PATH=$PWD/.build/debug:$PATH
        tallyd dev --state "$folder/state" >"$folder/tallyd.log" 2>&1 </dev/null &
        tallyd_job=$!
        for ((tenths = 0; tenths < 1200; tenths++)); do
            ! grep -q '^console' "$folder/tallyd.log" || break
            sleep 0.1
        done
        [[ -s $folder/state/dev.env ]] || { cat "$folder/tallyd.log" && exit 1; }
        unset TALLY_PROFILE
        set -a
        # shellcheck source=/dev/null
        source "$folder/state/dev.env"
        set +a
        export TALLY_APP=com.example.matchday
        prepare_match >"$folder/output.log" 2>&1 || { cat "$folder/output.log" && exit 1; }
        rm -rf "$BROWSER_SHOTS"
        # The first scenario follows it.
        tally replay docs/samples/world-cup-final-2022.json --speed 300 \
            --audience "$BROWSER_MATCH=@$folder/audience.json" >"$folder/replay.log" 2>&1 &
        replay_job=$!
        "$PREPARED_PYTHON" Tests/Browser/browse.py "$TALLY_URL" \
            "$(sed -n 's/^console, signed in once with this link: //p' "$folder/tallyd.log")" \
            "$TALLY_API_KEY" "$(tally keys create looks --scope read --json | sed -n 's/.*"secret":"\([^"]*\)".*/\1/p')" \
            "$TALLY_APP" final fan-1 "$BROWSER_MATCH" "$folder/state" "$BROWSER_SHOTS"
    )
}

# An app, two activities of a match, and phones that follow them.
prepare_match() {
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$folder/AuthKey.p8"
    tally apps put "$TALLY_APP" --team-id ABCDE12345 \
        --production-key-id ABC123DEFG --production-key-file "$folder/AuthKey.p8"
    tally types put GameAttributes \
        --attributes-schema docs/samples/game-attributes.schema.json \
        --content-state-schema docs/samples/game-content-state.schema.json \
        --policy docs/samples/game-policy.json
    apns-sim phones create --prefix fan- --count 40 --follows final \
        --environment production --bundle-id "$TALLY_APP" --id-attribute activityId --wait 60
    apns-sim phones create --prefix seat- --count 60 --follows "$BROWSER_MATCH" \
        --environment production --bundle-id "$TALLY_APP" --id-attribute activityId --wait 60
    seq -f '"seat-%.0f"' 1 60 | paste -s -d , | sed 's/^/{"devices": [/; s/$/]}/' >"$folder/audience.json"
    start_match final tokens
    start_match final-by-channel channel
    # It is shown among the next ones, and never comes.
    post final-by-channel end '{"at": "2031-01-01T00:00:00Z"}'
    local minute
    for minute in 23 36 80 81 90 108; do
        post final updates '{"content_state": {"homeScore": 3, "awayScore": 3, "minute": '$minute', "period": "secondHalf",
            "lastEvent": "A goal by Mbappé"}, "urgency": "notable"}'
    done
}

start_match() {
    call PUT "$1" '{"type": "GameAttributes", "delivery": "'"$2"'", "audience": {"devices": ["fan-1", "fan-2", "fan-3"]},
        "attributes": {"homeTeam": "Argentina", "awayTeam": "France", "competition": "World Cup final 2022"},
        "content_state": {"homeScore": 0, "awayScore": 0, "minute": 0, "period": "firstHalf"},
        "alert": {"title": "Argentina – France", "body": "The final has begun"}}'
}

post() { call POST "$1/$2" "$3"; }

call() {
    curl --fail-with-body --silent --show-error -X "$1" "$TALLY_URL/v1/apps/$TALLY_APP/activities/$2" \
        -H "Authorization: Bearer $TALLY_API_KEY" -H 'Content-Type: application/json' -d "$3"
}
