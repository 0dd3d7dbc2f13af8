/* The order of lines against all their crossings, sorted, and the order by evaluation between them. */
#include "line/envelope.h"
#include "support/check.h"
#include "support/random.h"

#include <stdlib.h>

enum { MOST = 14, STEP = 3 };

struct lines {
    size_t K, levels;
    double alpha[MOST * STEP], beta[MOST];
};

static long double value_at(const struct lines *l, size_t k, double t)
{
    return l->alpha[k * STEP] + (long double)l->beta[k] * t;
}

/* All K experts by their value at t, ties to the lowest index. */
static void order_at(const struct lines *l, double t, uint32_t *order)
{
    for (size_t k = 0; k < l->K; k++) {
        size_t at = k;
        for (; at > 0 && value_at(l, order[at - 1], t) < value_at(l, k, t); at--)
            order[at] = order[at - 1];
        order[at] = (uint32_t)k;
    }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double middle(double lo, double hi)
{
    return isinf(lo) && isinf(hi) ? 0 : isinf(lo) ? hi - 1 : isinf(hi) ? lo + 1 : lo + (hi - lo) / 2;
}

/* Ends of the pieces, -INFINITY first and INFINITY last, by the slow way. */
static size_t ends_of(const struct lines *l, double *ends)
{
    double all[MOST * MOST + 2];
    uint32_t before[MOST], after[MOST];
    size_t n = 0, count = 0;
    all[n++] = -INFINITY;
    for (size_t i = 0; i < l->K; i++)
        for (size_t j = 0; j < i; j++)
            if (l->beta[i] != l->beta[j])
                all[n++] = (l->alpha[j * STEP] - l->alpha[i * STEP]) / (l->beta[i] - l->beta[j]) + 0;
    all[n++] = INFINITY;
    qsort(all, n, sizeof *all, ascending);
    for (size_t i = 0; i < n; i++)
        if (count == 0 || all[i] > all[count - 1])
            all[count++] = all[i];
    ends[0] = -INFINITY;
    n = 1;
    for (size_t i = 1; i + 1 < count; i++) {
        order_at(l, middle(all[i - 1], all[i]), before);
        order_at(l, middle(all[i], all[i + 1]), after);
        if (memcmp(before, after, l->levels * sizeof *before) != 0)
            ends[n++] = all[i];
    }
    ends[n++] = INFINITY;
    return n;
}

/* Small whole numbers: many lines are equal, parallel or meet in one point, and crossings that are one are so in all
 * bits. */
static void whole_numbers_meet_in_many_ways(void **state)
{
    (void)state;
    uint64_t seed = 2385;
    size_t pieces = 0;
    for (int trial = 0; trial < 4000; trial++) {
        struct lines l = {.K = 1 + (size_t)trial % MOST};
        double work[2 * 16], ends[MOST * MOST + 2];
        uint32_t order[MOST];
        l.levels = 1 + next_bits(&seed) % l.K;
        for (size_t k = 0; k < l.K; k++) {
            l.alpha[k * STEP] = floor(6 * next_uniform(&seed));
            l.beta[k] = floor(3 * next_uniform(&seed));
        }
        assert_true(moeg_envelope_size(l.K) <= sizeof work / sizeof *work);
        const size_t count = ends_of(&l, ends);
        moeg_envelope e;
        moeg_envelope_init(&e, l.K, l.levels, l.beta, work);
        moeg_envelope_start(&e, l.alpha, STEP);
        size_t at = 0;
        do {
            assert_true(e.lo == ends[at] && e.hi == ends[at + 1]);
            order_at(&l, middle(e.lo, e.hi), order);
            assert_memory_equal(e.order, order, l.levels * sizeof *order);
            at++;
        } while (moeg_envelope_next(&e));
        assert_int_equal(at + 1, count);
        assert_false(moeg_envelope_next(&e));
        pieces += at;
    }
    assert_true(pieces > 20000);
}

/* Gaps by their offset from either end, against the values. */
static void check_gaps(const struct lines *l, const moeg_envelope *e)
{
    for (size_t upper = 1; upper < l->levels; upper++)
        for (size_t lower = upper + 1; lower <= l->levels; lower++) {
            const moeg_envelope_gap gap = moeg_envelope_gap_of(e, upper, lower);
            const uint32_t i = e->order[upper - 1], j = e->order[lower - 1];
            const double t = middle(e->lo, e->hi);
            const double offset = isinf(e->lo) ? t - e->hi : t - e->lo;
            const double size =
                fabs(l->alpha[i * STEP]) + fabs(l->alpha[j * STEP]) + (fabs(l->beta[i]) + fabs(l->beta[j])) * fabs(t);
            const long double expected = value_at(l, i, t) - value_at(l, j, t);
            const int whole = isinf(e->lo) && isinf(e->hi);
            if (!whole)
                assert_near(moeg_envelope_gap_at(e, &gap, offset), (double)expected, 16 * EPS * size);
            assert_true(gap.slope == 0 || (gap.slope > 0 ? gap.crossing <= e->lo : gap.crossing >= e->hi) ||
                        fabs((double)expected) <= 16 * EPS * size);
        }
}

/* Slopes and levels over many sizes: the order is right wherever evaluation in long double can tell, pieces follow one
 * another, and every end is the crossing of two lines that are there. */
static void any_numbers_are_in_order(void **state)
{
    (void)state;
    uint64_t seed = 77;
    for (int trial = 0; trial < 3000; trial++) {
        struct lines l = {.K = 2 + (size_t)trial % (MOST - 1)};
        double work[2 * 16];
        l.levels = 1 + next_bits(&seed) % l.K;
        const double spread = trial % 3 == 0 ? 0 : 12;
        for (size_t k = 0; k < l.K; k++) {
            l.alpha[k * STEP] = next_normal(&seed) * exp(spread * next_uniform(&seed));
            l.beta[k] = next_normal(&seed) * exp(spread * next_uniform(&seed));
        }
        moeg_envelope e;
        double last = -INFINITY;
        moeg_envelope_init(&e, l.K, l.levels, l.beta, work);
        moeg_envelope_start(&e, l.alpha, STEP);
        do {
            assert_true(e.lo == last && e.hi > e.lo);
            last = e.hi;
            const double t = middle(e.lo, e.hi);
            int tie = isinf(e.lo);
            for (size_t rank = 0; rank < l.K; rank++)
                for (size_t below = rank + 1; below < l.K; below++) {
                    const uint32_t i = e.order[rank], j = e.order[below];
                    const long double difference = value_at(&l, i, t) - value_at(&l, j, t);
                    const double size = fabs(l.alpha[i * STEP]) + fabs(l.alpha[j * STEP]) +
                                        (fabs(l.beta[i]) + fabs(l.beta[j])) * fabs(t);
                    assert_true(rank >= l.levels || difference >= -8 * EPS * size);
                    tie = tie || moeg_envelope_crossing(&e, i, j) == e.lo;
                }
            assert_true(tie);
            check_gaps(&l, &e);
        } while (moeg_envelope_next(&e));
        assert_true(last == INFINITY);
    }
}

/* Lines through one point whose crossings rounding scatters: the walk ends, gaps are not negative, and far from the
 * point the order is that of the slopes. */
static void bundles_come_apart(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int trial = 0; trial < 2000; trial++) {
        struct lines l = {.K = MOST, .levels = 1 + (size_t)trial % MOST};
        double work[2 * 16];
        const double at = next_normal(&seed) * exp(5 * next_uniform(&seed));
        for (size_t k = 0; k < l.K; k++) {
            l.beta[k] = next_normal(&seed);
            l.alpha[k * STEP] = -l.beta[k] * at;
        }
        moeg_envelope e;
        moeg_envelope_init(&e, l.K, l.levels, l.beta, work);
        moeg_envelope_start(&e, l.alpha, STEP);
        for (size_t rank = 1; rank < l.levels; rank++)
            assert_true(l.beta[e.order[rank - 1]] < l.beta[e.order[rank]]);
        int steps = 0;
        while (moeg_envelope_next(&e)) {
            assert_near(e.lo, at, 1e-11 * fabs(at) + 1e-300);
            for (size_t rank = 1; rank < l.levels; rank++) {
                const moeg_envelope_gap gap = moeg_envelope_gap_of(&e, rank, rank + 1);
                assert_true(moeg_envelope_gap_at(&e, &gap, 0) >= 0);
            }
            steps++;
        }
        assert_true(steps > 0 && steps <= MOST * (MOST - 1) / 2);
        for (size_t rank = 1; rank < l.levels; rank++)
            assert_true(l.beta[e.order[rank - 1]] > l.beta[e.order[rank]]);
    }
}

