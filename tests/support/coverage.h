/* Tests of error bars. An estimator is run over many seeds, fixed in advance, against the true value:
 *
 * 1. Coverage: the intervals that hold the truth are as many as a binomial variable of the nominal level gives with
 *    probability 99.9 %.
 * 2. Honesty: the RMS of the reported standard errors over the spread of the values is 1 within 4 of its own standard
 *    deviations.
 * 3. Bias: the mean of the values is the truth within 4 of its own standard deviations.
 *
 * For R runs of a normal estimator the second sees an error of e in the bars if e is well above 4/sqrt(2 R): 9 % at
 * 1000 runs, 4.5 % at 4000. */
#ifndef MOEG_TESTS_SUPPORT_COVERAGE_H
#define MOEG_TESTS_SUPPORT_COVERAGE_H

#include "support/check.h"

#include <moegeom/estimate.h>
#include <stdlib.h>

/* What is known of an estimator; flags. */
enum {
    COVERAGE_EXACT = 0,
    COVERAGE_AT_LEAST = 1, /* intervals may be longer than nominal: no upper limit to their coverage */
    COVERAGE_MAY_BIAS = 2  /* the bias is only known to be small: it is reported, not judged */
};

typedef struct coverage {
    size_t runs, covered;     /* runs, and those whose interval holds the truth */
    size_t least, most;       /* the band for `covered` */
    double bias, bias_sd;     /* (mean - truth)/spread, and its standard deviation */
    double ratio, ratio_sd;   /* RMS standard error over spread, and its standard deviation */
    int finite, same_level;   /* whether every number is finite, and every level the nominal one */
    int covers, honest, fair; /* the three checks above */
    int sharp;                /* whether ratio_sd is at most 5 %: else there are too few runs to judge */
    int passes;               /* all of them */
} coverage;

/* P(Bin(n, p) = k), 0 < p < 1. */
static inline double coverage_binomial(size_t n, double p, size_t k)
{
    const double a = (double)n, b = (double)k;
    return exp(lgamma(a + 1) - lgamma(b + 1) - lgamma(a - b + 1) + b * log(p) + (a - b) * log1p(-p));
}

/* The band of a binomial variable: the largest *least with P(< *least) <= tail and the smallest *most with
 * P(> *most) <= tail, by summing from either end. */
static inline void coverage_band(size_t n, double p, double tail, size_t *least, size_t *most)
{
    double sum = 0;
    *least = 0;
    while ((sum += coverage_binomial(n, p, *least)) <= tail)
        ++*least;
    sum = 0;
    *most = n;
    while ((sum += coverage_binomial(n, p, *most)) <= tail)
        --*most;
}

/* The moments that the checks are made of. With A = std_error^2 and B = (value - mean)^2 the logarithm of the ratio is
 * (log mean A - log mean B)/2, whose standard deviation is, to first order, half that of the mean of
 * A/mean A - B/mean B: 1/sqrt(2 R) for a normal estimator with a constant error bar; more where its kurtosis is more,
 * or where the bars vary, less where they follow the deviations. */
static inline void coverage_moments(size_t runs, const moeg_estimate *estimates, size_t stride, double truth,
                                    coverage *c)
{
    const double n = (double)runs;
    double mean = 0, a = 0, b = 0, variance = 0;
    for (size_t i = 0; i < runs; i++)
        mean += (estimates[i * stride].value - truth) / n;
    for (size_t i = 0; i < runs; i++) {
        const moeg_estimate *e = &estimates[i * stride];
        const double deviation = e->value - truth - mean;
        a += e->std_error * e->std_error / n;
        b += deviation * deviation / (n - 1);
    }
    for (size_t i = 0; i < runs; i++) {
        const moeg_estimate *e = &estimates[i * stride];
        const double deviation = e->value - truth - mean;
        const double influence = e->std_error * e->std_error / a - deviation * deviation / b;
        variance += influence * influence / (n - 1);
    }
    c->bias = mean / sqrt(b);
    c->bias_sd = 1 / sqrt(n);
    c->ratio = sqrt(a / b);
    c->ratio_sd = sqrt(variance / n) / 2;
}

