/* The frame of two routers: orthonormal rows, logits that differ as those of the routers, and affine maps that split
 * into one of the frame and one orthogonal to it; what rounding does. */
#include "line/frame.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

enum { D = 7, FIRST = 4, SECOND = 3, M = 2 };

struct setup {
    double mean[D], factor[D * D], covariance[D * D];
    double W[2][FIRST * D], b[2][FIRST];
    moeg_law *law;
    moeg_router *routers[2];
};

static void make(uint64_t seed, struct setup *p)
{
    for (size_t i = 0; i < D; i++) {
        p->mean[i] = next_normal(&seed);
        for (size_t j = 0; j < D; j++)
            p->factor[i * D + j] = j <= i ? next_normal(&seed) : 0;
    }
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++) {
            p->covariance[i * D + j] = 0;
            for (size_t l = 0; l < D; l++)
                p->covariance[i * D + j] += p->factor[i * D + l] * p->factor[j * D + l];
        }
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < FIRST * D; i++)
            p->W[r][i] = next_normal(&seed);
        for (size_t k = 0; k < FIRST; k++)
            p->b[r][k] = next_normal(&seed);
    }
    p->b[0][1] = -INFINITY;
    assert_ok(moeg_law_gaussian_create(&p->law, D, p->mean, p->covariance));
    assert_ok(moeg_router_affine_create(&p->routers[0], FIRST, D, p->W[0], p->b[0]));
    assert_ok(moeg_router_affine_create(&p->routers[1], SECOND, D, p->W[1], p->b[1]));
}

static void unmake(struct setup *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->routers[0]);
    moeg_router_free(p->routers[1]);
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void frame_sees_both_routers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct setup p;
        moeg_frame frame;
        make(seed, &p);
        assert_ok(moeg_frame_init("test", 2, (const moeg_router *const *)p.routers, p.law, &frame));
        assert_int_equal(frame.r, 4); /* two live differences of the first, two of the second */
        for (size_t i = 0; i < frame.r; i++)
            for (size_t j = 0; j < frame.r; j++)
                assert_near(dot(D, frame.Q + i * D, frame.Q + j * D), i == j, 16 * EPS);
        double F[M * D], h[M], value[M], slope[M * D], rest[M * D];
        for (size_t i = 0; i < M * D; i++)
            F[i] = next_normal(&seed);
        for (size_t i = 0; i < M; i++)
            h[i] = next_normal(&seed);
        moeg_frame_image(&frame, M, F, h, value, slope, rest);
        double z[D], x[D], u[D];
        for (size_t i = 0; i < D; i++)
            z[i] = next_normal(&seed);
        for (size_t i = 0; i < D; i++)
            x[i] = p.mean[i] + dot(D, frame.factor + i * D, z);
        for (size_t i = 0; i < frame.r; i++)
            u[i] = dot(D, frame.Q + i * D, z);
        for (size_t r = 0; r < 2; r++) {
            const moeg_frame_logits *logits = &frame.logits[r];
            double a[FIRST];
            assert_ok(moeg_router_logits(p.routers[r], 1, x, a));
            assert_int_equal(logits->K, 3);
            for (size_t k = 1; k < logits->K; k++) {
                const double here = logits->constant[k] - logits->constant[0] +
                                    dot(frame.r, logits->T + k * frame.r, u) - dot(frame.r, logits->T, u);
                assert_near(here, a[logits->expert[k]] - a[logits->expert[0]], 1e-13);
            }
        }
        for (size_t i = 0; i < M; i++) {
            const double there = h[i] + dot(D, F + i * D, x);
            assert_near(value[i] + dot(frame.r, slope + i * frame.r, u) + dot(D, rest + i * D, z), there, 1e-13);
            for (size_t j = 0; j < frame.r; j++)
                assert_near(dot(D, rest + i * D, frame.Q + j * D), 0, 1e-13);
        }
        moeg_frame_free(&frame);
        unmake(&p);
    }
}

/* Rows that depend on each other take no dimension, and what overflows is said. */
static void rank_is_that_of_the_rows(void **state)
{
    (void)state;
    const double W[] = {1, 0.3, 0, 3, 0.9, 0, -0.5, -0.15, 0, 0, 0, 0}, huge[] = {1e308, 0, 0, -1e308, 0, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    assert_ok(moeg_router_affine_create(&router, 4, 3, W, NULL));
    assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame));
    assert_int_equal(frame.r, 1);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    assert_ok(moeg_router_affine_create(&router, 2, 3, huge, NULL));
    assert_status(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame), MOEG_ERANGE,
                  "the differences of the logits overflow");
    assert_null(frame.Q);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* The difference of two logits at u, in long double from the numbers of router and law. */
