# shellcheck shell=bash
# Sourced by tools/bench: the transport against h2load, and beside other clients.

# shellcheck source-path=SCRIPTDIR/../.. source=lib/python.sh
source tools/lib/python.sh

install_prerequisites missing_test_packages
# Its packages are for one of the clients in the table, which can do without it: the bench then says that it is not there.
(prepare_test_python) || say "aioapns will be missing from the table"
run_bench transport "bench-sink bench-transport" --aioapns "$PWD/$PYTHON_FOLDER/bin/python3" "$@"
