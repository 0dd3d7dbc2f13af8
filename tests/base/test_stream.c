#include "base/kernel.h"
#include "base/memory.h"
#include "support/check.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <moegeom/moegeom.h>

typedef moeg_status (*bulk_function)(moeg_stream stream, uint64_t first, size_t n, size_t q, double *out);
typedef void (*kernel_function)(uint64_t seed, uint32_t id, uint64_t first, size_t q, size_t stride, double *out);

static const bulk_function bulk[2] = {moeg_stream_uniforms, moeg_stream_normals};
static const kernel_function kernels[2] = {moeg_kernel_uniforms, moeg_kernel_normals};

/* Shapes on both sides of the internal tile of 64 rows by 32 draws, and firsts next to the carries of the counter. */
static void rows_are_the_kernels(void **state)
{
    (void)state;
    const size_t shapes[][2] = {{1, 1}, {3, 2}, {63, 33}, {64, 32}, {65, 31}, {130, 5}, {9, 100}, {200, 1}};
    const uint64_t firsts[] = {0, 0xffffffc0, UINT64_MAX - 199};
    const moeg_stream stream = {0x123456789abcdef0, 17};
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t c = 0; c < 8 * 3; c++) {
            const size_t n = shapes[c % 8][0], q = shapes[c % 8][1], stride = moeg_round_lanes(n);
            double *block = moeg_alloc(q * stride, sizeof *block), *rows = moeg_alloc(n * q + 1, sizeof *rows);
            kernels[kind](stream.seed, stream.id, firsts[c / 8], q, stride, block);
            rows[n * q] = 2.385;
            assert_ok(bulk[kind](stream, firsts[c / 8], n, q, rows));
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < q; j++)
                    assert_memory_equal(&rows[i * q + j], &block[j * stride + i], sizeof *rows);
            assert_near(rows[n * q], 2.385, 0);
            moeg_release(block);
            moeg_release(rows);
        }
}

static void any_cut_gives_the_same_bits(void **state)
{
    (void)state;
    enum { N = 150, Q = 3 };
    static double whole[N * Q], parts[N * Q];
    const moeg_stream stream = {2385, 1};
    for (size_t kind = 0; kind < 2; kind++) {
        assert_ok(bulk[kind](stream, 99, N, Q, whole));
        for (size_t step = 1; step <= N; step += 1 + step / 2) {
            memset(parts, 0, sizeof parts);
            for (size_t row = 0; row < N; row += step)
                assert_ok(bulk[kind](stream, 99 + row, N - row < step ? N - row : step, Q, parts + row * Q));
            assert_memory_equal(parts, whole, sizeof whole);
        }
    }
}

/* Draw j of a unit is the same whatever q is. */
static void more_draws_keep_the_first(void **state)
{
    (void)state;
    static double few[10 * 3], many[10 * 70];
    for (size_t kind = 0; kind < 2; kind++) {
        assert_ok(bulk[kind]((moeg_stream){5, 6}, 7, 10, 3, few));
        assert_ok(bulk[kind]((moeg_stream){5, 6}, 7, 10, 70, many));
        for (size_t i = 0; i < 10; i++)
            assert_memory_equal(few + 3 * i, many + 70 * i, 3 * sizeof *few);
    }
}

