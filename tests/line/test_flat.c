/* Flats of ties: a basis, a centre on all of them, the density of their differences against Gram's determinant, and
 * which other ties hold there, of rows in whole numbers. */
#include "line/flat.h"

#include "base/normal.h"
#include "base/vector.h"
#include "support/check.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

enum { D = 6, TIES = 3, K = TIES + 4, NUMBERS = TIES * (D + 1) + D };

/* Experts 0 .. TIES at random; TIES + 1 a combination of these, and two more of another, off it by 1e-6 in a slope and
 * in the constant. The second router is a third of the first, reversed. */
struct setup {
    double W[K * D], b[K];
    moeg_law *law;
    moeg_router *routers[2];
    moeg_frame frame;
};

static double draw(uint64_t *seed)
{
    return floor(9.5 * (next_uniform(seed) + 1)) - 9;
}

static void combine(const double *factor, size_t stride, double *x, size_t k)
{
    x[k * stride] = x[0];
    for (size_t m = 0; m < TIES; m++)
        x[k * stride] += factor[m] * (x[(m + 1) * stride] - x[0]);
}

static void make(uint64_t seed, double scale, struct setup *p)
{
    double W[K * D], b[K], covariance[D * D], mean[D];
    const double factor[2][TIES] = {{3, -5, 1}, {-1, 0, 7}};
    const int singular = seed % 3 == 0;
    for (size_t i = 0; i < D; i++) {
        mean[i] = draw(&seed);
        for (size_t j = 0; j < D; j++) /* Without variance in the last one, where it may. */
            covariance[i * D + j] = singular && (i == D - 1 || j == D - 1) ? 0 : i == j ? 2 : 0.5;
    }
    for (size_t k = 0; k < K; k++) {
        for (size_t c = 0; c < D; c++)
            p->W[k * D + c] = draw(&seed);
        p->b[k] = draw(&seed);
        for (size_t c = 0; k > TIES && c <= D; c++)
            combine(factor[k > TIES + 1], c < D ? D : 1, c < D ? p->W + c : p->b, k);
    }
    p->W[(TIES + 2) * D + 1] += 1e-6;
    p->b[TIES + 3] += 1e-6;
    for (size_t k = 0; k < K; k++) {
        for (size_t c = 0; c < D; c++) {
            p->W[k * D + c] *= scale;
            W[(K - 1 - k) * D + c] = p->W[k * D + c] / 3;
        }
        p->b[k] *= scale;
        b[K - 1 - k] = p->b[k] / 3;
    }
    assert_ok(moeg_law_gaussian_create(&p->law, D, mean, covariance));
    assert_ok(moeg_router_affine_create(&p->routers[0], K, D, p->W, p->b));
    assert_ok(moeg_router_affine_create(&p->routers[1], K, D, W, b));
    assert_ok(moeg_frame_init("test", 2, (const moeg_router *const *)p->routers, p->law, &p->frame));
}

static void unmake(struct setup *p)
{
    moeg_frame_free(&p->frame);
    moeg_router_free(p->routers[0]);
    moeg_router_free(p->routers[1]);
    moeg_law_free(p->law);
}

/* A difference as a function of u, over the scale: its slopes, and returned the constant. */
static double difference(const struct setup *p, size_t i, double scale, double *slope)
{
    const moeg_frame_logits *a = &p->frame.logits[0];
    for (size_t c = 0; c < p->frame.r; c++)
        slope[c] = (a->T[i * p->frame.r + c] - a->T[c]) / scale;
    return (a->constant[i] - a->constant[0]) / scale;
}

/* log of the density at 0 of N(constant, D D'), by the triangle of D D' in long double. */
static double log_density(const struct setup *p, double scale)
{
    const size_t r = p->frame.r;
    double slope[TIES][D], constant[TIES];
    long double L[TIES][TIES], y[TIES], sum = 0;
    for (size_t m = 0; m < TIES; m++) {
        constant[m] = difference(p, m + 1, scale, slope[m]);
        for (size_t n = 0; n <= m; n++) {
            L[m][n] = 0;
            for (size_t c = 0; c < r; c++)
                L[m][n] += (long double)slope[m][c] * slope[n][c];
            for (size_t q = 0; q < n; q++)
                L[m][n] -= L[m][q] * L[n][q];
            L[m][n] = n == m ? sqrtl(L[m][n]) : L[m][n] / L[n][n];
        }
        y[m] = constant[m];
        for (size_t q = 0; q < m; q++)
            y[m] -= L[m][q] * y[q];
        y[m] /= L[m][m];
        sum -= y[m] * y[m] / 2 + logl(L[m][m]) + logl(2 * acosl(-1)) / 2;
    }
    return (double)sum;
}

