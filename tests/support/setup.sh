# Sourced by tests/run.sh, examples/reproduce.sh and .ci/run: the Debian packages they need, how they get them, and how
# they build.
build_packages='gcc g++ libc6-dev cmake ninja-build pkg-config libgsl-dev libopenblas-dev liblapacke-dev
    libcmocka-dev librandom123-dev'

processors() {
    nproc 2>/dev/null || echo 2
}

# As root, or by a sudo that asks nothing.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_packages() {
    as_root apt-get -qq -o DPkg::Lock::Timeout=300 update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
            install -y --no-install-recommends "$@"
}

# require_packages NAME...: installs what is missing, or says what is and fails. Away from Debian it does nothing: there
# CMake says what it does not find.
require_packages() {
    command -v dpkg-query >/dev/null || return 0
    missing=
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! as_root true 2>/dev/null; then
        echo 'Packages are missing, and only root can install them:' >&2
        echo "    apt-get install --no-install-recommends$missing" >&2
        return 1
    fi
    echo "Installing:$missing"
    # A mirror that is being updated is worth a second try. The list is meant to be split.
    # shellcheck disable=SC2086
    install_packages $missing >/dev/null || { sleep 5 && install_packages $missing >/dev/null; } || {
        echo "Not installed:$missing" >&2
        return 1
    }
}

# configure_and_build SOURCE BUILD TARGET [CMAKE-OPTION...]: says nothing unless something fails.
configure_and_build() {
    source_tree=$1
    build_tree=$2
    target=$3
    shift 3
    if [ ! -e "$build_tree/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        set -- -G Ninja "$@"
    fi
    mkdir -p "$build_tree" || return 1
    if cmake -S "$source_tree" -B "$build_tree" "$@" >"$build_tree/build.log" 2>&1 &&
        cmake --build "$build_tree" --target "$target" --config Release --parallel "$(processors)" \
            >>"$build_tree/build.log" 2>&1; then
        return 0
    fi
    cat "$build_tree/build.log" >&2
    return 1
}
