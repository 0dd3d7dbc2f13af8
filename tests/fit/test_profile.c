/* Experts by least squares against normal equations in long double, and minimum norm where slopes are not unique. */
#include "support/check.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { d = 3, m = 2, K = 3, n = 150 };

static const double W[K * d] = {0.9, -0.4, 0.3, -0.7, 0.8, 0.2, -0.1, -0.6, -1.1};
static const double b[K] = {0.15, -0.25, 0.05};

typedef struct problem {
    double x[n * d], y[n * m];
    moeg_router *router;
    size_t choice[n];
} problem;

static void make_problem(problem *p, double offset)
{
    assert_ok(moeg_stream_normals((moeg_stream){5, 78}, 0, n, d, p->x));
    assert_ok(moeg_stream_normals((moeg_stream){6, 78}, 0, n, m, p->y));
    double moved[K];
    for (size_t k = 0; k < K; k++) {
        moved[k] = b[k];
        for (size_t j = 0; j < d; j++)
            moved[k] -= W[k * d + j] * offset;
    }
    assert_ok(moeg_router_affine_create(&p->router, K, d, W, moved));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++)
            p->y[i * m + j] = 0.3 * p->y[i * m + j] + 2.385 * p->x[i * d + j] - 0.7 * p->x[i * d + 2] * p->x[i * d];
        for (size_t j = 0; j < d; j++)
            p->x[i * d + j] += offset;
    }
    assert_ok(moeg_router_top(p->router, n, p->x, 1, p->choice));
}

/* Solves the s x s system, s <= 4, with p right-hand sides (s x p) in place: Gauss, pivoting by rows. */
static void solve(size_t s, size_t p, long double *G, long double *h)
{
    for (size_t c = 0; c < s; c++) {
        size_t pivot = c;
        for (size_t r = c + 1; r < s; r++)
            if (fabsl(G[r * s + c]) > fabsl(G[pivot * s + c]))
                pivot = r;
        for (size_t j = 0; j < s; j++) {
            const long double t = G[c * s + j];
            G[c * s + j] = G[pivot * s + j];
            G[pivot * s + j] = t;
        }
        for (size_t j = 0; j < p; j++) {
            const long double t = h[c * p + j];
            h[c * p + j] = h[pivot * p + j];
            h[pivot * p + j] = t;
        }
        for (size_t r = 0; r < s; r++) {
            if (r == c)
                continue;
            const long double factor = G[r * s + c] / G[c * s + c];
            for (size_t j = 0; j < s; j++)
                G[r * s + j] -= factor * G[c * s + j];
            for (size_t j = 0; j < p; j++)
                h[r * p + j] -= factor * h[c * p + j];
        }
    }
    for (size_t c = 0; c < s; c++)
        for (size_t j = 0; j < p; j++)
            h[c * p + j] /= G[c * s + c];
}

/* The normal equations of cell k, the columns x_1 … x_d less `offset`, 1: coef (d + 1) x m. Returns the cell's rows. */
static size_t normal_equations(const problem *p, size_t k, double offset, long double *coef, long double *residual)
{
    enum { s = d + 1 };
    long double G[s * s] = {0};
    size_t rows = 0;
    for (size_t i = 0; i < s * m; i++)
        coef[i] = 0;
    for (size_t i = 0; i < n; i++) {
        if (p->choice[i] != k)
            continue;
        rows++;
        for (size_t u = 0; u < s; u++) {
            const long double zu = u < d ? (long double)p->x[i * d + u] - offset : 1;
            for (size_t v = 0; v < s; v++)
                G[u * s + v] += zu * (v < d ? (long double)p->x[i * d + v] - offset : 1);
            for (size_t o = 0; o < m; o++)
                coef[u * m + o] += zu * p->y[i * m + o];
        }
    }
    solve(s, m, G, coef);
    *residual = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < m && p->choice[i] == k; o++) {
            long double e = p->y[i * m + o] - coef[d * m + o];
            for (size_t j = 0; j < d; j++)
                e -= coef[j * m + o] * ((long double)p->x[i * d + j] - offset);
            *residual += e * e;
        }
    return rows;
}

static void free_experts(size_t count, moeg_expert **experts)
{
    for (size_t k = 0; k < count; k++)
        moeg_expert_free(experts[k]);
}

