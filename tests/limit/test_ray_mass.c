/* Masses on rays: the plane by quadrature against 30 digits, more dimensions against sampling, and their spread. */
#include "limit/ray_mass.h"

#include "limit/problem.h"
#include "limit/reference.h"
#include "support/random.h"

#include <moegeom/boundary.h>
#include <moegeom/law.h>
#include <moegeom/router.h>

static void get(const struct reference *r, const char *of, const char *name, double *out)
{
    for (size_t i = 0; i < r->parameter_count; i++)
        if (strcmp(r->parameters[i].of, of) == 0 && strcmp(r->parameters[i].name, name) == 0)
            memcpy(out, r->parameters[i].values, r->parameters[i].rows * r->parameters[i].cols * sizeof *out);
}

/* Every row that is a gap from the best: BM, BM_2, and the slope of BM. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t seen = 0;
    double worst = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *of = r->field[row][0], *quantity = r->field[row][2];
        const size_t K = (size_t)atoi(r->field[row][1]);
        const int rank = strcmp(quantity, "BM") == 0 ? 1 : strcmp(quantity, "BM_2") == 0 ? 2 : 0;
        if (rank == 0 && strcmp(quantity, "SLOPE_BM") != 0)
            continue;
        double W[10], b[5], mu[2], Sigma[4];
        get(r, of, "W", W);
        get(r, of, "b", b);
        get(r, of, "mu", mu);
        get(r, of, "Sigma", Sigma);
        moeg_router *router;
        moeg_law *law;
        moeg_rays rays;
        const char *refusal;
        moeg_estimate got;
        const moeg_sampling s = moeg_sampling_default();
        const double w = atof(r->field[row][3]), expected = atof(r->field[row][4]);
        assert_ok(moeg_router_affine_create(&router, K, 2, W, b));
        assert_ok(moeg_law_gaussian_create(&law, 2, mu, Sigma));
        assert_ok(moeg_rays_init("test", router, NULL, law, &rays, &refusal));
        assert_null(refusal);
        if (rank > 0)
            assert_ok(moeg_ray_mass("test", &rays, (size_t)rank, 1, &w, &s, &got));
        else
            assert_ok(moeg_ray_slope("test", &rays, &s, &got));
        if (fabs(got.value / expected - 1) > worst)
            print_message("%s %s %g: %.16g, off %.2g, error %.2g\n", of, quantity, w, got.value, got.value / expected - 1, got.quad_error/expected);
        worst = fmax(worst, fabs(got.value / expected - 1));
        seen++;
        moeg_rays_free(&rays);
        moeg_router_free(router);
        moeg_law_free(law);
    }
    print_message("%zu rows, worst %.3g\n", seen, worst);
    free(r);
}

static void spread(void **state)
{
    (void)state;
    enum { K = 8, D = 32 };
    uint64_t seed = 5;
    for (int trial = 0; trial < 8; trial++) {
    double W[K * D], b[K];
    for (int i = 0; i < K * D; i++)
        W[i] = next_normal(&seed) / sqrt(D);
    for (int i = 0; i < K; i++)
        b[i] = next_normal(&seed) / sqrt(D);
    moeg_router *router;
    moeg_law *law;
    moeg_rays rays;
    const char *refusal;
    moeg_estimate line[4], mc[4], slope;
    moeg_sampling s = moeg_sampling_default();
    const double w[4] = {1e-9, 1e-4, 1e-2, 0.3};
    assert_ok(moeg_router_affine_create(&router, K, D, W, b));
    assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
    assert_ok(moeg_rays_init("test", router, NULL, law, &rays, &refusal));
    assert_null(refusal);
    assert_ok(moeg_ray_mass("test", &rays, 1, 4, w, &s, line));
    assert_ok(moeg_ray_slope("test", &rays, &s, &slope));
    s.n = 1 << 18;
    s.method = MOEG_METHOD_MC;
    assert_ok(moeg_boundary_mass(router, law, 4, w, &s, mc));
    for (int j = 0; j < 4; j++)
        print_message("w %g: line %.6g +- %.2g (sd %.3f) mc %.6g +- %.2g\n", w[j], line[j].value, line[j].std_error,
                      line[j].std_error / line[j].value * sqrt(16384), mc[j].value, mc[j].std_error);
    print_message("slope %g +- %g, mass/w %g\n", slope.value, slope.std_error, line[0].value / w[0] / 2);
    moeg_rays_free(&rays);
    moeg_router_free(router);
    moeg_law_free(law);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
