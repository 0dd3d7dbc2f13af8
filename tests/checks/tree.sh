#!/bin/sh
# sh tree.sh SOURCE: what is under version control is what should be. Skipped outside a clone, except in CI.
set -eu
cd "$1"
if ! git -c safe.directory='*' ls-files --error-unmatch CMakeLists.txt >/dev/null 2>&1; then
    echo 'not a clone of the repository'
    [ "${CI:-}" = true ] && exit 1
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -c safe.directory='*' ls-files >"$work/files"

# none TEXT: the lines of standard input are failures of this kind.
none() {
    sed "s|^|$1: |" >"$work/lines"
    if [ -s "$work/lines" ]; then
        cat "$work/lines"
        : >"$work/failed" # a variable set behind a pipe would be lost
    fi
}
sed 's|/.*||' "$work/files" | sort -u |
    grep -v -x -E '\..*|CMakeLists\.txt|include|src|tests|examples|docs|README\.md|LICENSE' |
    none 'does not belong in the top directory'
grep -v '^examples/data/' "$work/files" | sed 's|^|./|' | xargs -d '\n' sh -c 'find "$@" -size +1024k' sh | none 'larger than 1 MiB'
xargs -d '\n' sh -c 'find "$@" -type l' sh <"$work/files" | none 'symbolic link'

grep -E '\.(c|h|cpp|sh|cmake|in|md|txt)$|^\.ci/run$' "$work/files" >"$work/text"
xargs -d '\n' grep -n -E '[[:blank:]]$' <"$work/text" | none 'blank at the end of a line'
xargs -d '\n' grep -n "$(printf '\t')" <"$work/text" | none 'tab'
if [ "$(xargs -d '\n' tail -q -c 1 <"$work/text" | tr -c -d '\n' | wc -c)" -ne "$(wc -l <"$work/text")" ]; then
    while read -r file; do
        test -z "$(tail -c 1 "$file")" || echo "$file"
    done <"$work/text" | none 'no newline at the end'
fi
grep -v '^tests/checks/tree.sh$' "$work/text" | xargs -d '\n' grep -n -w -E 'TODO|FIXME|XXX|march=native' |
    none 'unfinished or unwanted'

# A test that CMake does not pick up would never fail.
grep '^tests/.*/test_[^/]*\.c$' "$work/files" | grep -v -E '^tests/[a-z]+/test_[a-z0-9_]+\.c$' |
    none 'not where tests/CMakeLists.txt looks'
grep '^src/.*\.c$' "$work/files" | grep -v -E '^src/[a-z]+/[a-z0-9_]+\.c$' | none 'not where src/CMakeLists.txt looks'
[ ! -e "$work/failed" ]
