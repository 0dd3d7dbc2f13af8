/* Teachers with noise: what they are, what they draw, and what they refuse. */
#include "model/model.h"
#include "model/rows.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>

enum { D = 3, M = 2, N = 70 };

static const double A[M * D] = {1.25, -0.7, 0.3, 2.385, 0.1, -0.9}, c[M] = {0.4, -1.1};

/* The caller's handles are gone at once: teachers keep what they need. */
static moeg_teacher *make(double variance)
{
    moeg_expert *expert;
    moeg_teacher *mean, *teacher;
    assert_ok(moeg_expert_affine_create(&expert, D, M, A, c));
    assert_ok(moeg_teacher_expert_create(&mean, expert));
    moeg_expert_free(expert);
    assert_ok(moeg_teacher_noise_create(&teacher, mean, variance));
    moeg_teacher_free(mean);
    return teacher;
}

static void the_mean_is_seen_through_the_noise(void **state)
{
    (void)state;
    moeg_teacher *teacher = make(2.385), *twice;
    double x[N * D], y[N * M], expected[N * M], tau = -1;
    fill_values(1, N * D, 2, x);
    assert_ok(moeg_teacher_mean(teacher, 5, N, x, y));
    assert_ok(moeg_expert_forward(moeg_teacher_expert(teacher), N, x, expected));
    assert_same_bits(y, expected, N * M);
    assert_int_equal(moeg_teacher_outputs(teacher), M);
    assert_int_equal(moeg_teacher_dim(teacher), D);
    assert_int_equal(moeg_teacher_rows(teacher), 0);
    assert_near(moeg_teacher_noise(teacher), 2.385, 0);
    assert_null(moeg_teacher_moe(teacher, &tau));

    assert_ok(moeg_teacher_noise_create(&twice, teacher, 0.5));
    assert_ptr_equal(moeg_teacher_expert(twice), moeg_teacher_expert(teacher));
    moeg_teacher_free(teacher);
    assert_near(moeg_teacher_noise(twice), 2.885, 0);
    assert_ok(moeg_teacher_mean(twice, 5, N, x, y));
    assert_same_bits(y, expected, N * M);
    moeg_teacher_free(twice);
    assert_near(moeg_teacher_noise(NULL), 0, 0);
}

static void a_mixture_is_seen_through_the_noise(void **state)
{
    (void)state;
    moeg_router *router;
    moeg_expert *experts[2];
    moeg_moe *moe;
    moeg_teacher *mean, *teacher;
    double tau = -1;
    assert_ok(moeg_router_affine_create(&router, 2, D, A, NULL));
    assert_ok(moeg_expert_constant_create(&experts[0], D, M, c));
    assert_ok(moeg_expert_constant_create(&experts[1], D, M, A));
    assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_moe_create(&mean, moe, 0.37));
    assert_near(moeg_teacher_noise(mean), 0, 0);
    assert_ok(moeg_teacher_noise_create(&teacher, mean, 1.5));
    assert_ptr_equal(moeg_teacher_moe(teacher, &tau), moe);
    assert_near(tau, 0.37, 0);
    assert_null(moeg_teacher_expert(teacher));
    moeg_teacher_free(mean);
    moeg_teacher_free(teacher);
    moeg_moe_free(moe);
    moeg_router_free(router);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
}

/* m(x) + sqrt(variance/m) z, with z of the documented stream; in parts as at once. */
static void draws_are_the_documented_ones(void **state)
{
    (void)state;
    enum { FIRST = 1000003 };
    const uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    moeg_teacher *teacher = make(2.385);
    double x[N * D], y[N * M], part[N * M], mean[N * M], z[N * M];
    fill_values(2, N * D, 2, x);
    assert_ok(moeg_teacher_sample(teacher, seed, FIRST, N, x, y));
    assert_ok(moeg_teacher_mean(teacher, FIRST, N, x, mean));
    assert_ok(moeg_stream_normals((moeg_stream){seed, 3}, FIRST, N, M, z));
    for (size_t e = 0; e < N * M; e++)
        mean[e] += sqrt(2.385 / M) * z[e];
    assert_same_bits(y, mean, N * M);
    for (size_t first = 0; first < N; first += 9) {
        const size_t n = N - first < 9 ? N - first : 9;
        assert_ok(moeg_teacher_sample(teacher, seed, FIRST + first, n, x + first * D, part + first * M));
    }
    assert_same_bits(part, y, N * M);
    moeg_teacher_free(teacher);

    /* Without noise: the mean. */
    teacher = make(0);
    assert_ok(moeg_teacher_sample(teacher, seed, FIRST, N, x, y));
    assert_ok(moeg_teacher_mean(teacher, FIRST, N, x, mean));
    assert_same_bits(y, mean, N * M);
    moeg_teacher_free(teacher);
    assert_ok(moeg_teacher_data_create(&teacher, N, M, mean));
    assert_ok(moeg_teacher_sample(teacher, seed, 3, N - 3, NULL, y));
    assert_same_bits(y, mean + 3 * M, (N - 3) * M);
    assert_status(moeg_teacher_sample(teacher, seed, 3, N, NULL, y), MOEG_EINVAL,
                  "teacher_sample: rows 3 .. 3 + 70 - 1 go past the end at 70");
    moeg_teacher_free(teacher);
}

