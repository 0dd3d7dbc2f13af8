/* Laws of a known margin exponent: against the stream's normals, and their distributions. */
#include "model/laws.h"

enum { D = 3 };

/* A family with its parameter. */
struct member {
    moeg_margin_family family;
    double parameter;
};

static const struct member members[] = {
    {MOEG_MARGIN_POWER, 0.5},     {MOEG_MARGIN_POWER, 1},         {MOEG_MARGIN_POWER, 2.385},
    {MOEG_MARGIN_POWER, 5},       {MOEG_MARGIN_RAYLEIGH, 0},      {MOEG_MARGIN_BOUNDED, 0.731},
    {MOEG_MARGIN_BOUNDED, 0},     {MOEG_MARGIN_POWER, 300},       {MOEG_MARGIN_POWER, 1.5e-300},
    {MOEG_MARGIN_BOUNDED, 1e300}, {MOEG_MARGIN_BOUNDED, DBL_MAX},
};
enum { MEMBERS = sizeof members / sizeof *members, ORDINARY = 7 };

static moeg_law *make(size_t d, const struct member *m)
{
    moeg_law *law = NULL;
    assert_ok(moeg_law_margin_create(&law, d, m->family, m->parameter));
    return law;
}

/* s and the place of x_2 among the normals, by definition. */
static double obvious(const struct member *m, const double *z)
{
    double s = NAN;
    if (m->family == MOEG_MARGIN_POWER)
        s = pow(fabs(z[0]), m->parameter);
    else if (m->family == MOEG_MARGIN_RAYLEIGH)
        s = sqrt(z[0] * z[0] + z[1] * z[1]);
    else
        s = m->parameter + fabs(z[0]);
    return z[0] < 0 ? -s : s;
}

static void samples_are_maps_of_normals(void **state)
{
    (void)state;
    enum { N = 130 };
    double x[N * D], z[N * (D + 1)];
    for (size_t v = 0; v < MEMBERS; v++)
        for (size_t d = 1; d <= D; d++) {
            const size_t used = members[v].family == MOEG_MARGIN_RAYLEIGH ? 2 : 1, q = used + d - 1;
            moeg_law *law = make(d, members + v);
            assert_int_equal(moeg_law_dim(law), d);
            assert_int_equal(moeg_law_rows(law), 0);
            assert_ok(moeg_law_sample(law, 42, 1000, N, x));
            assert_ok(moeg_stream_normals((moeg_stream){42, 0}, 1000, N, q, z));
            for (size_t i = 0; i < N; i++) {
                assert_true(isfinite(x[i * d]));
                assert_near(x[i * d], obvious(members + v, z + i * q), 0);
                assert_int_equal(signbit(x[i * d]), signbit(z[i * q]));
                assert_same_bits(x + i * d + 1, z + i * q + used, d - 1);
            }
            check_samples_stand_alone(law, ~0ull, (1ull << 40) - 70);
            moeg_law_free(law);
        }
}

/* p = 1 and Delta_0 = 0 are the standard normal law, bit for bit. */
static void trivial_members_are_normal(void **state)
{
    (void)state;
    enum { N = 130 };
    static const struct member trivial[] = {{MOEG_MARGIN_POWER, 1}, {MOEG_MARGIN_BOUNDED, 0}};
    double x[N * D], same[N * D];
    moeg_law *normal;
    assert_ok(moeg_law_gaussian_create(&normal, D, NULL, NULL));
    assert_ok(moeg_law_sample(normal, 4, 9, N, same));
    for (size_t v = 0; v < 2; v++) {
        moeg_law *law = make(D, trivial + v);
        assert_ok(moeg_law_sample(law, 4, 9, N, x));
        assert_same_bits(x, same, N * D);
        moeg_law_free(law);
    }
    moeg_law_free(normal);
}

static double cdf(double s, const void *user)
{
    const struct member *m = user;
    if (m->family == MOEG_MARGIN_RAYLEIGH)
        return s < 0 ? exp(-s * s / 2) / 2 : 1 - exp(-s * s / 2) / 2;
    const double size = m->family == MOEG_MARGIN_POWER ? pow(fabs(s), 1 / m->parameter) : fabs(s) - m->parameter;
    return normal_cdf(copysign(size, s), NULL);
}

