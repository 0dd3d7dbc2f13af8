#!/bin/sh
# sh edges.sh SOURCE: the include edges. A chapter may include itself and the chapters before it, never one after it.
# The chapter of a public header is the comment above it in the umbrella header, which holds every one exactly once.
# Only the linear algebra and the guard see BLAS and LAPACKE, and public headers see of other libraries gsl_rng.h alone.
set -eu
cd "$1"
chapters=$(sed -n 's/^set(MOEG_CHAPTERS \(.*\))$/\1/p' src/CMakeLists.txt)
[ -n "$chapters" ] || { echo 'src/CMakeLists.txt: no list of chapters'; exit 1; }

for directory in src/*/; do
    name=$(basename "$directory")
    case " $chapters cmake " in
    *" $name "*) ;;
    *) echo "src/$name: not a chapter"; exit 1 ;;
    esac
done

# shellcheck disable=SC2046
awk -v chapters="$chapters" '
    function fail(text) { print FILENAME ":" FNR ": " text; failed = 1 }
    BEGIN {
        count = split(chapters, names, " ")
        for (i = 1; i <= count; i++) rank[names[i]] = i
    }
    FILENAME == "include/moegeom/moegeom.h" {
        if (match($0, /^\/\* [a-z]+ \*\/$/)) {
            chapter = substr($0, 4, length($0) - 6)
            if (!(chapter in rank)) fail("no such chapter: " chapter)
        } else if (match($0, /^#include <moegeom\/[a-z_]+\.h>$/)) {
            header = substr($0, 11, length($0) - 11)
            if (header in home) fail("included twice: " header)
            home[header] = chapter
        }
        next
    }
    FNR == 1 {
        public = FILENAME ~ /^include\//
        header = substr(FILENAME, 9)
        split(FILENAME, parts, "/")
        mine = public ? home[header] : parts[2]
        if (public && !(header in home)) { fail("not in the umbrella header"); mine = names[count] }
        blas_door = FILENAME ~ /^src\/base\/(linalg[a-z_]*|guard)\.c$/
        home["moegeom/export.h"] = "base"
    }
    /(^|[^A-Za-z_])(cblas_|LAPACKE_|openblas_|cblas\.h|lapacke\.h)/ && !blas_door {
        fail("BLAS and LAPACKE are seen in src/base/linalg*.c and guard.c only")
    }
    /^[ \t]*#[ \t]*include/ {
        target = $0
        sub(/^[^<"]*[<"]/, "", target)
        sub(/[>"].*$/, "", target)
        if ($0 ~ /"/) {
            if (public) fail("public headers include by <...>")
            if (split(target, parts, "/") != 2) fail("write the chapter: \"" mine "/" target "\"")
            theirs = parts[1]
            if (!(theirs in rank)) fail("no such chapter: " theirs)
        } else if (target ~ /^moegeom\//) {
            if (!(target in home)) fail("no such public header, or the umbrella: " target)
            theirs = target in home ? home[target] : mine
        } else {
            if (public && target ~ /\// && target != "gsl/gsl_rng.h") fail("public headers may not include " target)
            next
        }
        if (rank[theirs] > rank[mine]) fail(mine " may not include " target " of " theirs)
        edges++
    }
    END {
        for (header in home) if (system("test -e include/" header) != 0 && header != "moegeom/export.h") {
            print "include/moegeom/moegeom.h: no such header: " header; failed = 1
        }
        if (edges < 20) { print "only " edges + 0 " include edges found: the check does not see the tree"; failed = 1 }
        exit failed
    }' include/moegeom/moegeom.h $(find include src -name '*.[ch]' ! -name moegeom.h | LC_ALL=C sort)
