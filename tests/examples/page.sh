#!/bin/sh
# sh page.sh INDEX.html: what the page of the examples shows without scrolling, how it sets powers, and that no two
# elements have one name.
set -u
awk '
    /<section / { sections++ }
    /<div class="scroll">/ { scrolls = 1 }
    /<\/div>/ { scrolls = 0 }
    /^agrees with theory: / && !scrolls { verdicts++ }
    /^  ok / && scrolls { print "a check scrolls: " $0; bad = 1 }
    /^<p>.*\^/ { print "a caret: " $0; bad = 1 }
    /^<p>.*O\(τ<sup>α<\/sup>\)/ { powers++ }
    {
        rest = $0
        while (match(rest, / id=["\047][^"\047]*["\047]/)) {
            id = substr(rest, RSTART, RLENGTH)
            if (seen[id]++) { print "twice:" id; bad = 1 }
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    END {
        if (sections == 0 || verdicts != sections || powers == 0) {
            print sections " sections, " verdicts " verdicts in sight, " powers " powers"
            bad = 1
        }
        exit bad
    }' "$1"
