/* The flow of a plane: its velocity against brute force, its gradient against differences of its risk, what it does
 * where u is small or its layer thin. */
#include "dynamics/flow_plane_oracle.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

#include <moegeom/flow.h>

static const double v2[2] = {1.3, 0}, beta2[2] = {0.7, 1.1}, mu2[1] = {0.4};

static moeg_halves halves_of(double tau)
{
    return (moeg_halves){.d = 2, .outputs = 1, .v = v2, .beta = beta2, .mu = mu2, .tau = tau};
}

static moeg_flow *make_plane(const moeg_halves *halves, double variance, double tau, moeg_mixing mixing,
                             moeg_symmetric symmetric, moeg_contrast contrast)
{
    moeg_flow_options options = moeg_flow_options_default();
    options.tau = tau;
    options.mixing = mixing;
    options.symmetric = symmetric;
    options.contrast = contrast;
    options.eta_f = 1;
    moeg_flow *flow = NULL;
    assert_ok(moeg_flow_plane_create(halves, variance, &options, &flow));
    return flow;
}

/* |a - b| <= tolerance |b|, as vectors. */
static void assert_close(size_t n, const double *a, const double *b, double sign, double tolerance)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        error = hypot(error, a[i] - sign * b[i]);
        size = hypot(size, b[i]);
    }
    if (!(error <= tolerance * size))
        print_error("relative error %.3g of %.3g\n", error / size, size);
    assert_true(error <= tolerance * size);
}

/* u at an angle of v. Angles near the layer of u are rounded to some 1e-15 of it at length 100, tau 0.02. */
static void compare(double teacher_tau, double tau, double length, double angle)
{
    const moeg_halves halves = halves_of(teacher_tau);
    const struct oracle_problem p = {
        .v = 1.3, .beta = {0.7, 1.1}, .mu = 0.4, .teacher_tau = teacher_tau, .sigma = sqrt(1.7), .tau = tau};
    const double state[8] = {length * cos(angle), length * sin(angle), 0.31, -0.83, 0.47, 0.13, -0.21, 0.58};
    const double tolerance = 1e-12 + 1e-14 * length / tau;
    struct oracle_sums sums;
    oracle_gradient(&p, state, &sums);
    for (int mixing = 0; mixing < 2; mixing++) {
        moeg_flow *flow =
            make_plane(&halves, 1.7, tau, (moeg_mixing)mixing, MOEG_SYMMETRIC_AFFINE, moeg_contrast_affine());
        double risk, velocity[8];
        assert_ok(moeg_flow_velocity(flow, state, &risk, velocity));
        assert_relative(risk, sums.risk[mixing], 1e-12);
        assert_close(2, velocity, sums.gradient[mixing], -1, tolerance);
        assert_close(3, velocity + 2, sums.gradient[mixing] + 2, -1, 1e-12);
        assert_close(3, velocity + 5, sums.gradient[mixing] + 5, -1, 1e-12);
        moeg_flow_free(flow);
    }
}

/* From where the router does not part x to where its layer is 1e-4 of x; u along v, across, against it, almost along
 * it, and oblique; teachers that jump, and with a wide and a thin layer. */
static void test_brute_force(void **state)
{
    (void)state;
    static const double taus[] = {1, 0.1, 0.02}, lengths[] = {1e-12, 1e-3, 1, 100}, teachers[] = {0, 0.6, 0.02};
    static const double angles[] = {0, 1.5707963267948966, 3.1415926535897931, 0.7, -2.1, 1e-4};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 6; k++)
                for (int t = 0; t < 3; t++)
                    compare(teachers[t], taus[i], lengths[j], angles[k]);
}

/* Every class and contrast: minus the gradient is a difference of the risk, of fourth order. */
static void test_differences(void **state)
{
    (void)state;
    static const double step = 2e-3;
    uint64_t seed = 17;
    for (int kind = 0; kind < 24; kind++) {
        const moeg_halves halves = halves_of(kind % 3 * 0.4);
        const moeg_contrast contrasts[] = {moeg_contrast_constant(), moeg_contrast_linear(), moeg_contrast_affine()};
        moeg_flow *flow = make_plane(&halves, 0.8, 0.6, (moeg_mixing)(kind / 12), (moeg_symmetric)(kind % 4),
                                     contrasts[kind / 4 % 3]);
        const size_t size = 2 + moeg_flow_contrast_size(flow) + moeg_flow_symmetric_size(flow);
        double at[8], velocity[8], risk[4];
        for (size_t i = 0; i < size; i++)
            at[i] = next_uniform(&seed);
        assert_ok(moeg_flow_velocity(flow, at, NULL, velocity));
        for (size_t i = 0; i < size; i++) {
            static const double moves[] = {-2, -1, 1, 2};
            const double middle = at[i];
            for (int k = 0; k < 4; k++) {
                at[i] = middle + moves[k] * step;
                assert_ok(moeg_flow_velocity(flow, at, &risk[k], NULL));
            }
            at[i] = middle;
            assert_near(velocity[i], (risk[3] - risk[0] - 8 * (risk[2] - risk[1])) / (12 * step), 2e-9);
        }
        moeg_flow_free(flow);
    }
}

