/* Nearest points of ties: they tie in their ranks, and none that chance finds is nearer. Far ties of hand-made routers.
 */
#include "line/ties.h"

#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <moegeom/law.h>

enum { MOST_K = 9, MOST_D = 6 };

static const double CUT = 11.5;

static void make(const double *W, const double *b, size_t K, size_t d, const double *mean, moeg_router **router,
                 moeg_law **law, moeg_frame *frame)
{
    assert_ok(moeg_router_affine_create(router, K, d, W, b));
    assert_ok(moeg_law_gaussian_create(law, d, mean, NULL));
    const moeg_router *one = *router;
    assert_ok(moeg_frame_init("test", 1, &one, *law, frame));
}

static void unmake(moeg_router *router, moeg_law *law, moeg_frame *frame)
{
    moeg_frame_free(frame);
    moeg_law_free(law);
    moeg_router_free(router);
}

static double logit(const moeg_frame *frame, size_t k, const double *u)
{
    double a = frame->logits[0].constant[k];
    for (size_t l = 0; l < frame->r; l++)
        a += frame->logits[0].T[k * frame->r + l] * u[l];
    return a;
}

/* The members tie at u, `above` others are above them by more than rounding, or tie too. */
static void check_ranks(const moeg_frame *frame, const moeg_ties *ties, size_t tie, moeg_gap gap)
{
    const double *u = ties->point + tie * ties->r, size = 1 + sqrt(ties->square[tie]);
    const double level = logit(frame, ties->member[tie * ties->size], u);
    size_t above = 0, touching = 0;
    for (size_t k = 0; k < frame->logits[0].K; k++) {
        const double a = logit(frame, k, u);
        if (moeg_ties_has(ties, tie, k)) {
            assert_near(a, level, 0.02 * size);
        } else {
            above += a > level + 0.02 * size;
            touching += fabs(a - level) <= 0.02 * size;
        }
    }
    assert_true(above <= gap.upper - 1 && above + touching >= gap.upper - 1);
}

/* Points where two tie on top, found by chance and by moving to the hyperplane of a pair, are no nearer. */
static void check_nearest(const moeg_frame *frame, const moeg_ties *ties, uint64_t *seed)
{
    const size_t K = frame->logits[0].K, r = frame->r;
    for (int trial = 0; trial < 4000; trial++) {
        double u[MOST_D], square = 0, row[MOST_D], norm = 0;
        for (size_t l = 0; l < r; l++)
            u[l] = 2 * next_normal(seed);
        const size_t i = (size_t)trial % K, j = (size_t)(trial / (int)K) % K;
        if (i == j)
            continue;
        const double difference = logit(frame, i, u) - logit(frame, j, u);
        for (size_t l = 0; l < r; l++) {
            row[l] = frame->logits[0].T[i * r + l] - frame->logits[0].T[j * r + l];
            norm += row[l] * row[l];
        }
        size_t above = 0;
        for (size_t l = 0; l < r; l++) {
            u[l] -= difference / norm * row[l];
            square += u[l] * u[l];
        }
        for (size_t k = 0; k < K; k++)
            above += k != i && k != j && logit(frame, k, u) > logit(frame, i, u);
        if (above == 0)
            assert_true(square >= ties->square[0] * 0.99);
    }
}

static void points_are_nearest(void **state)
{
    (void)state;
    uint64_t seed = 3;
    size_t far = 0, near = 0;
    for (int trial = 0; trial < 60; trial++) {
        const size_t K = 3 + (size_t)trial % (MOST_K - 2), d = 2 + (size_t)trial % (MOST_D - 1);
        const moeg_gap gap = trial % 3 == 1 ? moeg_gap_top(2) : moeg_gap_margin();
        double W[MOST_K * MOST_D], b[MOST_K], mean[MOST_D];
        for (size_t i = 0; i < K * d; i++)
            W[i] = next_normal(&seed);
        for (size_t k = 0; k < K; k++)
            b[k] = next_normal(&seed);
        for (size_t l = 0; l < d; l++)
            mean[l] = 3 * next_normal(&seed);
        moeg_router *router;
        moeg_law *law;
        moeg_frame frame;
        moeg_ties ties;
        make(W, b, K, d, mean, &router, &law, &frame);
        assert_ok(moeg_ties_init("test", &frame, gap, MOEG_TIES_NEAR, CUT, &ties));
        for (size_t tie = 0; tie < ties.count; tie++) {
            double square = 0;
            for (size_t l = 0; l < ties.r; l++)
                square += ties.point[tie * ties.r + l] * ties.point[tie * ties.r + l];
            assert_near(ties.square[tie], square, 4 * EPS * square);
            assert_true(square >= MOEG_TIES_NEAR * MOEG_TIES_NEAR && square <= ties.square[0] + 2 * CUT);
            assert_true(tie == 0 || ties.square[tie] >= ties.square[tie - 1]);
            check_ranks(&frame, &ties, tie, gap);
        }
        if (gap.upper == 1 && ties.count > 0)
            check_nearest(&frame, &ties, &seed);
        far += ties.count > 0;
        near += ties.count == 0;
        moeg_ties_free(&ties);
        unmake(router, law, &frame);
    }
    assert_true(far >= 20 && near >= 5);
}

/* Four experts along the axes of a plane, biases alike: cells are quadrants between diagonals. From (3, 0) the ties of
 * the first with the second and fourth are at distance 3/sqrt 2; those of the third with these, at the origin. */
