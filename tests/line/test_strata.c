/* Strata of lines by their definition: unit directions, logits along lines, shares of sum 1, every pair seen. */
#include "line/strata.h"

#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

enum { MOST_K = 9, MOST_D = 6, STRIDE = 8 };

/* A router with equal rows, nearly equal ones, and rows inside the hull of the others. */
static void make(uint64_t *seed, size_t K, size_t d, moeg_router **router, moeg_law **law, moeg_frame *frame)
{
    double W[MOST_K * MOST_D], b[MOST_K], covariance[MOST_D * MOST_D] = {0}, mean[MOST_D];
    for (size_t i = 0; i < K * d; i++)
        W[i] = next_normal(seed);
    for (size_t j = 0; j < d; j++) {
        W[d + j] = W[j];
        W[2 * d + j] = W[j] + (j == 0 ? 1e-7 : 0);
        if (K > 3)
            W[3 * d + j] *= 0.05;
        covariance[j * d + j] = 0.3 + (double)j;
        mean[j] = next_normal(seed);
    }
    for (size_t k = 0; k < K; k++)
        b[k] = next_normal(seed);
    assert_ok(moeg_router_affine_create(router, K, d, W, b));
    assert_ok(moeg_law_gaussian_create(law, d, mean, covariance));
    const moeg_router *one = *router;
    assert_ok(moeg_frame_init("test", 1, &one, *law, frame));
}

/* alpha_k + beta_k t is the logit at u + (t - e.u) e. */
static void check_lines(const moeg_frame *frame, const moeg_strata *strata, size_t l, uint64_t *seed)
{
    _Alignas(64) double u[MOST_D * STRIDE], alpha[MOST_K * STRIDE];
    const moeg_stratum *s = &strata->stratum[l];
    const size_t r = frame->r;
    const double t = next_normal(seed);
    for (size_t i = 0; i < r * STRIDE; i++)
        u[i] = next_normal(seed);
    moeg_strata_lines(strata, l, STRIDE, u, alpha);
    for (size_t i = 0; i < STRIDE; i++) {
        double along = 0, norm = 0;
        for (size_t c = 0; c < r; c++) {
            along += s->direction[c] * u[c * STRIDE + i];
            norm += s->direction[c] * s->direction[c];
        }
        assert_near(norm, 1, 8 * EPS);
        for (size_t k = 0; k < strata->K; k++) {
            double expected = frame->logits[0].constant[k], size = fabs(expected);
            for (size_t c = 0; c < r; c++) {
                const double row = frame->logits[0].T[k * r + c], place = u[c * STRIDE + i] - along * s->direction[c];
                expected += row * (place + t * s->direction[c]);
                size += fabs(row) * (fabs(place) + fabs(along) + fabs(t));
            }
            assert_near(alpha[k * STRIDE + i] + s->slope[k] * t, expected, 32 * EPS * size);
        }
    }
}

/* The share of a pair's gradient that some direction sees. */
static double seen(const moeg_frame *frame, const moeg_strata *strata, size_t i, size_t j)
{
    double square = 0, most = 0;
    for (size_t c = 0; c < frame->r; c++) {
        const double row = frame->logits[0].T[i * frame->r + c] - frame->logits[0].T[j * frame->r + c];
        square += row * row;
    }
    for (size_t l = 0; l < strata->count; l++)
        most = fmax(most, fabs(strata->stratum[l].slope[i] - strata->stratum[l].slope[j]));
    return square > 0 ? most / sqrt(square) : 1;
}

static void shares_add_up_and_every_pair_is_seen(void **state)
{
    (void)state;
    uint64_t seed = 2385;
    for (size_t trial = 0; trial < 60; trial++) {
        const size_t K = 3 + trial % 7, d = 1 + trial % MOST_D;
        const unsigned char elsewhere[MOST_K] = {1, 0, 1, 0, 1, 1, 0, 1, 1};
        moeg_router *router;
        moeg_law *law;
        moeg_frame frame;
        moeg_strata strata;
        make(&seed, K, d, &router, &law, &frame);
        const moeg_sharing sharing = frame.r < 2      ? MOEG_SHARING_WHOLE
                                     : trial % 3 == 0 ? MOEG_SHARING_PAIR
                                                      : MOEG_SHARING_BALANCE;
        const int all = trial % 2 == 0;
        assert_ok(moeg_strata_init("test", &frame, sharing, all ? NULL : elsewhere, 0, NULL, &strata));
        for (size_t l = 0; l < strata.count; l++)
            check_lines(&frame, &strata, l, &seed);
        for (size_t i = 0; i < K; i++)
            for (size_t j = 0; j < K; j++) {
                double sum = 0, left_out = 0;
                for (size_t l = 0; l < strata.count && i != j; l++) {
                    assert_true(moeg_strata_share(&strata, l, i, i, j) >= 0);
                    sum += moeg_strata_share(&strata, l, all ? i : 1, i, j);
                    left_out += all ? 0 : moeg_strata_share(&strata, l, 0, i, j);
                }
                assert_near(sum, i == j ? 0 : 1, 8 * EPS);
                assert_true(left_out == 0);
                if (i != j && sharing != MOEG_SHARING_WHOLE && (all || !elsewhere[i] || !elsewhere[j]))
                    assert_true(seen(&frame, &strata, i, j) >= 0.0999);
            }
        moeg_strata_free(&strata);
        moeg_frame_free(&frame);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

static void equal_rows_keep_their_distance(void **state)
{
    (void)state;
    uint64_t seed = 7;
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    moeg_strata strata;
    make(&seed, 6, 4, &router, &law, &frame);
    assert_ok(moeg_strata_init("test", &frame, MOEG_SHARING_BALANCE, NULL, 0, NULL, &strata));
    const double distance = frame.logits[0].constant[0] - frame.logits[0].constant[1];
    for (size_t l = 0; l < strata.count; l++) {
        assert_true(moeg_strata_share(&strata, l, 0, 0, 1) == 1 / (double)strata.count);
        assert_true(moeg_strata_level(&strata, l, 0, 1, 42) == fmax(distance, 0));
        assert_true(moeg_strata_level(&strata, l, 1, 0, 42) == fmax(-distance, 0));
        assert_true(moeg_strata_level(&strata, l, 0, 2, 42) == 42);
    }
    moeg_strata_free(&strata);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    moeg_law_free(law);
}

static moeg_status everything(void *user)
{
    moeg_strata strata;
    const moeg_status status = moeg_strata_init("test", user, MOEG_SHARING_BALANCE, NULL, 0, NULL, &strata);
    if (status == MOEG_OK)
        moeg_strata_free(&strata);
    else
        assert_true(strata.count == 0 && strata.stratum == NULL);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    uint64_t seed = 9;
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    make(&seed, 9, 6, &router, &law, &frame);
    assert_true(fail_every_allocation(everything, &frame) > 30);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_add_up_and_every_pair_is_seen),
        cmocka_unit_test(equal_rows_keep_their_distance),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
