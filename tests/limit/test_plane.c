/* Many experts in the plane, where all but a few of their ties and corners are left out: by each of two algorithms. */
#include "limit/nodes_run.h"
#include "limit/ray_risk.h"
#include "support/random.h"

#include <moegeom/surface.h>

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

/* A gradient whose lines are parallel to the tie of experts i and j under the covariance of make(), but for an angle.
 */
static void turn_along_tie(const struct problem *p, size_t i, size_t j, double angle, double *gradient)
{
    double at[3][K], normal[2];
    for (size_t l = 0; l < 3; l++)
        assert_ok(moeg_router_logits(p->router, 1, (double[]){l == 0, l == 1}, at[l]));
    for (size_t l = 0; l < 2; l++)
        normal[l] = at[l][i] - at[2][i] - (at[l][j] - at[2][j]);
    const double image[2] = {1.1 * normal[0] + 0.3 * normal[1], 0.3 * normal[0] + 0.7 * normal[1]};
    gradient[0] = -image[1] + angle * normal[0];
    gradient[1] = image[0] + angle * normal[1];
}

/* One of two directions is nearly that of a tie: as y changes, its crossings come and go as fast as the angle says. */
static void masses_of_a_direction_along_a_tie(void **state)
{
    (void)state;
    static const double angles[] = {3e-4, 1e-5}, widths[] = {1e-5, 0.4};
    static const moeg_gap gaps[] = {{1, 2}, {2, 3}};
    for (int lay = 0; lay < 2; lay++) {
        struct problem p;
        make(lay, &p);
        for (size_t g = 0; g < 4; g++) {
            const moeg_gap gap = gaps[g / 2];
            const double *w = &widths[g % 2];
            moeg_sampling s = line_options();
            moeg_estimate chosen;
            assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 1, w, &s, &chosen));
            for (size_t n = 0; n < 2 * 7; n++)
                for (size_t a = 0; a < 2 && n / 7 < n % 7; a++) {
                    double gradients[4] = {0.3, 1};
                    moeg_estimate own;
                    turn_along_tie(&p, n / 7, n % 7, angles[a], gradients + 2);
                    s.directions = gradients;
                    s.direction_count = 2;
                    assert_ok(moeg_boundary_gap_mass(p.router, gap, p.law, 1, w, &s, &own));
                    assert_near(chosen.value, own.value, chosen.quad_error + own.quad_error);
                    assert_true(own.quad_error <= 1e-10 * own.value);
                }
        }
        problem_free(&p);
    }
}

/* Risks along rays are those along lines of one direction. */
static void assert_rays_are_nodes(const struct problem *p, moeg_mixing mixing, double tau, double most)
{
    const moeg_sampling s = line_options();
    moeg_estimate hard[2], soft[2], gap[2];
    assert_ok(moeg_risk_curve(p->moe, p->teacher, p->law, mixing, 1, &tau, &s, hard, soft, gap, NULL));
    assert_ok(nodes_curve(p, mixing, 1, &tau, &s, hard + 1, soft + 1, gap + 1, NULL));
    assert_near(gap[0].value, gap[1].value, gap[0].quad_error + gap[1].quad_error);
    assert_near(hard[0].value, hard[1].value, hard[0].quad_error + hard[1].quad_error);
    assert_near(soft[0].value, soft[1].value, soft[0].quad_error + soft[1].quad_error);
    for (int i = 0; i < 2; i++)
        assert_true(gap[i].quad_error <= most && hard[i].quad_error <= 1e-12 * hard[i].value);
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
    for (int k = 0; k < 2; k++)
        for (size_t t = 0; t < 3; t++)
            assert_rays_are_nodes(&p, both[k], taus[t], 1e-11 * taus[t]);
    problem_free(&p);
}

/* Two experts tie through the mean, and cell 0's rays are along their normal: one crossing is the same on all of them,
 * and lies at 0. It bends where the third comes in all the same. */
