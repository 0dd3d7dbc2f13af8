#!/bin/sh
# sh command_line.sh PROGRAMS DATA: what the example programs refuse, and that each of their options does something.
# Lists of arguments in one variable are meant to be split, and no command between && and || fails on its own.
# shellcheck disable=SC2086,SC2015
set -u
programs=$1
data=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

complain() {
    echo "$1"
    sed 's/^/    /' out err
    failed=1
}

# Files are read by the shell's own commands: there are some thousand of them to read, and a process each is most of
# the time that this takes.

# ends FILE TEXT: the last line of the file begins with it.
ends() {
    last=
    while IFS= read -r line; do
        last=$line
    done <"$1"
    case $last in "$2"*) return 0 ;; esac
    return 1
}

# one_error TEXT: standard error holds one line, an error that holds TEXT.
one_error() {
    line='' rest=''
    # Of a single line, the second read comes to the end.
    if ! { IFS= read -r line && ! IFS= read -r rest && [ -z "$rest" ]; } <err; then
        return 1
    fi
    case $line in 'error: '*"$1"*) return 0 ;; esac
    return 1
}

# refuses TEXT PROGRAM ARGUMENTS…: status 2, and on standard error one line that holds TEXT.
refuses() {
    text=$1 program=$2
    shift 2
    "$programs/$program" "$@" >out 2>err </dev/null
    status=$?
    [ $status -eq 2 ] && one_error "$text" || complain "status $status, expected 2 and \"$text\": $program $*"
}

# agrees PROGRAM ARGUMENTS…: status 0 and the verdict as the last line.
agrees() {
    program=$1
    shift
    "$programs/$program" "$@" >out 2>err </dev/null
    status=$?
    [ $status -eq 0 ] && ends out 'agrees with theory: ' || complain "status $status, expected agreement: $program $*"
}

# says TEXT…: the last output holds each of these.
says() {
    for text in "$@"; do
        grep -q -e "$text" out || complain "expected \"$text\""
    done
}

# csv FILE PROGRAM ARGUMENTS…: standard output holds the table alone, standard error ends with the verdict.
csv() {
    file=$1 program=$2
    shift 2
    "$programs/$program" "$@" --csv - >"$file" 2>err </dev/null || { cp "$file" out; complain "failed: $program $*"; }
    if ! awk -F, 'NR == 1 { fields = NF } NF != fields { bad = 1 } END { exit bad || NR == 0 }' "$file" ||
        ! ends err 'agrees'; then
        cp "$file" out
        complain "not a table on standard output and a verdict on standard error: $program $*"
    fi
}

# differ A B, same A B: of two tables.
differ() { ! cmp -s "$1" "$2" || { : >out; : >err; complain "$1 and $2 should differ"; }; }
same() { cmp -s "$1" "$2" || { : >out; : >err; complain "$1 and $2 should be the same"; }; }
rows() {
    count=-1
    while IFS= read -r line; do
        count=$((count + 1))
    done <"$1"
    [ $count -eq "$2" ] || { cp "$1" out; : >err; complain "$1 should have $2 rows"; }
}

# Every program refuses these.
for name in tau_scaling boundary_mass cooling_report symmetry_breaking; do
    refuses 'unknown option "--frobnicate"' $name --frobnicate
    refuses 'unknown option "-x"' $name -x
    # Names in full only.
    refuses 'unknown option "--thread"' $name --thread 2
    refuses 'unknown option "--thread=2"' $name --thread=2
    refuses 'unexpected argument "--"' $name --
    refuses '--help: expected no value, got "--help=3"' $name --help=3
    refuses 'unexpected argument "stray"' $name stray
    refuses '--csv: expected FILE after it, got nothing' $name --csv
    refuses '--csv: expected a value, got ""' $name --csv=
    refuses '--quick: expected no value' $name --quick=3
    refuses '--threads: expected a whole number from 0 to 4096, got "-1"' $name --threads -1
    refuses '--threads: expected a whole number from 0 to 4096, got "4097"' $name --threads 4097
    refuses '--threads: expected a whole number from 0 to 4096, got "two"' $name --threads two
    refuses '--seed: expected a whole number' $name --seed -1
    refuses '--seed: expected a whole number' $name --seed 18446744073709551616
    refuses '--seed: expected a whole number' $name --seed 1.5
    "$programs/$name" --help >out 2>err && grep -q '^usage: ' out && [ ! -s err ] || complain "$name --help"
    for option in csv plot quick seed threads; do
        grep -q "^  --$option " out || complain "$name --help says nothing of --$option"
    done
done
for grid in abc 1:2 1:2:3:4 0:1:3 -1:1:3 2:1:3 1:2:0 1:2:1 2:2:2 1:2:10001 1:2:2.5 1:nan:3 1:inf:3 1e-301:1:3 '' :: \
    1:2:99999999999999999999; do
    refuses '--tau: expected LO:HI:COUNT' tau_scaling --tau "$grid"
