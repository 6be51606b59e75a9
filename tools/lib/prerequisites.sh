# shellcheck shell=bash
# Sourced by the scripts in tools/, after common.sh: finds what is missing on this machine and installs it.

# The oldest toolchain that the sources are written for.
readonly SWIFT_VERSION=6.3

has_command() { command -v "$1" >/dev/null 2>&1; }

has_library() { has_command pkg-config && pkg-config --exists "$1"; }

has_postgres_server() { compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || has_command initdb; }

# Prints the first Python that is new enough and can make virtual environments; fails if there is none.
find_python() {
    local candidate
    for candidate in python3 /usr/bin/python3; do
        has_command "$candidate" || continue
        "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
        command -v "$candidate"
        return 0
    done
    return 1
}

# Debian's names of the packages that are needed and not there.
missing_packages() {
    has_command pkg-config || echo pkg-config
    has_command git || echo git
    has_command curl || echo curl
    has_command openssl || echo openssl
    has_command setpriv || echo util-linux
    has_library libnghttp2 || echo libnghttp2-dev
    has_library openssl || echo libssl-dev
    has_library libpq || echo libpq-dev
    has_postgres_server || echo postgresql
    [[ -s /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
}

# The same for what is written in Python.
missing_python() { find_python >/dev/null || printf '%s\n' python3 python3-venv; }

# The same for the benches and the soak, which are.
missing_bench_packages() {
    missing_packages
    missing_python
}

# The same for the tests, which want other people's clients and servers besides.
missing_test_packages() {
    missing_packages
    curl --version 2>/dev/null | grep -qw HTTP2 || echo curl
    has_command jq || echo jq
    has_command nghttpd || echo nghttp2-server
    [[ -x /usr/sbin/haproxy ]] || has_command haproxy || echo haproxy
    [[ -x /usr/sbin/pgbouncer ]] || has_command pgbouncer || echo pgbouncer
    has_command h2load && has_command nghttp || echo nghttp2-client
    has_command chromium || echo chromium
    [[ -x /usr/sbin/apache2 ]] || echo apache2-bin
    # Large, so that only .ci/run insists on it.
    [[ -z ${TALLY_TEST_JAVA-} ]] || has_command javac || echo default-jdk-headless
    [[ -z ${TALLY_TEST_JAVA-} ]] || has_command node || echo nodejs
    [[ -z ${TALLY_TEST_JAVA-} || -d /usr/share/nodejs/jose ]] || echo node-jose
    # Its service would take port 80, so that only .ci/run insists on it.
    [[ -z ${TALLY_TEST_JAVA-} || -x /usr/sbin/nginx ]] || echo nginx
    missing_python
}

# A library that lets a program see another time. Only a scenario of tools/chaos wants it, and is left out without it.
has_faketime() { compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null; }

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo "$@"
    fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null; }

# Installs packages. Debian's postgresql would make and start a cluster that nobody here needs: a file says no to that
# for as long as the installation lasts, and nothing else of the system's settings is touched.
apt_install() {
    local veto=/etc/postgresql-common/createcluster.d/tally-no-main-cluster.conf status=0
    as_root mkdir -p "${veto%/*}"
    echo 'create_main_cluster = false' | as_root tee "$veto" >/dev/null
    apt install --no-install-recommends "$@" || status=$?
    as_root rm -f "$veto"
    return "$status"
}

# Installs what a list of missing packages names, if anything: install_prerequisites [LIST], a function of this file.
install_prerequisites() {
    local list=${1:-missing_packages} packages
    read -r -a packages <<<"$("$list" | sort -u | xargs)"
    ((${#packages[@]} > 0)) || return 0
    has_command apt-get || die "missing, and there is no apt-get to install it: ${packages[*]}"
    ((EUID == 0)) || has_command sudo || die "missing: ${packages[*]}; run this as root, or install sudo"
    say "Installing ${packages[*]}"
    apt update || die "apt-get update failed"
    apt_install "${packages[@]}" || die "apt-get could not install ${packages[*]}"
    read -r -a packages <<<"$("$list" | sort -u | xargs)"
    ((${#packages[@]} == 0)) || die "still missing after the installation: ${packages[*]}"
}

# The same for a package that can be done without: says so where it cannot be had.
install_if_possible() {
    has_command apt-get && { ((EUID == 0)) || has_command sudo; } && apt_install "$1" && return 0
    say "Going on without $1"
}

# Refuses to go on without the toolchain.
require_swift() {
    local version
    has_command swift \
        || die "there is no swift on the PATH: install the Swift $SWIFT_VERSION toolchain" \
            "(with sudo: sudo env \"PATH=\$PATH\" $0)"
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [[ $(printf '%s\n' "$SWIFT_VERSION" "$version" | sort -V | head -n 1) == "$SWIFT_VERSION" ]] \
        || die "Swift $SWIFT_VERSION is needed, and this is ${version:-of an unknown version}"
}
