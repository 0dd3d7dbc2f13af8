/* Mixtures of Gaussian laws: each sample against its component's, chosen here by the obvious loop; distributions of
 * projections against the closed form. */
#include "model/laws.h"

enum { D = 3, COUNT = 7 };

static const double means[COUNT][D] = {{9, 9, 9},        {0.7, -1.3, 2.385}, {9, 9, 9}, {-2.1, 0.4, 0},
                                       {0.3, 1.6, -1.1}, {0, 0, 0},          {9, 9, 9}};
static const double weights[COUNT] = {0, 2.385, 0, 1.1, 0.4, 0.9, 0};
/* Full, singular, and the identity (NULL). */
static const double full[D * D] = {1.44, 0.36, -0.6, 0.36, 0.73, 0.17, -0.6, 0.17, 0.7};
static const double singular[D * D] = {0.25, 0.5, 0, 0.5, 1, 0, 0, 0, 0};
static const double *const covariances[COUNT] = {full, full, NULL, singular, NULL, full, singular};

static void make_components(moeg_law **components)
{
    for (size_t k = 0; k < COUNT; k++)
        assert_ok(moeg_law_gaussian_create(&components[k], D, means[k], covariances[k]));
}

static void free_components(size_t count, moeg_law **components)
{
    for (size_t k = 0; k < count; k++)
        moeg_law_free(components[k]);
}

static moeg_law *make_mixture(void)
{
    moeg_law *components[COUNT], *law = NULL;
    make_components(components);
    assert_ok(moeg_law_mixture_create(&law, COUNT, weights, components));
    free_components(COUNT, components); /* the mixture keeps them */
    return law;
}

/* The component of a sample by its definition, in long double. */
static size_t obvious_choice(size_t count, const double *w, uint64_t seed, uint64_t sample)
{
    double u;
    long double total = 0, sum = 0;
    assert_ok(moeg_stream_uniforms((moeg_stream){seed, 2}, sample, 1, 1, &u));
    for (size_t k = 0; k < count; k++)
        total += w[k];
    for (size_t k = 0; k < count; k++)
        if (u < (sum += w[k]) / total)
            return k;
    return count;
}

static void a_sample_is_its_components(void **state)
{
    (void)state;
    enum { N = 600 };
    double x[N * D], own[D];
    size_t seen[COUNT + 1] = {0};
    moeg_law *components[COUNT], *law = make_mixture();
    make_components(components);
    assert_int_equal(moeg_law_dim(law), D);
    assert_int_equal(moeg_law_rows(law), 0);
    assert_ok(moeg_law_sample(law, 77, 1ull << 33, N, x));
    for (uint64_t i = 0; i < N; i++) {
        const size_t k = obvious_choice(COUNT, weights, 77, (1ull << 33) + i);
        seen[k]++;
        assert_true(k < COUNT && weights[k] > 0);
        assert_ok(moeg_law_sample(components[k], 77, (1ull << 33) + i, 1, own));
        assert_same_bits(x + i * D, own, D);
    }
    for (size_t k = 0; k < COUNT; k++) {
        const double p = weights[k] / 4.785;
        assert_near((double)seen[k] / N, p, 5 * sqrt(p * (1 - p) / N));
    }
    free_components(COUNT, components);
    moeg_law_free(law);
}

static void samples_stand_alone(void **state)
{
    (void)state;
    moeg_law *law = make_mixture();
    check_samples_stand_alone(law, ~0ull, (1ull << 40) - 70);
    check_samples_stand_alone(law, 0, 0);
    moeg_law_free(law);
}

static void one_component_is_the_gaussian_law(void **state)
{
    (void)state;
    enum { N = 130 };
    double x[N * D], same[N * D];
    moeg_law *components[COUNT], *law;
    make_components(components);
    static const double extremes[] = {DBL_TRUE_MIN, 2.385, DBL_MAX};
    for (size_t v = 0; v < 3; v++)
        for (size_t k = 0; k < COUNT; k++) {
            assert_ok(moeg_law_mixture_create(&law, 1, extremes + v, components + k));
            assert_ok(moeg_law_sample(law, 5, 99, N, x));
            assert_ok(moeg_law_sample(components[k], 5, 99, N, same));
            assert_same_bits(x, same, N * D);
            moeg_law_free(law);
        }
    free_components(COUNT, components);
}

struct projection {
    double mean[COUNT], deviation[COUNT];
};

static double mixture_cdf(double x, const void *user)
{
    const struct projection *p = user;
    double sum = 0;
    for (size_t k = 0; k < COUNT; k++)
        if (weights[k] > 0)
            sum += weights[k] / 4.785 * normal_cdf((x - p->mean[k]) / p->deviation[k], NULL);
    return fmin(sum, 1);
}

static void projections_have_the_mixtures_distribution(void **state)
{
    (void)state;
    enum { N = 20000, A = 5 };
    static double x[N * D], along[N];
    static const double directions[A][D] = {{1, 0, 0}, {0, 1, 0}, {0.6, -1.1, 0.3}, {-0.4, 0.9, 1.7}, {1, 2, -0.7}};
    moeg_law *law = make_mixture();
    assert_ok(moeg_law_sample(law, 3, 0, N, x));
    for (size_t a = 0; a < A; a++) {
        struct projection p = {{0}, {0}};
        for (size_t k = 0; k < COUNT; k++) {
            double variance = 0;
            for (size_t i = 0; i < D; i++) {
                p.mean[k] += directions[a][i] * means[k][i];
                for (size_t j = 0; j < D; j++)
                    variance += directions[a][i] * directions[a][j] *
                                (covariances[k] != NULL ? covariances[k][i * D + j] : (i == j));
            }
            p.deviation[k] = sqrt(variance);
        }
        for (size_t i = 0; i < N; i++)
            along[i] = directions[a][0] * x[i * D] + directions[a][1] * x[i * D + 1] + directions[a][2] * x[i * D + 2];
        assert_distribution(N, along, mixture_cdf, &p);
    }
    moeg_law_free(law);
}