static void equals_the_normal_equations(void **state)
{
    (void)state;
    problem *p = malloc(sizeof *p);
    moeg_expert *experts[K];
    moeg_cell_fit fit[K];
    make_problem(p, 0);
    assert_ok(moeg_profile_hard(p->router, n, p->x, m, p->y, NULL, experts, fit));
    for (size_t k = 0; k < K; k++) {
        long double coef[(d + 1) * m], residual;
        double A[m * d], c[m];
        const size_t rows = normal_equations(p, k, 0, coef, &residual);
        assert_true(rows > 20);
        assert_int_equal(fit[k].rows, rows);
        assert_int_equal(fit[k].rank, d);
        assert_int_equal(fit[k].deficient, 0);
        assert_relative(fit[k].residual, (double)residual, 100 * EPS);
        assert_ok(moeg_expert_affine_form(experts[k], A, c));
        /* Condition number about 5, some hundred operations. */
        for (size_t o = 0; o < m; o++) {
            for (size_t j = 0; j < d; j++)
                assert_near(A[o * d + j], (double)coef[j * m + o], 200 * EPS);
            assert_near(c[o], (double)coef[d * m + o], 200 * EPS);
        }
    }
    free_experts(K, experts);
    assert_ok(moeg_profile_hard(p->router, n, p->x, m, p->y, NULL, experts, NULL));
    free_experts(K, experts);
    moeg_router_free(p->router);
    free(p);
}

/* At 1e9 the rows themselves are rounded to 1e-7; for those rows the slopes are right to all digits. */
static void data_far_from_the_origin(void **state)
{
    (void)state;
    problem *p = malloc(sizeof *p);
    moeg_expert *experts[K];
    moeg_cell_fit fit[K];
    make_problem(p, 1e9);
    assert_ok(moeg_profile_hard(p->router, n, p->x, m, p->y, NULL, experts, fit));
    for (size_t k = 0; k < K; k++) {
        long double coef[(d + 1) * m], residual;
        double A[m * d];
        normal_equations(p, k, 1e9, coef, &residual);
        assert_int_equal(fit[k].rank, d);
        /* The expert's own arithmetic is rounded at 1e9: 1e-7 in residuals of size 1. */
        assert_relative(fit[k].residual, (double)residual, 4e9 * EPS);
        assert_ok(moeg_expert_affine_form(experts[k], A, NULL));
        for (size_t o = 0; o < m; o++)
            for (size_t j = 0; j < d; j++)
                assert_near(A[o * d + j], (double)coef[j * m + o], 200 * EPS);
    }
    free_experts(K, experts);
    moeg_router_free(p->router);
    free(p);
}

/* A router of two experts that sends every row to expert 0. */
static moeg_router *one_cell(size_t dim)
{
    double weights[2 * 8] = {0};
    const double bias[] = {1, -1};
    moeg_router *router;
    assert_ok(moeg_router_affine_create(&router, 2, dim, weights, bias));
    return router;
}

/* y = 0.7 + 1.9 t exactly; features (t, t, 0.3 + offset, -2 t): slopes 1.9 (1, 1, 0, -2)/6 have minimum norm. */
static void dependent_columns_share_the_slope(void **state)
{
    (void)state;
    const double offsets[] = {0, 4096, 1e9};
    for (size_t s = 0; s < 3; s++) {
        enum { rows = 12, dim = 4 };
        double x[rows * dim], y[rows], A[dim], c;
        for (size_t i = 0; i < rows; i++) {
            const double t = 0.25 * (double)(i * i % 11) - 1.5;
            const double row[] = {t + offsets[s], t + offsets[s], 0.3 + offsets[s], -2 * t + offsets[s]};
            memcpy(x + i * dim, row, sizeof row);
            y[i] = 0.7 + 1.9 * t;
        }
        moeg_router *router = one_cell(dim);
        moeg_expert *experts[2];
        moeg_cell_fit fit[2];
        assert_ok(moeg_profile_hard(router, rows, x, 1, y, NULL, experts, fit));
        assert_int_equal(fit[0].rows, rows);
        assert_int_equal(fit[0].rank, 1);
        assert_int_equal(fit[0].deficient, 1);
        assert_near(fit[0].residual, 0, rows * pow(20 * EPS * (1 + offsets[s]), 2));
        assert_ok(moeg_expert_affine_form(experts[0], A, &c));
        const double expected[] = {1.9 / 6, 1.9 / 6, 0, -1.9 / 3};
        for (size_t j = 0; j < dim; j++)
            assert_near(A[j], expected[j], 40 * EPS);
        assert_near(A[2], 0, 0);
        double at_zero = c;
        for (size_t j = 0; j < dim; j++)
            at_zero += A[j] * offsets[s];
        at_zero += A[2] * 0.3;
        assert_near(at_zero, 0.7, 40 * EPS * (1 + offsets[s]));
        free_experts(2, experts);
        moeg_router_free(router);
    }
}

