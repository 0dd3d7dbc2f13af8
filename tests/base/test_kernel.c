#include "base/kernel.h"
#include "base/kernel_math.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

#include <Random123/philox.h>

/* Published known answers of philox4x32-10 (Random123, kat_vectors). */
static const struct known_answer {
    uint32_t counter[4], key[2], words[4];
} known_answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

/* (top 52 bits + 1/2)/2^52 of the 64-bit word low + 2^32 high. */
static double uniform_of(uint32_t low, uint32_t high)
{
    return ldexp((double)(((uint64_t)high << 32 | low) >> 12) + 0.5, -52);
}

static uint64_t two_words(const uint32_t *words)
{
    return (uint64_t)words[1] << 32 | words[0];
}

static void published_answers(void **state)
{
    (void)state;
    _Alignas(64) double u[2 * MOEG_LANES];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t a = 0; a < sizeof known_answers / sizeof *known_answers; a++) {
            const struct known_answer *answer = &known_answers[a];
            set->uniforms(two_words(answer->key), answer->counter[3], two_words(answer->counter), answer->counter[2], 2,
                          MOEG_LANES, u);
            assert_near(u[0], uniform_of(answer->words[0], answer->words[1]), 0);
            assert_near(u[MOEG_LANES], uniform_of(answer->words[2], answer->words[3]), 0);
        }
}

/* A pair of draws from Random123's own function. */
static void oracle_pair(uint64_t seed, uint32_t id, uint64_t unit, uint32_t pair, double u[2])
{
    const philox4x32_ctr_t counter = {{(uint32_t)unit, (uint32_t)(unit >> 32), pair, id}};
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t w = philox4x32(counter, key);
    u[0] = uniform_of(w.v[0], w.v[1]);
    u[1] = uniform_of(w.v[2], w.v[3]);
}

/* sin(2 pi v) and cos(2 pi v) to long double: v is brought to [-1/8, 1/8] exactly first. */
static void oracle_sincos(double v, long double *sine, long double *cosine)
{
    const int n = (int)floor(4 * v + 0.5);
    const long double angle = 6.283185307179586476925286766559005768L * (v - 0.25 * n);
    const long double s = sinl(angle), c = cosl(angle);
    *sine = (const long double[]){s, c, -s, -c}[n % 4];
    *cosine = (const long double[]){c, -s, -c, s}[n % 4];
}

/* Uniforms bit for bit in every set. Normals against long double: 1 for the logarithm and 1/2 for the root of its
 * error, 1/2 for the root's rounding, 2 for the cosine, 1/2 for the product; in ulp, that is up to EPS each. */
static void draws_are_random123s(void **state)
{
    (void)state;
    const uint64_t seeds[] = {0, 1, 4357, (uint64_t)1 << 32, 0x243f6a8885a308d3, UINT64_MAX};
    const uint64_t firsts[] = {0, 12345, 0xfffffff8, UINT64_MAX - 20};
    const uint32_t ids[] = {0, 7, 0xffffffff};
    enum { Q = 7, STRIDE = 72 };
    double *u = moeg_alloc(Q * STRIDE, sizeof *u), *z = moeg_alloc(Q * STRIDE, sizeof *z);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t c = 0; c < 6 * 4 * 3; c++) {
            const uint64_t seed = seeds[c % 6], first = firsts[c / 6 % 4];
            const uint32_t id = ids[c / 24], from = c % 5 == 0 ? 0 : 0xfffffff0 + (uint32_t)c % 5;
            set->uniforms(seed, id, first, from, Q, STRIDE, u);
            set->normals(seed, id, first, from, Q, STRIDE, z);
            for (size_t k = 0; k < Q * STRIDE; k++) {
                const size_t j = k / STRIDE, i = k % STRIDE;
                double pair[2];
                oracle_pair(seed, id, first + i, from + (uint32_t)(j / 2), pair);
                assert_near(u[k], pair[j % 2], 0);
                long double sine, cosine;
                oracle_sincos(pair[1], &sine, &cosine);
                assert_relative(z[k], (double)(sqrtl(-2 * logl(pair[0])) * (j % 2 ? sine : cosine)), 4 * EPS);
            }
        }
    moeg_release(u);
    moeg_release(z);
}