/* More components than a block has samples, most of weight 0; weights whose sum overflows, or is subnormal. */
static void many_components_and_any_scale(void **state)
{
    (void)state;
    enum { MANY = 5000, N = 300 };
    static double w[MANY];
    static moeg_law *components[MANY];
    moeg_law *law, *one;
    double x[N], z[N], mean[1];
    for (size_t k = 0; k < MANY; k++) {
        mean[0] = 100 * (double)k;
        assert_ok(moeg_law_gaussian_create(&components[k], 1, mean, NULL));
    }
    assert_ok(moeg_law_gaussian_create(&one, 1, NULL, NULL));
    assert_ok(moeg_law_sample(one, 8, 0, N, z));
    static const double scales[] = {1, DBL_MAX, 64 * DBL_TRUE_MIN};
    for (size_t v = 0; v < 3; v++)
        for (size_t step = 1; step <= 1001; step += 500) {
            for (size_t k = 0; k < MANY; k++)
                w[k] = k % step == step / 2 ? scales[v] / (double)(1 + k % 3) : 0;
            assert_ok(moeg_law_mixture_create(&law, MANY, w, components));
            assert_ok(moeg_law_sample(law, 8, 0, N, x));
            for (size_t i = 0; i < N; i++) {
                const size_t k = obvious_choice(MANY, w, 8, i);
                assert_true(w[k] > 0);
                assert_near(x[i], 100 * (double)k + z[i], 0);
            }
            moeg_law_free(law);
        }
    moeg_law_free(one);
    free_components(MANY, components);
}

static void every_error_is_named(void **state)
{
    (void)state;
    moeg_law *components[COUNT], *law = NULL, *other;
    double w[COUNT];
    char text[80];
    make_components(components);
    memcpy(w, weights, sizeof w);
    assert_status(moeg_law_mixture_create(NULL, COUNT, w, components), MOEG_EINVAL,
                  "law_mixture: law must not be NULL");
    assert_status(moeg_law_mixture_create(&law, 0, w, components), MOEG_EINVAL,
                  "law_mixture: count must be in [1, 2^32), got 0");
    assert_status(moeg_law_mixture_create(&law, 1ull << 32, w, components), MOEG_EINVAL, "count must be in [1, 2^32)");
    assert_status(moeg_law_mixture_create(&law, COUNT, NULL, components), MOEG_EINVAL,
                  "law_mixture: weights must not be NULL");
    assert_status(moeg_law_mixture_create(&law, COUNT, w, NULL), MOEG_EINVAL,
                  "law_mixture: components must not be NULL");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < COUNT; k++) {
        for (size_t v = 0; v < 3; v++) {
            w[k] = bad[v];
            snprintf(text, sizeof text, "law_mixture: weights[%zu] must be finite, got", k);
            assert_status(moeg_law_mixture_create(&law, COUNT, w, components), MOEG_EINVAL, text);
        }
        w[k] = -DBL_TRUE_MIN;
        snprintf(text, sizeof text, "law_mixture: weights[%zu] must be at least 0, got", k);
        assert_status(moeg_law_mixture_create(&law, COUNT, w, components), MOEG_EINVAL, text);
        w[k] = weights[k];

        moeg_law *kept = components[k];
        components[k] = NULL;
        snprintf(text, sizeof text, "law_mixture: components[%zu] must not be NULL", k);
        assert_status(moeg_law_mixture_create(&law, COUNT, w, components), MOEG_EINVAL, text);
        assert_ok(moeg_law_empirical_create(&components[k], 1, D, means[0], NULL));
        snprintf(text, sizeof text, "law_mixture: components[%zu] must be a Gaussian law", k);
        assert_status(moeg_law_mixture_create(&law, COUNT, w, components), MOEG_EINVAL, text);
        moeg_law_free(components[k]);
        components[k] = kept;
    }
    assert_ok(moeg_law_gaussian_create(&other, 2, NULL, NULL));
    moeg_law *unlike[] = {components[0], other};
    assert_status(moeg_law_mixture_create(&law, 2, w, unlike), MOEG_EINVAL,
                  "law_mixture: components[1] must have the d = 3 of components[0], got 2");
    const double zeros[COUNT] = {0, -0.0};
    assert_status(moeg_law_mixture_create(&law, COUNT, zeros, components), MOEG_EINVAL,
                  "law_mixture: weights must not all be 0");
    assert_null(law);
    /* No mixtures of mixtures. */
    law = make_mixture();
    unlike[1] = law;
    moeg_law *none = NULL;
    assert_status(moeg_law_mixture_create(&none, 2, w, unlike), MOEG_EINVAL, "components[1] must be a Gaussian law");
    assert_null(none);
    moeg_law_free(law);
    moeg_law_free(other);
    free_components(COUNT, components);
}

static moeg_status create(moeg_law **law, void *user)
{
    return moeg_law_mixture_create(law, COUNT, weights, user);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    moeg_law *components[COUNT];
    make_components(components);
    check_law_allocations(create, components, D, 2);
    free_components(COUNT, components);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_its_components),
        cmocka_unit_test(samples_stand_alone),
        cmocka_unit_test(one_component_is_the_gaussian_law),
        cmocka_unit_test(projections_have_the_mixtures_distribution),
        cmocka_unit_test(many_components_and_any_scale),
        cmocka_unit_test(every_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
