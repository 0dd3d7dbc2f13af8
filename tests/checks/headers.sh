#!/bin/sh
# sh headers.sh SOURCE BUILD CC [CXX]: every public header compiles alone, as C11 and as C++17, without a warning.
set -eu
source_dir=$1
build_dir=$2
shift 2
failed=0
for compiler in "$@"; do
    language='c-header -std=c11 -Wstrict-prototypes'
    case $compiler in *++*) language='c++-header -std=c++17' ;; esac
    # Several files, each compiled by itself.
    # shellcheck disable=SC2086
    "$compiler" -x $language -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I"$source_dir/include" \
        -I"$build_dir/include" "$source_dir"/include/moegeom/*.h || failed=1
done
exit "$failed"