done
refuses '--w: expected LO:HI:COUNT' boundary_mass --w 2:1:3
refuses '--k, --r: expected at most one of them, got both' boundary_mass --k 1 --r 1
refuses '--k: expected 1 to 4 of five experts, got 5' boundary_mass --k 5
refuses '--k: expected a whole number, at least 1' boundary_mass --k 0
refuses 'at least 1 and at most 18446744073709551615 (2^53 if not in digits alone), got "99999999999999999999"' \
    boundary_mass --n 99999999999999999999
refuses '--r: expected 1 or 2, as no four of these experts tie anywhere, got 3' boundary_mass --r 3
refuses '--r: expected a whole number, at least 1' boundary_mass --r two
refuses '--method: expected auto or mc with --k or --r, got "line"' boundary_mass --r 2 --method line
refuses '--tau: expected LO:HI:COUNT' cooling_report --tau 2:1:3
refuses '--tau: expected LO:HI:COUNT' symmetry_breaking --tau 2:1:3
refuses '--tau: expected temperatures from 1e-3 to 10, got 0.0001 to 1' symmetry_breaking --tau 1e-4:1:3
refuses '--tau: expected temperatures from 1e-3 to 10, got 1 to 11' symmetry_breaking --tau 1:11:3
refuses '--d: expected a whole number, at least 2' symmetry_breaking --d 1
refuses '--d: expected at most 256, got 257' symmetry_breaking --d 257
refuses '--n: expected a whole number, at least 1' symmetry_breaking --n 0
refuses '--csv: cannot write "nowhere/x.csv": No such file' symmetry_breaking --n 1e15 --csv nowhere/x.csv
refuses '--csv: expected a file other than that of --plot' symmetry_breaking --csv x.svg --plot x.svg
refuses '--w: expected LO:HI:COUNT' cooling_report --w 2:1:3
for name in tau_scaling boundary_mass; do
    for n in 0 -3 1.5 1e16 nan many 18446744073709551616; do
        refuses '--n: expected a whole number, at least 1' $name --n $n
    done
    refuses '--method: expected auto, mc or line, got "sobol"' $name --method sobol
    # At once, not after hours.
    refuses '--csv: cannot write "nowhere/x.csv": No such file' $name --n 1e15 --csv nowhere/x.csv
    refuses '--plot: expected a file name that ends in .svg, got "x.png"' $name --plot x.png
    refuses '--plot: expected a file name that ends in .svg, got ".svg"' $name --plot .svg
    (PATH=/nowhere "$programs/$name" --plot x.svg >out 2>err)
    [ $? -eq 2 ] && grep -q -- '--plot: expected the program gnuplot' err || complain "$name without gnuplot"
done
refuses '--family: expected affine, power2, power3, power5, power1/2, rayleigh or bounded, got "mlp"' tau_scaling \
    --family mlp

# Routers of one's own.
printf '1,0.5,0.1\n-0.7,1,0\n0.2,-1.1,-0.3\n' >three.csv
printf '0.3,-0.2\n' >mean.csv
printf '1.1,0.3\n0.3,0.7\n' >cov.csv
printf '1,2\n2,1\n' >indefinite.csv
printf '1,2,3\n' >wide.csv
printf 'p,q\n1,2\n' >named.csv
printf '1,inf\n2,3\n' >infinite.csv
for name in tau_scaling boundary_mass; do
    refuses '--K, --d: expected without --router, whose file has its own' $name --router three.csv --K 3
    refuses '--K: expected a whole number, at least 2 and at most 18446744073709551615 (' $name --K 1
    refuses '--K: expected a whole number, at least 2 and at most 18446744073709551615 (' $name --K 0
    refuses '--K, --d: expected at most 4096 experts in 65536 dimensions, got 8 in 65537' $name --d 65537
    refuses '--router: ' $name --router missing.csv
    refuses '--router: expected no header in "named.csv"' $name --router named.csv
    refuses '--router: expected at least 2 rows in "wide.csv", one for each expert, got 1' $name --router wide.csv
    refuses '--router: expected finite numbers in "infinite.csv", got inf in row 1 of column c1' $name \
        --router infinite.csv
    refuses '--mean: expected 1 x 2 numbers in "wide.csv", as the columns of --router before its bias are 2, got 1 x 3' $name \
        --router three.csv --mean wide.csv
    refuses '--mean: expected 1 x 32 numbers in "wide.csv", as --d, which was not given, is 32, got 1 x 3' $name \
        --mean wide.csv
    refuses '--mean: expected 1 x 2 numbers in "wide.csv", as --d is 2, got 1 x 3' $name --d 2 --mean wide.csv
    refuses '--mean: expected finite numbers in "infinite.csv", got inf' $name --router three.csv --mean infinite.csv
    refuses '--mean: expected no header in "named.csv"' $name --router three.csv --mean named.csv
    refuses '--cov: expected 2 x 2 numbers in "mean.csv", as the columns of --router before its bias are 2, got 1 x 2' $name \
        --router three.csv --cov mean.csv
    refuses '--cov: law_gaussian: covariance must be positive semidefinite' $name --router three.csv --cov indefinite.csv
    refuses '--csv: expected a file other than that of --router' $name --router three.csv --csv three.csv
    refuses '--csv: expected a file other than that of --mean' $name --router three.csv --mean mean.csv --csv mean.csv
    refuses '--csv: expected a file other than that of --cov' $name --router three.csv --cov cov.csv --csv cov.csv
