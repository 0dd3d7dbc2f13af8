/* Risks, slopes and remainders on lines along the user's own directions: the same numbers, in the place of rays too;
 * what is refused, threads. */
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "limit/rays.h"
#include "support/estimates.h"

enum { NT = 2 };
static const double taus[NT] = {0.2, 0.01};
static const double axes[9] = {1, 0, 0, 0, 2.5, 0, 0.1, 0, 0.3};

/* Hard risk, soft risks, gaps; slope, remainders. */
enum { ALL = 2 + 3 * NT };
static moeg_status measure(const struct problem *p, moeg_mixing mixing, const moeg_sampling *s, moeg_estimate *all)
{
    const moeg_status status =
        moeg_risk_curve(p->moe, p->teacher, p->law, mixing, NT, taus, s, all, all + 1, all + 1 + NT, NULL);
    if (status < 0)
        return status;
    return moeg_leading_remainder(p->moe, p->teacher, p->law, mixing, NT, taus, s, all + 1 + 2 * NT, all + 2 + 2 * NT);
}

static moeg_sampling along_axes(uint64_t n)
{
    moeg_sampling s = lines_of(n);
    s.directions = axes;
    s.direction_count = 3;
    return s;
}

static void compare(const struct problem *p, moeg_mixing mixing)
{
    moeg_estimate own[ALL], all[ALL];
    const moeg_sampling s = lines_of(1 << 11), with = along_axes(1 << 11);
    assert_ok(measure(p, mixing, &s, all));
    assert_ok(measure(p, mixing, &with, own));
    for (int i = 0; i < ALL; i++) {
        assert_near(own[i].value, all[i].value, 4 * hypot(own[i].std_error, all[i].std_error));
        assert_true(own[i].n == 1 << 11 && own[i].std_error > 0 && own[i].value != all[i].value);
    }
}

static void users_directions_see_the_same(void **state)
{
    (void)state;
    struct problem p;
    tetrahedron(&p); /* Rays. */
    compare(&p, MOEG_MIX_OUTPUT);
    problem_free(&p);
    five_experts(&p, moeg_gate_subset(2));
    compare(&p, MOEG_MIX_OUTPUT);
    problem_free(&p);
    five_experts(&p, moeg_gate_topk_raw(1));
    compare(&p, MOEG_MIX_LOSS);
    problem_free(&p);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 5};
    struct problem p;
    moeg_estimate all[3][ALL];
    tetrahedron(&p);
    for (int i = 0; i < 3; i++) {
        moeg_sampling s = along_axes(512);
        s.max_threads = threads[i];
        assert_true(measure(&p, MOEG_MIX_OUTPUT, &s, all[i]) >= 0);
        assert_same_estimates(all[i], all[0], ALL);
    }
    problem_free(&p);
}

static void refusals(void **state)
{
    (void)state;
    struct problem p;
    moeg_estimate e = {.value = 42}, slope = {.value = 42};
    double bad[6] = {1, 0, 0, 0, NAN, 0};
    moeg_sampling s = lines_of(64);
    s.directions = bad;
    s.direction_count = 2;
    tetrahedron(&p);
#define GAP moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NT, taus, &s, &e)
#define SLOPE moeg_leading_slope(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &s, &slope)
    assert_status(GAP, MOEG_EINVAL, "risk_gap: directions[1, 1] must be finite, got nan");
    bad[4] = 0;
    assert_status(SLOPE, MOEG_EINVAL, "leading_slope: directions[1] must be one along which the logits differ");
    bad[4] = bad[5] = 1; /* Experts 0 and 1 differ along neither. */
    bad[0] = 0;
    bad[1] = 1;
    bad[2] = -1;
    for (size_t l = 0; l < 3; l++)
        p.W[3 + l] = p.W[l] + (l == 0);
    problem_free(&p);
    memset(p.covariance, 0, sizeof p.covariance);
    p.covariance[0] = p.covariance[4] = p.covariance[8] = 1;
    problem_build(&p);
    assert_status(GAP, MOEG_EINVAL, "risk_gap: no row of directions sees the tie of experts 0 and 1");
    assert_status(SLOPE, MOEG_EINVAL, "leading_slope: no row of directions sees the tie of experts 0 and 1");
    assert_status(moeg_risk_derivative(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, NT, taus, &s, &e), MOEG_EUNSUPPORTED,
                  "risk_derivative: directions must be NULL: no lines are drawn along them here");
    assert_status(moeg_risk_temperature(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 0.1, 0.02, 2, &s, &e),
                  MOEG_EUNSUPPORTED, "risk_temperature: directions must be NULL");
    problem_free(&p);
    /* One line is enough; two dimensions are integrated. */
    for (size_t K_ = 2; K_ < 4; K_++) {
        problem_make(&p, 3, K_, 2, 1);
        s.direction_count = 3; /* Of two coordinates. */
        bad[0] = 0.3;
        assert_status(GAP, MOEG_EUNSUPPORTED, "risk_gap: directions must be NULL: no lines are drawn along them here");
        assert_status(SLOPE, MOEG_EUNSUPPORTED, "leading_slope: directions must be NULL");
        problem_free(&p);
    }
    /* Neither rays nor lines. */
    moeg_law *box;
    const double lo[3] = {-1, -1, -1}, hi[3] = {1, 1, 1};
    s.direction_count = 2;
    tetrahedron(&p);
    assert_ok(moeg_law_box_create(&box, 3, lo, hi));
    moeg_law_free(p.law);
    p.law = box;
    assert_status(GAP, MOEG_EUNSUPPORTED, "nor do many lines: the law is not Gaussian");
    problem_free(&p);
    assert_true(e.value == 42 && slope.value == 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_directions_see_the_same),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
