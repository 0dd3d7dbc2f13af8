/* The units of the coordinates of x are of no account: D x with rows W D^-1 is the same problem, also where the
 * variances are so far apart that a matrix with them on its diagonal looks singular, and where it is. */
#include "limit/lines.h"
#include "support/estimates.h"

enum { WIDTHS = 3, TAUS = 2, D = 5 };

static const double widths[WIDTHS] = {1e-12, 1e-2, 0.5}, taus[TAUS] = {0.1, 0.4};

struct answers {
    moeg_estimate mass[WIDTHS], order, gap[2][TAUS], slope[2];
};

static void solve(const struct problem *p, struct answers *a)
{
    moeg_sampling s = line_options();
    s.n = 1024;
    *a = (struct answers){.slope = {{.value = 0}}};
    assert_ok(moeg_boundary_mass(p->router, p->law, WIDTHS, widths, &s, a->mass));
    if (p->K > 2)
        assert_ok(moeg_boundary_gap_mass(p->router, moeg_gap_order(2), p->law, 1, &widths[2], &s, &a->order));
    for (int i = 0; i < 2; i++) {
        assert_ok(moeg_risk_gap(p->moe, p->teacher, p->law, both[i], TAUS, taus, &s, a->gap[i]));
        assert_ok(moeg_leading_slope(p->moe, p->teacher, p->law, both[i], &s, &a->slope[i]));
    }
}

/* The problem of D x, D = diag(unit), to be built. */
static struct problem in_units(const struct problem *p, const double *unit)
{
    struct problem q = *p;
    const size_t d = p->d;
    for (size_t i = 0; i < d; i++) {
        q.mean[i] *= unit[i];
        for (size_t j = 0; j < d; j++)
            q.covariance[i * d + j] *= unit[i] * unit[j];
        for (size_t k = 0; k < p->K; k++)
            q.W[k * d + i] /= unit[i];
        for (size_t k = 0; k < 2; k++)
            q.V[k * d + i] /= unit[i];
        for (size_t k = 0; k < p->K + 2; k++)
            for (size_t j = 0; j < p->m; j++)
                q.A[k][j * d + i] /= unit[i];
    }
    return q;
}

/* A problem of K experts in D dimensions, to be built; `flat`: x is confined to a hyperplane. */
static void draw(uint64_t seed, size_t K, int flat, int pieces, struct problem *p)
{
    double F[D * D];
    problem_draw(p, seed, K, D, 2);
    p->pieces = pieces;
    for (size_t i = 0; i < 2 * D; i++)
        p->V[i] = problem_number(seed, 900 + i);
    for (size_t i = 0; i < D * D; i++)
        F[i] = flat && i % D == D - 1 ? 0 : problem_number(seed, 800 + i);
    for (size_t i = 0; i < D * D; i++) {
        p->covariance[i] = 0;
        for (size_t l = 0; l < D; l++)
            p->covariance[i] += F[i / D * D + l] * F[i % D * D + l];
    }
}

static void assert_same(const struct answers *a, const struct answers *b)
{
    assert_same_estimates(a->mass, b->mass, WIDTHS);
    assert_same_estimates(&a->order, &b->order, 1);
    for (int i = 0; i < 2; i++)
        assert_same_estimates(a->gap[i], b->gap[i], TAUS);
    assert_same_estimates(a->slope, b->slope, 2);
}

/* To rounding, `size` being that of the terms; and, where x is confined, as far as other lines may be: units that are
 * no powers of two choose another basis of that hyperplane. */
static void assert_close_estimates(const moeg_estimate *a, const moeg_estimate *b, double size, int flat)
{
    assert_near(a->value, b->value, 1e-11 * size + (flat ? 4.5 * hypot(a->std_error, b->std_error) : 0));
}

static void assert_close(const struct answers *a, const struct answers *b, int flat)
{
    for (int j = 0; j < WIDTHS; j++)
        assert_close_estimates(&a->mass[j], &b->mass[j], b->mass[j].value, flat);
    assert_close_estimates(&a->order, &b->order, b->order.value, flat);
    for (int i = 0; i < 2; i++) {
        assert_close_estimates(&a->slope[i], &b->slope[i], 1, flat);
        for (int j = 0; j < TAUS; j++)
            assert_close_estimates(&a->gap[i][j], &b->gap[i][j], 1, flat);
    }
}

static void units_change_nothing(void **state)
{
    (void)state;
    static const double exact[2][D] = {{1, 0x1p27, 0x1p-27, 4, 0.5}, {0x1p-330, 1, 0x1p330, 0x1p-80, 0x1p90}};
    static const double rounded[D] = {1, 1e8, 1e-8, 7, 3e12};
    double least = 1;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct problem p;
        struct answers expected, got;
        draw(seed, 2 + seed % 5, seed % 2 == 1, 1 + seed / 4 % 2, &p);
        problem_build(&p);
        solve(&p, &expected);
        for (int u = 0; u < 3; u++) {
            struct problem q = in_units(&p, u == 2 ? rounded : exact[u]);
            problem_build(&q);
            solve(&q, &got);
            if (u < 2)
                assert_same(&got, &expected);
            else
                assert_close(&got, &expected, seed % 2 == 1);
            problem_free(&q);
        }
        least = fmin(least, expected.mass[2].value);
        problem_free(&p);
    }
    assert_true(least > 0.05);
}

/* Logits x_1 and -x_1, and one far below: P(|2 x_1| <= w), whatever x_2 does. */
static void a_wide_neighbour_is_not_felt(void **state)
{
    (void)state;
    static const double wide[] = {1, 1e15, 1e17, 1e40, 1e300, 1e-17, 1e-300};
    for (size_t v = 0; v < sizeof wide / sizeof *wide; v++) {
        struct problem p = {
            .K = 3, .d = 2, .m = 1, .covariance = {1, 0, 0, wide[v]}, .W = {1, 0, -1, 0}, .b = {0, 0, -50}};
        const moeg_sampling s = line_options();
        moeg_estimate mass[WIDTHS];
        problem_build(&p);
        assert_ok(moeg_boundary_mass(p.router, p.law, WIDTHS, widths, &s, mass));
        for (int j = 0; j < WIDTHS; j++)
            assert_relative(mass[j].value, erf(widths[j] / 2 / sqrt(2)), 20 * EPS);
        problem_free(&p);
    }
}

/* Outputs whose squares underflow, beside others, are as good as 0. */
static void tiny_outputs_are_as_good_as_none(void **state)
{
    (void)state;
    struct answers expected, got;
    for (int tiny = 0; tiny < 2; tiny++) {
        struct problem p;
        draw(3, 4, 0, 1, &p);
        for (size_t i = 0; i < 2 * D; i++) {
            p.A[0][i] = 0;
            p.A[1][i] *= tiny ? 1e-165 : 0;
        }
        problem_build(&p);
        solve(&p, tiny ? &got : &expected);
        problem_free(&p);
    }
    assert_close(&got, &expected, 0);
    assert_true(fabs(expected.gap[0][1].value) > 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_change_nothing),
        cmocka_unit_test(a_wide_neighbour_is_not_felt),
        cmocka_unit_test(tiny_outputs_are_as_good_as_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