done
refuses '--n: risk_curve: n must be at least 4 lines for each of 3 ' tau_scaling --K 3 --d 5 --experts mlp --n 7
refuses '--n: boundary_gap_mass: n must be at least 4 lines for each of 4 strata, got 7' boundary_mass --K 4 --n 7
refuses '--experts: expected constant, affine or mlp, got "linear"' tau_scaling --experts linear
for own in '--K 3' '--d 3' '--router three.csv' '--mean mean.csv' '--cov cov.csv' '--experts mlp'; do
    refuses "--family, ${own% *}: expected one of them, as a family has two experts and a law of its own, got both" \
        tau_scaling --family affine $own
done
refuses '--k: expected at most 2 of 3 experts, got 3' boundary_mass --router three.csv --k 3
refuses '--r: expected at most 2 of 3 experts, got 7' boundary_mass --router three.csv --r 7

# What cooling_report is told to read.
printf 'a,b,y\n1,5,2\n2,5,3\n4,5,-1\n4,5,7\n' >some.csv
printf '1,2,0\n3,4,0\n' >router.csv
report='cooling_report --data some.csv --target y'
refuses '--data: expected a .csv or .npy file, got nothing' cooling_report --target y --centroids 2
refuses '--target: expected the name of a column, or none' cooling_report --data some.csv --centroids 2
refuses '--router, --centroids: expected one of them, got neither' $report
refuses '--router, --centroids: expected one of them, got both' $report --router router.csv --centroids 2
refuses '--centroids: expected a whole number, at least 2 and at most 18446744073709551615 (' $report --centroids 1
refuses '--centroids: expected a whole number, at least 2 and at most 18446744073709551615 (' $report --centroids 0
refuses '--centroids: expected at most as many experts as rows, 4, got 5' $report --centroids 5
refuses 'number of distinct rows, 3, got 4' $report --centroids 4
refuses '--seed: expected with --centroids or --holdout only' $report --router router.csv --seed 3
refuses '--gate: expected softmax, topk-renorm, topk-raw or subset, got "best"' $report --centroids 2 --gate best
refuses '--k: expected with a gate other than softmax, and only there' $report --centroids 2 --k 2
refuses '--k: expected with a gate other than softmax, and only there' $report --centroids 2 --gate subset
refuses '--k: expected at most 1 for 2 experts and this gate, got 2' $report --centroids 2 --gate subset --k 2
refuses '--holdout: expected a number between 0 and 1' $report --centroids 2 --holdout 1
refuses '--holdout: expected a share that leaves at least 2 of 4 rows' $report --centroids 2 --holdout 0.1
refuses '--weights: expected one of the columns a, b, y, got "z"' $report --centroids 2 --weights z
refuses '--weights: expected a column other than the target' $report --centroids 2 --weights y
refuses '--tau: expected with a target only' cooling_report --data some.csv --target none --centroids 2 --tau 1:2:3
refuses 'No such file' cooling_report --data missing.csv --target y --centroids 2
refuses 'No such file' cooling_report --data missing.npy --target y --centroids 2
refuses '--target: expected one of the columns a, b, y, got "z"' cooling_report --data some.csv --target z --centroids 2
refuses '--log: expected one of the columns a, b, y, got "z"' $report --centroids 2 --log a,z
refuses '--log: expected one of the columns a, b, y, got ""' $report --centroids 2 --log a,
refuses '--log: expected every column once, got "a" twice' $report --centroids 2 --log a,b,a
refuses '--log: expected positive values, got -1 in row 3 of column y' $report --centroids 2 --log a,y
refuses '--standardize: expected columns that vary, got 5 in every row of column b' $report --centroids 2 --standardize
printf 'a,b\n1,2\n3,x\n' >text.csv
refuses '--data: ' cooling_report --data text.csv --target b --centroids 2
printf 'a,b\n1,2\n3\n' >ragged.csv
refuses '--data: ' cooling_report --data ragged.csv --target b --centroids 2
printf 'a,b\n1,2\nnan,4\n' >nan.csv
refuses 'expected finite numbers in "nan.csv", got nan in row 2 of column a' cooling_report --data nan.csv --target b \
    --centroids 2
printf 'a,b\n1,2\n3,inf\n' >inf.csv
refuses 'got inf in row 2 of column b' cooling_report --data inf.csv --target b --centroids 2
printf 'y\n1\n2\n' >one.csv
refuses '--data: expected a column besides the target' cooling_report --data one.csv --target y --centroids 2
refuses '--router: ' $report --router missing.csv
printf '1,2\n3,4\n' >narrow.csv
refuses '--router: expected rows of 3 numbers in "narrow.csv" (2 weights, then the bias), got rows of 2' $report \
    --router narrow.csv
