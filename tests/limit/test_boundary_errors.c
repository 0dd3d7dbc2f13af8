/* What boundary masses, exponents and their jobs refuse, by name, and that they leave their outputs alone then. */
#include "limit/boundary.h"
#include "limit/damage.h"
#include "support/failing_alloc.h"

/* Two experts in two dimensions, and what does not fit them. */
struct scene {
    struct problem p;
    moeg_law *other, *box;
    moeg_router *three;
    moeg_sampling s;
    moeg_estimate e[2];
};

static void scene_make(struct scene *c)
{
    *c = (struct scene){.s = options(MOEG_METHOD_AUTO, 10, 1), .e = {{.value = 42}, {.value = 42}}};
    problem_make(&c->p, 62, 2, 2, 1);
    assert_ok(moeg_law_gaussian_create(&c->other, 3, NULL, NULL));
    assert_ok(moeg_law_box_create(&c->box, 2, (double[]){-1, -0.3}, (double[]){1, 0.8}));
    assert_ok(moeg_router_affine_create(&c->three, 3, 2, c->p.W, NULL));
}

static void scene_free(struct scene *c)
{
    assert_true(c->e[0].value == 42 && c->e[1].value == 42);
    moeg_router_free(c->three);
    moeg_law_free(c->other);
    moeg_law_free(c->box);
    problem_free(&c->p);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    struct scene c;
    scene_make(&c);
    double w[] = {0.3, 0.1};
    moeg_router *router = c.p.router;
    moeg_law *law = c.p.law;
    moeg_job *job = NULL;
#define MASS(router, law, nw, w, s, out) moeg_boundary_mass(router, law, nw, w, s, out)
    assert_status(MASS(NULL, law, 2, w, &c.s, c.e), MOEG_EINVAL, "boundary_mass: router must not be NULL");
    assert_status(MASS(router, NULL, 2, w, &c.s, c.e), MOEG_EINVAL, "law must not be NULL");
    assert_status(MASS(router, c.other, 2, w, &c.s, c.e), MOEG_EINVAL, "the router takes dimension 2, the law has 3");
    assert_status(MASS(router, law, 0, w, &c.s, c.e), MOEG_EINVAL, "nw must be at least 1, got 0");
    assert_status(MASS(router, law, 2, NULL, &c.s, c.e), MOEG_EINVAL, "w must not be NULL");
    assert_status(MASS(router, law, 2, w, NULL, c.e), MOEG_EINVAL, "options must not be NULL");
    assert_status(MASS(router, law, 2, w, &c.s, NULL), MOEG_EINVAL, "mass must not be NULL");
    assert_status(moeg_boundary_exponent(router, moeg_gap_margin(), law, 2, w, &c.s, NULL, NULL, NULL), MOEG_EINVAL,
                  "alpha must not be NULL");
    assert_status(moeg_boundary_job_create(NULL, router, moeg_gap_margin(), law, 2, w, &c.s), MOEG_EINVAL,
                  "job must not be NULL");
    static const double bad[] = {NAN, INFINITY, -INFINITY, -1e-300};
    for (size_t i = 0; i < 4; i++) {
        w[1] = bad[i];
        assert_status(MASS(router, law, 2, w, &c.s, c.e), MOEG_EINVAL, "w[1] must be finite and at least 0");
        assert_status(moeg_boundary_job_create(&job, router, moeg_gap_margin(), law, 2, w, &c.s), MOEG_EINVAL,
                      "w[1] must be finite");
    }
    w[1] = 0;
    assert_status(moeg_boundary_exponent(router, moeg_gap_margin(), law, 2, w, &c.s, c.e, NULL, NULL), MOEG_EINVAL,
                  "w[1] must be finite and above 0, got 0");
    assert_null(job);
    scene_free(&c);
}