/* With B at its best, the velocity of c is O(|u|), that of u O(|c|) and that of B O(|u| |c|), to rounding of
 * themselves: nothing of order 1 cancels on the way. Its place for best is found by a run at time 0. */
static void test_small(void **state)
{
    (void)state;
    const double zero = 0, u[2] = {0.6, -0.8}, c[3] = {0.3, -0.5, 0.7};
    for (int soft = 0; soft < 2; soft++) {
        const moeg_halves halves = halves_of(soft * 0.3);
        moeg_flow *flow = make_plane(&halves, 1.7, 0.5, MOEG_MIX_OUTPUT, MOEG_SYMMETRIC_AFFINE, moeg_contrast_affine());
        double at[8], velocity[2][8];
        assert_ok(moeg_flow_run(flow, u, c, 1, &zero, 1e-9, 1e-9, at, NULL));
        for (int k = 0; k < 2; k++) {
            const double scale = k == 0 ? 1e-10 : 1e-200;
            for (int i = 0; i < 5; i++)
                at[i] = scale * (i < 2 ? u[i] : c[i - 2]);
            assert_ok(moeg_flow_velocity(flow, at, NULL, velocity[k]));
            for (int i = 0; i < 8; i++)
                velocity[k][i] /= i < 5 ? scale : k == 0 ? scale * scale : 1;
        }
        assert_close(5, velocity[0], velocity[1], 1, 1e-9);
        assert_true(velocity[1][5] == 0); /* it underflows */
        assert_true(fabs(velocity[0][6]) > 0.01 && fabs(velocity[0][6]) < 10);
        moeg_flow_free(flow);
    }
}

/* The plane of v and beta in five dimensions is that of their lengths and the angle between them. */
static void test_dimensions(void **state)
{
    (void)state;
    const double v5[5] = {0, 0, -1.3, 0, 0}, beta5[5] = {0.66, 0, -0.7, 0, -0.88};
    const moeg_halves flat = halves_of(0), space = {.d = 5, .outputs = 1, .v = v5, .beta = beta5, .mu = mu2};
    const double along5[5] = {0, 0, 0, 0.9, 0}, beta_along[5] = {0, 0, 0, -2.7, 0};
    const moeg_halves line = {.d = 5, .outputs = 1, .v = along5, .beta = beta_along};
    const double at[7] = {0.2, -0.5, 0.3, 0.4, 0.1, -0.6, 0.9};
    double velocity[2][7], M[4];
    for (int i = 0; i < 2; i++) {
        moeg_flow *flow =
            make_plane(i ? &space : &flat, 1.7, 0.5, MOEG_MIX_OUTPUT, MOEG_SYMMETRIC_AFFINE, moeg_contrast_linear());
        assert_int_equal(moeg_flow_router_size(flow), 2);
        assert_ok(moeg_flow_velocity(flow, at, NULL, velocity[i]));
        moeg_flow_free(flow);
    }
    assert_close(7, velocity[1], velocity[0], 1, 1e-13);
    moeg_flow *flow = make_plane(&line, 1, 0.5, MOEG_MIX_OUTPUT, MOEG_SYMMETRIC_AFFINE, moeg_contrast_linear());
    assert_ok(moeg_flow_operator(flow, M));
    assert_relative(M[0], -2.7 * sqrt(2 / 3.14159265358979323846), 1e-13);
    assert_true(fabs(M[1]) < 1e-14 && fabs(M[2]) < 1e-14 && fabs(M[3]) < 1e-14);
    moeg_flow_free(flow);
}