printf 'p,q,r\n1,2,3\n3,4,5\n' >header.csv
refuses '--router: expected no header in "header.csv"' $report --router header.csv
printf '1,2,3\n' >single.csv
refuses '--router: expected at least 2 rows in "single.csv", one for each expert, got 1' $report --router single.csv
printf '1,nan,3\n1,2,3\n' >bad.csv
refuses '--router: expected finite numbers in "bad.csv", got nan in row 1 of column c1' $report --router bad.csv
printf '1,2,3\n1,2,3\n1,2,3\n1,2,3\n1,2,3\n' >many.csv
refuses '--router: expected at most as many experts as rows, 4, got 5' $report --router many.csv
printf 'not an array' >bad.npy
refuses '--data: ' cooling_report --data bad.npy --target c0 --centroids 2
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" >flat.npy
printf '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\000\100' >>flat.npy
refuses 'expected a matrix with rows and columns in "flat.npy", got an array of 1 dimensions and 2 values' \
    cooling_report --data flat.npy --target c0 --centroids 2
refuses '--cov: expected a matrix with rows and columns in "flat.npy", got an array of 1 dimensions and 2 values' \
    tau_scaling --router three.csv --cov flat.npy
printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (), }" >point.npy
printf '\000\000\000\000\000\000\360\077' >>point.npy
refuses '--mean: expected a vector in "point.npy", got an array of 0 dimensions and 1 values' \
    tau_scaling --router three.csv --mean point.npy

# Outputs: what is there keeps its permissions, links are followed, and no input is overwritten.
cp some.csv input.csv
ln input.csv hard.csv
ln -s input.csv soft.csv
small='cooling_report --data input.csv --target y --centroids 2 --quick --csv'
for name in input.csv ./input.csv hard.csv soft.csv; do
    refuses "--csv: expected a file other than that of --data, got \"$name\"" $small $name
done
refuses '--csv: expected a file other than that of --router' cooling_report --data input.csv --target y \
    --router router.csv --csv router.csv
cmp -s some.csv input.csv || complain 'the input was changed'
printf 'old\n' >kept.csv
chmod 600 kept.csv
ln -s kept.csv link.csv
agrees $small link.csv
[ -L link.csv ] && [ -n "$(find kept.csv -perm 600)" ] && grep -q '^tau' kept.csv ||
    complain 'a link was replaced or permissions changed'
(umask 027 && agrees $small new.csv)
[ -n "$(find new.csv -perm 640)" ] || complain 'a new file has the permissions of the umask'
ln -s loop.csv loop.csv
refuses 'cannot write "loop.csv": Too many levels' $small loop.csv
mkdir folder.csv
refuses 'cannot write "folder.csv": Is a directory' $small folder.csv
refuses 'cannot write "kept.csv/x": Not a directory' $small kept.csv/x
# What is there stays as it is until the work is done.
printf 'old\n' >there.csv
refuses '--target: expected one of the columns' cooling_report --data input.csv --target z --centroids 2 --csv there.csv
echo old | cmp -s - there.csv || complain 'a file was changed by a program that failed'
refuses '--target: expected one of the columns' cooling_report --data input.csv --target z --centroids 2 --csv absent.csv
[ ! -e absent.csv ] || complain 'a file was made by a program that failed'
# What is no file is opened once: its reader gets the table.
agrees $small /dev/null
mkfifo pipe
cat pipe >piped.csv &
agrees $small pipe
wait
grep -q '^tau,' piped.csv || complain 'no table came out of a pipe'
printf 'old\n' >locked.csv
for mode in 400 444; do
    chmod $mode locked.csv
    # Root may write everything.
    [ -w locked.csv ] || refuses 'cannot write "locked.csv": Permission denied' $small locked.csv
done
[ -w locked.csv ] || grep -q -x old locked.csv || complain 'a read-only file was replaced'
if command -v gnuplot >/dev/null; then
    cp some.csv input.svg
    refuses '--plot: expected a file other than that of --data' cooling_report --data input.svg --target y \
        --centroids 2 --plot input.svg
    for name in tau_scaling boundary_mass; do
        refuses '--csv: expected a file other than that of --plot' $name --csv same.svg --plot same.svg
    done
fi
[ -z "$(find . -name '*.tmp')" ] || complain 'a temporary file was left behind'

# Standard output that is lost is a failure, whatever the numbers say.
lost() {
    status=$?
    : >out
    [ $status -eq 2 ] && one_error 'cannot write to standard output' ||
        complain "status $status, expected 2 since standard output is lost: $*"
}
for run in 'tau_scaling --n 1000 --tau 0.1:1:3' 'boundary_mass --n 1000' "$report --centroids 2 --quick" \
    'tau_scaling --help' 'boundary_mass --help' 'cooling_report --help' "$report --centroids 2 --quick --csv -"; do
    # Not open, and open for reading only.
    "$programs/"$run >&- 2>err
    lost "$run, closed"
    case $run in
    *'--csv -') ;;
    *)
        "$programs/"$run 1<some.csv 2>err
        lost "$run, read only"
        ;;
    esac
done
if [ -c /dev/full ] && [ -w /dev/full ]; then
    "$programs/"$report --centroids 2 --quick >/dev/full 2>err
    lost 'a full device'
fi
"$programs/cooling_report" --data some.csv --target y --centroids 2 --quick --csv unmixed.csv <&- >out 2>&- ||
    complain 'closed input and standard error are no failure'
