#include "limit/gap_order.h"

#include "base/error.h"
#include "base/interval.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Steele and Vigna's mixer: a pivot that no order of the numbers was made to meet. */
static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

static double middle_of(double a, double b, double c)
{
    return a < b ? (b < c ? b : a < c ? c : a) : a < c ? a : b < c ? c : b;
}

/* Numbers below the pivot, those equal to it and those above, in this order: [0, *below), [*below, *above), the rest.
 */
static void partition(size_t n, double *x, double pivot, size_t *below, size_t *above)
{
    size_t low = 0, at = 0, high = n;
    while (at < high)
        if (x[at] < pivot)
            swap(&x[low++], &x[at++]);
        else if (x[at] > pivot)
            swap(&x[at], &x[--high]);
        else
            at++;
    *below = low;
    *above = high;
}

/* One side after the other: parts that hold no rank are left alone. x begins at rank `first`. */
static void select_in(size_t first, size_t n, double *x, size_t count, const size_t *rank)
{
    while (count > 0 && n > 1) {
        const uint64_t at = mix(first + n);
        const double pivot = middle_of(x[at % n], x[mix(at) % n], x[mix(at + 1) % n]);
        size_t below, above, left = 0, through = 0;
        partition(n, x, pivot, &below, &above);
        while (left < count && rank[left] - first < below)
            left++;
        through = left;
        while (through < count && rank[through] - first < above)
            through++;
        select_in(first, below, x, left, rank);
        first += above;
        n -= above;
        x += above;
        count -= through;
        rank += through;
    }
}

void moeg_gap_select(size_t n, double *x, size_t count, const size_t *rank)
{
    select_in(0, n, x, count, rank);
}

static double share_of(const moeg_gap_shares *s, size_t count)
{
    if (s->weight == NULL)
        return (double)count / (double)s->n;
    return count == 0 ? 0 : count == s->n ? 1 : s->weight[count - 1] / s->weight[s->n - 1];
}

/* What the rows are worth in equal ones at the share p of `count` of them: (sum w)^2/sum w^2, or fewer where the
 * variance of the share is more than p (1 - p) over that. */
static double worth(const moeg_gap_shares *s, size_t count)
{
    const size_t n = s->n;
    if (s->weight == NULL)
        return (double)n;
    const double sum = s->weight[n - 1], square = s->square[n - 1], p = share_of(s, count);
    const double inside = s->square[count - 1], outside = fmax(0, square - inside);
    const double scatter = moeg_share_scatter(p, 1 - p, inside, outside);
    const double units = moeg_kish_units(n, sum, square), left = p * (1 - p) * sum * sum / scatter;
    return left < units ? fmax(1, left) : units;
}

static moeg_status interval(const char *function, const moeg_gap_shares *s, double units, size_t count, double level,
                            double *lo, double *hi)
{
    if (s->weight == NULL)
        return moeg_interval_binomial(function, count, s->n, level, lo, hi);
    const double share = share_of(s, count);
    moeg_interval_share(share * units, (1 - share) * units, share, level, lo, hi);
    return MOEG_OK;
}

/* The least count, 1 to n, whose share is at least p; of rows with weights but for the rounding of their sums, so that
 * equal ones are none. */
static size_t count_for(const moeg_gap_shares *s, double p)
{
    const double least = s->weight == NULL ? p : p * (1 - 4 * DBL_EPSILON);
    size_t below = 0, end = s->n;
    while (end - below > 1) {
        const size_t middle = below + (end - below) / 2;
        if (share_of(s, middle) >= least)
            end = middle;
        else
            below = middle;
    }
    return end;
}

/* The first count in [first, last) for which a limit of its share passes p, a fact that holds from there on; last if
 * none does. From the guess in steps that double, then by halves. */
