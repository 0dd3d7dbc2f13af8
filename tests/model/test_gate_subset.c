#include "model/model.h"
#include "model/rows.h"
#include "model/subsets.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { MOST = 64, TEXT = 1 << 16 };

/* Relative error allowed: the odds' 1.6 epsilon for each of two exponentials, twice; and roundings. */
static const double ALLOWED = 8 * EPS;

/* A line of tests/reference/subset.csv: a kind, the case's name, N, k, and after that fields of numbers. */
typedef struct line {
    char *kind, *fields[6];
    size_t N, k;
} line;

static int read_line(FILE *file, char *text, line *l)
{
    do
        if (fgets(text, TEXT, file) == NULL)
            return 0;
    while (text[0] == '#');
    assert_non_null(strchr(text, '\n'));
    char *rest = text, *save = NULL;
    l->kind = strtok_r(rest, ",\n", &save);
    strtok_r(NULL, ",\n", &save);
    l->N = (size_t)strtoul(strtok_r(NULL, ",\n", &save), NULL, 10);
    l->k = (size_t)strtoul(strtok_r(NULL, ",\n", &save), NULL, 10);
    for (int i = 0; i < 6; i++)
        l->fields[i] = strtok_r(NULL, ",\n", &save);
    assert_true(l->N <= MOST);
    return 1;
}

static void read_doubles(char *text, size_t n, double *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = strtod(text, &text);
    assert_int_equal(*text, '\0');
}

static void read_wide(char *text, size_t n, long double *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = strtold(text, &text);
    assert_int_equal(*text, '\0');
}

/* Whether it is within ALLOWED, relative, and `units` halves of a subnormal unit. Returns the relative error in
 * epsilons where it is normal. */
static double check_value(double value, long double expected, double units)
{
    const long double error = fabsl(value - expected), size = fabsl(expected);
    if (!(error <= ALLOWED * size + units * 0x1p-1075L))
        fail_msg("got %.17g, expected %.20Lg: off by %Lg epsilon", value, expected, error / (EPS * size));
    return size > 2 * DBL_MIN ? (double)(error / size) / EPS : 0;
}

static void assert_sums_to(size_t K, const double *g, double expected, double tolerance)
{
    long double sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += g[k];
    assert_near((double)(sum - expected), 0, tolerance);
}

/* The change of each expert against the k largest, in a block of one unit repeated. */
static void deviation(moeg_gate gate, size_t K, const double *a, double tau, double *change)
{
    enum { STRIDE = 8 };
    static double block[MOST * STRIDE], out[MOST * STRIDE], sum[STRIDE];
    double *workspace = moeg_alloc(moeg_gate_workspace(gate, K), sizeof *workspace);
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < STRIDE; i++)
            block[k * STRIDE + i] = a[k];
    moeg_deviation_block(gate, K, STRIDE, block, tau, out, sum, workspace);
    for (size_t k = 0; k < K; k++)
        change[k] = out[k * STRIDE + 5];
    moeg_release(workspace);
}

/* Gates are p/k; they change by p/k where tau = 0 gives 0, and by -q/k where it gives 1/k. */
static double check_subset(const line *l)
{
    double tau, a[MOST], g[MOST], hard[MOST], change[MOST], worst = 0;
    long double p[MOST], q[MOST];
    const moeg_gate gate = moeg_gate_subset(l->k);
    read_doubles(l->fields[0], 1, &tau);
    read_doubles(l->fields[1], l->N, a);
    read_wide(l->fields[2], l->N, p);
    read_wide(l->fields[3], l->N, q);
    assert_ok(moeg_gates(gate, 1, l->N, a, tau, g));
    assert_ok(moeg_gates(gate, 1, l->N, a, 0, hard));
    deviation(gate, l->N, a, tau, change);
    for (size_t i = 0; i < l->N; i++) {
        worst = fmax(worst, check_value(g[i], p[i] / l->k, 1));
        const long double expected = hard[i] > 0 ? -q[i] / l->k : p[i] / l->k;
        worst = fmax(worst, check_value(change[i], expected, 1));
    }
    assert_sums_to(l->N, g, 1, 2 * EPS);
    return worst;
}

static void check_zero(const line *l)
{
    double a[MOST], p[MOST], g[MOST], change[MOST];
    read_doubles(l->fields[0], l->N, a);
    read_doubles(l->fields[1], l->N, p);
    assert_ok(moeg_gates(moeg_gate_subset(l->k), 1, l->N, a, 0, g));
    deviation(moeg_gate_subset(l->k), l->N, a, 0, change);
    for (size_t i = 0; i < l->N; i++) {
        assert_near(g[i], p[i] / (double)l->k, 0);
        assert_near(change[i], 0, 0);
    }
}

