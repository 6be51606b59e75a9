# shellcheck shell=bash
# Sourced by tools/test, after prerequisites.sh: a private Python with the packages that the tests want.

# Where it lives, and what is in it.
readonly PYTHON_FOLDER=.build/test-python
readonly PYTHON_REQUIREMENTS=Tests/ForeignPeers/requirements.txt

# Makes the environment anew unless it holds exactly what is asked for, and exports TALLY_TEST_PYTHON, the Python in it.
prepare_test_python() {
    local python wanted folder=$PWD/$PYTHON_FOLDER
    python=$(find_python) || die "there is no Python 3.10 or newer with the modules venv and ensurepip"
    wanted=$("$python" --version && sha256sum <"$PYTHON_REQUIREMENTS") || die "$PYTHON_REQUIREMENTS cannot be read"
    export TALLY_TEST_PYTHON=$folder/bin/python3
    [[ $(cat "$folder/made-of" 2>/dev/null) != "$wanted" ]] || return 0
    timed "Python for the tests" make_test_python "$python" "$folder" \
        || die "the tests need the packages of $PYTHON_REQUIREMENTS, and pip could not install them:" \
            "is its package index within reach?"
    # Last: an environment that was left half made is made again.
    echo "$wanted" >"$folder/made-of"
}

# Only wheels, and only those whose hashes are listed: nothing that was fetched is run to install it.
make_test_python() {
    "$1" -m venv --clear "$2" \
        && "$2/bin/python3" -m pip install --quiet --no-input --disable-pip-version-check \
            --require-hashes --only-binary :all: --requirement "$PYTHON_REQUIREMENTS"
}