static void ranks_and_methods_are_checked(void **state)
{
    (void)state;
    struct scene c;
    scene_make(&c);
    const double w = 0.3;
    double slope = 42;
    moeg_router *router = c.p.router;
    moeg_law *law = c.p.law;
    moeg_job *job = NULL;
    assert_status(moeg_boundary_gap_mass(router, moeg_gap_top(0), law, 1, &w, &c.s, c.e), MOEG_EINVAL,
                  "boundary_gap_mass: the ranks of gap must be 1 <= upper < lower <= K + 1 = 3, got 0 and 1");
    assert_status(moeg_boundary_exponent(router, moeg_gap_order(3), law, 1, &w, &c.s, c.e, NULL, NULL), MOEG_EINVAL,
                  "boundary_exponent: the ranks of gap must be");
    assert_status(moeg_boundary_job_create(&job, router, moeg_gap_top(3), law, 1, &w, &c.s), MOEG_EINVAL,
                  "boundary_job_create: the ranks of gap must be");
    assert_status(moeg_boundary_slope(router, law, NULL), MOEG_EINVAL, "slope must not be NULL");
    assert_status(moeg_boundary_slope(NULL, law, &slope), MOEG_EINVAL, "router must not be NULL");
    assert_status(moeg_boundary_slope(c.three, law, &slope), MOEG_EUNSUPPORTED, "more than two experts");
    c.s.method = MOEG_METHOD_LINE;
    assert_status(moeg_boundary_exponent(router, moeg_gap_margin(), law, 1, &w, &c.s, c.e, NULL, NULL),
                  MOEG_EUNSUPPORTED, "needs rows");
    assert_status(moeg_boundary_gap_mass(c.three, (moeg_gap){2, 3}, c.box, 1, &w, &c.s, c.e), MOEG_EUNSUPPORTED,
                  "boundary_gap_mass: method line does not apply: there are more than two experts (nor do many lines: "
                  "the law is not Gaussian)");
    assert_status(moeg_boundary_job_create(&job, router, moeg_gap_margin(), law, 1, &w, &c.s), MOEG_EUNSUPPORTED,
                  "must be auto or mc");
    assert_null(job);
    assert_near(slope, 42, 0);
    scene_free(&c);
}

