#include "limit/gap_order.h"

#include "base/interval.h"

#include <math.h>
#include <stdint.h>

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

/* The first c in [first, last] for which a limit of the share c/n passes p, a fact that holds from there on; last if
 * none does. From the guess in steps that double, then by halves. */
static moeg_status first_past(const char *function, size_t n, double p, double level, int upper, size_t first,
                              size_t last, size_t guess, size_t *at)
{
    size_t begin = first, end = last, step = 1, c = guess;
    while (begin < end) {
        double limit[2];
        c = c < begin ? begin : c >= end ? end - 1 : c;
        const moeg_status status = moeg_interval_binomial(function, c, n, level, &limit[0], &limit[1]);
        if (status != MOEG_OK)
            return status;
        if (upper ? limit[1] > p : limit[0] >= p) {
            end = c;
            c = end - begin > 2 * step ? end - step : begin + (end - begin) / 2;
        } else {
            begin = c + 1;
            c = end - begin > 2 * step ? begin + step : begin + (end - begin) / 2;
        }
        step *= 2;
    }
    *at = begin;
    return MOEG_OK;
}

/* The least count whose share, as it is rounded, is at least p. */
static size_t count_for(size_t n, double p)
{
    size_t k = (size_t)ceil(p * (double)n);
    k = k < 1 ? 1 : k > n ? n : k;
    while (k > 1 && (double)(k - 1) / (double)n >= p)
        k--;
    while (k < n && (double)k / (double)n < p)
        k++;
    return k;
}

/* The ranks at p. q = min {w : F(w) >= p}: with probability at most (1 - level)/2 are `hi` rows or more below q, each
 * with probability F(q-) <= p, and with no more than that fewer than `lo` rows up to q, F(q) >= p. The first guesses
 * are the binomial quantiles' by normal ones with the correction for skewness. */
moeg_status moeg_gap_ranks_at(const char *function, size_t n, double p, double level, double reach,
                              moeg_gap_ranks *ranks)
{
    const double deviation = reach * sqrt((double)n * p * (1 - p));
    const double middle = (double)n * p + (reach * reach - 1) / 6 * (1 - 2 * p);
    ranks->value = count_for(n, p);
    moeg_status status = first_past(function, n, p, level, 1, 0, n, (size_t)fmax(0, middle - deviation), &ranks->lo);
    if (status == MOEG_OK)
        status = first_past(function, n, p, level, 0, 1, n + 1, (size_t)fmax(0, middle + deviation + 1), &ranks->hi);
    /* At small levels both limits may be the share itself. */
    ranks->lo = ranks->lo < ranks->value ? ranks->lo : ranks->value;
    ranks->hi = ranks->hi > ranks->value ? ranks->hi : ranks->value;
    return status;
}