head -n 1 unmixed.csv | grep -q '^tau,' || complain 'a table mixed with a standard stream'

# Verdicts, and what the options do.
agrees tau_scaling --quick
agrees tau_scaling --n 5 --tau 0.1:1:3
[ "$(grep -c '^  none  ' out)" -eq 2 ] || complain 'five rows and no small tau put sampling and order to no test'
agrees cooling_report --data "$data/diabetes.csv" --target progression --standardize --centroids 4 --quick
grep -q 'up to there, and more at the next of the grid$' out || complain 'the safe temperature ends inside the grid'
says 'of the population: at tau = .* too few rows feel it for an error bar\.$'
agrees cooling_report --data "$data/diabetes.csv" --target progression --standardize --centroids 4 --quick --tau 0.6:0.61:2
says 'of the population: at tau = 0.6 |gap| + 2 std. errors is above 1 %\.$'
agrees boundary_mass --quick
agrees cooling_report --data "$data/diabetes.csv" --target progression --standardize --centroids 4 --quick \
    --gate subset --k 2 --holdout 0.3 --weights bmi
says 'of the population: at tau = .* too few rows feel it for an error bar\.$'
agrees cooling_report --data "$data/diabetes.csv" --target progression --centroids 4 --quick --gate topk-renorm --k 1

diabetes="cooling_report --data $data/diabetes.csv --target progression --standardize --quick"
agrees $diabetes --centroids 4
for name in tau_scaling boundary_mass; do
    [ $name = tau_scaling ] && grid='--tau 1e-3:1:4' || grid='--w 1e-3:1:4'
    csv line.csv $name --n 20000 $grid
    rows line.csv 4
    csv sampled.csv $name --n 20000 $grid --method mc
    differ line.csv sampled.csv
    csv again.csv $name --n 20000 $grid --method line
    same line.csv again.csv
    csv other.csv $name --n 30000 $grid --method mc
    differ sampled.csv other.csv
    csv other.csv $name --n 2e4 $grid --method mc
    same sampled.csv other.csv
    csv other.csv $name --n 20000 $grid --method mc --seed 2
    differ sampled.csv other.csv
    for threads in 1 2 5; do
        csv threads.csv $name --n 20000 $grid --method mc --threads $threads
        same sampled.csv threads.csv
    done
    csv full.csv $name --n 20000
    csv quick.csv $name --n 20000 --quick
    differ full.csv quick.csv
    "$programs/$name" $grid --n 20000 --csv file.csv >out 2>err || complain "$name --csv file.csv"
    same line.csv file.csv
    ends out 'agrees' || complain "$name: no verdict on standard output"
done
head -n 1 full.csv | grep -q -x 'w,mass,lo,hi,leading,pairwise' || complain 'header of boundary_mass'
# gap OPTIONS ORDER CONSTANT SLOPE: what is above the mass at w = 1e-3, from the table of five experts.
gap() {
    agrees boundary_mass --quick $1
    csv gap.csv boundary_mass --n 20000 --w 1e-3:1:4 $1
    rows gap.csv 4
    sed -n 2p gap.csv | awk -F, -v order=$2 -v constant=$3 -v slope=$4 \
        '{ a = $5 / (constant * 1e-3 ^ order) - 1; b = $6 / (slope * 1e-3) - 1
           exit !(a < 1e-9 && a > -1e-9 && b < 1e-5 && b > -1e-5) }' || complain "constant of boundary_mass $1"
    csv other.csv boundary_mass --n 20000 --w 1e-3:1:4 $1 --method mc --threads 5
    same gap.csv other.csv
}
gap '--r 1' 1 1.3112699827 5.1489612803
gap '--k 1' 1 1.3112699827 5.1489612803
gap '--r 2' 2 0.82854682777 5.1489612803
gap '--k 2' 1 1.2351208527 5.1489612803
agrees boundary_mass --r 2 --n 100 --w 1e-3:1:3
[ "$(grep -c '^  none  ' out)" -eq 1 ] || complain 'a hundred rows put the exponent to no test'
csv affine.csv tau_scaling --quick --family affine
head -n 1 affine.csv | grep -q -x 'family,alpha,tau,gap,std_error,leading,bound' || complain 'header of tau_scaling'
sed -n 2p affine.csv | awk -F, '{ exit !($1 == "affine" && $2 == 1 && $6 / $3 < -1.5957690 && $6 / $3 > -1.5957692) }' ||
    complain 'the leading coefficient of tau_scaling is not -1.595769'
rows affine.csv 25