static void errors(void **state)
{
    (void)state;
    double out[2] = {2.385, 2.385};
    const moeg_stream stream = {1, 0};
    const char *const names[2][5] = {
        {"stream_uniforms: u must not be NULL", "stream_uniforms: q must be at most 2^32, got 4294967297",
         "stream_uniforms: first + n must be at most 2^64, got first = 18446744073709551615, n = 2",
         "stream_uniforms: n q doubles must fit in memory, got n = 4294967296, q = 4294967296",
         "stream_uniforms: n q doubles must fit in memory, got n = 4611686018427387904, q = 1"},
        {"stream_normals: z must not be NULL", "stream_normals: q must be at most 2^32, got 4294967297",
         "stream_normals: first + n must be at most 2^64, got first = 18446744073709551615, n = 2",
         "stream_normals: n q doubles must fit in memory, got n = 4294967296, q = 4294967296",
         "stream_normals: n q doubles must fit in memory, got n = 4611686018427387904, q = 1"},
    };
    const size_t big = (size_t)1 << 32;
    for (size_t kind = 0; kind < 2; kind++) {
        assert_status(bulk[kind](stream, 0, 1, 1, NULL), MOEG_EINVAL, names[kind][0]);
        assert_status(bulk[kind](stream, 0, 1, big + 1, out), MOEG_EINVAL, names[kind][1]);
        assert_status(bulk[kind](stream, UINT64_MAX, 2, 1, out), MOEG_EINVAL, names[kind][2]);
        assert_status(bulk[kind](stream, 0, big, big, out), MOEG_EINVAL, names[kind][3]);
        assert_status(bulk[kind](stream, 0, (size_t)1 << 62, 1, out), MOEG_EINVAL, names[kind][4]);
        assert_near(out[0], 2.385, 0);
        assert_ok(bulk[kind](stream, UINT64_MAX, 0, 1, NULL));
        assert_ok(bulk[kind](stream, 0, 1, 0, NULL));
        assert_ok(bulk[kind](stream, UINT64_MAX, 1, 1, out)); /* The last unit. */
        assert_true(out[0] != 2.385);
        assert_near(out[1], 2.385, 0);
        out[0] = 2.385;
    }
}

static double correlation(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum / (double)n;
}

enum { SAMPLE = 1 << 16 };

/* Streams that differ in one number are independent: |r| sqrt(n) is a standard normal, below 4 in all but 6 in 10^5. */
static void streams_are_independent(void **state)
{
    (void)state;
    const moeg_stream streams[] = {
        {0, 0},
        {1, 0},
        {4357, 0},
        {(uint64_t)1 << 32, 0},
        {((uint64_t)1 << 32) + 1, 0},
        {7, 0},
        {7 + ((uint64_t)1 << 32), 0},
        {0, 1},
        {1, 1},
        {0, 0x80000000},
        {(uint64_t)1 << 63, 0},
    };
    enum { COUNT = sizeof streams / sizeof *streams };
    double *z = moeg_alloc((size_t)COUNT * SAMPLE, sizeof *z);
    for (size_t s = 0; s < COUNT; s++)
        assert_ok(moeg_stream_normals(streams[s], 0, SAMPLE, 1, z + s * SAMPLE));
    for (size_t s = 0; s < COUNT; s++)
        for (size_t t = 0; t < s; t++) {
            assert_memory_not_equal(z + s * SAMPLE, z + t * SAMPLE, 2 * sizeof *z);
            assert_near(correlation(SAMPLE, z + s * SAMPLE, z + t * SAMPLE) * sqrt(SAMPLE), 0, 4);
        }
    moeg_release(z);
}

/* Correlations of the draws, and of their squares, of one unit: 0, the squares' product with variance 4. */
static void draws_of_a_unit_are_independent(void **state)
{
    (void)state;
    enum { Q = 6 };
    double *z = moeg_alloc((size_t)Q * SAMPLE, sizeof *z), *square = moeg_alloc((size_t)Q * SAMPLE, sizeof *square);
    moeg_kernel_normals(31415, 2, 0, Q, SAMPLE, z);
    for (size_t k = 0; k < (size_t)Q * SAMPLE; k++)
        square[k] = z[k] * z[k] - 1;
    for (size_t a = 0; a < Q; a++)
        for (size_t b = 0; b < a; b++) {
            assert_near(correlation(SAMPLE, z + a * SAMPLE, z + b * SAMPLE) * sqrt(SAMPLE), 0, 4);
            assert_near(correlation(SAMPLE, square + a * SAMPLE, square + b * SAMPLE) * sqrt(SAMPLE) / 2, 0, 4);
        }
    for (size_t lag = 1; lag <= 4; lag++) /* Neighbouring units. */
        assert_near(correlation(SAMPLE - lag, z, z + lag) * sqrt((double)(SAMPLE - lag)), 0, 4);
    moeg_release(z);
    moeg_release(square);
}

