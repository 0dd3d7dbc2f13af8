#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"
#include "support/random.h"

/* The activations of kernel.h and their slopes, against long double. */

static const char *const names[MOEG_KERNEL_ACTIVATIONS] = {"relu", "gelu", "silu", "tanh"};

static long double normal_below(long double x)
{
    return erfcl(-x * 0.707106781186547524400844362104849039L) / 2;
}

static long double normal_density(long double x)
{
    return expl(-x * x / 2) * 0.398942280401432677939946059934381868L;
}

static long double logistic(long double x)
{
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

static long double exact_value(int activation, long double x)
{
    switch (activation) {
    case MOEG_KERNEL_RELU:
        return x > 0 ? x : 0;
    case MOEG_KERNEL_GELU:
        return x * normal_below(x);
    case MOEG_KERNEL_SILU:
        return x * logistic(x);
    default:
        return tanhl(x);
    }
}

/* And the sum of magnitudes of its terms. */
static long double exact_slope(int activation, long double x, long double *size)
{
    long double first, second = 0, h;
    switch (activation) {
    case MOEG_KERNEL_RELU:
        first = x > 0;
        break;
    case MOEG_KERNEL_GELU:
        first = normal_below(x);
        second = x * normal_density(x);
        break;
    case MOEG_KERNEL_SILU:
        first = logistic(x);
        second = x * logistic(x) * logistic(-x);
        break;
    default:
        h = coshl(x);
        first = 1 / (h * h);
    }
    *size = first + fabsl(second);
    return first + second;
}

/* Magnitudes from 2^-60 to 2^10 of either sign, others equally spaced in [-40, 40], and points of interest. */
enum { POINTS = 1 << 14 };

static double *points(void)
{
    const double special[] = {0,     -0.0,  5e-324, -5e-324, 0x1p-1022, 0.3465735, 0.34657359, -0.34657,
                              -37.6, -37.7, -38.5,  -39.9,   -40,       -40.1,     -0.75179,   -1.2784645,
                              -708,  -745,  354,    -354.4,  -360,      709,       1e300,      -1e300};
    double *x = moeg_alloc(POINTS, sizeof *x);
    uint64_t seed = 2385;
    for (size_t i = 0; i < POINTS; i++) {
        const double u = next_uniform(&seed);
        x[i] = i % 2 == 0 ? 40 * u : ldexp(u, (int)(next_bits(&seed) % 71) - 60);
    }
    memcpy(x, special, sizeof special);
    return x;
}

/* An oracle must be finer than double; under valgrind and on some processors long double is not. */
static void skip_without_long_double(void)
{
    volatile long double fine = 1 + LDBL_EPSILON;
    if (LDBL_MANT_DIG < DBL_MANT_DIG + 8 || fine == 1)
        skip();
}

/* The error of `actual` beyond the floor, in units in the last place of `size`. */
static double ulps(double actual, long double exact, long double size, double floor)
{
    int exponent;
    frexp((double)size, &exponent);
    const long double off = fabsl(actual - exact) - floor;
    if (off <= 0)
        return 0;
    return isnan(actual) ? INFINITY : (double)(off / ldexpl(1, exponent - DBL_MANT_DIG));
}

/* What exp() leaves out below its range, times |x|: 709 exp(-708.75). */
static const double FLOOR = 1.1e-305;

static double value_error(int a, double x, double y)
{
    const long double exact = exact_value(a, x);
    return ulps(y, exact, exact, FLOOR);
}

static double slope_error(int a, double x, double y)
{
    long double size;
    const long double exact = exact_slope(a, x, &size), beyond = fabsl(y - exact) - FLOOR;
    return isnan(y) ? INFINITY : beyond <= 0 ? 0 : (double)(beyond / (EPS * size));
}

/* Every activation, or its slope, of every set at all points. */
static void check_all(int slope, const char *unit)
{
    skip_without_long_double();
    double *x = points(), *y = moeg_alloc(POINTS, sizeof *y);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (int a = 0; a < MOEG_KERNEL_ACTIVATIONS; a++) {
            double worst = 0, at = 0;
            (slope ? set->slope : set->activate)[a](POINTS, x, y);
            for (size_t i = 0; i < POINTS; i++) {
                const double off = slope ? slope_error(a, x[i], y[i]) : value_error(a, x[i], y[i]);
                at = off > worst ? x[i] : at;
                worst = fmax(worst, off);
            }
            print_message("%s%s, %s: %.3f %s at %.6g\n", names[a], slope ? "'" : "", set->name, worst, unit, at);
            assert_true(worst < 4);
        }
    moeg_release(x);
    moeg_release(y);
}

static void activations_are_within_four_ulp(void **state)
{
    (void)state;
    check_all(0, "ulp");
}

static void slopes_are_within_four_epsilon(void **state)
{
    (void)state;
    check_all(1, "epsilon");
}

/* Slope past tanh = 1, the kink, the far tails, zeros of either sign. In place. */
static void known_values(void **state)
{
    (void)state;
    const struct {
        int activation, slope;
        double x, y;
    } cases[] = {
        {MOEG_KERNEL_RELU, 0, -2.385, 0},
        {MOEG_KERNEL_RELU, 0, 2.385, 2.385},
        {MOEG_KERNEL_RELU, 0, 5e-324, 5e-324},
        {MOEG_KERNEL_RELU, 1, 0, 0},
        {MOEG_KERNEL_RELU, 1, -0.0, 0},
        {MOEG_KERNEL_RELU, 1, 5e-324, 1},
        {MOEG_KERNEL_RELU, 1, -5e-324, 0},
        {MOEG_KERNEL_GELU, 0, 0, 0},
        {MOEG_KERNEL_GELU, 0, 9, 9},
        {MOEG_KERNEL_GELU, 0, 1e308, 1e308},
        {MOEG_KERNEL_GELU, 0, -1e308, 0},
        {MOEG_KERNEL_GELU, 1, 0, 0.5},
        {MOEG_KERNEL_GELU, 1, 1e308, 1},
        {MOEG_KERNEL_GELU, 1, -1e308, 0},
        {MOEG_KERNEL_SILU, 0, 0, 0},
        {MOEG_KERNEL_SILU, 0, 1e308, 1e308},
        {MOEG_KERNEL_SILU, 0, -1e308, 0},
        {MOEG_KERNEL_SILU, 1, 0, 0.5},
        {MOEG_KERNEL_SILU, 1, 1e308, 1},
        {MOEG_KERNEL_SILU, 1, -1e308, 0},
        {MOEG_KERNEL_TANH, 0, 0, 0},
        {MOEG_KERNEL_TANH, 0, 1e-300, 1e-300},
        {MOEG_KERNEL_TANH, 0, -1e308, -1},
        {MOEG_KERNEL_TANH, 1, 0, 1},
        {MOEG_KERNEL_TANH, 1, 1e308, 0},
        /* -9 Phi(-9), 4 e^-60/(1 + e^-60)^2: mpmath, 30 digits. */
        {MOEG_KERNEL_GELU, 0, -9, -1.0157295653584566e-18},
        {MOEG_KERNEL_TANH, 1, 30, 3.5026043050786081e-26},
    };
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            _Alignas(64) double y[MOEG_LANES];
            for (size_t i = 0; i < MOEG_LANES; i++)
                y[i] = cases[c].x;
            (cases[c].slope ? set->slope : set->activate)[cases[c].activation](MOEG_LANES, y, y);
            for (size_t i = 0; i < MOEG_LANES; i++)
                assert_relative(y[i], cases[c].y, 4 * EPS);
        }
}

