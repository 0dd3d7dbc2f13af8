#!/bin/sh
# sh run.sh SOURCE BUILD CONFIG CC [CXX]: installs the library, moves it, and lets an outside project find it by CMake
# and by pkg-config, from C and from C++, shared and static. Too new a version must be refused.
set -eu
source_dir=$1
build_dir=$2
config=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
outside=$source_dir/tests/install
first=$work/first
prefix=$work/moved/here

say() { printf '%s\n' "-- $*"; }
fail() { say "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

quietly cmake --install "$build_dir" --config "$config" --prefix "$first"
mkdir -p "$work/moved"
mv "$first" "$prefix"
if grep -r -I -F -e "$first" -e "$source_dir" -e "$build_dir" "$prefix"; then
    fail 'installed files name places outside the prefix'
fi
pc=$(find "$prefix" -name moegeom.pc)
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
unset LD_LIBRARY_PATH
# The build program that is known to be there; with one configuration.
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build_dir/CMakeCache.txt")
CMAKE_GENERATOR=${CMAKE_GENERATOR% Multi-Config}
export CMAKE_GENERATOR

# run PROGRAM shared|static
run() {
    "$1" || fail "$1"
    case $2 in
    shared) readelf -d "$1" | grep -q 'NEEDED.*libmoegeom\.so' || fail "$1 does not use the shared library" ;;
    static) if readelf -d "$1" | grep -q 'NEEDED.*libmoegeom'; then fail "$1 uses the shared library"; fi ;;
    esac
}

for compiler in "$@"; do
    # In C every library named is loaded in the order named, in C++ those wanted alone: the right BLAS must come first
    # either way.
    language=C suffix=c standard=c11 linking=-Wl,--no-as-needed
    case $compiler in *++*) language=CXX suffix=cpp standard=c++17 linking=-Wl,--as-needed ;; esac

    say "CMake, $compiler"
    quietly cmake -S "$outside" -B "$work/$language" -DCONSUMER_LANGUAGE=$language -DCONSUMER_WANTS=0.1 \
        -DCMAKE_${language}_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_EXE_LINKER_FLAGS="$linking"
    grep -q "^moegeom_DIR:PATH=$prefix/" "$work/$language/CMakeCache.txt" || fail 'another libmoegeom was found'
    quietly cmake --build "$work/$language"
    run "$work/$language/with_moegeom" shared
    run "$work/$language/with_static" static

    say "pkg-config, $compiler"
    # Flags are meant to be split.
    # shellcheck disable=SC2046
    quietly "$compiler" -std=$standard $linking "$outside/consumer.$suffix" -o "$work/pc_shared_$language" \
        $(pkg-config --cflags --libs moegeom) -Wl,-rpath,"$libdir" -lm
    run "$work/pc_shared_$language" shared
    # shellcheck disable=SC2046
    quietly "$compiler" -std=$standard $linking "$outside/consumer.$suffix" -o "$work/pc_static_$language" \
        $(pkg-config --cflags --libs --static moegeom | sed 's/-lmoegeom/-l:libmoegeom.a/')
    run "$work/pc_static_$language" static
done

# Only configured: what the outer project cannot see or would have twice shows when the build is generated.
say 'as a subdirectory'
quietly cmake -S "$outside" -B "$work/subdirectory" -DCONSUMER_LANGUAGE=C -DCMAKE_C_COMPILER="$1" \
    -DCONSUMER_SUBDIRECTORY="$source_dir"

for version in 0.2 99; do
    say "version $version must be refused"
    if cmake -S "$outside" -B "$work/refused$version" -DCONSUMER_LANGUAGE=NONE -DCONSUMER_WANTS=$version \
        -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
        fail "find_package(moegeom $version) is content with $(pkg-config --modversion moegeom)"
    fi
    grep -q 'compatible with requested version' "$work/log" || { cat "$work/log"; fail 'refused for another reason'; }
    if pkg-config --exists "moegeom >= $version"; then fail "pkg-config takes it for $version"; fi
done
