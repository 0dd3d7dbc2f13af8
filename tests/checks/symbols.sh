#!/bin/sh
# sh symbols.sh SOURCE SHARED STATIC: the shared library exports exactly what the public headers declare with
# MOEG_EXPORT, and no global symbol of the static one is without our prefix.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration runs from MOEG_EXPORT to the first parenthesis or semicolon; its last word is the name.
cat "$1"/include/moegeom/*.h | awk '
    /^MOEG_EXPORT/ { text = ""; inside = 1 }
    inside {
        text = text " " $0
        if (match(text, /[(;]/)) {
            text = substr(text, 1, RSTART - 1)
            sub(/[ \t]+$/, "", text)
            sub(/^.*[^A-Za-z0-9_]/, "", text)
            print text
            inside = 0
        }
    }' | LC_ALL=C sort >"$work/declared"
nm -D --defined-only "$2" | awk '{ print $3 }' | LC_ALL=C sort >"$work/exported"
nm -g --defined-only "$3" | awk 'NF == 3 { print $3 }' >"$work/global"

# none TEXT: the lines of standard input are failures of this kind.
none() {
    sed "s/^/$1: /" >"$work/lines"
    if [ -s "$work/lines" ]; then
        cat "$work/lines"
        : >"$work/failed" # a variable set behind a pipe would be lost
    fi
}
LC_ALL=C comm -13 "$work/declared" "$work/exported" | none 'exported, but in no public header'
LC_ALL=C comm -23 "$work/declared" "$work/exported" | none 'declared, but not exported'
grep -v '^moeg_' "$work/declared" | none 'declared without the prefix moeg_'
grep -v '^moeg_' "$work/global" | none 'global in the static library without the prefix moeg_'
[ "$(wc -l <"$work/global")" -ge "$(wc -l <"$work/declared")" ] || { echo "$3: symbols are missing"; exit 1; }
echo "$(wc -l <"$work/exported") exported symbols"
[ ! -e "$work/failed" ]