# family FAMILY ALPHA LEADING: exponent, and the leading term at tau = 1e-4.
family() {
    csv family.csv tau_scaling --quick --family $1 --tau 1e-4:1:3
    sed -n 2p family.csv | awk -F, -v family=$1 -v alpha=$2 -v leading=$3 \
        '{ off = $6 / leading - 1; exit !($1 == family && $2 "" == alpha && off < 1e-6 && off > -1e-6) }' ||
        complain "alpha or leading term of $1"
}
family power2 0.5 -0.01075099
family power3 0.3333333333333333 -0.04464893
family power5 0.2 -0.14062852
family power1/2 2 -4.424411e-08
family rayleigh 2 -2.772589e-08
# Of the rows that feel 1e-12 one in fourteen is nearer to the tie than 1e-16: logits that round would tie there.
agrees tau_scaling --family power5 --seed 5
# Rows beyond 45 tau, which are left out, are most of this gap.
agrees tau_scaling --quick --family bounded --tau 0.011547819846894583:0.02:2
says '^ *0.0115478 .* below e^-45' '^below e^-45: '
agrees tau_scaling --quick
says '^too few rows: '
! grep -q 'e^-45' out || complain 'a note on what the table does not say'
csv bounded.csv tau_scaling --quick --family bounded
grep -q '^bounded,inf,' bounded.csv || complain 'alpha of a bounded margin'
csv bounded.csv tau_scaling --quick --family bounded --tau 1e-4:1e-2:3
sed -n 2p bounded.csv | grep -q '^bounded,inf,1e-04,,0,,\|^bounded,inf,0.0001,,0,,' || complain 'a gap of e^-5000 should be blank'

# Routers of one's own: by lines and sampled, the same bits at any number of threads, and 12 decades.
routed() {
    name=$1
    shift
    agrees $name --quick "$@"
    csv line.csv $name --n 3000 "$@" --quick
    rows line.csv 13
    csv again.csv $name --n 3000 "$@" --quick --threads 3
    same line.csv again.csv
    csv again.csv $name --n 3000 "$@" --quick --method line
    same line.csv again.csv
    csv sampled.csv $name --n 3000 "$@" --quick --method mc
    differ line.csv sampled.csv
    awk -F, 'NR == 2 { first = $2 / $1 } NR == 8 { if (first == 0 || ($2 / $1 / first - 1) ^ 2 > 1e-4) exit 1 }' line.csv ||
        { cp line.csv out; complain "$name $*: not linear from 1e-12 to 1e-6"; }
}
routed tau_scaling --router three.csv --mean mean.csv --cov cov.csv
routed tau_scaling --K 4 --d 6 --experts constant --seed 3
# Bounds rise with tau, and are called certified where they are.
for kind in constant affine mlp; do
    csv bounds.csv tau_scaling --quick --experts $kind
    awk -F, 'NR > 1 { if ($7 < last) exit 1; last = $7 } END { exit NR != 14 }' bounds.csv ||
        complain "a bound that falls as tau rises, of $kind experts"
done
agrees tau_scaling --quick --experts constant
says ' certified bound$' '|gap| <= certified bound:' '^8192 rows sampled; 8192 lines drawn; seed 1$'
agrees tau_scaling --quick --experts affine
says ' bound from sampled moments$' '|gap| <= bound from sampled moments:'
# As many lines as a tolerance takes, or as were asked for.
agrees tau_scaling --quick --experts mlp
says '^8192 rows sampled; [1-4]... lines drawn' 'ok    the order in tau is 1: fitted to 8 values by lines' \
    '|gap| <= bound from sampled moments: at 16 of 16' 'ok    gap/leading -> 1: .* from other lines$'
agrees tau_scaling --quick --experts mlp --K 3 --d 5 --n 600
says '^600 rows sampled; 600 lines drawn'
# What was put to no test, and why.
agrees tau_scaling --quick --K 3 --d 2 --n 3000 --experts mlp
says 'no lines drawn: the router.s logits differ in one or two dimensions' '  by quadrature  ' \
    'fitted to . values by quadrature: [0-9.]*, to 0.01' 'ok    gap/leading -> 1: 1.000000 +- 0 at tau = 1e-12'
agrees tau_scaling --quick --K 3 --tau 0.1:1:3
says 'none  fewer than two values of tau below' 'none  no tau below .*, where the leading term is near'
printf '1,0.5,0.1\n1,0.5,0.1\n0.2,-1.1,-0.3\n' >same.csv
agrees tau_scaling --quick --router same.csv
says 'none  no bound is known: no margin condition of all pairs of experts: ' \
    'none  no order in tau without a leading term: ' ' checks\{0,1\} holds\{0,1\}, 3 could not be made$' \
    'none  no leading term is known: leading_slope: experts 0 and 1 tie everywhere where they decide'
# Interfaces far from the mean: the density on them changes over a length of sigma^2/mean, where no mass is yet.
for bias in 2 6 20 30; do
    printf '1,0,%s\n0,0,0\n' $bias >far.csv
    for run in 'boundary_mass' 'boundary_mass --w 1e-5:1:9' 'tau_scaling' 'tau_scaling --tau 1e-5:1e-1:9'; do
        agrees $run --quick --router far.csv
        says '^  ok    the order in [a-z]* is 1: .* by quadrature: \(1.000\|0.999\|0.998\)' \
            '^  ok    [a-z]*/leading -> 1: \(1.000\|0.999\)'
    done