static void quadrants(void **state)
{
    (void)state;
    static const double W[8] = {1, 0, 0, 1, -1, 0, 0, -1}, mean[2] = {3, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    moeg_ties ties;
    make(W, NULL, 4, 2, mean, &router, &law, &frame);
    assert_ok(moeg_ties_init("test", &frame, moeg_gap_margin(), MOEG_TIES_NEAR, CUT, &ties));
    assert_int_equal(ties.count, 6);
    for (size_t tie = 0; tie < 6; tie++)
        assert_near(ties.square[tie], tie < 2 ? 4.5 : 9, 1e-2);
    for (size_t tie = 0; tie < 2; tie++)
        assert_true(moeg_ties_has(&ties, tie, 0) && !moeg_ties_has(&ties, tie, 2));
    moeg_ties_free(&ties);
    /* Three of them tie at the origin alone. */
    assert_ok(moeg_ties_init("test", &frame, moeg_gap_order(2), MOEG_TIES_NEAR, CUT, &ties));
    assert_int_equal(ties.count, 4);
    for (size_t tie = 0; tie < 4; tie++)
        assert_near(ties.square[tie], 9, 1e-2);
    moeg_ties_free(&ties);
    /* The second and third ranks tie at the mean. */
    assert_ok(moeg_ties_init("test", &frame, moeg_gap_top(2), MOEG_TIES_NEAR, CUT, &ties));
    assert_int_equal(ties.count, 0);
    moeg_ties_free(&ties);
    unmake(router, law, &frame);
}

/* An expert that is never the best, equal rows, and a gap beyond the last rank. */
static void no_ties(void **state)
{
    (void)state;
    static const double W[8] = {1, 0, -1, 0, 0, 0, 1, 0}, b[4] = {0, 0, -1, -2}, mean[2] = {4, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    moeg_ties ties;
    make(W, b, 4, 2, mean, &router, &law, &frame);
    assert_ok(moeg_ties_init("test", &frame, moeg_gap_margin(), MOEG_TIES_NEAR, CUT, &ties));
    assert_int_equal(ties.count, 1);
    assert_true(moeg_ties_has(&ties, 0, 0) && moeg_ties_has(&ties, 0, 1));
    assert_near(ties.square[0], 16, 1e-6);
    moeg_ties_free(&ties);
    assert_ok(moeg_ties_init("test", &frame, moeg_gap_order(4), MOEG_TIES_NEAR, CUT, &ties));
    assert_int_equal(ties.count, 0);
    moeg_ties_free(&ties);
    unmake(router, law, &frame);
}

/* Ties beyond all probability are none: 39 and 41 away, and where biases are as large as numbers get. */
static void ties_out_of_reach(void **state)
{
    (void)state;
    static const double W[4] = {1, 0, 0, 0}, mean[2] = {0.3, 0}, biases[3] = {38.7, 40.7, 1.5e308};
    for (int i = 0; i < 3; i++) {
        const double b[2] = {biases[i], i == 2 ? -1.5e308 : 0};
        moeg_router *router;
        moeg_law *law;
        moeg_frame frame;
        moeg_ties ties;
        assert_ok(moeg_router_affine_create(&router, 2, 2, W, b));
        assert_ok(moeg_law_gaussian_create(&law, 2, mean, NULL));
        const moeg_router *one = router;
        if (moeg_frame_init("test", 1, &one, law, &frame) == MOEG_OK) {
            assert_ok(moeg_ties_init("test", &frame, moeg_gap_margin(), MOEG_TIES_NEAR, CUT, &ties));
            assert_int_equal(ties.count, i == 0);
            moeg_ties_free(&ties);
            moeg_frame_free(&frame);
        } else {
            assert_int_equal(i, 2);
        }
        moeg_law_free(law);
        moeg_router_free(router);
    }
}

/* No scale of the logits changes where they tie. */
static void scales_of_logits(void **state)
{
    (void)state;
    static const double W[8] = {1, 0.1, 0, 1, -1, 0, 0.2, -1}, b[4] = {0.1, -0.2, 0, 0.3}, mean[2] = {3, 0.2};
    static const double scales[] = {1, 0x1p-1000, 0x1p-520, 0x1p520, 0x1p1000};
    double squares[6] = {0};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        double scaled[8], moved[4];
        for (size_t k = 0; k < 8; k++)
            scaled[k] = scales[i] * W[k];
        for (size_t k = 0; k < 4; k++)
            moved[k] = scales[i] * b[k];
        moeg_router *router;
        moeg_law *law;
        moeg_frame frame;
        moeg_ties ties;
        make(scaled, moved, 4, 2, mean, &router, &law, &frame);
        assert_ok(moeg_ties_init("test", &frame, moeg_gap_margin(), MOEG_TIES_NEAR, CUT, &ties));
        assert_true(ties.count >= 4 && ties.count <= 6);
        for (size_t tie = 0; tie < ties.count; tie++) {
            squares[tie] = i == 0 ? ties.square[tie] : squares[tie];
            assert_relative(ties.square[tie], squares[tie], 64 * EPS);
        }
        moeg_ties_free(&ties);
        unmake(router, law, &frame);
    }
}

static moeg_status list_ties(void *user)
{
    const moeg_frame *frame = user;
    moeg_ties ties;
    const moeg_status status = moeg_ties_init("test", frame, moeg_gap_margin(), MOEG_TIES_NEAR, CUT, &ties);
    if (status == MOEG_OK)
        moeg_ties_free(&ties);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    static const double W[8] = {1, 0, 0, 1, -1, 0, 0, -1}, mean[2] = {3, 0};
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    make(W, NULL, 4, 2, mean, &router, &law, &frame);
    assert_true(fail_every_allocation(list_ties, &frame) >= 7);
    unmake(router, law, &frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_nearest), cmocka_unit_test(quadrants),        cmocka_unit_test(no_ties),
        cmocka_unit_test(ties_out_of_reach),  cmocka_unit_test(scales_of_logits), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
