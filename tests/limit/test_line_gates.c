/* Two experts by the one line: every gate, both mixings, teachers of one and two pieces with noise, against the
 * definitions integrated over a plane. */
#include "limit/lines.h"
#include "limit/plane.h"

/* The gates that are different. */
static moeg_gate gates[4];

/* How the teacher's interface lies to the router's. */
enum teacher { WHOLE, SAME, OPPOSITE, PARALLEL, OBLIQUE, STEEP, ACROSS, TEACHERS };

static void draw(struct problem *p, uint64_t seed, size_t d, enum teacher teacher)
{
    problem_draw(p, seed, 2, d, 1 + seed % 3);
    p->W[0] += p->W[0] > p->W[d] ? 0.5 : -0.5; /* So that the interface is not far. */
    p->pieces = teacher == WHOLE ? 1 : 2;
    p->noise = seed % 2 ? 0.731 : 0;
    for (size_t i = 0; i < 2 * d; i++)
        p->V[i] = teacher == OPPOSITE   ? -4 * p->W[i]
                  : teacher <= PARALLEL ? 2 * p->W[i]
                                        : problem_number(seed, 300 + i);
    for (size_t k = 0; k < 2; k++)
        p->e[k] = teacher == OPPOSITE ? -4 * p->b[k] : 2 * p->b[k];
    if (teacher == PARALLEL)
        p->e[0] += 0.385;
    for (size_t i = 0; i < d && teacher == STEEP; i++) { /* h of slope 12 or so. */
        p->V[i] = 8 * p->W[i] + p->V[i];
        p->V[d + i] = 8 * p->W[d + i] + p->V[d + i];
    }
    if (teacher == ACROSS) /* t is independent of s. */
        for (size_t i = 0; i < 2; i++) {
            const double *S = p->covariance;
            const double w[2] = {p->W[0] - p->W[2], p->W[1] - p->W[3]};
            const double image[2] = {S[0] * w[0] + S[1] * w[1], S[2] * w[0] + S[3] * w[1]};
            p->V[i] = i == 0 ? -image[1] : image[0];
            p->V[2 + i] = 0;
        }
    for (size_t i = 0; i < p->m * d; i++)
        p->A[3][i] = problem_number(seed, 400 + i);
    for (size_t j = 0; j < p->m; j++)
        p->c[3][j] = 2.385 * problem_number(seed, 500 + j);
}

static void check(const moeg_estimate *e, long double expected, long double slack, const char *what, int teacher,
                  int gate, int mixing, double tau)
{
    if (!(fabsl(e->value - expected) <= e->quad_error + slack))
        fail_msg("%s of teacher %d, gate %d, mixing %d at tau = %g: got %.17g, expected %.17Lg, reported %.2g", what,
                 teacher, gate, mixing, tau, e->value, expected, e->quad_error);
}

static void compare(size_t d, enum teacher teacher, uint64_t seed, double tau)
{
    struct problem p;
    struct plane_sums sums[4][2];
    draw(&p, seed, d, teacher);
    plane_integrate(&p, tau, 4, gates, sums);
    for (int g = 0; g < 4; g++)
        for (int i = 0; i < 2; i++) {
            p.gate = gates[g];
            problem_build(&p);
            const struct answer a = line(&p, both[i], tau);
            const struct plane_sums expected = sums[g][i];
            /* The oracle's own rounding: 1e-17 of a loss in the layer, of order tau. */
            const long double slack = 1e-16L * fminl(tau, 1);
            check(&a.hard, expected.hard, 1e-15L, "L_0", teacher, g, i, tau);
            check(&a.soft, expected.hard + expected.gap, 1e-15L, "L_tau", teacher, g, i, tau);
            check(&a.gap, expected.gap, slack, "G", teacher, g, i, tau);
            check(&a.slope, expected.slope, slack / tau, "dG/dtau", teacher, g, i, tau);
            assert_true(a.gap.quad_error <= 1e-11 * fmin(tau, 1) && a.hard.quad_error <= 1e-11);
            assert_true(a.slope.quad_error <= 1e-11 * fmin(1, 1 / tau));
            if (g >= 2)
                assert_near(fabs(a.gap.value) + a.gap.quad_error + fabs(a.slope.value), 0, 0);
            problem_free(&p);
        }
}

static void in_one_dimension(void **state)
{
    (void)state;
    static const double taus[] = {37.1, 0.7, 0.013};
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int teacher = WHOLE; teacher <= PARALLEL; teacher++)
            for (size_t t = 0; t < 3; t++)
                compare(1, (enum teacher)teacher, seed, taus[t]);
}

static void in_two_dimensions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TEACHERS; seed++)
        compare(2, (enum teacher)seed, 40 + seed, seed % 2 ? 0.37 : 0.04);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_one_dimension),
        cmocka_unit_test(in_two_dimensions),
    };
    gates[0] = moeg_gate_softmax();
    gates[1] = moeg_gate_topk_raw(1);
    gates[2] = moeg_gate_topk_renorm(1);
    gates[3] = moeg_gate_subset(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
