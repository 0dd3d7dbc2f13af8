/* What the tests of every kind of law ask: sample i alone, in any batch and in any block; distributions. */
#ifndef MOEG_TESTS_MODEL_LAWS_H
#define MOEG_TESTS_MODEL_LAWS_H

#include "base/kernel.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

/* Sample i depends on (law, seed, i) alone: alone, in a batch from elsewhere, in blocks of any stride, and again. Where
 * `first` is huge, samples wrap no 32-bit counter. */
static inline void check_samples_stand_alone(const moeg_law *law, uint64_t seed, uint64_t first)
{
    enum { N = 150 };
    const size_t d = moeg_law_dim(law);
    double *x = malloc(N * d * sizeof *x), *again = malloc(N * d * sizeof *x);
    assert_true(x != NULL && again != NULL);
    assert_ok(moeg_law_sample(law, seed, first, N, x));
    assert_ok(moeg_law_sample(law, seed, first, N, again));
    assert_same_bits(x, again, N * d);
    for (size_t i = 0; i < N; i++) {
        assert_ok(moeg_law_sample(law, seed, first + i, 1, again));
        assert_same_bits(again, x + i * d, d);
    }
    const size_t cuts[] = {0, 1, 8, 71, 73, N};
    for (size_t c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++)
        assert_ok(moeg_law_sample(law, seed, first + cuts[c], cuts[c + 1] - cuts[c], again + cuts[c] * d));
    assert_same_bits(again, x, N * d);
    free(again);
    const size_t strides[] = {8, 152, 1024};
    for (size_t s = 0; s < 3; s++) {
        const size_t stride = strides[s], n = stride < N ? stride - 3 : N;
        double *block = moeg_alloc(d * stride + moeg_law_workspace(law, stride), sizeof *block);
        assert_non_null(block);
        assert_ok(moeg_law_draw(law, seed, first, n, stride, block, block + d * stride));
        for (size_t j = 0; j < d; j++)
            for (size_t i = 0; i < stride; i++) {
                assert_true(isfinite(block[j * stride + i]));
                if (i < n)
                    assert_same_bits(block + j * stride + i, x + i * d + j, 1);
            }
        moeg_release(block);
    }
    free(x);
}

/* Creation and two samples with every allocation refused in turn: nothing is written, and `allocations` are made. d
 * <= 4.
 */
struct law_scenario {
    moeg_status (*create)(moeg_law **law, void *user);
    void *user;
    size_t d;
};

static inline moeg_status make_and_sample(void *user)
{
    const struct law_scenario *s = user;
    moeg_law *law = NULL;
    double x[2 * 4];
    assert_true(s->d <= 4);
    mark(2 * s->d, x);
    moeg_status status = s->create(&law, s->user);
    if (status == MOEG_OK)
        status = moeg_law_sample(law, 1, 0, 2, x);
    else
        assert_null(law);
    if (status != MOEG_OK)
        assert_true(is_marked(2 * s->d, x));
    moeg_law_free(law);
    return status;
}

static inline void check_law_allocations(moeg_status (*create)(moeg_law **law, void *user), void *user, size_t d,
                                         size_t allocations)
{
    struct law_scenario s = {create, user, d};
    assert_int_equal(fail_every_allocation(make_and_sample, &s), allocations);
}

typedef double (*cdf_function)(double x, const void *user);

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The empirical distribution of n values is within the band that the true one leaves with probability 1e-6 at the most
 * (Dvoretzky, Kiefer, Wolfowitz; Massart 1990). Sorts the values. */
static inline void check_distribution_at(size_t n, double *values, cdf_function cdf, const void *user, const char *file,
                                         int line)
{
    const double band = sqrt(log(2e6) / (2 * (double)n));
    double largest = 0;
    qsort(values, n, sizeof *values, ascending);
    for (size_t i = 0; i < n; i++) {
        const double p = cdf(values[i], user);
        if (!(p >= 0 && p <= 1))
            _fail(file, line);
        largest = fmax(largest, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    if (!(largest <= band)) {
        print_error("largest distance of distributions %g, allowed %g\n", largest, band);
        _fail(file, line);
    }
}

#define assert_distribution(n, values, cdf, user) check_distribution_at(n, values, cdf, user, __FILE__, __LINE__)

static inline double normal_cdf(double x, const void *unused)
{
    (void)unused;
    return erfc(-x * 0.70710678118654752440) / 2;
}

/* The mean of f(x_a) g(x_b) over n rows of d. */
static inline double mean_product(size_t n, size_t d, const double *x, size_t a, size_t b, double (*f)(double))
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += f(x[i * d + a]) * f(x[i * d + b]);
    return sum / (double)n;
}

#endif
