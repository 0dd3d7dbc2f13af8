/* Risks on general lines where nothing has to be drawn: one dimension and the plane, against the reference table, the
 * one line of two experts, definitions summed in long double, and the same problem in another form. */
#include "limit/gates.h"
#include "limit/lines.h"
#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "limit/plane.h"
#include "support/failing_alloc.h"

/* Rows of SUBSET, of teachers in pieces, of one. */
static void plane_has_the_digits_of_the_reference(void **state)
{
    (void)state;
    struct reference *r = reference_read("gap_k3.csv");
    size_t seen = 0;
    for (size_t row = 0; row < r->row_count; row++) {
        struct problem p;
        const double tau = (double)reference_value(r, row, "tau"), expected = (double)reference_value(r, row, "G");
        const int loss = strcmp(reference_text(r, row, "mixing"), "loss") == 0;
        if (tau != 0.3 && tau != 1e-9)
            continue;
        reference_problem(r, row, &p);
        const struct answer a = nodes_answer(&p, loss ? MOEG_MIX_LOSS : MOEG_MIX_OUTPUT, tau);
        /* Without a jump loss mixing has O(tau^2), what two sides of O(tau) leave. */
        const int cancels = loss && isnan(reference_value(r, row, "lead_coef"));
        assert_relative(a.gap.value, expected, cancels ? fmax(1e-13, 3e-17 / tau) : 2e-15);
        assert_near(a.gap.value, expected, a.gap.quad_error);
        assert_true(a.gap.quad_error < (cancels ? 1e-13 * fmax(tau, 0.1) : 5e-14 * fabs(expected)));
        assert_near(a.hard.value, (double)reference_value(r, row, "L0"), a.hard.quad_error);
        assert_near(a.soft.value, (double)reference_value(r, row, "Ltau"), a.soft.quad_error);
        seen++;
        problem_free(&p);
    }
    assert_int_equal(seen, 20);
    free(r);
}

/* At any temperature: the teacher of the same interface jumps where the router ties, to the last bit. */
static void two_experts_are_the_one_line(void **state)
{
    (void)state;
    static const double tau[] = {0.7, 1e-2, 1e-7, 1e-12};
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct problem p;
        const enum lay lay = (enum lay)(seed % 7 % LAYS);
        draw_two(&p, seed, 1 + seed % 4, lay);
        for (int i = 0; i < (lay == OBLIQUE ? 2 : 4); i++) {
            const moeg_mixing mixing = both[(seed + (uint64_t)i) % 2];
            const struct answer a = nodes_answer(&p, mixing, tau[i]), b = line(&p, mixing, tau[i]);
            assert_near(a.gap.value, b.gap.value, 2e-14 * fmin(tau[i], 1) + 1e-13 * fabs(b.gap.value));
            assert_near(a.gap.value, b.gap.value, a.gap.quad_error + b.gap.quad_error);
            assert_near(a.hard.value, b.hard.value, a.hard.quad_error + b.hard.quad_error);
            assert_near(a.soft.value, b.soft.value, 1e-13 * (b.hard.value + b.soft.value));
        }
        problem_free(&p);
    }
}

/* L_0 and G of one dimension by their definitions, pieces between all crossings of logits. */
static void sum_axis(const struct problem *p, const moeg_moe *teacher, moeg_gate gate, moeg_mixing mixing, double tau,
                     real *hard, real *gap)
{
    static struct plane_node nodes[1000];
    real cut[40] = {-INFINITY};
    size_t cuts = 1;
    for (size_t i = 0; i < p->K; i++)
        for (size_t j = 0; j < i; j++)
            cut[cuts++] = ((real)p->b[j] - p->b[i]) / ((real)p->W[i] - p->W[j]);
    if (teacher != NULL)
        cut[cuts++] = ((real)p->e[1] - p->e[0]) / ((real)p->V[0] - p->V[1]);
    for (size_t i = 1; i < cuts; i++) /* Sorted. */
        for (size_t j = i; j > 1 && cut[j] < cut[j - 1]; j--) {
            const real swapped = cut[j];
            cut[j] = cut[j - 1];
            cut[j - 1] = swapped;
        }
    cut[cuts] = INFINITY;
    *hard = *gap = 0;
    for (size_t piece = 0; piece < cuts; piece++) {
        const size_t n = plane_nodes(cut[piece], cut[piece + 1], 0.3L, 1.0L / 32, nodes);
        for (size_t q = 0; q < n; q++) {
            const real x = nodes[q].at, z = (x - p->mean[0]) / sqrtl(p->covariance[0]);
            const real mass = plane_density(z) * nodes[q].weight / sqrtl(p->covariance[0]);
            real a[MOST_K], g0[MOST_K], change[MOST_K];
            if (!(mass > 1e-30L))
                continue;
            for (size_t k = 0; k < p->K; k++)
                a[k] = p->b[k] + (real)p->W[k] * x;
            const size_t own = teacher == NULL || p->e[0] + p->V[0] * x > p->e[1] + p->V[1] * x ? p->K : p->K + 1;
            oracle_gates(gate, p->K, a, tau, g0, change);
            real loss0 = 0, moved = 0, sum = 0, added = 0, square = 0;
            real h[MOST_M] = {0}, D[MOST_M] = {0};
            for (size_t k = 0; k < p->K; k++) {
                real loss = 0;
                for (size_t j = 0; j < p->m; j++) {
                    const real f = p->c[k][j] + (real)p->A[k][j] * x, y = p->c[own][j] + (real)p->A[own][j] * x;
                    loss += (f - y) * (f - y);
                    h[j] += g0[k] * (f - y);
                    D[j] += change[k] * f;
                }
                loss0 += g0[k] * loss;
                moved += change[k] * (loss + p->noise);
                sum += change[k];
            }
            for (size_t j = 0; j < p->m; j++) {
                square += h[j] * h[j];
                added += D[j] * (D[j] + 2 * h[j]);
            }
            (void)sum;
            *hard += mass * (mixing == MOEG_MIX_LOSS ? loss0 : square);
            *gap += mass * (mixing == MOEG_MIX_LOSS ? moved : added);
        }
    }
    *hard += p->noise;
}

