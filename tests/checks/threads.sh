#!/bin/sh
# sh threads.sh SOURCE: every public function that samples is called in a test of its bits at several numbers of threads,
# a tests/*/test_threads.c. Jobs are made by functions of their own; how they are run is tested in tests/base.
set -eu
cd "$1"
# One declaration a line.
functions=$(cat include/moegeom/*.h | tr '\n' ' ' | sed 's/MOEG_EXPORT/\n&/g' |
    sed -n 's/^MOEG_EXPORT [a-z_]* \(moeg_[a-z0-9_]*\)([^;]*const moeg_sampling \*.*/\1/p' |
    grep -v -x -e moeg_sampling_check -e moeg_job_run)
[ -n "$functions" ] || { echo 'no function that samples was found'; exit 1; }
failed=0
for function in $functions; do
    cat tests/*/test_threads.c | grep -q "$function(" || {
        echo "$function: not in a test_threads.c, which would compare its bits on 1, 2 and 5 threads"
        failed=1
    }
done
exit $failed