static void extreme_words_are_inside(void **state)
{
    (void)state;
    assert_near(uniform_lane(0), 0x1p-53, 0);
    assert_near(uniform_lane(0xfff), 0x1p-53, 0);
    assert_near(uniform_lane(UINT64_MAX), 1 - 0x1p-53, 0);
    assert_true(uniform_lane(UINT64_MAX) < 1);
    assert_near(uniform_lane((uint64_t)1 << 63), 0.5 + 0x1p-53, 0);
}

/* A unit's draws do not depend on where the block starts or on how long it is. */
static void draws_do_not_depend_on_the_block(void **state)
{
    (void)state;
    enum { Q = 5, LONG = 136, SHORT = 8 };
    double *all = moeg_alloc(Q * LONG, sizeof *all), *part = moeg_alloc(Q * SHORT, sizeof *part);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->normals(77, 3, 1000, 0, Q, LONG, all);
        for (size_t from = 0; from + SHORT <= LONG; from++) {
            set->normals(77, 3, 1000 + from, 0, Q, SHORT, part);
            for (size_t j = 0; j < Q; j++)
                assert_memory_equal(part + j * SHORT, all + j * LONG + from, SHORT * sizeof *part);
        }
        set->normals(77, 3, 1000, 1, 2, SHORT, part);
        assert_memory_equal(part, all + 2 * LONG, SHORT * sizeof *part);
        set->normals(77, 3, 1000, 0, 1, SHORT, part);
        assert_memory_equal(part, all, SHORT * sizeof *part);
    }
    moeg_release(all);
    moeg_release(part);
}

/* An oracle for ulps must be finer than double; under valgrind and on some processors long double is not. */
static void skip_without_long_double(void)
{
    volatile long double fine = 1 + LDBL_EPSILON;
    if (LDBL_MANT_DIG < DBL_MANT_DIG + 8 || fine == 1)
        skip();
}

/* Raises *worst to the error of `actual`, in units in the last place of `exact`. */
static void note_ulp(double *worst, double actual, long double exact)
{
    int exponent;
    frexp((double)exact, &exponent);
    const double ulp = (double)(fabsl(actual - exact) / ldexpl(1, exponent - DBL_MANT_DIG));
    *worst = isnan(ulp) ? INFINITY : fmax(*worst, ulp);
}

/* Points of (0, 1): equally spaced ones, others with exponents down to -60, the extremes of a uniform, and neighbours
 * of the points where a formula changes over. */
enum { POINTS = 1 << 15 };

static double *points(void)
{
    const double special[] = {0x1p-53,
                              1 - 0x1p-53,
                              0.5,
                              nextafter(0.5, 0),
                              0.25,
                              0.125,
                              0.375,
                              0.625,
                              nextafter(0.125, 1),
                              nextafter(0.25, 0),
                              nextafter(.25, 1),
                              nextafter(0.75, 1),
                              sqrt(0.5),
                              nextafter(sqrt(0.5), 0),
                              1 - 0x1p-30,
                              0.875};
    const size_t count = sizeof special / sizeof *special;
    double *x = moeg_alloc(POINTS, sizeof *x);
    moeg_kernel_uniforms(2385, 0, 0, 1, POINTS, x);
    for (size_t i = 0; i < POINTS; i++) {
        if (i % 2 == 0)
            x[i] = ((double)i + 0.377) / POINTS;
        else
            x[i] = ldexp(x[i], -(int)(i % 61));
    }
    memcpy(x, special, count * sizeof *x);
    return x;
}

static void log_is_within_one_ulp(void **state)
{
    (void)state;
    skip_without_long_double();
    double *x = points(), *y = moeg_alloc(POINTS, sizeof *y);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        double worst = 0;
        set->log(POINTS, x, y);
        for (size_t i = 0; i < POINTS; i++)
            note_ulp(&worst, y[i], logl(x[i]));
        print_message("log, %s: %.3f ulp\n", set->name, worst);
        assert_true(worst < 1);
    }
    moeg_release(x);
    moeg_release(y);
}