/* Kolmogorov's statistic sqrt(n) sup |F_n - F|: above 1.95 with probability 2 exp(-2 1.95^2) = 0.001, below 0.37 with
 * probability sqrt(2 pi)/0.37 exp(-pi^2/(8 0.37^2)) = 0.001. */
static void check_kolmogorov(size_t n, double *x, double (*cdf)(double))
{
    gsl_sort(x, 1, n);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double F = cdf(x[i]);
        worst = fmax(worst, fmax(F - (double)i / (double)n, (double)(i + 1) / (double)n - F));
    }
    assert_true(worst * sqrt((double)n) < 1.95);
    assert_true(worst * sqrt((double)n) > 0.37);
}

static double uniform_cdf(double u)
{
    return u;
}

/* Moments of n normals: m_k - E z^k has standard deviation sqrt((E z^2k - (E z^k)^2)/n). */
static void normals_are_normal(void **state)
{
    (void)state;
    const double expected[] = {1, 0, 1, 0, 3, 0, 15, 0, 105}, variance[] = {0, 1, 2, 15, 96, 945, 10170};
    double *z = moeg_alloc(SAMPLE, sizeof *z);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        assert_ok(moeg_stream_normals((moeg_stream){seed, 0}, 1000, SAMPLE / 2, 2, z));
        for (int k = 1; k <= 6; k++) {
            double sum = 0;
            for (size_t i = 0; i < SAMPLE; i++)
                sum += pow(z[i], k);
            assert_near((sum / SAMPLE - expected[k]) / sqrt(variance[k] / SAMPLE), 0, 4);
        }
        check_kolmogorov(SAMPLE, z, gsl_cdf_ugaussian_P);
    }
    moeg_release(z);
}

/* Pairs of draws in a grid of CELLS x CELLS, by Pearson's statistic between its 0.001 and 0.999 quantiles. */
static void uniforms_fill_the_square(void **state)
{
    (void)state;
    enum { CELLS = 16 };
    double *u = moeg_alloc((size_t)2 * SAMPLE, sizeof *u);
    for (uint64_t seed = 0; seed < 4; seed++) {
        size_t count[CELLS * CELLS] = {0};
        assert_ok(moeg_stream_uniforms((moeg_stream){seed << 31, 0}, 0, SAMPLE, 2, u));
        double sum = 0;
        for (size_t i = 0; i < SAMPLE; i++) {
            assert_true(u[2 * i] > 0 && u[2 * i] < 1 && u[2 * i + 1] > 0 && u[2 * i + 1] < 1);
            count[(size_t)(CELLS * u[2 * i]) * CELLS + (size_t)(CELLS * u[2 * i + 1])]++;
            sum += u[2 * i];
        }
        assert_near((sum / SAMPLE - 0.5) * sqrt(12.0 * SAMPLE), 0, 4);
        double statistic = 0;
        const double each = (double)SAMPLE / (CELLS * CELLS);
        for (size_t cell = 0; cell < CELLS * CELLS; cell++)
            statistic += ((double)count[cell] - each) * ((double)count[cell] - each) / each;
        assert_true(statistic < gsl_cdf_chisq_Qinv(0.001, CELLS * CELLS - 1));
        assert_true(statistic > gsl_cdf_chisq_Pinv(0.001, CELLS * CELLS - 1));
        check_kolmogorov((size_t)2 * SAMPLE, u, uniform_cdf);
    }
    moeg_release(u);
}