static void check_undefined(const line *l)
{
    double a[MOST], g[MOST];
    char text[80];
    size_t finite = 0;
    read_doubles(l->fields[0], l->N, a);
    for (size_t i = 0; i < l->N; i++)
        finite += isfinite(a[i]) != 0;
    mark(l->N, g);
    snprintf(text, sizeof text, "gates: row 0 has %zu finite logits, fewer than %zu", finite, l->k);
    for (int kind = MOEG_GATE_TOPK_RENORM; kind <= MOEG_GATE_SUBSET; kind++)
        for (double tau = 0; tau <= 1; tau += 1)
            assert_status(moeg_gates((moeg_gate){(moeg_gate_kind)kind, l->k}, 1, l->N, a, tau, g), MOEG_EDOM, text);
    assert_true(is_marked(l->N, g));
}

/* As tau -> 0: 1/k for those always in, kprime/(tied k) on the tied ones. */
static void check_face(const line *l)
{
    double a[MOST], g[MOST], expected[MOST] = {0};
    read_doubles(l->fields[0], l->N, a);
    size_t always = 0, tied = 0, members[MOST];
    for (char *at = l->fields[1]; *at != '-' && *at != '\0'; always++)
        expected[strtoul(at, &at, 10)] = 1;
    for (char *at = l->fields[2]; *at != '-' && *at != '\0'; tied++)
        members[tied] = strtoul(at, &at, 10);
    const double needed = strtod(l->fields[3], NULL);
    assert_int_equal(always + (size_t)needed, l->k);
    for (size_t i = 0; i < tied; i++)
        expected[members[i]] = needed / (double)tied;
    assert_ok(moeg_gates(moeg_gate_subset(l->k), 1, l->N, a, 1e-300, g));
    for (size_t i = 0; i < l->N; i++)
        check_value(g[i], (long double)expected[i] / l->k, 0);
}

static void gates_match_the_reference(void **state)
{
    (void)state;
    FILE *file = fopen(MOEG_TEST_DATA "/subset.csv", "r");
    assert_non_null(file);
    static char text[TEXT];
    size_t counts[4] = {0};
    double worst = 0;
    for (line l; read_line(file, text, &l);) {
        if (strcmp(l.kind, "subset") == 0) {
            worst = fmax(worst, check_subset(&l));
            counts[0]++;
        } else if (strcmp(l.kind, "subset_zero") == 0) {
            check_zero(&l);
            counts[1]++;
        } else if (strcmp(l.kind, "subset_undefined") == 0) {
            check_undefined(&l);
            counts[2]++;
        } else {
            assert_string_equal(l.kind, "face");
            check_face(&l);
            counts[3]++;
        }
    }
    fclose(file);
    print_message("%zu rows: largest relative error %.2f epsilon\n", counts[0], worst);
    assert_true(counts[0] > 240 && counts[1] > 30 && counts[2] == 4 && counts[3] > 20);
}

/* Random logits, masks and ties at temperatures of every size, against enumeration. */
static void gates_match_enumeration(void **state)
{
    (void)state;
    if (LDBL_MAX_EXP <= DBL_MAX_EXP)
        skip(); /* the enumeration needs the range */
    double worst = 0;
    for (size_t number = 0; number < 3000; number++) {
        const size_t K = 1 + number % 8, k = 1 + number / 8 % K;
        double a[8], u[3], g[8], change[8];
        fill_values(number, 8, 1, a);
        fill_values(number + 5000, 3, 1, u);
        const double tau = pow(10, 299 * u[0]), spread = pow(10, 1.5 + 1.4 * u[1]);
        for (size_t i = 0; i < K; i++) {
            const double level = number % 3 == 0 ? floor(3 * a[i]) / 3 : a[i];
            a[i] = tau * spread * level;
            if (number % 5 == 0 && i % 3 == 1 && K - k > K / 3)
                a[i] = -INFINITY;
        }
        const moeg_gate gate = moeg_gate_subset(k);
        const subsets expected = enumerate_subsets(K, a, k, tau);
        assert_ok(moeg_gates(gate, 1, K, a, tau, g));
        deviation(gate, K, a, tau, change);
        for (size_t i = 0; i < K; i++) {
            const int wins = expected.winners >> i & 1;
            /* 1 - change loses digits of the enumeration where the gate is small: by long double's epsilon. */
            const long double p = wins ? 1 - expected.change[i] : expected.change[i];
            worst = fmax(worst, check_value(g[i], p / k, 1));
            worst = fmax(worst, check_value(change[i], (wins ? -1 : 1) * expected.change[i] / k, 1));
        }
        assert_sums_to(K, g, 1, 2 * EPS);
        assert_sums_to(K, change, 0, 2 * EPS);
    }
    print_message("largest relative error %.2f epsilon\n", worst);
}