static void sincos_are_within_two_ulp(void **state)
{
    (void)state;
    skip_without_long_double();
    double *v = points(), *sines = moeg_alloc(POINTS, sizeof *v), *cosines = moeg_alloc(POINTS, sizeof *v);
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        double worst = 0;
        set->sincos(POINTS, v, sines, cosines);
        for (size_t i = 0; i < POINTS; i++) {
            long double sine, cosine;
            oracle_sincos(v[i], &sine, &cosine);
            note_ulp(&worst, sines[i], sine);
            note_ulp(&worst, cosines[i], cosine);
        }
        print_message("sin and cos, %s: %.3f ulp\n", set->name, worst);
        assert_true(worst < 2);
    }
    moeg_release(v);
    moeg_release(sines);
    moeg_release(cosines);
}

static void exp_is_within_two_ulp(void **state)
{
    (void)state;
    skip_without_long_double();
    double *x = points(), *y = moeg_alloc(POINTS, sizeof *y);
    for (size_t i = 0; i < POINTS; i++)
        x[i] *= i % 3 == 0 ? -708 : i % 3 == 1 ? -45 : -1;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        double worst = 0;
        set->exp(POINTS, x, y);
        for (size_t i = 0; i < POINTS; i++)
            note_ulp(&worst, y[i], expl(x[i]));
        print_message("exp, %s: %.3f ulp\n", set->name, worst);
        assert_true(worst < 2);
    }
    moeg_release(x);
    moeg_release(y);
}

static void exp_at_the_ends(void **state)
{
    (void)state;
    const double x[] = {0,         -0.0, -5e-324, -1e-17, -708.75, -709,   -745,  -1e300,
                        -INFINITY, NAN,  -NAN,    -708,   -708.3,  -708.5, -708.7};
    const double expected[] = {1, 1, 1, 1, 0, 0, 0, 0, 0, NAN, NAN, exp(-708), exp(-708.3), exp(-708.5), exp(-708.7)};
    enum { COUNT = sizeof x / sizeof *x, EXACT = 9 };
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        _Alignas(64) double y[2 * MOEG_LANES] = {0};
        memcpy(y, x, sizeof x);
        set->exp(2 * MOEG_LANES, y, y); /* In place. */
        for (size_t i = 0; i < COUNT; i++)
            if (isnan(expected[i]))
                assert_true(isnan(y[i]));
            else
                assert_near(y[i], expected[i], i < EXACT ? 0 : 2 * EPS * expected[i] + 5e-324);
    }
}

/* b + W x within the classical bound of a sum of products, fused or not (Higham 2002, section 3.1): gamma_(d+1) times
 * the sum of magnitudes, and one more rounding for the oracle. */
static void check_affine(size_t K, size_t d, const double *W, const double *b, size_t stride, const double *x,
                         const double *out)
{
    const double rounding = 0.5 * EPS * (double)(d + 2), gamma = rounding / (1 - rounding);
    for (size_t k = 0; k < K; k++)
        for (size_t i = 0; i < stride; i++) {
            long double sum = b != NULL ? b[k] : 0, magnitude = fabsl(sum);
            for (size_t j = 0; j < d; j++) {
                const long double term = (long double)W[k * d + j] * x[j * stride + i];
                sum += term;
                magnitude += fabsl(term);
            }
            assert_near(out[k * stride + i], (double)sum, gamma * (double)magnitude);
        }
}

enum { MAX_K = 11, MAX_D = 67, MAX_STRIDE = 72 };

static double *random_values(uint64_t seed, size_t n)
{
    double *values = moeg_alloc(moeg_round_lanes(n), sizeof *values);
    moeg_kernel_normals(seed, 0, 0, 1, moeg_round_lanes(n), values);
    return values;
}

static void affine_is_within_its_bound(void **state)
{
    (void)state;
    double *W = random_values(1, MAX_K * MAX_D), *b = random_values(2, MAX_K);
    double *x = random_values(3, MAX_D * MAX_STRIDE);
    double *out = moeg_alloc(MAX_K * MAX_STRIDE + MOEG_LANES, sizeof *out);
    const size_t dims[] = {0, 1, 2, 7, 16, MAX_D};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t K = 1; K <= MAX_K; K++)
            for (size_t c = 0; c < 6; c++)
                for (size_t stride = MOEG_LANES; stride <= MAX_STRIDE; stride += MOEG_LANES) {
                    const double *bias = (K + c) % 3 == 0 ? NULL : b;
                    out[K * stride] = 2.385;
                    set->affine(K, dims[c], W, bias, stride, x, out);
                    check_affine(K, dims[c], W, bias, stride, x, out);
                    assert_near(out[K * stride], 2.385, 0);
                }
    moeg_release(W);
    moeg_release(b);
    moeg_release(x);
    moeg_release(out);
}

