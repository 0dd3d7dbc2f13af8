#!/bin/sh
# Runs every example and makes one self-contained HTML page of their claims, tables and plots; see usage(). Installs
# (Debian, as root) and builds what is missing. The last line printed is the path of the page; the status is 1 if any
# example disagrees or fails.
set -u
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
. "$source_dir/tests/support/setup.sh"

# The runs: name of the output | program and arguments, from the top directory | claim.
runs() {
    cat <<'END'
tau_scaling|tau_scaling --family affine|Cooling a soft router to a hard one costs O(τ^α), with a known constant and a certified bound.
tau_scaling_power2|tau_scaling --family power2|The order is the margin exponent: a margin with α = 1/2, and its own constant.
tau_scaling_power3|tau_scaling --family power3|The same for α = 1/3.
tau_scaling_power5|tau_scaling --family power5|The same for α = 1/5: near ties are common, and cooling is slow.
tau_scaling_power_half|tau_scaling --family power1/2|The same for α = 2, by a density that vanishes at the tie.
tau_scaling_rayleigh|tau_scaling --family rayleigh|The same for α = 2, by another density: only exponent and constant matter.
tau_scaling_bounded|tau_scaling --family bounded|Where the margin is bounded below, cooling costs an exponentially small gap.
tau_scaling_lines|tau_scaling --K 8 --d 32 --experts affine|Eight experts in 32 dimensions: on lines the gap is measured down to any temperature, where as many sampled rows lose it.
tau_scaling_mlp|tau_scaling --K 8 --d 32 --experts mlp|The same of experts with a hidden layer, evaluated where lines meet the ties.
boundary_mass|boundary_mass|The probability of a near tie is linear in its width, with the slope of the coarea formula.
boundary_mass_five|boundary_mass --r 1|The same of five experts, far below the papers’ pairwise bound.
boundary_mass_order2|boundary_mass --r 2|Three experts nearly tie with a probability that is quadratic in the width.
boundary_mass_top3|boundary_mass --k 3|The gap that decides which three experts are active: linear again, with the constant of its own interfaces.
boundary_mass_lines|boundary_mass --K 8 --d 32|The near ties of eight experts in 32 dimensions, on lines, down to any width.
symmetry_breaking|symmetry_breaking|Two experts that are alike part along one direction, at a rate that grows as 1/τ; with decay, below a critical temperature.
cooling_diamonds|cooling_report --data examples/data/diamonds.csv --target price --log carat,price --standardize --centroids 8|On the prices of diamonds: margins, boundary mass, its exponent, and the gap at each temperature.
cooling_diabetes|cooling_report --data examples/data/diabetes.csv --target progression --standardize --centroids 4|On the progression of diabetes: the same, with few rows.
cooling_holdout|cooling_report --data examples/data/diabetes.csv --target progression --standardize --centroids 4 --holdout 0.3 --gate subset --k 2|The same measured on rows held out, with the two best experts of each row.
END
}

usage() {
    echo 'usage: sh examples/reproduce.sh [--quick] [--out DIR] [--build-dir DIR | --programs DIR]'
    echo '  --quick          smaller runs, the same claims'
    echo '  --out DIR        where index.html, the tables and the plots go; build/report if not given'
    echo '  --build-dir DIR  where to build; build/ in the source tree if not given'
    echo '  --programs DIR   where built programs stand: install and build nothing'
}

quick=
build_dir=$source_dir/build
out=
programs=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=--quick ;;
    --out | --build-dir | --programs)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        case $1 in
        --out) out=$2 ;;
        --build-dir) build_dir=$2 ;;
        --programs) programs=$2 ;;
        esac
        shift
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

if [ -z "$programs" ]; then
    # Unquoted lists are meant to be split.
    # shellcheck disable=SC2086,SC2154
    require_packages $build_packages gnuplot-nox || exit 1
    echo "Building in $build_dir"
    configure_and_build "$source_dir" "$build_dir" examples -DCMAKE_BUILD_TYPE=Release -DMOEG_BUILD_EXAMPLES=ON || exit 1
    programs=$build_dir/examples
