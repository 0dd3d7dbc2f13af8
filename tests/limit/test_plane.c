/* Many experts in the plane, where all but a few of their ties and corners are left out: by each of two algorithms. */
#include "limit/nodes_run.h"
#include "limit/ray_risk.h"
#include "support/random.h"

enum { K = 9 };
static const double PI = 3.14159265358979323846;

/* Rows anywhere; without biases, so that all tie in one point; or near those of a polygon, whose cells have rays. Row 5
 * is row 2, and expert 7 is masked. */
enum lay { ANYWHERE, CENTRAL, POLYGON };

static void make(enum lay lay, struct problem *p)
{
    uint64_t seed = 5;
    double W[K * 2], b[K];
    moeg_expert *experts[K + 1];
    for (size_t k = 0; k < K; k++) {
        const double angle = 2 * PI * ((double)k + 0.2 * next_uniform(&seed)) / K;
        W[2 * k] = lay == POLYGON ? cos(angle) : next_normal(&seed);
        W[2 * k + 1] = lay == POLYGON ? sin(angle) : next_normal(&seed);
        b[k] = (lay == POLYGON ? 0.01 : lay == CENTRAL ? 0 : 0.3) * next_normal(&seed);
    }
    if (lay != POLYGON)
        memcpy(W + 10, W + 4, 2 * sizeof *W);
    b[7] = -INFINITY;
    *p = (struct problem){.K = K, .d = 2, .m = 1};
    assert_ok(moeg_law_gaussian_create(&p->law, 2, (double[]){0.3, -0.2}, (double[]){1.1, 0.3, 0.3, 0.7}));
    assert_ok(moeg_router_affine_create(&p->router, K, 2, W, b));
    for (size_t k = 0; k <= K; k++) {
        const double A[2] = {next_normal(&seed), next_normal(&seed)}, c = next_normal(&seed);
        assert_ok(moeg_expert_affine_create(&experts[k], 2, 1, A, &c));
    }
    assert_ok(moeg_moe_create(&p->moe, p->router, moeg_gate_softmax(), experts));
    assert_ok(moeg_teacher_expert_create(&p->teacher, experts[K]));
    for (size_t k = 0; k <= K; k++)
        moeg_expert_free(experts[k]);
}

/* As chosen: by rays, or each pair along lines of its own between its corners. Beside them lines of two directions,
 * which see all pairs, between all corners. */
static void masses_of_two_directions(void **state)
{
    (void)state;
    const double gradients[4] = {0.3, 1, 1, -0.02};
    for (int lay = 0; lay < 3; lay++) {
        struct problem p;
        make(lay, &p);
        for (size_t g = 0; g < 2; g++)
            for (int j = 0; j < 3; j++) {
                static const moeg_gap gaps[] = {{1, 2}, {2, 4}};
                static const double widths[] = {0, 1e-3, 0.4};
                const double w = widths[j];
                moeg_sampling s = line_options();
                moeg_estimate chosen, own;
                assert_ok(moeg_boundary_gap_mass(p.router, gaps[g], p.law, 1, &w, &s, &chosen));
                s.directions = gradients;
                s.direction_count = 2;
                assert_ok(moeg_boundary_gap_mass(p.router, gaps[g], p.law, 1, &w, &s, &own));
                assert_near(chosen.value, own.value, chosen.quad_error + own.quad_error);
                assert_true(chosen.quad_error <= 1e-10 * chosen.value && own.quad_error <= 1e-10 * own.value);
                assert_true(chosen.value > 0 || w == 0);
            }
        problem_free(&p);
    }
}

/* Along rays, each cell's across its own direction; and along lines of one direction for all. */
static void risks_of_one_direction(void **state)
{
    (void)state;
    static const double taus[] = {1e-5, 1e-2, 1};
    struct problem p;
    make(POLYGON, &p);
    moeg_ray_risk rays;
    const char *refusal;
    assert_ok(moeg_ray_risk_init("test", p.moe, p.teacher, p.law, &rays, &refusal));
    assert_null(refusal);
    moeg_ray_risk_free(&rays);
    const moeg_sampling s = line_options();
    for (int k = 0; k < 2; k++)
        for (size_t t = 0; t < 3; t++) {
            moeg_estimate hard[2], soft[2], gap[2];
            assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, both[k], 1, &taus[t], &s, hard, soft, gap, NULL));
            assert_ok(nodes_curve(&p, both[k], 1, &taus[t], &s, hard + 1, soft + 1, gap + 1, NULL));
            assert_near(gap[0].value, gap[1].value, gap[0].quad_error + gap[1].quad_error);
            assert_near(hard[0].value, hard[1].value, hard[0].quad_error + hard[1].quad_error);
            assert_near(soft[0].value, soft[1].value, soft[0].quad_error + soft[1].quad_error);
            for (int i = 0; i < 2; i++)
                assert_true(gap[i].quad_error <= 1e-11 * taus[t] && hard[i].quad_error <= 1e-12 * hard[i].value);
        }
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_of_two_directions),
        cmocka_unit_test(risks_of_one_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
