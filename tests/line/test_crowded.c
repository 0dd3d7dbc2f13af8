/* Pairs that never tie alone, against 2 x 2 minors of all triples of experts in whole numbers. */
#include "line/crowded.h"

#include "base/memory.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <moegeom/moegeom.h>

/* Rows and biases in units of 2^-20, near 1e-6: an offset of 1 is that of a near copy. */
enum { MOST_K = 28, MOST_D = 5, ONE = 1 << 20 };

typedef __int128 whole;

/* x = mean + A z, in columns of A as many as it has; its last row may be the first less the second. */
struct rows {
    size_t K, d;
    int64_t w[MOST_K][MOST_D + 1]; /* and a bias */
    int64_t mean[MOST_D], A[MOST_D][MOST_D];
};

static int64_t draw(uint64_t *seed, int64_t most)
{
    return (int64_t)floor((next_uniform(seed) + 1) / 2 * (double)(2 * most + 1)) - most;
}

/* Then of each three experts one of the line of the two before, by an odd factor, now and then off that, or across the
 * support of a singular law. */
static void draw_rows(uint64_t seed, size_t K, size_t d, int64_t most, int singular, struct rows *p)
{
    *p = (struct rows){.K = K, .d = d};
    for (size_t i = 0; i < d; i++) {
        p->mean[i] = draw(&seed, 3);
        for (size_t j = 0; j < d; j++)
            p->A[i][j] = i == j ? 3 : draw(&seed, 1);
    }
    if (singular)
        p->mean[d - 1] = p->mean[0] - p->mean[1];
    for (size_t j = 0; j < d && singular; j++)
        p->A[d - 1][j] = p->A[0][j] - p->A[1][j];
    for (size_t k = 0; k < K; k++)
        for (size_t l = 0; l <= d; l++)
            p->w[k][l] = ONE * draw(&seed, most);
    for (size_t k = 2; k < K; k += 4) {
        const int64_t factor = 2 * draw(&seed, 3) + 1, across = singular ? ONE * draw(&seed, 3) : 0;
        for (size_t l = 0; l <= d; l++)
            p->w[k][l] = p->w[k - 2][l] + factor * (p->w[k - 1][l] - p->w[k - 2][l]);
        if (k % 3 == 0)
            p->w[k][seed % (d + 1)] += draw(&seed, 1);
        p->w[k][0] += across;
        p->w[k][1] -= across;
        p->w[k][d - 1] -= across;
    }
}

/* Number l of the difference of two experts as a function of z, the constant last. */
static whole difference(const struct rows *p, size_t i, size_t j, size_t l)
{
    whole sum = l == p->d ? p->w[i][p->d] - p->w[j][p->d] : 0;
    for (size_t c = 0; c < p->d; c++)
        sum += (whole)(p->w[i][c] - p->w[j][c]) * (l == p->d ? p->mean[c] : p->A[c][l]);
    return sum;
}

static int tie_somewhere(const struct rows *p, size_t i, size_t j)
{
    for (size_t l = 0; l < p->d; l++)
        if (difference(p, i, j, l) != 0)
            return 1;
    return 0;
}

static int is_third(const struct rows *p, size_t i, size_t j, size_t k)
{
    for (size_t l = 0; l <= p->d; l++)
        for (size_t m = 0; m < l; m++)
            if (difference(p, i, j, l) * difference(p, i, k, m) != difference(p, i, j, m) * difference(p, i, k, l))
                return 0;
    return 1;
}

/* The router times a scale, each row with the same large part. */
static void make(const struct rows *p, double scale, double common, moeg_law **law, moeg_router **router)
{
    double W[MOST_K * MOST_D], b[MOST_K], mean[MOST_D], covariance[MOST_D * MOST_D] = {0};
    for (size_t k = 0; k < p->K; k++) {
        for (size_t c = 0; c < p->d; c++)
            W[k * p->d + c] = scale * ((double)p->w[k][c] / ONE + common * (double)(c + 1));
        b[k] = scale * (double)p->w[k][p->d] / ONE;
    }
    for (size_t i = 0; i < p->d; i++) {
        mean[i] = (double)p->mean[i];
        for (size_t j = 0; j < p->d; j++)
            for (size_t l = 0; l < p->d; l++)
                covariance[i * p->d + j] += (double)(p->A[i][l] * p->A[j][l]);
    }
    assert_ok(moeg_law_gaussian_create(law, p->d, mean, covariance));
    assert_ok(moeg_router_affine_create(router, p->K, p->d, W, b));
}

static void check(const struct rows *p, double scale, double common, size_t *found)
{
    moeg_law *law;
    moeg_router *router;
    moeg_frame frame;
    uint32_t *third;
    make(p, scale, common, &law, &router);
    assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame));
    assert_ok(moeg_crowded_pairs("test", &frame, &third));
    for (size_t i = 0; i < p->K; i++)
        for (size_t j = 0; j < p->K; j++) {
            int crowded = 0;
            for (size_t k = 0; i != j && tie_somewhere(p, i, j) && k < p->K; k++)
                crowded |= k != i && k != j && is_third(p, i, j, k);
            const size_t got = third[i * p->K + j];
            assert_int_equal(got != 0, crowded);
            assert_true(!crowded || (got - 1 != i && got - 1 != j && is_third(p, i, j, got - 1)));
            found[crowded]++;
        }
    moeg_release(third);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    moeg_law_free(law);
}

/* Of numbers up to 2 many triples are on one line, or the same expert, by chance; up to 500 those that are made so. */
static void whole_numbers_tell_which(void **state)
{
    (void)state;
    const double scales[] = {1, 1.0 / 3, 7e150, 1e-200};
    for (int singular = 0; singular < 2; singular++) {
        size_t found[2] = {0, 0};
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct rows p;
            draw_rows(seed, MOST_K - 3 * (seed % 3), 2 + (size_t)singular + seed % 3, seed % 2 == 0 ? 2 : 500, singular,
                      &p);
            check(&p, scales[seed % 4], seed % 5 == 0 ? 1e3 : 0, found);
        }
        assert_true(found[1] > 1000 && found[0] > 10000);
    }
}

/* All rows on one line: the same for all pairs, of experts that differ. */
static void one_line_is_crowded(void **state)
{
    (void)state;
    size_t found[2] = {0, 0};
    struct rows p = {.K = 20, .d = 2, .A = {{1, 0}, {0, 1}}};
    for (size_t k = 0; k < p.K; k++)
        for (size_t l = 0; l <= p.d; l++)
            p.w[k][l] = ONE * (int64_t)(k / 2 * (l + 3));
    check(&p, 0.1, 0, found);
    assert_int_equal(found[1], 20 * 18);
}

static moeg_status call(void *user)
{
    uint32_t *third;
    const moeg_status status = moeg_crowded_pairs("test", user, &third);
    moeg_release(third);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct rows p;
    moeg_law *law;
    moeg_router *router;
    moeg_frame frame;
    draw_rows(1, 6, 3, 5, 0, &p);
    make(&p, 1, 0, &law, &router);
    assert_ok(moeg_frame_init("test", 1, (const moeg_router *const *)&router, law, &frame));
    assert_int_equal(fail_every_allocation(call, &frame), 4);
    moeg_frame_free(&frame);
    moeg_router_free(router);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_tell_which),
        cmocka_unit_test(one_line_is_crowded),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
