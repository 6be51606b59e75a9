# shellcheck shell=bash
# Sourced by tools/test, after python.sh: the official test suite of JSON Schema, which a package of Python carries along.

# Where it lives, and what is in it.
readonly SCHEMA_SUITE_FOLDER=.build/json-schema-suite
readonly SCHEMA_SUITE_PACKAGE=jsonschema-4.26.0
readonly SCHEMA_SUITE_SHA256=0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326

# Fetches the suite unless it is there, and exports TALLY_JSON_SCHEMA_SUITE, its folder. Without the network its tests are
# skipped, and only they; an archive that is not the one that is asked for ends everything.
prepare_schema_suite() {
    local folder=$PWD/$SCHEMA_SUITE_FOLDER
    if [[ $(cat "$folder/made-of" 2>/dev/null) != "$SCHEMA_SUITE_SHA256" ]]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        if ! timed "The test suite of JSON Schema" fetch_schema_suite "$folder"; then
            say "The test suite of JSON Schema could not be fetched; its tests are skipped"
            return 0
        fi
        sha256sum --quiet --check <<<"$SCHEMA_SUITE_SHA256  $folder/$SCHEMA_SUITE_PACKAGE.tar.gz" \
            || die "$SCHEMA_SUITE_PACKAGE.tar.gz is not the archive that the tests were written against"
        tar --extract --gzip --file "$folder/$SCHEMA_SUITE_PACKAGE.tar.gz" --directory "$folder" --strip-components 1 \
            "$SCHEMA_SUITE_PACKAGE/json"
        # Last: a folder that was left half made is made again.
        echo "$SCHEMA_SUITE_SHA256" >"$folder/made-of"
    fi
    export TALLY_JSON_SCHEMA_SUITE=$folder/json
}

# The source archive as it is. pip asks every archive for its name and version, by way of the build system that it names;
# one of ours answers in its place, so that nothing that was fetched is run.
fetch_schema_suite() {
    PYTHONPATH=$PWD/tools/lib/schema_suite "$TALLY_TEST_PYTHON" -m pip download --quiet --no-input \
        --disable-pip-version-check --no-binary :all: --no-deps --no-build-isolation --dest "$1" \
        "${SCHEMA_SUITE_PACKAGE/-/==}"
}