/* Gaps far below the rounding of the values that they are differences of; lines that meet beyond all doubles. */
static void nothing_cancels_and_nothing_overflows(void **state)
{
    (void)state;
    double work[2 * 8];
    moeg_envelope e;
    const double alpha[] = {0.7, 0.2, -1e300}, beta[] = {-1.3, 0.9, 0};
    moeg_envelope_init(&e, 3, 3, beta, work);
    moeg_envelope_start(&e, alpha, 1);
    while (e.order[0] == 0 && moeg_envelope_next(&e))
        ;
    const moeg_envelope_gap gap = moeg_envelope_gap_of(&e, 1, 2);
    assert_true(e.lo == (0.7 - 0.2) / (0.9 + 1.3) && moeg_envelope_gap_at(&e, &gap, 0) == 0);
    assert_relative(moeg_envelope_gap_at(&e, &gap, 1e-290), (0.9 + 1.3) * 1e-290, EPS);

    const double flat[] = {0, 1e-310, 1e-310}, high[] = {1.5, 0.2, 0.2};
    moeg_envelope_init(&e, 3, 3, flat, work);
    moeg_envelope_start(&e, high, 1);
    assert_true(isinf(e.lo) && isinf(e.hi) && e.order[0] == 0 && e.order[1] == 1 && e.order[2] == 2);
    const moeg_envelope_gap beyond = moeg_envelope_gap_of(&e, 1, 2), twins = moeg_envelope_gap_of(&e, 2, 3);
    assert_true(beyond.slope == 0 && beyond.level == 1.5 - 0.2 && twins.slope == 0 && twins.level == 0);
    assert_false(moeg_envelope_next(&e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_meet_in_many_ways),
        cmocka_unit_test(any_numbers_are_in_order),
        cmocka_unit_test(bundles_come_apart),
        cmocka_unit_test(nothing_cancels_and_nothing_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
