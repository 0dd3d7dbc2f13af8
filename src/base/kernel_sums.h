/* The kernels of accumulators (moments.c) and of bins, a part of kernel_body.h. Sums run in CHAINS vectors of partial
 * sums, which meet in a fixed tree: their order depends on n alone. */
#ifndef MOEG_BASE_KERNEL_SUMS_H
#define MOEG_BASE_KERNEL_SUMS_H

enum { CHAINS = 4, SUM_STEP = CHAINS * VECTOR_LANES };

/* The sum of a vector's lanes: halves on halves. */
static inline double sum_lanes(reals v)
{
    double lane[VECTOR_LANES];
    memcpy(lane, &v, sizeof lane);
    for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static inline double sum_chains(const reals *sum)
{
    return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static inline void add_deviations(const double *x, double shift, reals *sum, reals *square)
{
    for (int c = 0; c < CHAINS; c++) {
        const reals deviation = load(x + c * VECTOR_LANES) - REALS(shift);
        sum[c] += deviation;
        square[c] = FMA_REALS(deviation, deviation, square[c]);
    }
}

/* The last n < SUM_STEP values, and the shift, which deviates by 0, after them. */
static inline void fill_last(size_t n, const double *x, double shift, double *last)
{
    for (size_t i = 0; i < SUM_STEP; i++)
        last[i] = i < n ? x[i] : shift;
}

static double kernel_deviations(size_t n, const double *x, double shift, double *squares)
{
    reals sum[CHAINS] = {{0}}, square[CHAINS] = {{0}};
    size_t i = 0;
    for (; i + SUM_STEP <= n; i += SUM_STEP)
        add_deviations(x + i, shift, sum, square);
    if (i < n) {
        double last[SUM_STEP];
        fill_last(n - i, x + i, shift, last);
        add_deviations(last, shift, sum, square);
    }
    *squares = sum_chains(square);
    return sum_chains(sum);
}

static int kernel_finite(size_t n, const double *x)
{
    reals sum[CHAINS] = {{0}};
    size_t i = 0;
    for (; i + SUM_STEP <= n; i += SUM_STEP)
        for (int c = 0; c < CHAINS; c++)
            sum[c] += load(x + i + c * VECTOR_LANES) * REALS(0.0);
    double rest = sum_chains(sum);
    for (; i < n; i++)
        rest += x[i] * 0;
    return rest == 0;
}

static inline void add_magnitudes(const double *x, reals *sum, reals *square)
{
    for (int c = 0; c < CHAINS; c++) {
        const reals value = load(x + c * VECTOR_LANES);
        sum[c] += select_reals((words)(value < REALS(0.0)), -value, value);
        square[c] = FMA_REALS(value, value, square[c]);
    }
}

static double kernel_magnitudes(size_t n, const double *x, double *squares)
{
    reals sum[CHAINS] = {{0}}, square[CHAINS] = {{0}};
    size_t i = 0;
    for (; i + SUM_STEP <= n; i += SUM_STEP)
        add_magnitudes(x + i, sum, square);
    if (i < n) {
        double last[SUM_STEP];
        fill_last(n - i, x + i, 0, last);
        add_magnitudes(last, sum, square);
    }
    *squares = sum_chains(square);
    return sum_chains(sum);
}

static double kernel_center(size_t n, const double *x, double mean, double *restrict out)
{
    reals sum[CHAINS] = {{0}};
    size_t i = 0;
    for (; i + SUM_STEP <= n; i += SUM_STEP)
        for (int c = 0; c < CHAINS; c++) {
            const reals deviation = load(x + i + c * VECTOR_LANES) - REALS(mean);
            *(loose *)(out + i + c * VECTOR_LANES) = deviation;
            sum[c] += deviation;
        }
    if (i < n) {
        double last[SUM_STEP];
        fill_last(n - i, x + i, mean, last);
        for (int c = 0; c < CHAINS; c++) {
            const reals deviation = load(last + c * VECTOR_LANES) - REALS(mean);
            *(loose *)(last + c * VECTOR_LANES) = deviation;
            sum[c] += deviation;
        }
        memcpy(out + i, last, (n - i) * sizeof *out);
    }
    return sum_chains(sum);
}

/* What pairs sum up to, so far. */
typedef struct pair_sums {
    reals error[CHAINS], size[CHAINS];
    words nonzero[CHAINS];
} pair_sums;

static inline void add_pairs(double *a, const double *b, const double *e, const double *f, pair_sums *s)
{
    for (int c = 0; c < CHAINS; c++) {
        const size_t at = (size_t)(c * VECTOR_LANES);
        const reals x = load(a + at), y = load(b + at), mean = (x + y) * REALS(0.5);
        *(loose *)(a + at) = mean;
        s->size[c] += select_reals((words)(mean < REALS(0.0)), -mean, mean);
        s->error[c] += (load(e + at) + load(f + at)) * REALS(0.5);
        s->nonzero[c] -= (words)(x != REALS(0.0)) + (words)(y != REALS(0.0));
    }
}

static void kernel_pairs(size_t n, double *restrict a, const double *b, const double *e, const double *f, double *sums)
{
    pair_sums s = {.error = {{0}}};
    size_t i = 0;
    for (; i + SUM_STEP <= n; i += SUM_STEP)
        add_pairs(a + i, b + i, e + i, f + i, &s);
    if (i < n) {
        double last[4][SUM_STEP];
        fill_last(n - i, a + i, 0, last[0]);
        fill_last(n - i, b + i, 0, last[1]);
        fill_last(n - i, e + i, 0, last[2]);
        fill_last(n - i, f + i, 0, last[3]);
        add_pairs(last[0], last[1], last[2], last[3], &s);
        memcpy(a + i, last[0], (n - i) * sizeof *a);
    }
    uint64_t nonzero = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int l = 0; l < VECTOR_LANES; l++)
            nonzero += s.nonzero[c][l];
    sums[0] = sum_chains(s.error);
    sums[1] = sum_chains(s.size);
    sums[2] = (double)nonzero;
}

/* Rows of a register tile of products, and its columns: with AVX2 more sums would not fit the 16 registers. */
enum { PRODUCT_ROWS = 4, PRODUCT_COLS = VECTOR_LANES == 8 ? 4 : 2 };

/* rows x cols products, both constants where this is called. */
static inline __attribute__((always_inline)) void product_tile(int rows, int cols, size_t n, size_t stride,
                                                               const double *a, const double *b, size_t q, double *out)
{
    reals sum[PRODUCT_ROWS][PRODUCT_COLS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            sum[i][j] = REALS(0.0);
    for (size_t u = 0; u < n; u += VECTOR_LANES)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < cols; j++)
                sum[i][j] = FMA_REALS(load(a + (size_t)i * stride + u), load(b + (size_t)j * stride + u), sum[i][j]);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[(size_t)i * q + (size_t)j] = sum_lanes(sum[i][j]);
}

/* `rows` rows of products, a constant, with the first `count` rows of b. */
static inline __attribute__((always_inline)) void product_panel(int rows, size_t count, size_t n, size_t stride,
                                                                const double *a, const double *b, size_t q, double *out)
{
    size_t j = 0;
    for (; j + PRODUCT_COLS <= count; j += PRODUCT_COLS)
        product_tile(rows, PRODUCT_COLS, n, stride, a, b + j * stride, q, out + j);
    for (; j < count; j++)
        product_tile(rows, 1, n, stride, a, b + j * stride, q, out + j);
}

static void kernel_products(size_t p, size_t q, size_t n, size_t stride, const double *a, const double *b, double *out)
{
    /* Of a symmetric product no more than the lower triangle, by tiles. */
    const int symmetric = a == b;
    size_t i = 0;
    for (; i + PRODUCT_ROWS <= p; i += PRODUCT_ROWS)
        product_panel(PRODUCT_ROWS, symmetric ? i + PRODUCT_ROWS : q, n, stride, a + i * stride, b, q, out + i * q);
    for (; i < p; i++)
        product_panel(1, symmetric ? i + 1 : q, n, stride, a + i * stride, b, q, out + i * q);
}

/* Bins of `vectors` vectors, a constant, by comparing with each border. A comparison gives -1 for true. */
static inline __attribute__((always_inline)) void bin_tile(int vectors, size_t nw, const double *w, const double *v,
                                                           uint32_t *bin)
{
    words count[CHAINS];
    for (int c = 0; c < vectors; c++)
        count[c] = WORDS(0);
    for (size_t j = 0; j < nw; j++)
        for (int c = 0; c < vectors; c++)
            count[c] -= (words)(REALS(w[j]) < load(v + c * VECTOR_LANES));
    for (int c = 0; c < vectors; c++)
        for (int l = 0; l < VECTOR_LANES; l++)
            bin[c * VECTOR_LANES + l] = (uint32_t)count[c][l];
}

/* Up to so many borders comparing with all of them is faster than bisection. */
enum { MOST_COMPARED = 128 };

static size_t bisect(size_t nw, const double *w, double v)
{
    size_t lo = 0;
    for (size_t left = nw; left > 0;) {
        const size_t half = (left + 1) / 2;
        lo += w[lo + half - 1] < v ? half : 0;
        left -= half;
    }
    return lo;
}

static void kernel_bins(size_t nw, const double *w, size_t n, const double *v, uint32_t *bin)
{
    size_t i = 0;
    for (; nw <= MOST_COMPARED && i + SUM_STEP <= n; i += SUM_STEP)
        bin_tile(CHAINS, nw, w, v + i, bin + i);
    for (; nw <= MOST_COMPARED && i + VECTOR_LANES <= n; i += VECTOR_LANES)
        bin_tile(1, nw, w, v + i, bin + i);
    for (; i < n; i++)
        bin[i] = (uint32_t)bisect(nw, w, v[i]);
}

#endif