static void check(struct setup *p, double scale)
{
    const size_t r = p->frame.r;
    double memory[NUMBERS], scratch[D], log_got = 0, y = 42;
    moeg_flat flat;
    moeg_flat_begin(r, TIES, memory, &flat);
    for (size_t m = 1; m <= TIES; m++) {
        const double norm = moeg_flat_cut(&p->frame, &(moeg_tie){0, m, 0}, &flat, &y);
        assert_true(norm > 0 && flat.count == m);
        log_got -= y * y / 2 + log(norm / scale) + log(2 * acos(-1)) / 2;
        assert_int_equal(moeg_flat_holds(&p->frame, &flat, &(moeg_tie){0, TIES + 1, 0}, scratch), m == TIES);
    }
    assert_relative(log_got, log_density(p, scale), 1e-12);
    for (size_t i = 0; i < TIES; i++) {
        for (size_t j = 0; j < TIES; j++)
            assert_near(moeg_dot(r, flat.basis + i * r, flat.basis + j * r), i == j, 16 * EPS);
        const double constant = difference(p, i + 1, scale, scratch);
        assert_near(moeg_dot(r, scratch, flat.centre), -constant, 1e-12 * (1 + fabs(constant)));
    }
    for (size_t c = 0; c < r; c++)
        scratch[c] = flat.centre[c];
    moeg_flat_project(TIES, r, flat.basis, scratch);
    for (size_t c = 0; c < r; c++)
        assert_near(scratch[c], 0, 1e-13 * (1 + fabs(flat.centre[c])));
    /* Ties of any two of the experts 0 .. TIES + 1 hold, in both routers; those of near copies do not. */
    for (size_t which = 0; which < 2; which++)
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < i; j++) {
                const moeg_tie tie = {which, which == 0 ? i : K - 1 - i, which == 0 ? j : K - 1 - j};
                assert_int_equal(moeg_flat_holds(&p->frame, &flat, &tie, scratch), i <= TIES + 1);
            }
}

static void flats_are_where_ties_hold(void **state)
{
    (void)state;
    const double scales[] = {1, 1e-3 / 7, 3e200, 1e-250};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct setup p;
        make(seed, scales[seed % 4], &p);
        check(&p, scales[seed % 4]);
        unmake(&p);
    }
}

/* Parallel interfaces do not meet, and a tie that holds already, or nowhere, cuts nothing off. */
static void parallel_ties_leave_a_flat_as_it_was(void **state)
{
    (void)state;
    const double W[] = {0, 0, 1, 0.3, 3, 0.9, 3, 0.9, 0, 0}, b[] = {0, 0.1, 0.3, 0.4, 2};
    double memory[2 * 3 + 2], scratch[2], y = 42;
    moeg_law *law;
    moeg_router *router;
    moeg_frame frame;
    moeg_flat flat;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_router_affine_create(&router, 5, 2, W, b));
    assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame));
    moeg_flat_begin(frame.r, 2, memory, &flat);
    assert_near(moeg_flat_cut(&frame, &(moeg_tie){0, 4, 0}, &flat, &y), 0, 0);
    assert_near(moeg_flat_cut(&frame, &(moeg_tie){0, 3, 2}, &flat, &y), 0, 0);
    assert_near(y, 42, 0);
    assert_relative(moeg_flat_cut(&frame, &(moeg_tie){0, 1, 0}, &flat, &y), sqrt(1.09), 4 * EPS);
    assert_relative(y, -0.1 / sqrt(1.09), 4 * EPS);
    for (size_t k = 1; k < 5; k++) {
        assert_near(moeg_flat_cut(&frame, &(moeg_tie){0, k, 0}, &flat, &y), 0, 0);
        assert_int_equal(moeg_flat_holds(&frame, &flat, &(moeg_tie){0, k, 0}, scratch), k < 3);
    }
    assert_int_equal(flat.count, 1);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flats_are_where_ties_hold),
        cmocka_unit_test(parallel_ties_leave_a_flat_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
