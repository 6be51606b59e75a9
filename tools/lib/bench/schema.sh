# shellcheck shell=bash
# Sourced by tools/bench: the validator of schemas beside those of others.

# shellcheck source-path=SCRIPTDIR/../.. source=lib/python.sh
source tools/lib/python.sh

missing_schema_bench_packages() {
    missing_bench_packages
    [[ -e /usr/share/nodejs/ajv/package.json ]] || echo node-ajv
    has_command node || echo nodejs
    has_command valgrind || echo valgrind
}

install_prerequisites missing_schema_bench_packages
prepare_python .build/bench-python tools/benches/schema/requirements.txt
run_bench schema bench-schema "$@"