fi
programs=$(CDPATH='' cd -- "$programs" && pwd) || exit 1
out=${out:-$build_dir/report}
mkdir -p "$out" && out=$(CDPATH='' cd -- "$out" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$out/.index.html.$$"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

escape() {
    sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/"/\&quot;/g' "$@"
}

# Sets what follows a caret, up to a bracket or a space, as an exponent.
raise() {
    sed 's|\^\([^][ (),]*\)|<sup>\1</sup>|g'
}

# table FILE.csv: an HTML table; the first row is the head.
table() {
    escape "$1" | awk '
        # Splits a record of CSV, whose quotes have become &quot;.
        function split_record(line, fields,    n, quoted) {
            n = 0
            while (1) {
                quoted = line ~ /^&quot;/
                if (quoted) {
                    line = substr(line, 7)
                    fields[++n] = ""
                    while (match(line, /&quot;/)) {
                        fields[n] = fields[n] substr(line, 1, RSTART - 1)
                        line = substr(line, RSTART + 6)
                        if (line !~ /^&quot;/) break
                        fields[n] = fields[n] "&quot;"
                        line = substr(line, 7)
                    }
                } else {
                    match(line, /^[^,]*/)
                    fields[++n] = substr(line, 1, RLENGTH)
                    line = substr(line, RLENGTH + 1)
                }
                if (line == "") return n
                line = substr(line, 2)
            }
        }
        # A column is aligned as its first value.
        function row(cells, n, tag, like,    i) {
            printf "<tr>"
            for (i = 1; i <= n; i++)
                printf "<%s%s>%s</%s>", tag, like[i] ~ number ? " class=\"n\"" : "", cells[i], tag
            print "</tr>"
        }
        BEGIN { number = "^[-+]?([0-9.]+([eE][-+]?[0-9]+)?|inf|nan)$" }
        { sub(/\r$/, "") }
        NR == 1 { columns = split_record($0, names); next }
        {
            n = split_record($0, cells)
            if (NR == 2) {
                print "<div class=\"scroll\"><table><thead>"
                row(names, columns, "th", cells)
                print "</thead><tbody>"
            }
            row(cells, n, "td", cells)
        }
        END { if (NR > 1) print "</tbody></table></div>" }'
}

# plot FILE.svg NAME: the drawing without its XML head. Names inside get a prefix of their own: the page holds several.
# Those of curves begin anew in each panel, and nothing refers to them.
plot() {
    sed -n '/<svg/,$p' "$1" | sed -e 's/ id="gnuplot_plot_[^"]*"//' -e "s/ id=\\([\"']\\)/ id=\\1$2-/g" -e "s/href=\\([\"']\\)#/href=\\1#$2-/g" \
        -e "s/url(\\([\"']\\{0,1\\}\\)#/url(\\1#$2-/g" -e "s|<title>Gnuplot</title>|<title>$2</title>|"
}

# section NAME COMMAND CLAIM STATUS VERDICT: one example on the page.
section() {
    printf '<section id="%s">\n<h2>%s <span class="%s">%s</span></h2>\n' "$1" "$1" "$4" "$5"
    printf '<p>%s</p>\n<p class="command"><code>%s</code></p>\n' "$(echo "$3" | escape | raise)" "$(echo "$2" | escape)"
    [ ! -s "$out/$1.svg" ] || { echo '<figure>' && plot "$out/$1.svg" "$1" && echo '</figure>'; }
    # The checks and the verdict stand below the box that scrolls.
    if [ -s "$work/$1.out" ]; then
        printf '<div class="scroll"><pre>' && sed '/^checks:$/,$d' "$work/$1.out" | escape && echo '</pre></div>'
        printf '<pre class="checks">' && sed -n '/^checks:$/,$p' "$work/$1.out" | escape && echo '</pre>'
    fi
    if [ -s "$work/$1.err" ]; then
        printf '<div class="scroll"><pre class="error">' && escape "$work/$1.err" && echo '</pre></div>'
    fi
    if [ -s "$out/$1.csv" ]; then
        printf '<details open><summary>%s.csv, %d rows</summary>\n' "$1" $(($(wc -l <"$out/$1.csv") - 1))
        table "$out/$1.csv"
        echo '</details>'
    fi
    echo '</section>'
}

gnuplot=$(command -v gnuplot)
[ -n "$gnuplot" ] || echo 'gnuplot is not installed: no plots'
cd "$source_dir" || exit 1
total=$(runs | wc -l)
number=0
failed=0
runs >"$work/runs"
while IFS='|' read -r name command claim; do
    number=$((number + 1))
    printf '[%d/%d] %s: ' "$number" "$total" "$name"
    rm -f "$out/$name.csv" "$out/$name.svg"
    start=$(date +%s)
    # The list of arguments is meant to be split.
    # shellcheck disable=SC2086
    "$programs/"$command $quick --csv "$out/$name.csv" ${gnuplot:+--plot "$out/$name.svg"} \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
    class=bad
    case $status in
    0) class=good verdict='agrees' ;;
    1) verdict='disagrees' ;;
    *) verdict="failed with status $status" ;;
    esac
    if [ "$status" -eq 0 ] && [ ! -s "$out/$name.csv" ]; then
        class=bad verdict='wrote no table'
    elif [ "$status" -eq 0 ] && [ -n "$gnuplot" ] && [ ! -s "$out/$name.svg" ]; then
        class=bad verdict='wrote no plot'
    fi
    printf '%s (%d s)\n' "$verdict" $(($(date +%s) - start))
    if [ $class = bad ]; then
        failed=$((failed + 1))
        sed 's/^/    /' "$work/$name.out" "$work/$name.err"
    fi
    printf '<li><a href="#%s">%s</a> <span class="%s">%s</span></li>\n' "$name" "$name" "$class" "$verdict" >>"$work/list"
    section "$name" "build/examples/$command${quick:+ $quick}" "$claim" "$class" "$verdict" >>"$work/sections"
done <"$work/runs"

version=$(awk '/define MOEG_VERSION_/ { printf "%s%s", dot, $3; dot = "." }' include/moegeom/version.h)
if [ "$failed" -eq 0 ]; then
    summary="<p class=\"good\">All $total agree with the theory.</p>"
else
    summary="<p class=\"bad\">$failed of $total disagree or failed.</p>"
fi
{
    cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>libmoegeom $version: claims and measurements</title>
<style>
END
    cat examples/report.css
    cat <<END
</style>
</head>
<body>
<header>
<h1>Soft to hard: claims and measurements</h1>
<p>Every example of libmoegeom $version${quick:+, in its quick form}: the theory beside what was measured. A run of the
same version on the same processor type gives the same numbers.</p>
$summary
</header>
<nav><ol>
END
    cat "$work/list"
    echo '</ol></nav>'
    echo '<main>'
    cat "$work/sections"
    echo '</main>'
    echo '</body>'
    echo '</html>'
} >"$out/.index.html.$$" && mv "$out/.index.html.$$" "$out/index.html" || exit 1
echo "$out/index.html"
[ "$failed" -eq 0 ]