/* The residual of the experts returned, row by row, for a router of one cell. */
static double evaluated(const moeg_expert *expert, size_t rows, const double *x, const double *y)
{
    double sum = 0, out[64];
    assert_ok(moeg_expert_forward(expert, rows, x, out));
    for (size_t i = 0; i < rows; i++)
        sum += (y[i] - out[i]) * (y[i] - out[i]);
    return sum;
}

/* Columns (0 1 2 3) and the same + 1e9, apart by 1e-7 at the last row, which is one unit of rounding there: the slopes
 * are shared, as if they were equal. The line through 0, 1, 5, 2 has slope 1 and residual 9. */
static void dependent_but_for_rounding(void **state)
{
    (void)state;
    const double x[] = {0, 1e9, 1, 1e9 + 1, 2, 1e9 + 2, 3, 1e9 + 3.0000001}, y[] = {0, 1, 5, 2};
    moeg_router *router = one_cell(2);
    moeg_expert *experts[2];
    moeg_cell_fit fit[2];
    double A[2];
    assert_true(x[7] > 1e9 + 3);
    assert_ok(moeg_profile_hard(router, 4, x, 1, y, NULL, experts, fit));
    assert_int_equal(fit[0].rank, 1);
    assert_int_equal(fit[0].deficient, 1);
    assert_near(fit[0].residual, evaluated(experts[0], 4, x, y), 100 * EPS);
    assert_near(fit[0].residual, 9, 1e-6);
    assert_ok(moeg_expert_affine_form(experts[0], A, NULL));
    assert_near(A[0], 0.5, 1e-7);
    assert_near(A[1], 0.5, 1e-7);
    free_experts(2, experts);
    moeg_router_free(router);
}

/* Temperatures to two digits, humidity, and a pressure that is the temperature + 101325.3. A column that is constant
 * at 1e12 changes nothing, for it has no rounding to hide in. */
static void shifted_copy_of_a_column(void **state)
{
    (void)state;
    enum { rows = 60, dim = 4 };
    double x[rows * dim], y[rows], z[rows * 3], A[dim];
    assert_ok(moeg_stream_normals((moeg_stream){7, 78}, 0, rows, 3, z));
    for (size_t i = 0; i < rows; i++) {
        const double t = round(100 * (15 + 8 * z[3 * i])) / 100, row[] = {t, z[3 * i + 1], t + 101325.3, 1e12};
        memcpy(x + i * dim, row, sizeof row);
        y[i] = 2 * t + z[3 * i + 1] + z[3 * i + 2];
    }
    moeg_router *router = one_cell(dim);
    moeg_expert *experts[2];
    moeg_cell_fit fit[2];
    assert_ok(moeg_profile_hard(router, rows, x, 1, y, NULL, experts, fit));
    assert_int_equal(fit[0].rank, 2);
    assert_relative(fit[0].residual, evaluated(experts[0], rows, x, y), 100 * EPS);
    assert_true(fit[0].residual < 2 * rows);
    assert_ok(moeg_expert_affine_form(experts[0], A, NULL));
    assert_near(A[0], A[2], 1e-9);
    assert_near(A[0], 1, 0.05);
    assert_near(A[3], 0, 0);
    free_experts(2, experts);
    moeg_router_free(router);
}

/* Three rows in R^5 are met exactly, by slopes in the span of their differences D (2 x 5): D'(D D')^-1 of the outputs'
 * differences. */
