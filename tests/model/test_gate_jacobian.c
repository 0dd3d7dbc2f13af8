#include "model/model.h"
#include "model/rows.h"
#include "model/subsets.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { K = 6, KINDS = 4 };

static const double eps_unit = 0x1p-1074;

static moeg_gate gate_of(int kind, size_t k)
{
    return (moeg_gate){(moeg_gate_kind)kind, kind == MOEG_GATE_SOFTMAX ? 0 : k};
}

/* All gates in long double: softmax of what the gate sees; SUBSET from enumeration. */
static void wide_gates(moeg_gate gate, const double *a, const long double *shift, double tau, long double *g)
{
    const size_t k = gate.kind == MOEG_GATE_SOFTMAX ? K : gate.k;
    const unsigned top = top_set(K, a, k);
    long double sum = 0;
    for (size_t i = 0; i < K; i++)
        g[i] = 0;
    if (gate.kind == MOEG_GATE_SUBSET) {
        for (unsigned set = 0; set < 1u << K; set++) {
            long double exponent = 0;
            for (size_t i = 0; i < K; i++)
                exponent += (int)(set >> i & 1) * ((long double)a[i] - a[0] + shift[i]) -
                            (int)(top >> i & 1) * ((long double)a[i] - a[0]);
            if ((size_t)__builtin_popcount(set) != k)
                continue;
            sum += expl(exponent / tau);
            for (size_t i = 0; i < K; i++)
                g[i] += set >> i & 1 ? expl(exponent / tau) / k : 0;
        }
    } else {
        for (size_t i = 0; i < K; i++) {
            const int seen = gate.kind != MOEG_GATE_TOPK_RENORM || top >> i & 1;
            const long double term = seen ? expl(((long double)a[i] - a[0] + shift[i]) / tau) : 0;
            sum += term;
            g[i] = gate.kind != MOEG_GATE_TOPK_RAW || top >> i & 1 ? term : 0;
        }
    }
    for (size_t i = 0; i < K; i++)
        g[i] /= sum;
}

/* Central differences of steps h and h/2, extrapolated: error h^4 of the fifth derivative, and rounding. */
static long double difference(moeg_gate gate, const double *a, double tau, size_t i, size_t j)
{
    long double slope[2], g[2][K];
    for (int half = 0; half < 2; half++) {
        const long double h = 1e-3L * tau / (1 + half);
        for (int side = 0; side < 2; side++) {
            long double shift[K] = {0};
            shift[j] = side ? h : -h;
            wide_gates(gate, a, shift, tau, g[side]);
        }
        slope[half] = (g[1][i] - g[0][i]) / (2 * h);
    }
    return (4 * slope[1] - slope[0]) / 3;
}

static void jacobians_match_differences(void **state)
{
    (void)state;
    if (LDBL_MANT_DIG <= DBL_MANT_DIG)
        skip();
    const double taus[] = {1e-290, 1e-3, 0.43, 1, 1e200};
    for (size_t t = 0; t < sizeof taus / sizeof *taus; t++)
        for (int kind = 0; kind < KINDS; kind++)
            for (size_t k = 1; k <= K; k++) {
                double a[K], J[K * K];
                fill_values(t + 10 * k, K, 3 * taus[t], a);
                assert_ok(moeg_gate_jacobian(gate_of(kind, k), 1, K, a, taus[t], J));
                for (size_t i = 0; i < K; i++)
                    for (size_t j = 0; j < K; j++)
                        /* h^4 = 1e-12 of a derivative of order 1/tau, long double's epsilon over h. */
                        assert_near(J[i * K + j] * taus[t],
                                    (double)difference(gate_of(kind, k), a, taus[t], i, j) * taus[t], 1e-13);
            }
}

/* SUBSET, every entry to its own relative precision, far from the tie too: covariances by enumeration. */
static void subset_covariances_keep_their_digits(void **state)
{
    (void)state;
    if (LDBL_MAX_EXP <= DBL_MAX_EXP)
        skip();
    double worst = 0, worst_diagonal = 0;
    for (size_t number = 0; number < 2000; number++) {
        double a[K], u[2], J[K * K];
        fill_values(number, K, 1, a);
        fill_values(number + 7000, 2, 1, u);
        const size_t k = 2 + number % (K - 2);
        const double tau = pow(10, 290 * u[0]), spread = pow(10, 1 + 1.3 * u[1]);
        for (size_t i = 0; i < K; i++)
            a[i] *= tau * spread;
        if (number % 4 == 0)
            a[1] = -INFINITY;
        if (number % 4 == 1)
            a[2] = a[5] = a[0];
        const subsets s = enumerate_subsets(K, a, k, tau);
        assert_ok(moeg_gate_jacobian(moeg_gate_subset(k), 1, K, a, tau, J));
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++) {
                const int mixed = ((s.winners >> i ^ s.winners >> j) & 1) != 0;
                const long double c = s.change[i] * s.change[j], covariance = s.both[i][j] - c;
                const long double expected = (mixed ? -covariance : covariance) / k / tau;
                /* The enumeration's own difference loses what cancels in it. */
                const long double lost = 64 * LDBL_EPSILON * (s.both[i][j] + c) / k / tau;
                const long double error = fabsl(J[i * K + j] - expected);
                const double allowed = i == j ? 16 * EPS : 64 * EPS;
                if (!(error <= allowed * fabsl(expected) + lost + 8 * eps_unit * (1 + 1 / (long double)tau)))
                    fail_msg("case %zu (%zu, %zu): got %.17g, expected %.20Lg", number, i, j, J[i * K + j], expected);
                if (lost < EPS * fabsl(expected) && fabsl(expected) > 1e-290L * (1 + 1 / (long double)tau)) {
                    double *at = i == j ? &worst_diagonal : &worst;
                    *at = fmax(*at, (double)(error / fabsl(expected)) / EPS);
                }
            }
    }
    print_message("largest relative error %.2f epsilon on the diagonal, %.2f off it\n", worst_diagonal, worst);
}

