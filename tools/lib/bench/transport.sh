# shellcheck shell=bash
# Sourced by tools/bench: the transport against h2load, and beside other clients.

# shellcheck source-path=SCRIPTDIR/../.. source=lib/python.sh
source tools/lib/python.sh

install_prerequisites missing_test_packages
require_swift
# Its packages are for one of the clients in the table, which can do without it: the bench then says that it is not there.
(prepare_test_python) || say "aioapns will be missing from the table"
export TALLY_BENCHES=1
for product in bench-sink bench-transport; do
    timed "Build of $product" swift build -c release --product "$product"
done
bin=$(swift build -c release --show-bin-path)
python=$(find_python) || die "there is no Python 3.10 or newer"
exec "$python" tools/lib/bench/transport.py --bin "$bin" --aioapns "$PWD/$PYTHON_FOLDER/bin/python3" "$@" >&3