static void fewer_rows_than_unknowns(void **state)
{
    (void)state;
    enum { rows = 3, dim = 5 };
    const double x[rows * dim] = {2.385,  -0.7, 1.1, 0.4, -1.9, 0.25, 1.6, -0.3,
                                  -1.375, 0.8,  0.9, 2.1, -2.2, 0.55, 1.45};
    const double y[rows] = {0.31, -1.27, 2.75}, offsets[] = {0, 1e9};
    for (size_t s = 0; s < 2; s++) {
        double moved[rows * dim], A[dim];
        long double D[2][dim], G[4] = {0}, h[2];
        for (size_t i = 0; i < rows * dim; i++)
            moved[i] = x[i] + offsets[s];
        for (size_t r = 0; r < 2; r++) {
            h[r] = (long double)y[r + 1] - y[0];
            for (size_t j = 0; j < dim; j++)
                D[r][j] = (long double)moved[(r + 1) * dim + j] - moved[j];
        }
        for (size_t r = 0; r < 2; r++)
            for (size_t q = 0; q < 2; q++)
                for (size_t j = 0; j < dim; j++)
                    G[2 * r + q] += D[r][j] * D[q][j];
        solve(2, 1, G, h);
        moeg_router *router = one_cell(dim);
        moeg_expert *experts[2];
        moeg_cell_fit fit[2];
        assert_ok(moeg_profile_hard(router, rows, moved, 1, y, NULL, experts, fit));
        assert_int_equal(fit[0].rank, 2);
        assert_int_equal(fit[0].deficient, 1);
        assert_near(fit[0].residual, 0, rows * pow(20 * EPS * (1 + offsets[s]), 2));
        assert_ok(moeg_expert_affine_form(experts[0], A, NULL));
        for (size_t j = 0; j < dim; j++)
            assert_near(A[j], (double)(h[0] * D[0][j] + h[1] * D[1][j]), 20 * EPS);
        free_experts(2, experts);
        moeg_router_free(router);
    }
}

/* Exactly d + 1 rows in general position: full rank, met exactly, not deficient. */
static void as_many_rows_as_unknowns(void **state)
{
    (void)state;
    const double x[] = {2.385, -0.7, 1.1, 0.4, -1.9, 0.25}, y[] = {0.31, -1.27, 2.75};
    moeg_router *router = one_cell(2);
    moeg_expert *experts[2];
    moeg_cell_fit fit[2];
    double out[3];
    assert_ok(moeg_profile_hard(router, 3, x, 1, y, NULL, experts, fit));
    assert_int_equal(fit[0].rank, 2);
    assert_int_equal(fit[0].deficient, 0);
    assert_ok(moeg_expert_forward(experts[0], 3, x, out));
    for (size_t i = 0; i < 3; i++)
        assert_near(out[i], y[i], 50 * EPS);
    free_experts(2, experts);
    moeg_router_free(router);
}

static void one_row_and_none(void **state)
{
    (void)state;
    const double x[] = {2.385, -1e8}, y[] = {0.31, -1.27};
    moeg_router *router = one_cell(2);
    moeg_expert *experts[2];
    moeg_cell_fit fit[2];
    double A[4], c[2];
    assert_ok(moeg_profile_hard(router, 1, x, 2, y, NULL, experts, fit));
    assert_int_equal(fit[0].rows, 1);
    assert_int_equal(fit[0].rank, 0);
    assert_int_equal(fit[0].deficient, 1);
    assert_near(fit[0].residual, 0, 0);
    assert_ok(moeg_expert_affine_form(experts[0], A, c));
    for (size_t i = 0; i < 4; i++)
        assert_near(A[i], 0, 0);
    assert_near(c[0], 0.31, 0);
    assert_near(c[1], -1.27, 0);
    assert_int_equal(fit[1].rows, 0);
    assert_int_equal(fit[1].rank, 0);
    assert_int_equal(fit[1].deficient, 1);
    assert_near(fit[1].residual, 0, 0);
    assert_ok(moeg_expert_affine_form(experts[1], A, c));
    for (size_t i = 0; i < 4; i++)
        assert_near(A[i], 0, 0);
    assert_near(c[0], 0, 0);
    assert_near(c[1], 0, 0);
    free_experts(2, experts);
    moeg_router_free(router);
}