static void gsl_type_is_the_stream(void **state)
{
    (void)state;
    gsl_rng *r = gsl_rng_alloc(moeg_rng_philox);
    assert_string_equal(gsl_rng_name(r), "moeg_philox");
    assert_int_equal(gsl_rng_min(r), 0);
    assert_int_equal(gsl_rng_max(r), 0xffffffff);
    const unsigned long seeds[] = {0, 1, 4357, 7, 0xffffffff, 1UL << 32, 7 + (1UL << 32), ~0UL};
    enum { COUNT = sizeof seeds / sizeof *seeds, UNITS = 40 };
    double u[2 * UNITS], first[COUNT];
    for (size_t s = 0; s < COUNT; s++) {
        assert_ok(moeg_stream_uniforms((moeg_stream){seeds[s], 0}, 0, UNITS, 2, u));
        gsl_rng_set(r, seeds[s]);
        for (size_t t = 0; t < 2 * UNITS; t++)
            assert_near(t % 3 == 0 ? gsl_rng_uniform_pos(r) : gsl_rng_uniform(r), u[t], 0);
        gsl_rng_set(r, seeds[s]);
        for (size_t t = 0; t < 2 * UNITS; t++)
            assert_int_equal(gsl_rng_get(r), (unsigned long)floor(ldexp(u[t], 32)));
        first[s] = u[0];
        for (size_t other = 0; other < s; other++)
            assert_true(first[s] != first[other]);
    }
    gsl_rng_set(r, 0); /* The published answer to a counter and key of zeros. */
    assert_int_equal(gsl_rng_get(r), 0xe169c58d);
    assert_int_equal(gsl_rng_get(r), 0x9b00dbd8);
    gsl_rng_free(r);
}

static void gsl_copies_carry_on(void **state)
{
    (void)state;
    gsl_rng *r = gsl_rng_alloc(moeg_rng_philox), *copy = gsl_rng_alloc(moeg_rng_philox);
    gsl_rng_set(r, 2385);
    gsl_rng_get(r); /* Stop inside a pair. */
    gsl_rng *clone = gsl_rng_clone(r);
    assert_int_equal(gsl_rng_memcpy(copy, r), 0);
    for (size_t t = 0; t < 9; t++) {
        const unsigned long next = gsl_rng_get(r);
        assert_int_equal(gsl_rng_get(clone), next);
        assert_int_equal(gsl_rng_get(copy), next);
    }
    gsl_rng_free(r);
    gsl_rng_free(copy);
    gsl_rng_free(clone);
}

static void gsl_distributions_work(void **state)
{
    (void)state;
    gsl_rng *r = gsl_rng_alloc(moeg_rng_philox);
    gsl_rng_set(r, 0);
    double sum = 0, squares = 0, counts = 0;
    for (size_t i = 0; i < SAMPLE; i++) {
        const double z = gsl_ran_gaussian_ziggurat(r, 1);
        sum += z;
        squares += z * z;
        counts += (double)gsl_rng_uniform_int(r, 10);
    }
    assert_near(sum / sqrt(SAMPLE), 0, 4);
    assert_near((squares - SAMPLE) / sqrt(2.0 * SAMPLE), 0, 4);
    assert_near((counts / SAMPLE - 4.5) / sqrt(8.25 / SAMPLE), 0, 4); /* Variance (10^2 - 1)/12. */
    gsl_rng_free(r);
}

/* Neither loading the library nor drawing sets flush-to-zero. */
static void subnormals_survive(void **state)
{
    (void)state;
    double z[64];
    assert_ok(moeg_stream_normals((moeg_stream){1, 0}, 0, 64, 1, z));
    volatile double tiny = 5e-324, one = 1;
    const double product = tiny * one;
    assert_true(product > 0);
    assert_near(product, 5e-324, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_kernels),      cmocka_unit_test(any_cut_gives_the_same_bits),
        cmocka_unit_test(more_draws_keep_the_first), cmocka_unit_test(errors),
        cmocka_unit_test(streams_are_independent),   cmocka_unit_test(draws_of_a_unit_are_independent),
        cmocka_unit_test(normals_are_normal),        cmocka_unit_test(uniforms_fill_the_square),
        cmocka_unit_test(gsl_type_is_the_stream),    cmocka_unit_test(gsl_copies_carry_on),
        cmocka_unit_test(gsl_distributions_work),    cmocka_unit_test(subnormals_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