/* Where a gate is close to 1 its complement keeps its digits; large logits, and small temperatures, lose nothing. */
static void softmax_in_closed_form(void **state)
{
    (void)state;
    const double known = 0.19661193324148185; /* e/(1 + e)^2 */
    double J[4];
    const double large[2] = {1e6, 1e6 - 1}, small[2] = {0, -1e-3}, far[2] = {300, 0};
    assert_ok(moeg_gate_jacobian(moeg_gate_softmax(), 1, 2, large, 1, J));
    assert_relative(J[0], known, 8 * EPS);
    assert_relative(J[1], -known, 8 * EPS);
    assert_relative(J[3], known, 8 * EPS);
    assert_ok(moeg_gate_jacobian(moeg_gate_softmax(), 1, 2, small, 1e-3, J));
    assert_relative(J[0], 196.61193324148185, 8 * EPS);
    for (int kind = 0; kind < KINDS; kind++) {
        /* k = 2 of two: SUBSET's gates are 1/2, whatever the logits. */
        const moeg_gate gate = gate_of(kind, kind == MOEG_GATE_SUBSET ? 1 : 2);
        assert_ok(moeg_gate_jacobian(gate, 1, 2, far, 1, J));
        assert_relative(J[0], exp(-300), 8 * EPS);
        assert_relative(J[1], -exp(-300), 8 * EPS);
        assert_relative(J[2], -exp(-300), 8 * EPS);
        assert_relative(J[3], exp(-300), 8 * EPS);
    }
    assert_ok(moeg_gate_jacobian(moeg_gate_topk_raw(1), 1, 2, far, 1, J));
    assert_relative(J[1], -exp(-300), 8 * EPS);
    assert_near(J[2], 0, 0);
    assert_near(J[3], 0, 0);
    assert_ok(moeg_gate_jacobian(moeg_gate_topk_renorm(1), 1, 2, far, 1, J));
    for (size_t e = 0; e < 4; e++)
        assert_near(J[e], 0, 0);
}

/* Equal logits: p = k/n, covariances -p (1 - p)/(n - 1), a small part of P(both change) for two winners. */
static void equal_experts_in_closed_form(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static double a[MANY], J[MANY * MANY];
    const double tau = 0.77;
    for (size_t i = 0; i < MANY; i++)
        a[i] = -2.385;
    for (size_t k = 2; k < MANY; k += 295) {
        const double p = (double)k / MANY, variance = p * (1 - p) / (double)k / tau;
        assert_ok(moeg_gate_jacobian(moeg_gate_subset(k), 1, MANY, a, tau, J));
        for (size_t i = 0; i < MANY; i++)
            for (size_t j = 0; j < MANY; j++)
                assert_relative(J[i * MANY + j], i == j ? variance : -variance / (MANY - 1), 32 * EPS);
    }
}

static void no_gate_depends_on_a_common_shift(void **state)
{
    (void)state;
    double a[3 * K], J[3 * K * K], alone[K * K];
    fill_values(77, 3 * K, 4, a);
    a[4] = a[9] = -INFINITY;
    for (int kind = 0; kind < KINDS; kind++) {
        const moeg_gate gate = gate_of(kind, 3);
        assert_ok(moeg_gate_jacobian(gate, 3, K, a, 0.7, J));
        for (size_t row = 0; row < 3; row++) {
            assert_ok(moeg_gate_jacobian(gate, 1, K, a + row * K, 0.7, alone));
            assert_same_bits(alone, J + row * K * K, K * K);
            for (size_t i = 0; i < K; i++) {
                double sum = 0;
                for (size_t j = 0; j < K; j++) {
                    sum += alone[i * K + j];
                    if (a[row * K + i] == -INFINITY || a[row * K + j] == -INFINITY)
                        assert_near(alone[i * K + j], 0, 0);
                }
                assert_near(sum, 0, 8 * EPS);
            }
        }
    }
}