/* The noise of a sample has nothing to do with the latents of the law's sample of the same seed and number. */
static void noise_has_its_variance_and_is_independent(void **state)
{
    (void)state;
    enum { ROWS = 1 << 14 };
    static double x[ROWS * D], y[ROWS * M], mean[ROWS * M];
    moeg_teacher *teacher = make(2.385);
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
    assert_ok(moeg_law_sample(law, 77, 0, ROWS, x));
    assert_ok(moeg_teacher_sample(teacher, 77, 0, ROWS, x, y));
    assert_ok(moeg_teacher_mean(teacher, 0, ROWS, x, mean));
    double square = 0, sum[M] = {0}, product = 0, cross[M * D] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        double e[M];
        for (size_t j = 0; j < M; j++) {
            e[j] = y[i * M + j] - mean[i * M + j];
            sum[j] += e[j] / ROWS;
            square += e[j] * e[j] / ROWS;
            for (size_t l = 0; l < D; l++)
                cross[j * D + l] += e[j] * x[i * D + l] / ROWS;
        }
        product += e[0] * e[1] / ROWS;
    }
    /* Four standard errors: of a sum of M squares of variance v/M each, v sqrt(2/(M n)); of products, sd/sqrt(n). */
    const double root = sqrt(ROWS), sd = sqrt(2.385 / M);
    assert_near(square, 2.385, 4 * 2.385 * sqrt(2.0 / M) / root);
    assert_near(product, 0, 4 * sd * sd / root);
    for (size_t j = 0; j < M; j++)
        assert_near(sum[j], 0, 4 * sd / root);
    for (size_t e = 0; e < M * D; e++)
        assert_near(cross[e], 0, 4 * sd / root);
    moeg_law_free(law);
    moeg_teacher_free(teacher);
}

static void every_error_is_named_and_touches_nothing(void **state)
{
    (void)state;
    moeg_teacher *mean = make(1e308), *none = NULL, *data;
    const double bad[] = {-1e-300, -INFINITY, INFINITY, NAN};
    double x[3 * D] = {0.1, 0.2, 0.3, 0.4, 0.5, 2.385, 1, 2, 3}, y[3 * M];
    assert_status(moeg_teacher_noise_create(NULL, mean, 1), MOEG_EINVAL, "teacher_noise: teacher must not be NULL");
    assert_status(moeg_teacher_noise_create(&none, NULL, 1), MOEG_EINVAL, "teacher_noise: mean must not be NULL");
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        assert_status(moeg_teacher_noise_create(&none, mean, bad[b]), MOEG_EINVAL,
                      "teacher_noise: variance must be at least 0 and finite, got");
    assert_status(moeg_teacher_noise_create(&none, mean, 1e308), MOEG_ERANGE,
                  "teacher_noise: the variances 1e+308 and 1e+308 add up to more than a double holds");
    assert_ok(moeg_teacher_data_create(&data, 3, M, x));
    assert_status(moeg_teacher_noise_create(&none, data, 1), MOEG_EINVAL,
                  "teacher_noise: mean must not be a data teacher: its rows are Y, noise and all");
    assert_null(none);
    moeg_teacher_free(data);

    mark(3 * M, y);
    assert_status(moeg_teacher_sample(NULL, 1, 0, 3, x, y), MOEG_EINVAL, "teacher_sample: teacher must not be NULL");
    assert_status(moeg_teacher_sample(mean, 1, 0, 3, NULL, y), MOEG_EINVAL, "teacher_sample: x must not be NULL");
    assert_status(moeg_teacher_sample(mean, 1, 0, 3, x, NULL), MOEG_EINVAL, "teacher_sample: y must not be NULL");
    x[4] = NAN;
    assert_status(moeg_teacher_sample(mean, 1, 0, 3, x, y), MOEG_EINVAL, "x[1, 1] must be finite, got nan");
    x[4] = 0.5;
    x[3] = 1e308;
    assert_status(moeg_teacher_sample(mean, 1, 0, 3, x, y), MOEG_ERANGE,
                  "teacher_sample: the value, or a logit behind it");
    assert_true(is_marked(3 * M, y));
    moeg_teacher_free(mean);
}

static moeg_status create_and_sample(void *user)
{
    moeg_teacher *teacher = NULL;
    double y[M];
    mark(M, y);
    moeg_status status = moeg_teacher_noise_create(&teacher, user, 1.5);
    if (status == MOEG_OK)
        status = moeg_teacher_sample(teacher, 1, 0, 1, A, y);
    else
        assert_null(teacher);
    if (status != MOEG_OK)
        assert_true(is_marked(M, y));
    moeg_teacher_free(teacher);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    moeg_teacher *mean = make(0.25);
    assert_int_equal(fail_every_allocation(create_and_sample, mean), 3);
    moeg_teacher_free(mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_seen_through_the_noise),
        cmocka_unit_test(a_mixture_is_seen_through_the_noise),
        cmocka_unit_test(draws_are_the_documented_ones),
        cmocka_unit_test(noise_has_its_variance_and_is_independent),
        cmocka_unit_test(every_error_is_named_and_touches_nothing),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
