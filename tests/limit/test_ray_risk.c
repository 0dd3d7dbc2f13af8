/* Risks on rays: the plane by quadrature against the reference, more dimensions against sampling. */
#include "limit/ray_risk.h"

#include "limit/problem.h"
#include "limit/reference.h"
#include "support/random.h"

static void get(const struct reference *r, const char *of, const char *name, double *out)
{
    const struct parameter *p = reference_parameter(r, of, name);
    assert_non_null(p);
    memcpy(out, p->values, p->rows * p->cols * sizeof *out);
}

static moeg_expert *read_expert(const struct reference *r, const char *of, const char *name)
{
    char text[32];
    double A[2], c;
    moeg_expert *expert;
    snprintf(text, sizeof text, "%s_A", name);
    get(r, of, text, A);
    snprintf(text, sizeof text, "%s_c", name);
    get(r, of, text, &c);
    assert_ok(moeg_expert_affine_create(&expert, 2, 1, A, &c));
    return expert;
}

static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    double worst = 0;
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        const char *of = reference_text(r, row, "case");
        const size_t K = (size_t)reference_value(r, row, "K");
        if (reference_value(r, row, "k") > 1 || reference_parameter(r, of, "m_A") == NULL)
            continue;
        double W[10], b[5], mu[2], Sigma[4];
        get(r, of, "W", W);
        get(r, of, "b", b);
        get(r, of, "mu", mu);
        get(r, of, "Sigma", Sigma);
        moeg_router *router;
        moeg_law *law;
        moeg_expert *experts[5], *m = read_expert(r, of, "m");
        moeg_moe *moe;
        moeg_teacher *teacher;
        moeg_ray_risk risk;
        const char *refusal;
        for (size_t k = 0; k < K; k++) {
            char name[32];
            snprintf(name, sizeof name, "f%zu", k + 1);
            experts[k] = read_expert(r, of, name);
        }
        assert_ok(moeg_router_affine_create(&router, K, 2, W, b));
        assert_ok(moeg_law_gaussian_create(&law, 2, mu, Sigma));
        assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_expert_create(&teacher, m));
        assert_ok(moeg_ray_risk_init("test", moe, teacher, law, &risk, &refusal));
        assert_null(refusal);
        const double tau = (double)reference_value(r, row, "tau"), expected = (double)reference_value(r, row, "G");
        const moeg_mixing mixing = strcmp(reference_text(r, row, "mixing"), "loss") == 0 ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT;
        moeg_estimate hard, soft, gap;
        const moeg_sampling s = moeg_sampling_default();
        assert_ok(moeg_ray_risk_curve("test", &risk, mixing, 1, &tau, &s, &hard, &soft, &gap, NULL));
        const double off = gap.value / expected - 1;
        print_message("%s %d %g: %.12g, off %.2g, error %.2g\n", of, mixing, tau, gap.value, off, gap.quad_error / expected);
        worst = fmax(worst, fabs(off));
        seen++;
        moeg_ray_risk_free(&risk);
        moeg_router_free(router);
        moeg_law_free(law);
        moeg_moe_free(moe);
        moeg_teacher_free(teacher);
        for (size_t k = 0; k < K; k++)
            moeg_expert_free(experts[k]);
        moeg_expert_free(m);
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
        double W[K * D], b[K], zero[D] = {0};
        for (int i = 0; i < K * D; i++)
            W[i] = next_normal(&seed) / sqrt(D);
        for (int i = 0; i < K; i++)
            b[i] = next_normal(&seed) / sqrt(D);
        moeg_router *router;
        moeg_law *law;
        moeg_expert *experts[K], *m;
        moeg_moe *moe;
        moeg_teacher *teacher;
        moeg_ray_risk risk;
        const char *refusal;
        for (int k = 0; k < K; k++) {
            double A[D], c = next_normal(&seed) / sqrt(D);
            for (int i = 0; i < D; i++)
                A[i] = next_normal(&seed) / sqrt(D);
            assert_ok(moeg_expert_affine_create(&experts[k], D, 1, A, &c));
        }
        assert_ok(moeg_expert_affine_create(&m, D, 1, zero, zero));
        assert_ok(moeg_router_affine_create(&router, K, D, W, b));
        assert_ok(moeg_law_gaussian_create(&law, D, NULL, NULL));
        assert_ok(moeg_moe_create(&moe, router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_expert_create(&teacher, m));
        assert_ok(moeg_ray_risk_init("test", moe, teacher, law, &risk, &refusal));
        assert_null(refusal);
        enum { NT = 7 };
        const double tau[NT] = {1, 0.1, 1e-2, 1e-3, 1e-6, 1e-9, 1e-12};
        moeg_sampling s = moeg_sampling_default();
        for (int mix = 0; mix < 2; mix++) {
            moeg_estimate hard, soft[NT], gap[NT], mhard, msoft[NT], mgap[NT];
            s.method = MOEG_METHOD_AUTO;
            s.n = 1 << 14;
            assert_ok(moeg_ray_risk_curve("test", &risk, (moeg_mixing)mix, NT, tau, &s, &hard, soft, gap, NULL));
            s.method = MOEG_METHOD_MC;
            s.n = 1 << 17;
            moeg_risk_curve(moe, teacher, law, (moeg_mixing)mix, NT, tau, &s, &mhard, msoft, mgap, NULL);
            print_message("hard %.5g +- %.2g mc %.5g +- %.2g\n", hard.value, hard.std_error, mhard.value, mhard.std_error);
            for (int t = 0; t < NT; t++)
                print_message("tau %g: %.6g +- %.2g (sd %.3f, quad %.1g) mc %.6g +- %.2g\n", tau[t], gap[t].value,
                              gap[t].std_error, gap[t].std_error / fabs(gap[t].value) * sqrt(16384), gap[t].quad_error / fabs(gap[t].value), mgap[t].value,
                              mgap[t].std_error);
        }
        moeg_ray_risk_free(&risk);
        moeg_router_free(router);
        moeg_law_free(law);
        moeg_moe_free(moe);
        moeg_teacher_free(teacher);
        for (size_t k = 0; k < K; k++)
            moeg_expert_free(experts[k]);
        moeg_expert_free(m);
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
