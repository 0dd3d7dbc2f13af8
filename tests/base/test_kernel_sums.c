/* The kernels of accumulators and of bins, in every instruction set, against the obvious loops. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

enum { MOST = 300 };

/* n values from an odd address on, followed by one that nothing may look at. */
static double *make_values(size_t n, uint64_t seed, double **memory)
{
    *memory = moeg_alloc(moeg_round_lanes(n + 2), sizeof **memory);
    moeg_kernel_normals(seed, 0, 0, 1, moeg_round_lanes(n + 2), *memory);
    (*memory)[n + 1] = NAN;
    return *memory + 1;
}

/* A sum of n terms in any order, each rounded once more: (n + 1) EPS/2 of the sum of magnitudes. */
static void deviations_are_sums(void **state)
{
    (void)state;
    const moeg_kernel_table *set;
    for (size_t n = 1; n <= MOST; n++) {
        double *memory;
        const double *x = make_values(n, n, &memory), shift = n % 3 == 0 ? 0 : 2.385;
        long double sum = 0, squares = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            const long double deviation = (long double)x[i] - shift;
            sum += deviation;
            size += fabsl(deviation);
            squares += deviation * deviation;
        }
        for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
            double got;
            assert_near(set->deviations(n, x, shift, &got), (double)sum, (double)(n + 1) * EPS / 2 * (double)size);
            assert_near(got, (double)squares, (double)(n + 3) * EPS / 2 * (double)squares);
            assert_near(set->deviations(0, x, shift, &got), 0, 0);
            assert_near(got, 0, 0);
        }
        moeg_release(memory);
    }
}

static void magnitudes_are_sums(void **state)
{
    (void)state;
    const moeg_kernel_table *set;
    for (size_t n = 0; n <= MOST; n++) {
        double *memory, got;
        const double *x = make_values(n, n, &memory);
        long double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            sum += fabs(x[i]);
            squares += (long double)x[i] * x[i];
        }
        for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
            assert_near(set->magnitudes(n, x, &got), (double)sum, (double)(n + 1) * EPS / 2 * (double)sum);
            assert_near(got, (double)squares, (double)(n + 3) * EPS / 2 * (double)squares);
        }
        moeg_release(memory);
    }
}

static void finite_sees_every_value(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    const size_t counts[] = {0, 1, 7, 8, 9, 31, 32, 33, 100};
    const moeg_kernel_table *set;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const size_t n = counts[c];
        double *memory, *x = make_values(n, 5, &memory);
        for (size_t i = 0; i < n; i++)
            x[i] = i % 2 == 0 ? DBL_MAX : -DBL_MAX; /* sums would overflow */
        for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
            assert_true(set->finite(n, x));
            for (size_t i = 0; i < n; i++) {
                const double kept = x[i];
                x[i] = bad[i % 3];
                assert_false(set->finite(n, x));
                x[i] = kept;
            }
        }
        moeg_release(memory);
    }
}

static void center_subtracts(void **state)
{
    (void)state;
    const moeg_kernel_table *set;
    for (size_t n = 0; n <= 70; n++) {
        double *memory, out[MOST];
        const double *x = make_values(n, 6, &memory);
        for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
            out[n] = 42;
            long double sum = 0, size = 0;
            const double got = set->center(n, x, 0.385, out);
            for (size_t i = 0; i < n; i++)
                assert_near(out[i], x[i] - 0.385, 0);
            for (size_t i = 0; i < n; i++) {
                sum += out[i];
                size += fabs(out[i]);
            }
            assert_near(got, (double)sum, (double)(n + 1) * EPS / 2 * (double)size);
            assert_near(out[n], 42, 0);
        }
        moeg_release(memory);
    }
}

/* Some values are 0, of both signs, and means too; what is behind the last pair is not looked at, nor written. */
static void pairs_are_means_and_sums(void **state)
{
    (void)state;
    const moeg_kernel_table *set;
    for (size_t n = 0; n <= MOST; n++) {
        double *memory[4], *x[4], a[MOST + 2], sums[3];
        for (size_t v = 0; v < 4; v++)
            x[v] = make_values(n, 4 * n + v, &memory[v]);
        for (size_t i = 0; i < n; i++) {
            x[0][i] = i % 3 == 0 ? 0 : x[0][i];
            x[1][i] = i % 5 == 0 ? -0.0 : i % 7 == 0 ? -x[0][i] : x[1][i];
        }
        for (size_t v = 0; v < 4; v++)
            x[v][n] = NAN;
        long double error = 0, sizes = 0, magnitudes = 0;
        size_t nonzero = 0;
        for (size_t i = 0; i < n; i++) {
            error += ((long double)x[2][i] + x[3][i]) / 2;
            magnitudes += fabs(x[2][i]) + fabs(x[3][i]);
            sizes += fabsl((long double)x[0][i] + x[1][i]) / 2;
            nonzero += (size_t)(x[0][i] != 0) + (x[1][i] != 0);
        }
        for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
            memcpy(a, x[0], (n + 1) * sizeof *a);
            set->pairs(n, a, x[1], x[2], x[3], sums);
            for (size_t i = 0; i < n; i++)
                assert_near(a[i], (x[0][i] + x[1][i]) / 2, 0);
            assert_true(isnan(a[n]) && sums[2] == (double)nonzero);
            assert_near(sums[0], (double)error, (double)(n + 2) * EPS / 2 * (double)magnitudes);
            assert_near(sums[1], (double)sizes, (double)(n + 2) * EPS / 2 * (double)sizes);
        }
        for (size_t v = 0; v < 4; v++)
            moeg_release(memory[v]);
    }
}