static long double difference_at(const struct setup *p, const moeg_frame *frame, const moeg_frame_logits *a, size_t i,
                                 size_t j, const double *u)
{
    const size_t k = a->expert[i], l = a->expert[j];
    long double sum = (long double)p->b[0][k] - p->b[0][l];
    for (size_t c = 0; c < D; c++) {
        long double x = p->mean[c];
        for (size_t m = 0; m < D; m++)
            for (size_t q = 0; q < frame->r; q++)
                x += (long double)frame->factor[c * D + m] * frame->Q[q * D + m] * u[q];
        sum += ((long double)p->W[0][k * D + c] - p->W[0][l * D + c]) * x;
    }
    return sum;
}

/* What rounding may have done is bounded, and not by much more: rows with a large part in common, far from the origin.
 */
static void rounding_is_bounded(void **state)
{
    (void)state;
    double most = 0;
    for (uint64_t seed = 1; seed < 30; seed++) {
        struct setup p;
        moeg_frame frame;
        make(seed, &p);
        unmake(&p);
        for (size_t i = 0; i < FIRST * D; i++)
            p.W[0][i] += 1e4 * (double)(seed % 3) * (double)(i % D);
        for (size_t i = 0; i < D; i++)
            p.mean[i] *= seed % 2 == 0 ? 1e6 : 1;
        assert_ok(moeg_law_gaussian_create(&p.law, D, p.mean, p.covariance));
        assert_ok(moeg_router_affine_create(&p.routers[0], FIRST, D, p.W[0], p.b[0]));
        assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)p.routers, p.law, &frame));
        const moeg_frame_logits *a = &frame.logits[0];
        uint64_t at = 100 + seed;
        double u[D] = {0}, size = 1;
        for (size_t q = 0; q < frame.r; q++) {
            u[q] = next_normal(&at);
            size += fabs(u[q]);
        }
        for (size_t i = 0; i < a->K; i++)
            for (size_t j = 0; j < i; j++) {
                long double here = (long double)a->constant[i] - a->constant[j];
                for (size_t q = 0; q < frame.r; q++)
                    here += ((long double)a->T[i * frame.r + q] - a->T[j * frame.r + q]) * u[q];
                const double off = fabs((double)(here - difference_at(&p, &frame, a, i, j, u)));
                const double bound = a->rounding[i] + a->rounding[j];
                assert_true(off <= size * bound);
                most = fmax(most, off / size / bound);
            }
        moeg_frame_free(&frame);
        moeg_law_free(p.law);
        moeg_router_free(p.routers[0]);
    }
    assert_true(most > 1e-3);
}

/* x on a plane in space, and rows that are multiples of one but for what is across the plane: one dimension, whatever
 * rounding leaves of that. One coordinate may hardly vary. */
static void rounding_across_a_support_has_no_dimension(void **state)
{
    (void)state;
    static const double factors[] = {0.4, -1.3, 2.2, 2.9}, across[] = {0.7, 1e3, -40, 3e5};
    for (int small = 0; small < 2; small++) {
        const double unit = small ? 1e-12 : 1, way[2][3] = {{0.3, -1.1 * unit, 0.7}, {0.9, 0.2 * unit, -0.4}};
        double W[12], covariance[9];
        moeg_router *router;
        moeg_law *law;
        moeg_frame frame;
        for (size_t i = 0; i < 12; i++) {
            const size_t k = i / 3, l = (i + 1) % 3, m = (i + 2) % 3;
            W[i] = factors[k] * (i % 3 == 0) + across[k] * (way[0][l] * way[1][m] - way[0][m] * way[1][l]);
        }
        for (size_t i = 0; i < 9; i++)
            covariance[i] = way[0][i / 3] * way[0][i % 3] + way[1][i / 3] * way[1][i % 3];
        assert_ok(moeg_law_gaussian_create(&law, 3, NULL, covariance));
        assert_ok(moeg_router_affine_create(&router, 4, 3, W, NULL));
        assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame));
        assert_true(frame.singular);
        assert_int_equal(frame.r, 1);
        const moeg_frame_logits *a = &frame.logits[0];
        const double deviation = a->T[1] > a->T[0] ? -sqrt(covariance[0]) : sqrt(covariance[0]);
        for (size_t k = 1; k < 4; k++) {
            const double bound = a->rounding[k] + a->rounding[0];
            assert_near(a->T[k] - a->T[0], deviation * (factors[k] - factors[0]), bound);
            assert_true(bound < 1e-14 * fabs(across[k]) + 1e-14);
        }
        moeg_frame_free(&frame);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

static moeg_status call(void *user)
{
    struct setup *p = user;
    moeg_frame frame;
    const moeg_status status = moeg_frame_init("test", 2, (const moeg_router *const *)p->routers, p->law, &frame);
    if (status == MOEG_OK)
        moeg_frame_free(&frame);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct setup p;
    make(3, &p);
    assert_true(fail_every_allocation(call, &p) >= 12);
    unmake(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_sees_both_routers),   cmocka_unit_test(rank_is_that_of_the_rows),
        cmocka_unit_test(rounding_is_bounded),       cmocka_unit_test(rounding_across_a_support_has_no_dimension),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
