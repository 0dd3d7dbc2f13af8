#include "limit/pair.h"

moeg_pair moeg_row_entry(const moeg_row *row, size_t j)
{
    moeg_pair entry = {j < row->d ? row->plus[j] : row->plus_constant, 0};
    if (row->minus != NULL)
        entry = moeg_pair_add(entry, (moeg_pair){-(long double)(j < row->d ? row->minus[j] : row->minus_constant), 0});
    if (row->base == NULL)
        return entry;
    const moeg_pair base = moeg_pair_times(moeg_row_entry(row->base, j), row->multiple);
    return moeg_pair_add(entry, (moeg_pair){-base.high, -base.low});
}

moeg_pair moeg_row_at(const moeg_row *row, const double *x)
{
    moeg_pair sum = moeg_row_entry(row, row->d);
    for (size_t j = 0; j < row->d; j++)
        sum = moeg_pair_add(sum, moeg_pair_scale(moeg_row_entry(row, j), x[j]));
    return sum;
}

moeg_pair moeg_row_image(const moeg_row *row, const double *S, size_t i, long double *size)
{
    moeg_pair sum = {0, 0};
    *size = 0;
    for (size_t j = S == NULL ? i : 0; j < (S == NULL ? i + 1 : row->d); j++) {
        const moeg_pair term = moeg_pair_scale(moeg_row_entry(row, j), S == NULL ? 1 : S[i * row->d + j]);
        sum = moeg_pair_add(sum, term);
        *size += fabsl(term.high);
    }
    return sum;
}

moeg_pair moeg_row_product(const moeg_row *a, const moeg_row *b, const double *S, long double *size)
{
    moeg_pair sum = {0, 0};
    long double total = 0, magnitude;
    for (size_t i = 0; i < a->d; i++) {
        const moeg_pair entry = moeg_row_entry(a, i);
        sum = moeg_pair_add(sum, moeg_pair_times(moeg_row_image(b, S, i, &magnitude), entry));
        total += fabsl(entry.high) * magnitude;
    }
    if (size != NULL)
        *size = total;
    return sum;
}

moeg_row moeg_row_without(const moeg_row *t, const moeg_row *s, const double *S)
{
    const long double variance = moeg_pair_value(moeg_row_product(s, s, S, NULL));
    moeg_row rest = *t;
    rest.multiple.high = moeg_pair_value(moeg_row_product(t, s, S, NULL)) / variance;
    rest.base = s;
    rest.multiple.low = moeg_pair_value(moeg_row_product(&rest, s, S, NULL)) / variance;
    return rest;
}

/* Shewchuk's expansion: numbers whose sum is exact and that do not overlap, so that the sum is 0 only if all are. */
struct expansion {
    size_t count;
    long double part[16];
};

static void grow(struct expansion *e, long double x)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->count; i++) {
        const long double sum = x + e->part[i], back = sum - x;
        const long double lost = (x - (sum - back)) + (e->part[i] - back);
        if (lost != 0)
            e->part[kept++] = lost;
        x = sum;
    }
    if (x != 0)
        e->part[kept++] = x;
    e->count = kept;
}

/* Products of differences of doubles neither overflow nor underflow a long double. */
static void grow_product(struct expansion *e, long double x, long double y)
{
    const long double product = x * y;
    grow(e, product);
    grow(e, fmal(x, y, -product));
}

/* p q - r s == 0. */
static int products_are_equal(moeg_pair p, moeg_pair q, moeg_pair r, moeg_pair s)
{
    struct expansion e = {0};
    grow_product(&e, p.high, q.high);
    grow_product(&e, p.high, q.low);
    grow_product(&e, p.low, q.high);
    grow_product(&e, p.low, q.low);
    grow_product(&e, -r.high, s.high);
    grow_product(&e, -r.high, s.low);
    grow_product(&e, -r.low, s.high);
    grow_product(&e, -r.low, s.low);
    return e.count == 0;
}

int moeg_row_is_multiple(const moeg_row *a, const moeg_row *b, int constants, size_t *pivot)
{
    size_t p = 0;
    while (p < a->d && moeg_pair_value(moeg_row_entry(a, p)) == 0)
        p++;
    *pivot = p;
    const moeg_pair a_p = moeg_row_entry(a, p), b_p = moeg_row_entry(b, p);
    for (size_t j = 0; j < a->d + (constants != 0); j++)
        if (!products_are_equal(a_p, moeg_row_entry(b, j), moeg_row_entry(a, j), b_p))
            return 0;
    return 1;
}
