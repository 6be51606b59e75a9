# shellcheck shell=bash
# Sourced by tools/bench: the validator of schemas beside those of others.

# shellcheck source-path=SCRIPTDIR/../.. source=lib/python.sh
source tools/lib/python.sh

missing_schema_bench_packages() {
    missing_packages
    find_python >/dev/null || printf '%s\n' python3 python3-venv
    [[ -e /usr/share/nodejs/ajv/package.json ]] || echo node-ajv
    has_command node || echo nodejs
    has_command valgrind || echo valgrind
}

install_prerequisites missing_schema_bench_packages
require_swift
prepare_python .build/bench-python tools/benches/schema/requirements.txt
export TALLY_BENCHES=1
timed "Build of bench-schema" swift build -c release --product bench-schema
exec "$PREPARED_PYTHON" tools/lib/bench/schema.py --bin "$(swift build -c release --show-bin-path)" "$@" >&3