static void errors(void **state)
{
    (void)state;
    double x[] = {2.385, -0.7, 1.1, 0.4, -1.9, 0.25}, y[] = {0.31, -1.27, 2.75};
    moeg_router *router = one_cell(2);
    moeg_expert *experts[2] = {NULL, NULL};
    moeg_cell_fit fit[2] = {{.rows = 99}};
    assert_status(moeg_profile_hard(NULL, 3, x, 1, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: router must not be NULL");
    assert_status(moeg_profile_hard(router, 0, x, 1, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: n must be at least 1, got 0");
    assert_status(moeg_profile_hard(router, 3, x, 0, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: m must be at least 1, got 0");
    assert_status(moeg_profile_hard(router, 3, NULL, 1, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: x must not be NULL");
    assert_status(moeg_profile_hard(router, 3, x, 1, NULL, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: y must not be NULL");
    assert_status(moeg_profile_hard(router, SIZE_MAX / 2 + 2, x, 1, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: x (9223372036854775809 x 2) has more values than memory can hold");
    assert_status(moeg_profile_hard(router, 3, x, SIZE_MAX / 2, y, NULL, experts, fit), MOEG_EINVAL,
                  "profile_hard: y (3 x 9223372036854775807) has more values than memory can hold");
    assert_status(moeg_profile_hard(router, 3, x, 1, y, NULL, NULL, fit), MOEG_EINVAL,
                  "profile_hard: experts must not be NULL");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t e = 0; e < 9; e++)
        for (size_t v = 0; v < 3; v++) {
            double *entry = e < 6 ? &x[e] : &y[e - 6];
            const double value = *entry;
            char text[64];
            snprintf(text, sizeof text, "profile_hard: %c[%zu, %zu] must be finite", e < 6 ? 'x' : 'y',
                     e < 6 ? e / 2 : e - 6, e < 6 ? e % 2 : 0);
            *entry = bad[v];
            assert_status(moeg_profile_hard(router, 3, x, 1, y, NULL, experts, fit), MOEG_EINVAL, text);
            *entry = value;
        }
    const double wide[] = {1e308, 0.4, -1e308, 0.7, 0, 1.9}, steep[] = {1e-300, 0, 2e-300, 1e-300, 5e-300, 0};
    assert_status(moeg_profile_hard(router, 3, wide, 1, y, NULL, experts, fit), MOEG_ERANGE,
                  "profile_hard: the least squares of cell 0 overflow");
    for (size_t i = 0; i < 3; i++)
        y[i] *= 1e20;
    assert_status(moeg_profile_hard(router, 3, steep, 1, y, NULL, experts, fit), MOEG_ERANGE,
                  "profile_hard: the least squares");
    assert_null(experts[0]);
    assert_int_equal(fit[0].rows, 99);
    moeg_router_free(router);
}

/* A logit that overflows is the router's to report. */
static void logits_that_overflow(void **state)
{
    (void)state;
    const double weights[] = {1e200, 0.5}, x[] = {2.385, 1e200}, y[] = {0.31, -1.27};
    moeg_router *router;
    moeg_expert *experts[2] = {NULL, NULL};
    assert_ok(moeg_router_affine_create(&router, 2, 1, weights, NULL));
    assert_status(moeg_profile_hard(router, 2, x, 1, y, NULL, experts, NULL), MOEG_ERANGE, "row 1");
    assert_null(experts[0]);
    moeg_router_free(router);
}

static moeg_status scenario(void *user)
{
    const problem *p = user;
    moeg_expert *experts[K] = {NULL};
    moeg_cell_fit fit[K] = {{.rows = 99}};
    const moeg_status status = moeg_profile_hard(p->router, n, p->x, m, p->y, NULL, experts, fit);
    if (status != MOEG_OK) {
        assert_null(experts[0]);
        assert_int_equal(fit[0].rows, 99);
    }
    free_experts(K, experts);
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    problem *p = malloc(sizeof *p);
    make_problem(p, 0);
    assert_true(fail_every_allocation(scenario, p) >= 10 + K);
    moeg_router_free(p->router);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_normal_equations),
        cmocka_unit_test(data_far_from_the_origin),
        cmocka_unit_test(dependent_columns_share_the_slope),
        cmocka_unit_test(dependent_but_for_rounding),
        cmocka_unit_test(shifted_copy_of_a_column),
        cmocka_unit_test(fewer_rows_than_unknowns),
        cmocka_unit_test(as_many_rows_as_unknowns),
        cmocka_unit_test(one_row_and_none),
        cmocka_unit_test(errors),
        cmocka_unit_test(logits_that_overflow),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