done
printf '1,0,0\n0,0,0\n' >near.csv
printf '5,0\n' >five_away.csv
agrees boundary_mass --quick --router near.csv --mean five_away.csv
says '^  ok    the order in w is 1: '
agrees boundary_mass --quick --router far.csv --w 0.01:0.3:4
says 'none  fewer than two values of w below 0.000' 'none  no w below 0.000'
# Two experts at a constant distance: no density, no power of tau or w, and at that width rounding alone decides.
printf '1,2,0\n1,2,1\n' >apart.csv
agrees tau_scaling --quick --router apart.csv
says 'agrees with theory: 2 of 2 checks hold, 2 could not be made' 'none  no order in tau without a leading term: '
! grep -q -e '-0 ' -e 'lines *$' -e 'too few lines' out || complain 'a quadrature has no lines, and no gap is -0'
agrees boundary_mass --router apart.csv --w 0.5:2:3
says 'none  w = 1 is the constant difference of the logits of two experts' 'none  the leading term is 0, so that the order'
agrees boundary_mass --router apart.csv --w 1.000001:2:2
says 'ok    the intervals of quadrature and sample meet .*: 2 of 2' 'ok    |mass| <= pairwise bound: at 4 of 4, at most 1.000 '
# All experts tie at one point: no integral over interfaces is known, and nothing is held against one.
for name in boundary_mass tau_scaling; do
    agrees $name --quick --K 3 --d 1
    says 'none  no order in [a-z]* without a leading term: .* tie wherever two' 'none  no leading term is known: .* tie wherever two' \
        'agrees with theory: 2 of 2 checks hold, 2 could not be made'
done
# What is printed of a bound is what is judged: less the error of the sample.
agrees boundary_mass --quick --K 2 --d 1
says '|mass| <= pairwise bound: at 14 of 14, at most 1.000 of it, less the error'
agrees tau_scaling --quick --K 4
# The error of the ratio is that of both.
"$programs/tau_scaling" --quick --K 4 --csv ratio.csv >out 2>err
sed -n 's/.*gap.leading -> 1: .* +- \(.*\) at tau.* constant \([^ ]*\) +- \([^ ]*\) .*/\1,\2,\3/p' out |
    cat - ratio.csv | awk -F, 'NR == 1 { ratio = $1; constant = $3 / $2 }
        NR == 3 { off = ratio / sqrt(constant ^ 2 + ($3 / $6) ^ 2) - 1; exit !(off < 0.05 && off > -0.05) }' ||
    complain 'the error of gap/leading'
says 'the order in tau is 1: .*, in \[0.98[0-9]*, 1.0[01][0-9]*\], 0.01 of which'
grep -q '^  ok    gap/leading -> 1: ' out || complain 'the slope of the gap of four experts is known'
routed boundary_mass --router three.csv --mean mean.csv --cov cov.csv
routed boundary_mass --K 5 --d 9
csv other.csv boundary_mass --n 3000 --K 5 --d 9 --quick --seed 2
differ line.csv other.csv
head -n 1 line.csv | grep -q -x 'w,mass,std_error,lo,hi,leading,bound' || complain 'header of boundary_mass of a router'
# Two experts: one line, and the closed form of the constant.
csv two.csv tau_scaling --K 2 --d 3 --quick
sed -n 2p two.csv | awk -F, '{ off = $2 / $6 - 1; exit !($3 == 0 && off < 1e-9 && off > -1e-9) }' ||
    complain 'a gap of two experts is not its leading term at 1e-12'
csv two.csv boundary_mass --K 2 --d 3 --quick
sed -n 2p two.csv | awk -F, '{ off = $2 / $6 - 1; exit !($3 == 0 && off < 1e-9 && off > -1e-9) }' ||
    complain 'a mass of two experts is not its leading term at 1e-12'