static moeg_status first_past(const char *function, const moeg_gap_shares *s, double units, double p, double level,
                              int upper, size_t first, size_t last, size_t guess, size_t *at)
{
    size_t begin = first, end = last, step = 1, c = guess;
    while (begin < end) {
        double lo, hi;
        c = c < begin ? begin : c >= end ? end - 1 : c;
        const moeg_status status = interval(function, s, units, c, level, &lo, &hi);
        if (status != MOEG_OK)
            return status;
        const int past = upper ? hi > p : lo >= p;
        begin = past ? begin : c + 1;
        end = past ? c : end;
        const size_t left = end - begin;
        c = left <= 2 * step ? begin + left / 2 : past ? end - step : begin + step;
        step *= 2;
    }
    *at = begin;
    return MOEG_OK;
}

/* q = min {w : F(w) >= p}: with probability at most (1 - level)/2 are `hi` rows or more below q, each with probability
 * F(q-) <= p, and with no more than that fewer than `lo` rows up to q, F(q) >= p. The first guesses are the binomial
 * quantiles' by normal ones with the correction for skewness. */
moeg_status moeg_gap_ranks_at(const char *function, const moeg_gap_shares *shares, double p, double level, double reach,
                              moeg_gap_ranks *ranks)
{
    ranks->value = count_for(shares, p);
    const double units = worth(shares, ranks->value), deviation = reach * sqrt(p * (1 - p) / units);
    const double middle = p + (reach * reach - 1) / 6 * (1 - 2 * p) / units;
    const size_t low = count_for(shares, middle - deviation), high = count_for(shares, middle + deviation);
    moeg_status status = first_past(function, shares, units, p, level, 1, 0, shares->n, low, &ranks->lo);
    if (status == MOEG_OK)
        status = first_past(function, shares, units, p, level, 0, 1, shares->n + 1, high, &ranks->hi);
    /* At small levels both limits may be the share itself. */
    ranks->lo = ranks->lo < ranks->value ? ranks->lo : ranks->value;
    ranks->hi = ranks->hi > ranks->value ? ranks->hi : ranks->value;
    return status;
}

static int by_rank(const void *a, const void *b)
{
    const size_t p = *(const size_t *)a, q = *(const size_t *)b;
    return (p > q) - (p < q);
}

moeg_status moeg_gap_place(const char *function, size_t n, double *gap, size_t np, const moeg_gap_ranks *ranks)
{
    size_t *wanted = moeg_alloc(np, 3 * sizeof *wanted), count = 0;
    if (wanted == NULL)
        return moeg_fail_memory(function);
    for (size_t j = 0; j < np; j++) {
        wanted[count++] = ranks[j].value - 1;
        if (ranks[j].lo >= 1)
            wanted[count++] = ranks[j].lo - 1;
        if (ranks[j].hi <= n)
            wanted[count++] = ranks[j].hi - 1;
    }
    qsort(wanted, count, sizeof *wanted, by_rank);
    moeg_gap_select(n, gap, count, wanted);
    moeg_release(wanted);
    return MOEG_OK;
}

struct weighed {
    double gap, weight;
};

static int by_gap(const void *a, const void *b)
{
    const struct weighed *p = a, *q = b;
    if (p->gap != q->gap)
        return p->gap < q->gap ? -1 : 1;
    return (p->weight > q->weight) - (p->weight < q->weight);
}

moeg_status moeg_gap_sort_weighed(const char *function, size_t n, double *gap, const double *weights, double *sums,
                                  moeg_gap_shares *shares)
{
    long double sum = 0, square = 0;
    size_t count = 0;
    struct weighed *rows = moeg_alloc(n, sizeof *rows);
    if (rows == NULL)
        return moeg_fail_memory(function);
    for (size_t i = 0; i < n; i++)
        if (weights[i] > 0)
            rows[count++] = (struct weighed){gap[i], weights[i]};
    qsort(rows, count, sizeof *rows, by_gap);
    for (size_t i = 0; i < count; i++) {
        gap[i] = rows[i].gap;
        sum += rows[i].weight;
        square += (long double)rows[i].weight * rows[i].weight;
        sums[i] = (double)sum;
        sums[n + i] = (double)square;
    }
    moeg_release(rows);
    *shares = (moeg_gap_shares){count, sums, sums + n};
    return MOEG_OK;
}