static void corners_on_a_tie_through_the_mean(void **state)
{
    (void)state;
    static const double taus[] = {1e-4, 0.5}, widths[] = {0, 1e-3, 0.4, 1}, gradients[4] = {0.3, 1, 1, -0.02};
    const double W[6] = {1.4, -0.77, 0, -0.77, 0, 0.1};
    for (int turned = 0; turned < 9; turned++) {
        const double cosine = cos(turned), sine = sin(turned), b[3] = {0.5, 0.5, 0.03 * turned};
        struct problem p = {.K = 3, .d = 2, .m = 1};
        double rows[6];
        for (size_t k = 0; k < 3; k++) {
            rows[2 * k] = cosine * W[2 * k] - sine * W[2 * k + 1];
            rows[2 * k + 1] = sine * W[2 * k] + cosine * W[2 * k + 1];
        }
        moeg_expert *experts[4];
        for (size_t k = 0; k < 4; k++)
            assert_ok(moeg_expert_affine_create(&experts[k], 2, 1, (double[]){k == 1, 0.3}, (double[]){k == 2}));
        assert_ok(moeg_law_gaussian_create(&p.law, 2, NULL, NULL));
        assert_ok(moeg_router_affine_create(&p.router, 3, 2, rows, b));
        assert_ok(moeg_moe_create(&p.moe, p.router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_expert_create(&p.teacher, experts[3]));
        for (size_t k = 0; k < 4; k++)
            moeg_expert_free(experts[k]);
        for (size_t j = 0; j < 4; j++) {
            moeg_sampling s = line_options();
            moeg_estimate chosen, own;
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, &widths[j], &s, &chosen));
            s.directions = gradients;
            s.direction_count = 2;
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, &widths[j], &s, &own));
            assert_near(chosen.value, own.value, chosen.quad_error + own.quad_error);
            assert_true(chosen.quad_error <= 1e-10 * chosen.value && own.quad_error <= 1e-10 * own.value);
        }
        for (size_t t = 0; t < 2; t++)
            for (int k = 0; k < 2; k++)
                assert_rays_are_nodes(&p, both[k], taus[t], 1e-11 * taus[t]);
        problem_free(&p);
    }
}

/* Three experts that tie on one line, where another wins but for one point, the corner of all five; corners found
 * from several pairs differ by rounding. */
static void ties_of_three_below_the_top_are_no_interfaces(void **state)
{
    (void)state;
    const double W[5 * 2] = {-2, 1, 1, -1, 0, 0, -2, 0, -1, 0}, mean[2] = {0.369038182584463, -0.0365674967241856};
    for (int turn = 0; turn < 6; turn++) {
        const double x = cos(turn) * (turn > 0), y = sin(turn), w = 1e-8, corner = 1e-7;
        const moeg_sampling s = line_options();
        moeg_router *router;
        moeg_law *law;
        moeg_estimate slope, mass;
        assert_ok(moeg_router_affine_create(&router, 5, 2, W, NULL));
        assert_ok(moeg_law_gaussian_create(&law, 2, mean, (double[]){1 + x / 2, y / 2, y / 2, 1 - x / 2}));
        assert_ok(moeg_surface_slope(router, 1, law, &s, &slope));
        assert_ok(moeg_boundary_mass(router, law, 1, &w, &s, &mass));
        assert_relative(slope.value, mass.value / w, corner);
        moeg_router_free(router);
        moeg_law_free(law);
    }
}

static int three(size_t n, const double *x, double *out, void *user)
{
    (void)x;
    *(size_t *)user += n;
    for (size_t i = 0; i < n; i++)
        out[i] = 3;
    return 0;
}

/* Two experts that tie everywhere share a third of the plane at any temperature: 2 in place of 1 there, and 4 - 1 more
 * of a loss of the teacher 0. What others add is felt near the ends alone: three times the decades are three times the
 * lines, and no more nodes on each. */
static void equal_rows_cost_decades_once(void **state)
{
    (void)state;
    static const double taus[] = {1e-15, 1e-45};
    const double W[8] = {1, 0, cos(2 * PI / 3), sin(2 * PI / 3), cos(2 * PI / 3), -sin(2 * PI / 3), 1, 0};
    size_t rows[2] = {0, 0}, *counts = rows;
    moeg_sampling s = line_options();
    s.max_threads = 1;
    for (size_t t = 0; t < 2; t++, counts++) {
        struct problem p = {.K = 4, .d = 2, .m = 1};
        moeg_expert *experts[5];
        for (size_t k = 0; k < 5; k++)
            assert_ok(k == 3 ? moeg_expert_callback_create(&experts[k], 2, 1, three, NULL, counts)
                             : moeg_expert_constant_create(&experts[k], 2, 1, (double[]){k < 4}));
        assert_ok(moeg_law_gaussian_create(&p.law, 2, NULL, NULL));
        assert_ok(moeg_router_affine_create(&p.router, 4, 2, W, NULL));
        assert_ok(moeg_moe_create(&p.moe, p.router, moeg_gate_softmax(), experts));
        assert_ok(moeg_teacher_expert_create(&p.teacher, experts[4]));
        for (size_t k = 0; k < 5; k++)
            moeg_expert_free(experts[k]);
        moeg_estimate gap;
        assert_ok(moeg_risk_gap(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, 1, &taus[t], &s, &gap));
        assert_near(gap.value, 1, gap.quad_error + 10 * taus[t]);
        assert_true(gap.std_error == 0 && gap.quad_error <= 1e-12);
        problem_free(&p);
    }
    assert_true(rows[0] > 0 && rows[1] < 4 * rows[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masses_of_two_directions),
        cmocka_unit_test(masses_of_a_direction_along_a_tie),
        cmocka_unit_test(risks_of_one_direction),
        cmocka_unit_test(corners_on_a_tie_through_the_mean),
        cmocka_unit_test(ties_of_three_below_the_top_are_no_interfaces),
        cmocka_unit_test(equal_rows_cost_decades_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
