#!/bin/sh
# sh threads.sh SOURCE: every public function that samples is called in a test of its bits at several numbers of threads,
# a tests/*/test_threads.c; one whose doc comment speaks of lines, that are units, in a function of the list by_lines
# there, or in one that sets the method. Jobs are made by functions of their own; how they are run is tested in tests/base.
set -eu
cd "$1"
# One declaration a line, with its comment before it.
declarations=$(cat include/moegeom/*.h | tr '\n' ' ' | sed 's|/\*\*|\n&|g' |
    grep 'MOEG_EXPORT [a-z_]* moeg_[a-z0-9_]*([^;]*const moeg_sampling \*')
name='s/.*MOEG_EXPORT [a-z_]* \(moeg_[a-z0-9_]*\)(.*/\1/p'
functions=$(printf '%s\n' "$declarations" | sed -n "$name" | grep -v -x -e moeg_sampling_check -e moeg_job_run)
by_lines=$(printf '%s\n' "$declarations" | grep '[^a-z]lines[^a-z]' | sed -n "$name")
[ -n "$functions" ] && [ -n "$by_lines" ] || { echo 'no function that samples was found'; exit 1; }
tests=$(cat tests/*/test_threads.c)
failed=0
for function in $functions; do
    printf '%s\n' "$tests" | grep -q "$function(" || {
        echo "$function: not in a test_threads.c, which would compare its bits on 1, 2 and 5 threads"
        failed=1
    }
done
# The functions of the test that the list names, and those that set the method, and what they call.
list=$(printf '%s\n' "$tests" | tr '\n' ' ' | sed -n 's/.*by_lines\[\] = {\([^}]*\)}.*/\1/p' | tr -d ' ' | tr ',' ' ')
setting=$(printf '%s\n' "$tests" | awk '/^static [^;]*\)$/ { body = "" } { body = body "\n" $0 }
    /^}/ { if (body ~ /MOEG_METHOD_LINE/) print body; body = "" }')
for wrapper in $list; do
    setting="$setting $(printf '%s\n' "$tests" | sed -n "/^static moeg_status $wrapper(/,/^}/p")"
done
for function in $by_lines; do
    printf '%s\n' "$setting" | grep -q "$function(" || {
        echo "$function: not by lines in a test_threads.c"
        failed=1
    }
done
exit $failed