/* M is that of the closed form, of every class and contrast, hard and soft. */
static void test_operator(void **state)
{
    (void)state;
    const double covariance[4] = {1.7, 0, 0, 1.7};
    moeg_law *law = NULL;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, covariance));
    const moeg_contrast contrasts[] = {moeg_contrast_constant(), moeg_contrast_linear(), moeg_contrast_affine()};
    for (int kind = 0; kind < 36; kind++) {
        static const double taus[] = {0, 0.01, 0.7};
        const moeg_halves halves = halves_of(taus[kind % 3]);
        const moeg_symmetric symmetric = (moeg_symmetric)(kind / 3 % 4);
        const moeg_contrast *contrast = &contrasts[kind / 12];
        moeg_flow *flow = make_plane(&halves, 1.7, 0.5, MOEG_MIX_OUTPUT, symmetric, *contrast);
        double M[6], closed[6];
        assert_ok(moeg_flow_operator(flow, M));
        assert_ok(moeg_symmetry_closed(&halves, law, symmetric, contrast, closed));
        for (size_t i = 0; i < 2 * moeg_flow_contrast_size(flow); i++)
            assert_near(M[i], closed[i], 2e-14);
        moeg_flow_free(flow);
    }
    moeg_law_free(law);
}

static void test_errors(void **state)
{
    (void)state;
    moeg_halves halves = halves_of(0);
    moeg_flow_options options = moeg_flow_options_default();
    moeg_flow *flow = NULL;
    assert_status(moeg_flow_plane_create(NULL, 1, NULL, &flow), MOEG_EINVAL, "halves");
    assert_status(moeg_flow_plane_create(&halves, 1, NULL, NULL), MOEG_EINVAL, "flow must not");
    assert_status(moeg_flow_plane_create(&halves, 0, NULL, &flow), MOEG_EINVAL, "variance");
    assert_status(moeg_flow_plane_create(&halves, INFINITY, NULL, &flow), MOEG_EINVAL, "variance");
    assert_status(moeg_flow_plane_create(&halves, NAN, NULL, &flow), MOEG_EINVAL, "variance");
    halves.tau = -1;
    assert_status(moeg_flow_plane_create(&halves, 1, NULL, &flow), MOEG_EINVAL, "halves->tau");
    halves.tau = 0;
    halves.outputs = 2;
    const double two[4] = {1, 2, 3, 4};
    halves.beta = two;
    halves.mu = NULL;
    assert_status(moeg_flow_plane_create(&halves, 1, NULL, &flow), MOEG_EUNSUPPORTED, "one output, got 2");
    halves.outputs = halves.d = 1;
    assert_status(moeg_flow_plane_create(&halves, 1, NULL, &flow), MOEG_EUNSUPPORTED, "at least 2, got 1");
    const double huge[2] = {1e300, 1e300};
    halves.d = 2;
    halves.v = huge;
    assert_status(moeg_flow_plane_create(&halves, 1e30, NULL, &flow), MOEG_ERANGE, "v or beta");
    halves.v = v2;
    halves.beta = huge;
    assert_status(moeg_flow_plane_create(&halves, 1, NULL, &flow), MOEG_ERANGE, "risk");
    halves = halves_of(0);
    options.contrast = moeg_contrast_user(1, NULL, NULL);
    assert_status(moeg_flow_plane_create(&halves, 1, &options, &flow), MOEG_EINVAL, "function");
    assert_null(flow);
    options.contrast = moeg_contrast_linear();
    options.tau = 1e-300;
    assert_ok(moeg_flow_plane_create(&halves, 1, &options, &flow));
    const double at[7] = {1e10, 0, 0, 0, 0, 0, 0};
    double velocity[7] = {7};
    assert_status(moeg_flow_velocity(flow, at, NULL, velocity), MOEG_ERANGE, "overflows");
    assert_true(velocity[0] == 7);
    moeg_flow_free(flow);
}

static moeg_status make_and_ask(void *user)
{
    moeg_flow *flow = NULL;
    double velocity[7] = {7}, risk = 7, M[4] = {7};
    const double at[7] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
    moeg_status status = moeg_flow_plane_create(user, 1, NULL, &flow);
    if (status == MOEG_OK)
        status = moeg_flow_velocity(flow, at, &risk, velocity);
    assert_true(status == MOEG_OK ? risk != 7 : risk == 7 && velocity[0] == 7);
    if (status == MOEG_OK)
        status = moeg_flow_operator(flow, M);
    assert_true(status == MOEG_OK || M[0] == 7);
    moeg_flow_free(flow);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    moeg_halves halves = halves_of(0);
    assert_true(fail_every_allocation(make_and_ask, &halves) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force), cmocka_unit_test(test_differences), cmocka_unit_test(test_small),
        cmocka_unit_test(test_dimensions),  cmocka_unit_test(test_operator),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