static void what_overflowed_is_no_number(void **state)
{
    (void)state;
    _Alignas(64) double x[MOEG_LANES] = {INFINITY, -INFINITY, NAN, -NAN, INFINITY, -INFINITY, NAN, -NAN};
    _Alignas(64) double y[MOEG_LANES];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (int a = 0; a < MOEG_KERNEL_ACTIVATIONS; a++) {
            set->activate[a](MOEG_LANES, x, y);
            for (size_t i = 0; i < MOEG_LANES; i++)
                assert_true(isnan(y[i]));
            set->slope[a](MOEG_LANES, x, y);
            for (size_t i = 0; i < MOEG_LANES; i++)
                assert_true(isnan(y[i]));
        }
}

/* A value alone in its lanes and the same anywhere in a long array. */
static void a_lane_does_not_depend_on_its_place(void **state)
{
    (void)state;
    enum { LONG = 136 };
    double *x = points();
    _Alignas(64) double all[LONG], unit[MOEG_LANES], alone[MOEG_LANES];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (int f = 0; f < 2 * MOEG_KERNEL_ACTIVATIONS; f++) {
            void (*run)(size_t, const double *, double *) = (f % 2 ? set->slope : set->activate)[f / 2];
            run(LONG, x, all);
            for (size_t i = 0; i < LONG; i++) {
                for (size_t j = 0; j < MOEG_LANES; j++)
                    unit[j] = x[i];
                run(MOEG_LANES, unit, alone);
                assert_memory_equal(&alone[i % MOEG_LANES], &all[i], sizeof *all);
            }
        }
    moeg_release(x);
}

/* A layer is the affine map, then the activation, whatever the distances between variables. */
static void a_layer_is_affine_then_relu(void **state)
{
    (void)state;
    enum { MOST = 9, D = 5, N = 88, X_STRIDE = 104, OUT_STRIDE = 96 };
    double *x = moeg_alloc(D * X_STRIDE, sizeof *x), *close = moeg_alloc(D * N, sizeof *x);
    double *out = moeg_alloc(MOST * OUT_STRIDE, sizeof *out), *expected = moeg_alloc(MOST * N, sizeof *out);
    double W[MOST * D], b[MOST];
    uint64_t seed = 4;
    for (size_t i = 0; i < D * X_STRIDE; i++)
        x[i] = next_normal(&seed);
    for (size_t i = 0; i < MOST * D; i++)
        W[i] = next_normal(&seed);
    for (size_t i = 0; i < MOST; i++)
        b[i] = next_normal(&seed);
    x[17] = 1e308;
    x[X_STRIDE + 17] = -1e308;
    x[18] = x[X_STRIDE + 18] = 1e308;
    for (size_t j = 0; j < D; j++)
        memcpy(close + j * N, x + j * X_STRIDE, N * sizeof *x);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t K = 1; K <= MOST; K++)
            for (int relu = 0; relu < 2; relu++) {
                set->affine(K, D, W, b, N, close, expected);
                if (relu)
                    set->activate[MOEG_KERNEL_RELU](K * N, expected, expected);
                set->layer(relu, K, D, W, b, N, X_STRIDE, x, OUT_STRIDE, out);
                for (size_t k = 0; k < K; k++)
                    for (size_t i = 0; i < N; i++) {
                        const double want = expected[k * N + i], got = out[k * OUT_STRIDE + i];
                        assert_true(isnan(want) ? isnan(got) : got == want);
                    }
            }
    moeg_release(x);
    moeg_release(close);
    moeg_release(out);
    moeg_release(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_within_four_ulp),
        cmocka_unit_test(slopes_are_within_four_epsilon),
        cmocka_unit_test(known_values),
        cmocka_unit_test(what_overflowed_is_no_number),
        cmocka_unit_test(a_lane_does_not_depend_on_its_place),
        cmocka_unit_test(a_layer_is_affine_then_relu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