static double centred_size(double x)
{
    return fabs(x) - 0.79788456080286535588; /* sqrt(2/pi) */
}

static void s_has_its_distribution_and_the_rest_is_normal(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double x[N * D], values[N];
    for (size_t v = 0; v < ORDINARY; v++) {
        moeg_law *law = make(D, members + v);
        assert_ok(moeg_law_sample(law, 11 + v, 0, N, x));
        for (size_t j = 0; j < D; j++) {
            for (size_t i = 0; i < N; i++)
                values[i] = x[i * D + j];
            assert_distribution(N, values, j == 0 ? cdf : normal_cdf, members + v);
        }
        /* Independent: signs of s and x_2, and sizes of the two others, have products of mean 0 within five standard
         * errors; |z| has the variance 1 - 2/pi. So have sizes of s, after they are made uniform. */
        double signs = 0, sizes = 0;
        for (size_t i = 0; i < N; i++) {
            const double u = 2 * cdf(-fabs(x[i * D]), members + v);
            signs += x[i * D] * x[i * D + 1] > 0 ? 1 : -1;
            sizes += (u - 0.5) * centred_size(x[i * D + 1]);
        }
        assert_near(signs / N, 0, 5 / sqrt(N));
        assert_near(sizes / N, 0, 5 * sqrt(0.36338022763241866 / 12 / N));
        assert_near(mean_product(N, D, x, 1, 2, centred_size), 0, 5 * 0.36338022763241866 / sqrt(N));
        moeg_law_free(law);
    }
}

static void every_error_is_named(void **state)
{
    (void)state;
    moeg_law *law = NULL;
    assert_status(moeg_law_margin_create(NULL, D, MOEG_MARGIN_POWER, 1), MOEG_EINVAL,
                  "law_margin: law must not be NULL");
    assert_status(moeg_law_margin_create(&law, 0, MOEG_MARGIN_POWER, 1), MOEG_EINVAL,
                  "law_margin: d must be in [1, 2^32), got 0");
    assert_status(moeg_law_margin_create(&law, 1ull << 32, MOEG_MARGIN_POWER, 1), MOEG_EINVAL,
                  "law_margin: d must be in [1, 2^32)");
    assert_status(moeg_law_margin_create(&law, D, (moeg_margin_family)3, 1), MOEG_EINVAL,
                  "law_margin: family must be power (0), rayleigh (1) or bounded (2), got 3");
    static const double powers[] = {0, -2.385, 300.1, NAN, INFINITY, -INFINITY};
    for (size_t v = 0; v < 6; v++)
        assert_status(moeg_law_margin_create(&law, D, MOEG_MARGIN_POWER, powers[v]), MOEG_EINVAL,
                      "law_margin: parameter of MOEG_MARGIN_POWER must be in (0, 300], got ");
    static const double radii[] = {2.385, -DBL_TRUE_MIN, NAN, INFINITY};
    for (size_t v = 0; v < 4; v++)
        assert_status(moeg_law_margin_create(&law, D, MOEG_MARGIN_RAYLEIGH, radii[v]), MOEG_EINVAL,
                      "law_margin: parameter of MOEG_MARGIN_RAYLEIGH must be 0, got ");
    static const double bounds[] = {-DBL_TRUE_MIN, NAN, INFINITY, -INFINITY};
    for (size_t v = 0; v < 4; v++)
        assert_status(moeg_law_margin_create(&law, D, MOEG_MARGIN_BOUNDED, bounds[v]), MOEG_EINVAL,
                      "law_margin: parameter of MOEG_MARGIN_BOUNDED must be finite and at least 0, got ");
    assert_null(law);
}

static moeg_status create(moeg_law **law, void *user)
{
    const struct member *m = user;
    return moeg_law_margin_create(law, D, m->family, m->parameter);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct member m = {MOEG_MARGIN_RAYLEIGH, 0};
    check_law_allocations(create, &m, D, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_maps_of_normals),
        cmocka_unit_test(trivial_members_are_normal),
        cmocka_unit_test(s_has_its_distribution_and_the_rest_is_normal),
        cmocka_unit_test(every_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
