#!/bin/sh
# Installs what is missing (Debian, as root), builds, and runs the tests; see usage(). The last line is
# "N passed, M failed", and the status is that of ctest.
set -u
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
. "$source_dir/tests/support/setup.sh"

usage() {
    echo 'usage: sh tests/run.sh [--build-dir DIR] [-DCMAKE_OPTION=VALUE...] [-- CTEST-OPTION...]'
    echo 'DIR is build/ in the source tree if not given. No blanks in VALUE.'
}

build_dir=$source_dir/build
cmake_options='-DCMAKE_BUILD_TYPE=Release -DMOEG_BUILD_TESTS=ON -DMOEG_BUILD_EXAMPLES=ON'
while [ $# -gt 0 ]; do
    case $1 in
    --build-dir)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        build_dir=$2
        shift
        ;;
    -D?*) cmake_options="$cmake_options $1" ;;
    --)
        shift
        break
        ;;
    --help)
        usage
        exit 0
        ;;
    *)
        echo "unknown argument: $1" >&2
        usage >&2
        exit 2
        ;;
    esac
    shift
done

# Unquoted lists are meant to be split.
# shellcheck disable=SC2086
require_packages $build_packages || exit 1
echo "Building in $build_dir"
# shellcheck disable=SC2086
configure_and_build "$source_dir" "$build_dir" all $cmake_options || exit 1

results=$build_dir/tests.xml
rm -f "$results"
ctest --test-dir "$build_dir" --build-config Release --no-tests=error --output-on-failure \
    --parallel "$(processors)" --output-junit "$results" "$@"
status=$?

# A test that asked to be skipped has neither passed nor failed; one that could not be started has failed.
count() {
    grep -c -E "$1" "$results" 2>/dev/null
}
all=$(count '^[[:space:]]*<testcase ')
passed=$(count '^[[:space:]]*<testcase .*status="run"')
skipped=$(count '^[[:space:]]*(<skipped message="SKIP_|<testcase .*status="disabled")')
[ "${skipped:-0}" -eq 0 ] || echo "$skipped skipped"
echo "${passed:-0} passed, $((${all:-0} - ${passed:-0} - ${skipped:-0})) failed"
exit "$status"