static void ties_are_undefined_where_they_decide(void **state)
{
    (void)state;
    const double first[2 * 4] = {4, 3, 2, 1, 7.25, 1, 7.25, -1}, second[4] = {2.5, 2.5, 9, 1};
    double J[2 * 16];
    const char text[] =
        "gate_jacobian: the logits of ranks 1 and 2 of row 1 tie, where the gates are not differentiable";
    mark(32, J);
    for (int kind = 0; kind < KINDS; kind++) {
        assert_status(moeg_gate_jacobian(gate_of(kind, 1), 2, 4, first, 0, J), MOEG_EDOM, text);
        if (kind != MOEG_GATE_SUBSET)
            assert_status(moeg_gate_jacobian(gate_of(kind, 2), 2, 4, first, 0, J), MOEG_EDOM, text);
    }
    assert_status(moeg_gate_jacobian(moeg_gate_topk_raw(1), 2, 4, first, 2.5, J), MOEG_EDOM, text);
    assert_status(moeg_gate_jacobian(moeg_gate_topk_renorm(1), 2, 4, first, 2.5, J), MOEG_EDOM, text);
    assert_status(moeg_gate_jacobian(moeg_gate_topk_renorm(2), 1, 4, second, 1, J), MOEG_EDOM,
                  "ranks 2 and 3 of row 0 tie");
    assert_status(moeg_gate_jacobian(moeg_gate_subset(2), 1, 4, second, 0, J), MOEG_EDOM, "ranks 2 and 3 of row 0 tie");
    assert_true(is_marked(32, J));
    /* Off the deciding tie, and where a temperature smooths it. */
    assert_ok(moeg_gate_jacobian(moeg_gate_subset(2), 2, 4, first, 0, J));
    for (size_t e = 0; e < 32; e++)
        assert_near(J[e], 0, 0);
    assert_ok(moeg_gate_jacobian(moeg_gate_topk_raw(2), 1, 4, second, 0, J));
    assert_near(J[0], 0, 0);
    assert_ok(moeg_gate_jacobian(moeg_gate_softmax(), 2, 4, first, 1e-300, J));
    assert_relative(J[16], 0.25e300, 4 * EPS);
    assert_ok(moeg_gate_jacobian(moeg_gate_subset(2), 1, 4, second, 1e-300, J));
    assert_relative(J[0], 0.125e300, 8 * EPS);
    assert_relative(J[1], -0.125e300, 8 * EPS);
}

static moeg_status make_jacobian(void *user)
{
    const moeg_gate *gate = user;
    const double a[4] = {0.5, -1.25, 2.385, 0.1};
    double J[16];
    mark(16, J);
    const moeg_status status = moeg_gate_jacobian(*gate, 1, 4, a, 0.4, J);
    if (status != MOEG_OK)
        assert_true(is_marked(16, J));
    return status;
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    double a[4] = {0.5, -1.25, 2.385, 0.1}, J[8];
    mark(8, J);
    const moeg_gate softmax = moeg_gate_softmax();
    assert_status(moeg_gate_jacobian(softmax, 2, 0, a, 1, J), MOEG_EINVAL,
                  "gate_jacobian: K must be at least 1, got 0");
    assert_status(moeg_gate_jacobian(softmax, 2, 2, NULL, 1, J), MOEG_EINVAL, "gate_jacobian: logits must not be NULL");
    assert_status(moeg_gate_jacobian(softmax, 2, 2, a, 1, NULL), MOEG_EINVAL,
                  "gate_jacobian: jacobian must not be NULL");
    assert_status(moeg_gate_jacobian(softmax, 2, 2, a, -1, J), MOEG_EINVAL, "gate_jacobian: tau must be 0 or in");
    assert_status(moeg_gate_jacobian(moeg_gate_subset(3), 2, 2, a, 1, J), MOEG_EINVAL,
                  "gate_jacobian: gate.k must be in [1, K = 2], got 3");
    a[2] = NAN;
    assert_status(moeg_gate_jacobian(softmax, 2, 2, a, 1, J), MOEG_EINVAL,
                  "logits[1, 0] must be finite or -inf, got nan");
    a[2] = -INFINITY;
    assert_status(moeg_gate_jacobian(moeg_gate_subset(2), 2, 2, a, 1, J), MOEG_EDOM, "row 1 has 1 finite logits");
    assert_true(is_marked(8, J));
    assert_ok(moeg_gate_jacobian(softmax, 0, 2, NULL, 1, NULL));
    for (int kind = 0; kind < KINDS; kind++) {
        moeg_gate gate = gate_of(kind, 2);
        assert_int_equal(fail_every_allocation(make_jacobian, &gate), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jacobians_match_differences),
        cmocka_unit_test(subset_covariances_keep_their_digits),
        cmocka_unit_test(softmax_in_closed_form),
        cmocka_unit_test(equal_experts_in_closed_form),
        cmocka_unit_test(no_gate_depends_on_a_common_shift),
        cmocka_unit_test(ties_are_undefined_where_they_decide),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