/* The bits of a unit and row alone are those in any batch and among any rows. */
static void affine_does_not_depend_on_the_batch(void **state)
{
    (void)state;
    double *W = random_values(4, MAX_K * MAX_D), *b = random_values(5, MAX_K);
    double *x = random_values(6, MAX_D * MAX_STRIDE);
    double *all = moeg_alloc(MAX_K * MAX_STRIDE, sizeof *all);
    _Alignas(64) double unit[MAX_D * MOEG_LANES] = {0}, alone[MOEG_LANES];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->affine(MAX_K, MAX_D, W, b, MAX_STRIDE, x, all);
        for (size_t i = 0; i < MAX_STRIDE; i++) {
            const size_t lane = (5 * i + 3) % MOEG_LANES;
            for (size_t j = 0; j < MAX_D; j++)
                unit[j * MOEG_LANES + lane] = x[j * MAX_STRIDE + i];
            for (size_t k = 0; k < MAX_K; k++) {
                set->affine(1, MAX_D, W + k * MAX_D, b + k, MOEG_LANES, unit, alone);
                assert_memory_equal(&alone[lane], &all[k * MAX_STRIDE + i], sizeof *alone);
            }
        }
    }
    moeg_release(W);
    moeg_release(b);
    moeg_release(x);
    moeg_release(all);
}

/* A zero weight hides a huge input but not an infinite one; what is not finite, either way or by a bias, is NaN. */
static void affine_marks_what_is_not_finite(void **state)
{
    (void)state;
    enum { K = 5 };
    _Alignas(64) double x[2 * MOEG_LANES], out[K * MOEG_LANES];
    for (size_t i = 0; i < MOEG_LANES; i++) {
        x[i] = 1e308;
        x[MOEG_LANES + i] = i == 5 ? INFINITY : 2.385;
    }
    const double W[K * 2] = {0, 1, 0, 0, 10, 1, -10, 1, 0, 2}, b[K] = {-INFINITY, -0.25, 1, 3, NAN};
    const double expected[K] = {NAN, -0.25, NAN, NAN, NAN};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        set->affine(K, 2, W, b, MOEG_LANES, x, out);
        for (size_t k = 0; k < K; k++)
            for (size_t i = 0; i < MOEG_LANES; i++) {
                const double want = i == 5 ? NAN : expected[k], got = out[k * MOEG_LANES + i];
                assert_true(isnan(want) ? isnan(got) : got == want);
            }
    }
}

/* Every set against selection one unit at a time; masks, ties, zeros of both signs. */
static void top2_is_selection(void **state)
{
    (void)state;
    enum { K = 5, STRIDE = 136 };
    double *a = moeg_alloc(K * STRIDE, sizeof *a), *margin = moeg_alloc(STRIDE, sizeof *margin);
    uint32_t *best = moeg_alloc(STRIDE, sizeof *best);
    moeg_kernel_normals(4, 0, 0, K, STRIDE, a);
    for (size_t i = 0; i < K * STRIDE; i += 3)
        a[i] = ceil(a[i]);
    for (size_t i = 0; i < STRIDE; i += 7)
        a[i % K * STRIDE + i] = -INFINITY;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        assert_int_equal(set->top2(K, STRIDE, a, best, margin), 0);
        for (size_t i = 0; i < STRIDE; i++) {
            uint32_t top = 0;
            for (uint32_t k = 1; k < K; k++)
                if (a[k * STRIDE + i] > a[top * STRIDE + i])
                    top = k;
            double second = -INFINITY;
            for (uint32_t k = 0; k < K; k++)
                if (k != top)
                    second = fmax(second, a[k * STRIDE + i]);
            assert_int_equal(best[i], top);
            assert_near(margin[i], a[top * STRIDE + i] - second, 0);
            assert_false(signbit(margin[i]));
        }
    }
    moeg_release(best);
    moeg_release(margin);
    moeg_release(a);
}