static void results_are_checked(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 63, 3, 2, 1);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 1000, 1);
    const double w[] = {0.3, 0}, tau = 0.3;
    moeg_estimate e[2] = {{.value = 42}, {.value = 42}};
    moeg_job *job, *risk;
    moeg_partial *partial, *other;
    assert_ok(moeg_boundary_job_create(&job, p.router, moeg_gap_margin(), p.law, 2, w, &s));
    assert_ok(moeg_risk_job_create(&risk, p.moe, p.teacher, p.law, MOEG_MIX_LOSS, 1, &tau, &s));
    assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial));
    assert_status(moeg_boundary_job_result(NULL, partial, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "job must not be NULL");
    assert_status(moeg_boundary_job_result(job, NULL, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "partial must not be NULL");
    assert_ok(moeg_job_run(risk, &s, 0, 0, &other));
    assert_status(moeg_boundary_job_result(job, other, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "boundary_job_result: partial must be a part of such a job");
    moeg_partial_free(other);
    assert_status(moeg_boundary_job_result(job, partial, 1, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "level must be in (0, 1)");
    assert_status(moeg_boundary_job_result(job, partial, 0.95, NULL, e, NULL, NULL), MOEG_EINVAL,
                  "alpha cannot be had: w[1] is 0");
    assert_status(moeg_boundary_job_result(job, partial, 0.95, NULL, NULL, e, NULL), MOEG_EINVAL,
                  "C cannot be had: w[1] is 0");
    assert_status(moeg_boundary_job_result(risk, partial, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "must be one of boundary_job_create, got \"risk\"");
    assert_status(moeg_risk_job_result(job, partial, 0.95, e, NULL, NULL, NULL), MOEG_EINVAL,
                  "must be one of risk_job_create, got \"boundary\"");
    assert_near(e[0].value, 42, 0);
    assert_ok(moeg_boundary_job_result(job, partial, 0.95, e, NULL, NULL, NULL));
    moeg_partial_free(partial);
    moeg_job_free(job);
    moeg_job_free(risk);
    problem_free(&p);
}

/* Logits past the largest double, named by the function that was called. */
static void overflows_are_named(void **state)
{
    (void)state;
    struct problem p;
    moeg_router *steep;
    moeg_job *job;
    moeg_partial *partial = NULL;
    const moeg_sampling s = options(MOEG_METHOD_MC, 1000, 1);
    const moeg_gap margin = moeg_gap_margin();
    const double w = 0.3;
    moeg_estimate e = {.value = 42};
    problem_make(&p, 63, 3, 2, 1);
    p.W[0] = p.W[1] = 1.7e308;
    assert_ok(moeg_router_affine_create(&steep, 3, 2, p.W, NULL));
    assert_status(moeg_boundary_mass(steep, p.law, 1, &w, &s, &e), MOEG_ERANGE, "boundary_mass: logits of sample ");
    assert_status(moeg_boundary_gap_mass(steep, margin, p.law, 1, &w, &s, &e), MOEG_ERANGE,
                  "boundary_gap_mass: logits of sample ");
    assert_status(moeg_boundary_exponent(steep, margin, p.law, 1, &w, &s, &e, NULL, NULL), MOEG_ERANGE,
                  "boundary_exponent: logits of sample ");
    assert_status(moeg_boundary_quantile(steep, margin, p.law, 1, &w, &s, &e), MOEG_ERANGE,
                  "boundary_quantile: logits of sample ");
    assert_ok(moeg_boundary_job_create(&job, steep, margin, p.law, 1, &w, &s));
    assert_status(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial), MOEG_ERANGE,
                  "boundary_job_create: logits of sample ");
    assert_null(partial);
    assert_near(e.value, 42, 0);
    moeg_job_free(job);
    moeg_router_free(steep);
    problem_free(&p);
}

static void assert_damaged(const moeg_job *job, const moeg_partial *whole, size_t at, double value)
{
    moeg_estimate mass[2] = {{.value = 42}, {.value = 43}}, alpha[2] = {{.value = 44}, {.value = 45}};
    uint64_t ties = 46;
    char text[32];
    snprintf(text, sizeof text, "(state[%zu]) must be", at);
    moeg_partial *bad = damaged(job, whole, at, value);
    assert_status(moeg_boundary_job_result(job, bad, 0.95, mass, alpha, NULL, &ties), MOEG_EINVAL,
                  "boundary_job_result: the partial result is damaged: ");
    assert_non_null(strstr(moeg_last_error(), text));
    assert_true(mass[0].value == 42 && mass[1].value == 43 && alpha[0].value == 44 && alpha[1].value == 45);
    assert_int_equal(ties, 46);
    moeg_partial_free(bad);
}

/* State: rows, ties, two bins, their sums. */
static void damaged_results_are_refused(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 63, 3, 2, 1);
    const moeg_sampling s = options(MOEG_METHOD_AUTO, 500, 1);
    const double w[] = {0.3, 0.1};
    moeg_job *job;
    moeg_partial *whole;
    moeg_estimate mass[2], alpha[2];
    assert_ok(moeg_boundary_job_create(&job, p.router, moeg_gap_margin(), p.law, 2, w, &s));
    assert_ok(moeg_job_run(job, &s, 0, 1, &whole));
    const double n = (double)moeg_partial_units(whole);
    double counts[6];
    assert_ok(moeg_partial_state(job, whole, counts));
    assert_true(counts[2] > 1 && counts[3] > 1 && counts[2] + counts[3] < n);
    for (size_t at = 0; at < 4; at++)
        for (size_t i = 0; i < NO_COUNTS; i++)
            assert_damaged(job, whole, at, no_counts[i]);
    assert_damaged(job, whole, 0, n - 1);
    assert_damaged(job, whole, 0, n + 1);
    assert_damaged(job, whole, 1, counts[2] + 1);
    assert_damaged(job, whole, 1, n - 1);
    assert_damaged(job, whole, 2, n + 1);
    assert_damaged(job, whole, 3, n - counts[2] + 1);
    const double no_sums[] = {-0.5, NAN, INFINITY};
    for (size_t i = 0; i < 6; i++)
        assert_damaged(job, whole, 4 + i % 2, no_sums[i / 2]);
    /* What may be, is read: every row in a bin, and every row of the narrowest a tie but those that tell. */
    moeg_partial *odd = damaged(job, whole, 3, n - counts[2]);
    assert_true(moeg_boundary_job_result(job, odd, 0.95, mass, alpha, NULL, NULL) >= 0);
    assert_near(mass[0].value, 1, 0);
    moeg_partial_free(odd);
    uint64_t ties;
    odd = damaged(job, whole, 1, counts[2]);
    assert_true(moeg_boundary_job_result(job, odd, 0.95, NULL, alpha, NULL, &ties) >= 0);
    assert_int_equal(ties, (uint64_t)counts[2]);
    assert_int_equal(alpha[1].contributing, 0);
    moeg_partial_free(odd);
    moeg_partial_free(whole);
    moeg_job_free(job);
    problem_free(&p);
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    moeg_sampling s = options(MOEG_METHOD_MC, 300, 1);
    s.max_threads = 1;
    const double w[] = {2.385, 1.1};
    moeg_estimate alpha[2] = {{.value = 42}, {.value = 42}}, C[2] = {{.value = 42}, {.value = 42}};
    uint64_t ties = 42;
    const moeg_status status = moeg_boundary_exponent(p->router, moeg_gap_margin(), p->law, 2, w, &s, alpha, C, &ties);
    if (status != MOEG_OK) {
        assert_true(alpha[0].value == 42 && C[1].value == 42);
        assert_int_equal(ties, 42);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 64, 3, 2, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 7);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_checked),       cmocka_unit_test(ranks_and_methods_are_checked),
        cmocka_unit_test(results_are_checked),         cmocka_unit_test(overflows_are_named),
        cmocka_unit_test(damaged_results_are_refused), cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