# The five experts of --r and --k as files: the masses of lines have the constants of closed forms.
printf '1.2,0.1,0.05\n0.35,1.05,-0.15\n-0.95,0.6,0.2\n-0.7,-0.85,0.1\n0.4,-1.15,-0.25\n' >five.csv
printf '0.2,-0.1\n' >five_mean.csv
printf '1.1,0.3\n0.3,0.7\n' >five_cov.csv
five='boundary_mass --quick --router five.csv --mean five_mean.csv --cov five_cov.csv'
agrees $five --r 2
grep -q '^  ok    mass/leading -> 1: .*the constant 0.828547 ' out || complain 'the constant of order 2 of five experts'
agrees boundary_mass --quick --K 4 --d 2 --r 2
grep -q '^  none  no order in w without a leading term: ' out || complain 'no power of w where more experts tie at a point'
for rank in '1 1.3112699827' '2 1.2351208527'; do
    csv five_mass.csv $five --k ${rank% *}
    sed -n 2p five_mass.csv | awk -F, -v constant=${rank#* } \
        '{ off = $2 / $1 / constant - 1; exit !(off < 1e-9 && off > -1e-9) }' ||
        complain "the mass of five experts from files, ranks ${rank% *} and one more"
done
# Vectors lie or stand.
printf '0.3\n-0.2\n' >standing.csv
csv line.csv boundary_mass --router three.csv --mean mean.csv --quick --n 1000
csv again.csv boundary_mass --router three.csv --mean standing.csv --quick --n 1000
same line.csv again.csv
printf '1,2\n' >flat.csv
csv line.csv boundary_mass --router three.csv --mean flat.csv --quick --n 1000
csv again.csv boundary_mass --router three.csv --mean flat.npy --quick --n 1000
same line.csv again.csv

# Experts that part: the table of growth, six teachers at two temperatures, in the plane and (but one) sampled, then a
# phase diagram of 6 x 5 cells.
part='symmetry_breaking --quick --tau 0.1:0.4:2 --n 1000'
csv parts.csv $part --d 3
rows parts.csv 52
head -n 1 parts.csv | grep -q -x 'teacher,tau,sigma1,growth_measured,growth_predicted,alignment,flow,d,lambda,escape' ||
    complain 'header of symmetry_breaking'
for threads in 2 5; do
    csv threads.csv $part --d 3 --threads $threads
    same parts.csv threads.csv
done
csv other.csv $part --d 4
differ parts.csv other.csv
csv other.csv $part --d 3 --seed 2
differ parts.csv other.csv
csv other.csv symmetry_breaking --quick --tau 0.1:0.4:2 --n 1500 --d 3
differ parts.csv other.csv
# sqrt(2/pi) times 1.2, (1 + sqrt(1 + 4 0.36))/2, 1 and 1; growth to 1 %; nothing is measured where M = 0.
awk -F, -v sigma='0.957461,1.022110,0.797885,,0.797885,0' '
    BEGIN { split("parallel oblique orthogonal soft constant algebraic", name, " "); split(sigma, want, ",")
        for (i in name) expected[name[i]] = want[i] }
    NR > 1 && $7 == "plane" && expected[$1] != "" && ($3 - expected[$1]) ^ 2 > 1e-10 { print "sigma1: " $0; bad = 1 }
    NR > 1 && $10 == "algebraic" && ($4 != "" || $5 != 0 || $1 != "algebraic") { print; bad = 1 }
    NR > 1 && $9 == 0 && $10 != "algebraic" && (($5 * $2 / $3 - 1) ^ 2 > 1e-20 || ($4 / $5 - 1) ^ 2 > 1e-4) { print; bad = 1 }
    $1 == "parallel" && $7 == "plane" && $6 < 0.9999 { print; bad = 1 }
    NR > 1 && $9 > 0 && (($4 > 0) != ($3 / $2 > $9) || $8 != 2 || ($10 == "none") != ($4 < 0)) { print; bad = 1 }
    END { exit bad }' parts.csv >out || complain 'table of symmetry_breaking'
agrees $part --d 3
says ' M = 0 ' ' algebraic ' '^orthogonal: sigma1 = sigma2, so that no direction is the fastest' '0.0000 .. 1.0000$'
agrees symmetry_breaking --quick --tau 1:1:1 --d 8 --n 12
says '  too few rows  ' 'none  too few rows for error bars of the sampled M$'

csv four.csv $diabetes --centroids 4
rows four.csv 11
for threads in 1 2 5; do
    csv threads.csv $diabetes --centroids 4 --threads $threads
    same four.csv threads.csv
done
csv other.csv $diabetes --centroids 5
differ four.csv other.csv
csv other.csv $diabetes --centroids 4 --seed 5
differ four.csv other.csv
csv other.csv $diabetes --centroids 4 --log bmi,progression
differ four.csv other.csv
csv other.csv cooling_report --data "$data/diabetes.csv" --target progression --quick --centroids 4
differ four.csv other.csv
csv other.csv $diabetes --centroids 4 --tau 0.1:1:3
rows other.csv 3
csv mass.csv cooling_report --data "$data/diabetes.csv" --target none --centroids 4 --w 0.1:1:3
rows mass.csv 3
head -n 1 mass.csv | grep -q -x 'w,mass,lo,hi' || complain 'header of cooling_report without target'

# Plots: a whole file or none, whatever its name.
if command -v gnuplot >/dev/null; then
    printf '#!/bin/sh\nexit 3\n' >gnuplot
    chmod +x gnuplot
    (PATH=$work:$PATH "$programs/tau_scaling" --quick --plot x.svg >out 2>err)
    [ $? -eq 2 ] && grep -q -- '--plot: gnuplot could not draw "x.svg"' err && [ -z "$(ls x.svg* 2>/dev/null)" ] ||
        complain 'a gnuplot that fails'
    refuses '--plot: cannot write "nowhere/x.svg": No such file' boundary_mass --n 1e15 --plot nowhere/x.svg
    mkdir "it's a plot"
    for run in 'tau_scaling --quick' 'boundary_mass --quick' 'boundary_mass --quick --r 2' \
        'tau_scaling --quick --K 4' 'boundary_mass --quick --K 4' "$part --d 3" "$diabetes --centroids 4" \
        "cooling_report --data $data/diabetes.csv --target none --centroids 4 --quick"; do
        rm -f "it's a plot/"*
        "$programs/"$run --plot "it's a plot/x_1.svg" >out 2>err || complain "$run --plot"
        [ "$(ls "it's a plot")" = x_1.svg ] && grep -q '</svg>' "it's a plot/x_1.svg" || complain "$run: no plot"
        [ ! -s err ] || complain "$run: gnuplot has something to say"
    done
fi
exit $failed