/* Judges `runs` >= 2 estimates, `stride` apart, of the same truth by independent runs. */
static inline coverage coverage_check(size_t runs, const moeg_estimate *estimates, size_t stride, double truth,
                                      double level, int flags)
{
    coverage c = {.runs = runs, .finite = 1, .same_level = 1};
    for (size_t i = 0; i < runs; i++) {
        const moeg_estimate *e = &estimates[i * stride];
        c.finite = c.finite && isfinite(e->value) && isfinite(e->std_error) && isfinite(e->lo) && isfinite(e->hi);
        c.same_level = c.same_level && e->level == level;
        c.covered += e->lo <= truth && truth <= e->hi;
    }
    coverage_band(runs, level, 0.0005, &c.least, &c.most);
    coverage_moments(runs, estimates, stride, truth, &c);
    c.covers = c.covered >= c.least && (c.covered <= c.most || (flags & COVERAGE_AT_LEAST));
    /* A ratio that is not a number, as of an estimator that always says the same, passes none of these. */
    c.honest = fabs(c.ratio - 1) <= 4 * c.ratio_sd;
    c.fair = fabs(c.bias) <= 4 * c.bias_sd || (flags & COVERAGE_MAY_BIAS);
    c.sharp = c.ratio_sd <= 0.05;
    c.passes = c.finite && c.same_level && c.covers && c.honest && c.fair && c.sharp;
    return c;
}

/* Estimates `count` quantities from a seed. */
typedef moeg_status (*coverage_estimator)(uint64_t seed, void *user, moeg_estimate *estimates);

/* Where seeds begin: run i has seed COVERAGE_SEED + i. */
#define COVERAGE_SEED UINT64_C(0x2385c0de00000000)

/* Runs an estimator of `count` quantities with `runs` seeds, and judges each: truths (count), verdicts (count). */
static inline void coverage_run(coverage_estimator estimator, void *user, size_t count, const double *truths,
                                double level, size_t runs, int flags, coverage *verdicts)
{
    assert_true(runs >= 1000);
    moeg_estimate *estimates = calloc(runs * count, sizeof *estimates);
    assert_non_null(estimates);
    for (size_t i = 0; i < runs; i++)
        assert_ok(estimator(COVERAGE_SEED + i, user, estimates + i * count));
    for (size_t j = 0; j < count; j++)
        verdicts[j] = coverage_check(runs, estimates + j, count, truths[j], level, flags);
    free(estimates);
}

/* Under a sanitizer, which looks at memory and makes all of it slow, a few runs stand for all and none is judged. */
#if defined(__SANITIZE_ADDRESS__)
#define COVERAGE_JUDGES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COVERAGE_JUDGES 0
#endif
#endif
#ifndef COVERAGE_JUDGES
#define COVERAGE_JUDGES 1
#endif

static inline void check_coverage_at(coverage_estimator estimator, void *user, size_t count, const double *truths,
                                     double level, size_t runs, int flags, const char *file, int line)
{
    coverage *verdicts = calloc(count, sizeof *verdicts);
    assert_non_null(verdicts);
    if (!COVERAGE_JUDGES) {
        moeg_estimate *estimates = calloc(count, sizeof *estimates);
        assert_non_null(estimates);
        for (uint64_t i = 0; i < 10; i++)
            assert_ok(estimator(COVERAGE_SEED + i, user, estimates));
        free(estimates);
        free(verdicts);
        return;
    }
    coverage_run(estimator, user, count, truths, level, runs, flags, verdicts);
    int failed = 0;
    for (size_t j = 0; j < count; j++) {
        const coverage *c = &verdicts[j];
        if (c->passes)
            continue;
        failed = 1;
        print_error("quantity %zu, true value %.17g:%s%s%s%s%s%s\n", j, truths[j], c->finite ? "" : " not finite;",
                    c->same_level ? "" : " of another level;", c->covers ? "" : " coverage off;",
                    c->honest ? "" : " error bars off;", c->fair ? "" : " biased;", c->sharp ? "" : " too few runs;");
        print_error("covered %zu of %zu, band [%zu, %zu]; RMS error over spread %.4f, sd %.4f; bias %.4f, sd %.4f\n",
                    c->covered, c->runs, c->least, c->most, c->ratio, c->ratio_sd, c->bias, c->bias_sd);
    }
    free(verdicts);
    if (failed)
        _fail(file, line);
}

/* The estimator's quantities, at least 1000 runs, all pass. */
#define assert_coverage(estimator, user, count, truths, level, runs, flags)                                            \
    check_coverage_at(estimator, user, count, truths, level, runs, flags, __FILE__, __LINE__)

#endif
