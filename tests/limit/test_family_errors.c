/* Laws with a known margin exponent: what has no line, and numbers of every size. */
#include "limit/margin_laws.h"
#include "support/failing_alloc.h"

/* What has no line, and says why; AUTO samples. */
static void refusals(void **state)
{
    (void)state;
    static const struct {
        double W[2 * D], b[2];
        const char *text;
    } routers[] = {
        {{1, 2, 3, 4, 2, 3}, {0.1, 0.2}, "different biases"},
        {{1, 2, 3, 4, 2.5, 3}, {0.1, 0.1}, "more than the first coordinate"},
        {{1, 2, 3, 1, 2, 3}, {0.1, 0.1}, "the logits are equal"},
        {{1, 2, 3, 4, 2, 3}, {0.1, -INFINITY}, "different biases"},
    };
    const double one = 1, minus = -1, mean = 0.2, other = 0.4, tau = 0.3, w = 0.4;
    struct family p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &one, &minus, &mean, &other);
    moeg_sampling line = by(MOEG_METHOD_LINE), any = by(MOEG_METHOD_AUTO);
    moeg_estimate e;
    any.n = 1000;
    for (size_t i = 0; i < 4; i++) {
        moeg_router *router;
        assert_ok(moeg_router_affine_create(&router, 2, D, routers[i].W, routers[i].b));
        moeg_moe *moe = make_moe(router, 1, &one, &minus);
        moeg_teacher *hard;
        assert_ok(moeg_teacher_moe_create(&hard, moe, 0));
        assert_status(moeg_boundary_mass(router, p.law, 1, &w, &line, &e), MOEG_EUNSUPPORTED, routers[i].text);
        assert_status(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                      routers[i].text);
        assert_ok(moeg_boundary_mass(router, p.law, 1, &w, &any, &e));
        assert_int_equal(e.method, MOEG_METHOD_MC);
        assert_status(moeg_risk_gap(p.moe, hard, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                      "the teacher is neither constant nor a hard mixture of two constants");
        moeg_teacher_free(hard);
        moeg_moe_free(moe);
        moeg_router_free(router);
    }
    moeg_teacher *soft;
    moeg_leading leading = {42, 42, 42};
    assert_ok(moeg_teacher_moe_create(&soft, p.moe, 0.1));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    assert_status(moeg_leading_term(p.moe, soft, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_EUNSUPPORTED,
                  "leading_term: the teacher is neither");
    moeg_teacher_free(soft);
    const double A[D] = {0, 0, 0};
    moeg_expert *experts[2];
    moeg_moe *affine, *both;
    assert_ok(moeg_expert_constant_create(&experts[0], D, 1, &one));
    assert_ok(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    assert_ok(moeg_moe_create(&both, p.router, moeg_gate_subset(2), experts)); /* The mean of both. */
    assert_ok(moeg_teacher_moe_create(&soft, both, 0));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    moeg_teacher_free(soft);
    moeg_moe_free(both);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    assert_ok(moeg_expert_affine_create(&experts[0], D, 1, A, &one));
    assert_ok(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    assert_ok(moeg_moe_create(&affine, p.router, moeg_gate_softmax(), experts));
    assert_status(moeg_risk_gap(affine, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "an expert is not constant");
    assert_ok(moeg_teacher_expert_create(&soft, experts[0]));
    assert_status(moeg_risk_gap(p.moe, soft, p.law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  "the teacher is neither");
    moeg_teacher_free(soft);
    moeg_moe_free(affine);
    moeg_expert_free(experts[0]);
    moeg_expert_free(experts[1]);
    release(&p);
}

static moeg_status allocating(void *user)
{
    const struct family *p = user;
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    const double tau[2] = {0.3, 0.1};
    moeg_estimate gap[2] = {{.value = 42}, {.value = 42}};
    const moeg_status status = moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, 2, tau, &s, gap);
    if (status != MOEG_OK)
        assert_near(gap[0].value + gap[1].value, 84, 0);
    return status;
}

static void extremes(void **state)
{
    (void)state;
    const double one = 1, minus = -1, huge = 1e200, mean = 0.2, other = 0.4;
    const moeg_sampling s = by(MOEG_METHOD_LINE);
    moeg_estimate gap;
    struct family p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &one, &minus, &mean, &other);
    assert_true(fail_every_allocation(allocating, &p) >= 3);
    release(&p);
    p = make(MOEG_MARGIN_RAYLEIGH, 0, 1, 1, &huge, &minus, &mean, &other);
    const double tau = 0.3;
    moeg_leading leading = {42, 42, 42};
    assert_status(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &gap), MOEG_ERANGE, "overflows");
    assert_status(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_ERANGE, "overflows");
    release(&p);
    p = make(MOEG_MARGIN_POWER, 0.002, 1e-3, 1, &one, &minus, &mean, &other);
    assert_status(moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading), MOEG_ERANGE, "out of range");
    assert_near(leading.coefficient + leading.power + leading.rate, 126, 0);
    release(&p);
    /* Any parameter, scale and temperature gives a finite answer: q is in (0, 1/2), so |G| <= |jump|/2 + |delta|^2/4.
     */
    static const double parameters[] = {1e-320, 1e-12, 1e-4, 0.03, 1, 299, 0.731, 1e300, 1e-300};
    static const double scales[] = {1e-300, -1e-5, 1, 1e12, 1e300};
    static const double taus[] = {0, 1e-300, 1e-20, 1e-3, 1, 1e9, 1e300};
    for (size_t i = 0; i < 9; i++)
        for (size_t k = 0; k < 5; k++) {
            const double W[2 * D] = {scales[k]}, b[2] = {0};
            moeg_router *router;
            assert_ok(moeg_router_affine_create(&router, 2, D, W, b));
            p = make(i < 6 ? MOEG_MARGIN_POWER : MOEG_MARGIN_BOUNDED, parameters[i], 1, 1, &one, &minus, &mean, &mean);
            moeg_moe *moe = make_moe(router, 1, &one, &minus);
            moeg_estimate gaps[7];
            assert_ok(moeg_risk_gap(moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 7, taus, &s, gaps));
            assert_near(fabs(gaps[0].value) + gaps[0].quad_error, 0, 0);
            for (size_t t = 1; t < 7; t++) {
                assert_true(gaps[t].value <= 0 && gaps[t].value >= -1 - 1e-13);
                assert_true(gaps[t].quad_error >= 0 && gaps[t].quad_error <= 1e-9 * fabs(gaps[t].value) + 1e-320);
                /* It is not weaker at a higher temperature. */
                assert_true(gaps[t].value <= gaps[t - 1].value + gaps[t].quad_error + gaps[t - 1].quad_error);
            }
            moeg_moe_free(moe);
            moeg_router_free(router);
            release(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
