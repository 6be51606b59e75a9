# shellcheck shell=bash
# Sourced by tools/test and tools/bench, after prerequisites.sh: private Pythons with the packages that they want.

# Where that of the tests lives, and what is in it.
readonly PYTHON_FOLDER=.build/test-python
readonly PYTHON_REQUIREMENTS=Tests/ForeignPeers/requirements.txt

# Prepares the Python of the tests and exports TALLY_TEST_PYTHON, its path.
prepare_test_python() {
    prepare_python "$PYTHON_FOLDER" "$PYTHON_REQUIREMENTS"
    export TALLY_TEST_PYTHON=$PREPARED_PYTHON
}

# Makes an environment in a folder anew unless it holds exactly what a file of requirements asks for, and sets
# PREPARED_PYTHON, the Python in it.
prepare_python() {
    local python wanted folder=$PWD/$1 requirements=$2
    python=$(find_python) || die "there is no Python 3.10 or newer with the modules venv and ensurepip"
    wanted=$("$python" --version && sha256sum <"$requirements") || die "$requirements cannot be read"
    PREPARED_PYTHON=$folder/bin/python3
    [[ $(cat "$folder/made-of" 2>/dev/null) != "$wanted" ]] || return 0
    timed "Python for $requirements" make_python "$python" "$folder" "$requirements" \
        || die "the packages of $requirements are needed, and pip could not install them:" \
            "is its package index within reach?"
    # Last: an environment that was left half made is made again.
    echo "$wanted" >"$folder/made-of"
}

# Only wheels, and only those whose hashes are listed: nothing that was fetched is run to install it.
make_python() {
    "$1" -m venv --clear "$2" \
        && "$2/bin/python3" -m pip install --quiet --no-input --disable-pip-version-check \
            --require-hashes --only-binary :all: --requirement "$3"
}