/* All shapes of edges of the register tiles; of a product with itself the lower triangle. */
static void products_are_sums_of_products(void **state)
{
    (void)state;
    enum { P = 11, STRIDE = 48 };
    _Alignas(64) double a[P * STRIDE], b[P * STRIDE], out[P * P + 1];
    moeg_kernel_normals(7, 0, 0, P, STRIDE, a);
    moeg_kernel_normals(8, 0, 0, P, STRIDE, b);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t n = 0; n <= STRIDE; n += MOEG_LANES)
            for (size_t p = 1; p <= P; p++)
                for (size_t q = 1; q <= P; q++) {
                    const double *other = p == q && n % 16 == 0 ? a : b;
                    out[p * q] = 2.385;
                    set->products(p, q, n, STRIDE, a, other, out);
                    assert_near(out[p * q], 2.385, 0);
                    for (size_t i = 0; i < p; i++)
                        for (size_t j = 0; j < (other == a ? i + 1 : q); j++) {
                            long double sum = 0, size = 0;
                            for (size_t u = 0; u < n; u++) {
                                const long double term = (long double)a[i * STRIDE + u] * other[j * STRIDE + u];
                                sum += term;
                                size += fabsl(term);
                            }
                            assert_near(out[i * q + j], (double)sum, (double)(n + 1) * EPS / 2 * (double)size);
                        }
                }
}

/* Each product is the same number wherever its rows stand. */
static void products_do_not_depend_on_their_place(void **state)
{
    (void)state;
    enum { P = 11, STRIDE = 128 };
    _Alignas(64) double a[P * STRIDE], all[P * P], one;
    moeg_kernel_normals(9, 0, 0, P, STRIDE, a);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->products(P, P, STRIDE, STRIDE, a, a, all);
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j <= i; j++) {
                set->products(1, 1, STRIDE, STRIDE, a + i * STRIDE, a + j * STRIDE, &one);
                assert_near(all[i * P + j], one, 0);
            }
    }
}

static void check_bins(const moeg_kernel_table *set, size_t nw, const double *w, size_t n, const double *v)
{
    uint32_t bin[MOST + 1];
    bin[n] = 42;
    set->bins(nw, w, n, v, bin);
    assert_int_equal(bin[n], 42);
    for (size_t i = 0; i < n; i++) {
        size_t below = 0;
        for (size_t j = 0; j < nw; j++)
            below += w[j] < v[i];
        assert_int_equal(bin[i], below);
    }
}

/* By comparing and by bisection; values at a border, beside it, between, below and above all; borders that repeat. */
static void bins_are_counts(void **state)
{
    (void)state;
    enum { MOST_W = 260 };
    double w[MOST_W], v[MOST];
    for (size_t j = 0; j < MOST_W; j++)
        w[j] = j == 0 ? 0 : ldexp(1 + (double)(j / 3 % 7) / 7, (int)(j / 21) - 6);
    const double special[] = {0, -0.0, 5e-324, -1, INFINITY, -INFINITY, NAN, 1e300};
    const size_t counts[] = {0, 1, 7, 8, 9, 31, 32, 33, 65, MOST};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t nw = 1; nw <= MOST_W; nw += nw < 20 ? 1 : 17) {
            for (size_t i = 0; i < MOST; i++) {
                const double border = w[i * 7 % nw];
                v[i] = i % 5 == 0   ? special[i / 5 % 8]
                       : i % 5 == 1 ? border
                       : i % 5 == 2 ? nextafter(border, INFINITY)
                       : i % 5 == 3 ? nextafter(border, -1)
                                    : border * 1.1385;
            }
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                check_bins(set, nw, w, counts[c], v);
        }
}

static void dispatch(void **state)
{
    (void)state;
    const moeg_kernel_table *best = moeg_kernel_best();
    _Alignas(64) double x[40], out[40], same[40], squares[2];
    uint32_t bins[2][40];
    moeg_kernel_normals(10, 0, 0, 1, 40, x);
    assert_near(moeg_kernel_deviations(40, x, 0.1, squares), best->deviations(40, x, 0.1, squares + 1), 0);
    assert_near(squares[0], squares[1], 0);
    assert_near(moeg_kernel_magnitudes(40, x, squares), best->magnitudes(40, x, squares + 1), 0);
    assert_near(squares[0], squares[1], 0);
    assert_true(moeg_kernel_finite(40, x));
    assert_near(moeg_kernel_center(40, x, 0.1, out), best->center(40, x, 0.1, same), 0);
    assert_memory_equal(out, same, sizeof out);
    double sums[2][3];
    moeg_kernel_pairs(40, out, x, x, x, sums[0]);
    best->pairs(40, same, x, x, x, sums[1]);
    assert_memory_equal(out, same, sizeof out);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    moeg_kernel_products(5, 5, 8, 8, x, x, out);
    best->products(5, 5, 8, 8, x, x, same);
    assert_near(out[20], same[20], 0);
    moeg_kernel_bins(3, (const double[]){-0.5, 0, 0.5}, 40, x, bins[0]);
    best->bins(3, (const double[]){-0.5, 0, 0.5}, 40, x, bins[1]);
    assert_memory_equal(bins[0], bins[1], sizeof bins[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deviations_are_sums),
        cmocka_unit_test(magnitudes_are_sums),
        cmocka_unit_test(finite_sees_every_value),
        cmocka_unit_test(center_subtracts),
        cmocka_unit_test(pairs_are_means_and_sums),
        cmocka_unit_test(products_are_sums_of_products),
        cmocka_unit_test(products_do_not_depend_on_their_place),
        cmocka_unit_test(bins_are_counts),
        cmocka_unit_test(dispatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