static void one_is_softmax_and_all_is_uniform(void **state)
{
    (void)state;
    enum { N = 40, K = 9 };
    double a[N * K], g[N * K], softmax[N * K];
    fill_values(7, N * K, 5, a);
    a[3] = a[14] = -INFINITY;
    for (double tau = 1e-3; tau < 1e3; tau *= 7) {
        assert_ok(moeg_gates(moeg_gate_subset(1), N, K, a, tau, g));
        assert_ok(moeg_gates_softmax(N, K, a, tau, softmax));
        assert_same_bits(g, softmax, N * K);
    }
    assert_ok(moeg_gates(moeg_gate_subset(K), N - 2, K, a + 2 * K, 0.77, g));
    for (size_t i = 0; i < (N - 2) * K; i++)
        assert_near(g[i], 1.0 / K, 0);
    assert_ok(moeg_gates(moeg_gate_subset(K - 1), 2, K, a, 0.77, g));
    for (size_t i = 0; i < 2 * K; i++)
        assert_near(g[i], a[i] == -INFINITY ? 0 : 1.0 / (K - 1), 0);
}

/* C(1500, 750) is 1e450, and of 2^1500 sets few have 3 members: nothing overflows or vanishes, and a winner's gate
 * keeps its digits where it is small. */
static void thousands_of_experts_do_not_overflow(void **state)
{
    (void)state;
    enum { K = 1500 };
    static double a[K], g[K];
    const size_t counts[] = {2, 3, 500, K / 2, K - 2};
    for (size_t i = 0; i < K; i++)
        a[i] = -3.25;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        assert_ok(moeg_gates(moeg_gate_subset(counts[c]), 1, K, a, 0.1, g));
        for (size_t i = 0; i < K; i++)
            assert_relative(g[i], 1.0 / K, ALLOWED);
    }
    /* One exchange, k (K - k) ways: each loser comes with probability k e^{-gap}. */
    const double gap = 690;
    for (size_t i = 0; i < K; i++)
        a[i] = i % 5 == 2 ? 0 : -gap;
    assert_ok(moeg_gates(moeg_gate_subset(K / 5), 1, K, a, 1, g));
    for (size_t i = 0; i < K; i++)
        assert_relative(g[i], i % 5 == 2 ? 1.0 / (K / 5) : exp(-gap), ALLOWED);
    assert_sums_to(K, g, 1, 2 * EPS);
}

/* Gaps over the whole range of exp, to the last subnormal number and past it. */
static void far_gaps_end_in_zero(void **state)
{
    (void)state;
    for (double gap = 690; gap < 760; gap += 0.0703125) {
        const double a[4] = {0, -gap, 0, -gap}, p = exp(-gap);
        double g[4], change[4];
        assert_ok(moeg_gates(moeg_gate_subset(2), 1, 4, a, 1, g));
        deviation(moeg_gate_subset(2), 4, a, 1, change);
        for (size_t i = 0; i < 4; i++) {
            /* Two exchanges bring a loser in; its gate is half of that. exp itself rounds to subnormal numbers. */
            assert_near(g[i], i % 2 ? p : 0.5, ALLOWED * (i % 2 ? p : 0.5) + 0x1p-1074);
            assert_near(change[i], i % 2 ? p : -p, ALLOWED * p + 0x1p-1074);
        }
    }
}

static moeg_status make_gates(void *user)
{
    const double a[4] = {0.5, -1.25, 2.385, 0.1};
    double *g = user;
    mark(4, g);
    const moeg_status status = moeg_gates(moeg_gate_subset(2), 1, 4, a, 0.4, g);
    if (status != MOEG_OK)
        assert_true(is_marked(4, g));
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    double g[4], a[2] = {1, 2};
    assert_int_equal(fail_every_allocation(make_gates, g), 1);
    /* A table that no memory holds. */
    assert_true(moeg_gate_workspace(moeg_gate_subset(SIZE_MAX / 8), SIZE_MAX / 4) >= SIZE_MAX / 4);
    assert_ok(moeg_gates(moeg_gate_subset(1), 1, 2, a, 1, a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_match_the_reference),
        cmocka_unit_test(gates_match_enumeration),
        cmocka_unit_test(one_is_softmax_and_all_is_uniform),
        cmocka_unit_test(thousands_of_experts_do_not_overflow),
        cmocka_unit_test(far_gaps_end_in_zero),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