static void one_dimension_is_its_definition(void **state)
{
    (void)state;
    static const double tau[] = {1.7, 0.3, 0.02};
    moeg_gate gates[MOST_GATES];
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct problem p;
        problem_draw(&p, 900 + seed, 4, 1, 2);
        p.pieces = seed % 2 ? 2 : 1;
        p.V[0] = 0.731;
        p.e[0] = 0.4;
        memcpy(p.A[5], p.A[2], sizeof p.A[2]);
        p.c[5][0] = -1.3;
        p.noise = 0.385;
        problem_build(&p);
        const size_t n = all_gates(p.K, gates);
        for (size_t g = 0; g < n; g++) {
            moeg_moe *plain = p.moe;
            p.moe = mixture_of(&p, gates[g]);
            for (int i = 0; i < 2; i++) {
                real hard, gap;
                const double t = tau[(seed + g) % 3];
                sum_axis(&p, p.pieces == 2 ? plain : NULL, gates[g], both[i], t, &hard, &gap);
                const struct answer a = nodes_answer(&p, both[i], t);
                assert_near(a.gap.value, (double)gap, 1e-14 + 1e-13 * fabs((double)gap));
                assert_near(a.gap.value, (double)gap, a.gap.quad_error + 1e-17);
                assert_near(a.hard.value, (double)hard, 1e-13 * (double)hard);
            }
            moeg_moe_free(p.moe);
            p.moe = plain;
        }
        problem_free(&p);
    }
}

/* Affine experts, of which the library does not know that they are. */
static int forward(size_t n, const double *x, double *out, void *user)
{
    const moeg_expert *expert = user;
    return moeg_expert_forward(expert, n, x, out) == MOEG_OK ? 0 : 1;
}

static void points_are_as_good_as_forms(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct problem p;
        moeg_expert *inner[MOST_K], *outer[MOST_K];
        moeg_moe *moe;
        problem_draw(&p, 40 + seed, seed < 2 ? 4 : 3, 1 + seed % 2, 2);
        p.gate = seed % 2 ? moeg_gate_softmax() : moeg_gate_topk_raw(2);
        p.pieces = 2;
        memcpy(p.V, p.W, sizeof p.V); /* The interface of experts 0 and 1. */
        memcpy(p.e, p.b, sizeof p.e);
        problem_build(&p);
        for (size_t k = 0; k < p.K; k++) {
            inner[k] = problem_expert(&p, k);
            assert_ok(moeg_expert_callback_create(&outer[k], p.d, p.m, forward, NULL, inner[k]));
        }
        assert_ok(moeg_moe_create(&moe, p.router, p.gate, outer));
        const struct answer a = nodes_answer(&p, both[seed % 2], 0.05);
        moeg_moe *plain = p.moe;
        p.moe = moe;
        const struct answer b = nodes_answer(&p, both[seed % 2], 0.05);
        assert_relative(b.gap.value, a.gap.value, 1e-13);
        assert_relative(b.hard.value, a.hard.value, 1e-13);
        p.moe = plain;
        moeg_moe_free(moe);
        for (size_t k = 0; k < p.K; k++) {
            moeg_expert_free(outer[k]);
            moeg_expert_free(inner[k]);
        }
        problem_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plane_has_the_digits_of_the_reference),
        cmocka_unit_test(two_experts_are_the_one_line),
        cmocka_unit_test(one_dimension_is_its_definition),
        cmocka_unit_test(points_are_as_good_as_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