/* One value anywhere among logits of 2.385 or less, in every set. */
static void top2_tells_what_to_look_at(void **state)
{
    (void)state;
    enum { K = 3, STRIDE = 72 };
    _Alignas(64) double a[K * STRIDE], margin[STRIDE];
    uint32_t best[STRIDE];
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        for (size_t i = 0; i < K * STRIDE; i++)
            a[i] = 2.385 - 0.1 * (double)(i % 11);
        const struct {
            double value;
            int suspect;
        } cases[] = {{NAN, 1}, {INFINITY, 1}, {-INFINITY, 0}, {DBL_MAX, 0}, {-DBL_MAX, 0}};
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            for (size_t i = 0; i < K * STRIDE; i++) {
                const double kept = a[i];
                a[i] = cases[c].value;
                assert_int_equal(set->top2(K, STRIDE, a, best, margin), cases[c].suspect);
                a[i] = kept;
            }
        /* An overflow of the difference, one logit that is no mask, none. */
        a[70] = 1.7e308;
        a[STRIDE + 70] = a[2 * STRIDE + 70] = -1.7e308;
        assert_int_equal(set->top2(K, STRIDE, a, best, margin), 1);
        assert_near(margin[70], INFINITY, 0);
        a[STRIDE + 70] = a[2 * STRIDE + 70] = -INFINITY;
        assert_int_equal(set->top2(K, STRIDE, a, best, margin), 1);
        assert_near(margin[70], INFINITY, 0);
        a[70] = -INFINITY;
        assert_int_equal(set->top2(K, STRIDE, a, best, margin), 1);
    }
}

static void dispatch(void **state)
{
    (void)state;
    assert_string_equal(moeg_kernel_available(0)->name, "generic");
    const moeg_kernel_table *set, *last = NULL;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        last = set;
    assert_ptr_equal(moeg_kernel_best(), last);
    assert_string_equal(moeg_kernel_name(), last->name);
    assert_null(moeg_kernel_available(99));
    _Alignas(64) double mine[2 * MOEG_LANES], same[2 * MOEG_LANES];
    last->normals(8, 9, 10, 0, 2, MOEG_LANES, mine);
    moeg_kernel_normals(8, 9, 10, 2, MOEG_LANES, same);
    assert_memory_equal(mine, same, sizeof mine);
    last->uniforms(8, 9, 10, 0, 2, MOEG_LANES, mine);
    moeg_kernel_uniforms(8, 9, 10, 2, MOEG_LANES, same);
    assert_memory_equal(mine, same, sizeof mine);
    last->affine(1, 1, (const double[]){2.385}, NULL, MOEG_LANES, same, mine);
    moeg_kernel_affine(1, 1, (const double[]){2.385}, NULL, MOEG_LANES, same, same);
    assert_memory_equal(mine, same, MOEG_LANES * sizeof *mine);
    uint32_t best[2][MOEG_LANES];
    double margin[2][MOEG_LANES];
    assert_int_equal(last->top2(2, MOEG_LANES, mine, best[0], margin[0]),
                     moeg_kernel_top2(2, MOEG_LANES, mine, best[1], margin[1]));
    assert_memory_equal(best[0], best[1], sizeof best[0]);
    assert_memory_equal(margin[0], margin[1], sizeof margin[0]);
    assert_int_equal(last->gap(2, MOEG_LANES, mine, 1, 2, margin[0]),
                     moeg_kernel_gap(2, MOEG_LANES, mine, 1, 2, margin[1]));
    assert_memory_equal(margin[0], margin[1], sizeof margin[0]);
    last->exp(MOEG_LANES, same, mine);
    moeg_kernel_exp(MOEG_LANES, same, same);
    assert_memory_equal(mine, same, MOEG_LANES * sizeof *mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers),
        cmocka_unit_test(draws_are_random123s),
        cmocka_unit_test(extreme_words_are_inside),
        cmocka_unit_test(draws_do_not_depend_on_the_block),
        cmocka_unit_test(log_is_within_one_ulp),
        cmocka_unit_test(sincos_are_within_two_ulp),
        cmocka_unit_test(exp_is_within_two_ulp),
        cmocka_unit_test(exp_at_the_ends),
        cmocka_unit_test(affine_is_within_its_bound),
        cmocka_unit_test(affine_does_not_depend_on_the_batch),
        cmocka_unit_test(top2_is_selection),
        cmocka_unit_test(top2_tells_what_to_look_at),
        cmocka_unit_test(affine_marks_what_is_not_finite),
        cmocka_unit_test(dispatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
