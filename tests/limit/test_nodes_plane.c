/* The plane, and teachers whose interfaces run on past the corners of the router's: slopes in closed form; gaps and
 * hard risks by a product of Gauss and Legendre rules in long double, between all points where any two interfaces meet.
 */
#include "limit/crossed.h"
#include "limit/nodes_run.h"

enum { RULE = 10 };

/* The integrand of the slope on a segment around the point `at` of the interface, by the formulas of theory.md. */
static real first_order(const struct crossed *c, const struct interface *t, const real *at, moeg_mixing mixing)
{
    const moeg_gate gate = c->p.gate;
    const real norm = hypotl(t->g[0], t->g[1]), ln2 = logl(2), off = 1e-9L;
    const size_t rank = gate.kind == MOEG_GATE_SUBSET ? gate.k : 1;
    real a[K], m[2];
    size_t above = 0;
    logits_at(c, 0, K, at[0], at[1], a);
    for (size_t k = 0; k < K; k++)
        above += k != t->i && k != t->j && a[k] > a[t->i];
    if (above != rank - 1)
        return 0;
    for (int side = 0; side < 2; side++) { /* of i, and of j */
        const real step = (side == 0 ? off : -off) / norm;
        m[side] = teacher_at(c, at[0] + step * t->g[0], at[1] + step * t->g[1]);
    }
    const real f[2] = {c->out[t->i], c->out[t->j]}, share = 1 / (real)rank, delta = share * (f[0] - f[1]);
    const int loss = mixing == MOEG_MIX_LOSS;
    if (gate.kind == MOEG_GATE_TOPK_RAW && gate.k == 1)
        return loss ? -ln2 * ((f[0] - m[0]) * (f[0] - m[0]) + (f[1] - m[1]) * (f[1] - m[1]))
                    : 2 * ln2 * (f[0] * m[0] + f[1] * m[1]) - (ln2 + 0.5L) * (f[0] * f[0] + f[1] * f[1]);
    return 2 * ln2 * (m[0] - m[1]) * delta - (loss ? 0 : delta * delta);
}

/* Over the segments into which all other interfaces cut each of the router's. */
static real slope_of(const struct crossed *c, moeg_mixing mixing)
{
    struct interface all[INTERFACES];
    const size_t n = interfaces_of(c, all);
    real sum = 0;
    for (size_t a = 0; a < n && all[a].of == 0; a++) {
        const struct interface *t = &all[a];
        const real square = t->g[0] * t->g[0] + t->g[1] * t->g[1], norm = sqrtl(square);
        const real foot[2] = {-t->h * t->g[0] / square, -t->h * t->g[1] / square}, along[2] = {-t->g[1], t->g[0]};
        real cut[INTERFACES + 1] = {-40, 40};
        size_t cuts = 2;
        for (size_t b = 0; b < n; b++) {
            const real *g = all[b].g, across = (g[0] * along[0] + g[1] * along[1]) / norm;
            if (fabsl(across) > 1e-15L)
                cut[cuts++] = -(g[0] * foot[0] + g[1] * foot[1] + all[b].h) / across;
        }
        qsort(cut, cuts, sizeof *cut, ascending);
        for (size_t s = 0; s + 1 < cuts; s++) {
            const real middle = (cut[s] + cut[s + 1]) / 2 / norm;
            const real at[2] = {foot[0] + middle * along[0], foot[1] + middle * along[1]};
            const real sign = cut[s] > 0 ? 1 : -1; /* differences of tails, not of what is near 1 */
            const real mass = sign * (erfcl(sign * cut[s] / sqrtl(2)) - erfcl(sign * cut[s + 1] / sqrtl(2))) / 2;
            sum += mass * expl(-t->h * t->h / square / 2) / sqrtl(2 * acosl(-1)) / norm * first_order(c, t, at, mixing);
        }
    }
    return sum;
}

/* And what is left of gap/tau is of the order tau. */
static void slopes_are_the_closed_form(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(),   moeg_gate_topk_renorm(2), moeg_gate_topk_raw(1),
                               moeg_gate_topk_raw(3), moeg_gate_subset(2),      moeg_gate_subset(3)};
    const moeg_sampling s = line_options();
    const double tau = 1e-6;
    for (int way = 0; way < WAYS; way++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct crossed c;
            make(&c, (enum jumps)way, seed);
            for (size_t g = 0; g < sizeof gates / sizeof *gates; g++)
                for (int i = 0; i < 2; i++) {
                    moeg_estimate slope, gap;
                    set_gate(&c, gates[g]);
                    const double expected = (double)slope_of(&c, both[i]);
                    assert_ok(moeg_leading_slope(c.p.moe, c.p.teacher, c.p.law, both[i], &s, &slope));
                    assert_near(slope.value, expected, slope.quad_error + 1e-19);
                    assert_true(slope.quad_error <= 1e-13);
                    if (seed > 1 || way > ON_THREE_TIES || gates[g].kind != MOEG_GATE_TOPK_RAW || gates[g].k > 1)
                        continue;
                    assert_ok(moeg_risk_gap(c.p.moe, c.p.teacher, c.p.law, both[i], 1, &tau, &s, &gap));
                    assert_near(gap.value / tau, expected, 100 * tau);
                    assert_true(gap.quad_error <= 3e-13 * tau);
                }
            problem_free(&c.p);
        }
}

/* On [-1, 1], by Newton's method. */
static void set_rule(real *node, real *weight)
{
    for (int i = 0; i < RULE; i++) {
        real x = cosl(acosl(-1) * (i + 0.75L) / (RULE + 0.5L)), slope = 1;
        for (int step = 0; step < 8; step++) {
            real before = 1, last = x;
            for (int n = 2; n <= RULE; n++) {
                const real next = ((2 * n - 1) * x * last - (n - 1) * before) / n;
                before = last;
                last = next;
            }
            slope = RULE * (x * last - before) / (x * x - 1);
            x -= last / slope;
        }
        node[i] = x;
        weight[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

/* Ends of panels: from each of the points outward, the first as wide as `finest`, then each twice as far. */
static size_t grade(size_t points, const real *point, real finest, real *end)
{
    static const real reach = 8.5L, widest = 1;
    size_t n = 0;
    for (int i = 0; i <= 17; i++)
        end[n++] = -reach + widest * i;
    for (size_t i = 0; i < points; i++) {
        end[n++] = fmaxl(fminl(point[i], reach), -reach);
        for (real off = finest; off < widest; off *= 2)
            for (int side = -1; side <= 1; side += 2)
                end[n++] = fmaxl(fminl(point[i] + (real)side * off, reach), -reach);
    }
    qsort(end, n, sizeof *end, ascending);
    return n;
}

/* What is summed: the hard risk, or gaps at tau > 0. */
enum { GATES = 2 };
struct sums {
    const struct crossed *c;
    const moeg_gate *gates;
    real tau, total[GATES][2]; /* by mixing */
    real node[RULE], weight[RULE];
};

static void add_point(struct sums *q, real u, real v, real weight)
{
    real a[K], largest = -INFINITY, second = -INFINITY, third = -INFINITY;
    logits_at(q->c, 0, K, u, v, a);
    for (size_t k = 0; k < K; k++) {
        third = a[k] > second ? second : fmaxl(third, a[k]);
        second = a[k] > largest ? largest : fmaxl(second, a[k]);
        largest = fmaxl(largest, a[k]);
    }
    if (q->tau > 0 && fminl(largest - second, second - third) > 50 * q->tau) /* all gates have k < 3 */
        return;
    const real m = teacher_at(q->c, u, v);
    for (size_t g = 0; g < GATES; g++) {
        real hard[K], change[K], h = 0, moved = 0, losses = 0, lost = 0;
        oracle_gates(q->gates[g], K, a, q->tau, hard, change);
        for (size_t k = 0; k < K; k++) {
            const real f = q->c->out[k], loss = (f - m) * (f - m);
            h += hard[k] * f;
            losses += hard[k] * loss;
            moved += change[k] * f;
            lost += change[k] * loss;
        }
        q->total[g][MOEG_MIX_OUTPUT] += weight * (q->tau > 0 ? moved * (moved + 2 * (h - m)) : (h - m) * (h - m));
        q->total[g][MOEG_MIX_LOSS] += weight * (q->tau > 0 ? lost : losses);
    }
}

/* Interface a is t = level + slope y along lines of the direction e: z = t e + y (-e_2, e_1). Returns the largest
 * |slope|.
 */
static real lay_out(size_t n, const struct interface *all, const real *e, real *level, real *slope)
{
    real most = 0;
    for (size_t a = 0; a < n; a++) {
        const real steep = all[a].g[0] * e[0] + all[a].g[1] * e[1];
        level[a] = -all[a].h / steep;
        slope[a] = -(all[a].g[1] * e[0] - all[a].g[0] * e[1]) / steep;
        most = fmaxl(most, fabsl(slope[a]));
    }
    return most;
}

/* Along the line at y, cut where interfaces are. */
static void integrate_line(struct sums *q, const real *e, real y, real weight, size_t cuts, const real *cut)
{
    static real end[1000];
    const size_t n = grade(cuts, cut, q->tau > 0 ? q->tau : 1, end);
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t k = 0; k < RULE && end[i + 1] - end[i] > 1e-18L; k++) {
            const real half = (end[i + 1] - end[i]) / 2, t = end[i] + half * (1 + q->node[k]), square = y * y + t * t;
            if (square < 68)
                add_point(q, t * e[0] - y * e[1], t * e[1] + y * e[0],
                          weight * half * q->weight[k] * expl(-square / 2) / (2 * acosl(-1)));
        }
}

/* Over y, cut where any two interfaces meet; the direction is such that they are not steep in y. */
static void integrate(struct sums *q)
{
    static real end[10000], point[INTERFACES * INTERFACES];
    struct interface all[INTERFACES];
    real level[INTERFACES], slope[INTERFACES], at[INTERFACES], e[2], flattest = INFINITY, best = 0;
    const size_t n = interfaces_of(q->c, all);
    size_t points = 0;
    for (int i = 0; i <= 64; i++) {
        const real angle = acosl(-1) * i / 64;
        const real most = lay_out(n, all, (real[]){cosl(angle), sinl(angle)}, level, slope);
        best = most < flattest ? angle : best;
        flattest = fminl(most, flattest);
    }
    e[0] = cosl(best);
    e[1] = sinl(best);
    lay_out(n, all, e, level, slope);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            if (fabsl(slope[a] - slope[b]) > 1e-15L)
                point[points++] = (level[b] - level[a]) / (slope[a] - slope[b]);
    const size_t ends = grade(points, point, q->tau > 0 ? q->tau : 1, end);
    set_rule(q->node, q->weight);
    for (size_t i = 0; i + 1 < ends; i++)
        for (size_t k = 0; k < RULE && end[i + 1] - end[i] > 1e-18L; k++) {
            const real half = (end[i + 1] - end[i]) / 2, y = end[i] + half * (1 + q->node[k]);
            for (size_t a = 0; a < n; a++)
                at[a] = level[a] + slope[a] * y;
            integrate_line(q, e, y, half * q->weight[k], n, at);
        }
}

static void gaps_and_hard_risks_are_their_definitions(void **state)
{
    (void)state;
    const moeg_gate gates[GATES] = {moeg_gate_topk_raw(2), moeg_gate_subset(2)};
    const moeg_sampling s = line_options();
    const enum jumps ways[] = {ON_A_TIE, OFF_TIES, OF_TWO_OF_THREE};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        struct crossed c;
        const double tau = 0.2;
        struct sums hard = {.c = &c, .gates = gates}, gap = {.c = &c, .gates = gates, .tau = tau};
        make(&c, ways[way], 1);
        integrate(&hard);
        integrate(&gap);
        for (size_t g = 0; g < GATES; g++)
            for (int i = 0; i < 2; i++) {
                moeg_estimate risk, excess;
                set_gate(&c, gates[g]);
                assert_ok(
                    moeg_risk_curve(c.p.moe, c.p.teacher, c.p.law, both[i], 1, &tau, &s, &risk, NULL, &excess, NULL));
                assert_near(risk.value, (double)hard.total[g][both[i]], risk.quad_error);
                assert_near(excess.value, (double)gap.total[g][both[i]], excess.quad_error);
                assert_true(risk.quad_error <= 1e-13 && excess.quad_error <= 1e-14);
            }
        problem_free(&c.p);
    }
}

/* A corner of the teacher's 2 tau from a tie, where two of his interfaces are nearly along it and the third leads away:
 * piece 0 where u + |v|/100 < 2 tau, and 1 or 2 by the sign of v. What is felt there is as narrow as along the third.
 */
static void corners_beside_a_tie_are_felt(void **state)
{
    (void)state;
    const double tau = 0.01, off = 2 * tau, V[6] = {0, 0, 1, 0.01, 1, -0.01}, e[3] = {off, 0, 0}, A[2] = {0, 0};
    const double means[3] = {0.7, -1.1, 0.4}, winners[2] = {1.3, -0.6};
    struct problem p = {.K = 2, .d = 2, .m = 1, .pieces = 1, .W = {1, 0, -1, 0}, .covariance = {1, 0, 0, 1}};
    moeg_expert *experts[3];
    p.c[0][0] = winners[0];
    p.c[1][0] = winners[1];
    problem_build(&p);
    moeg_teacher_free(p.teacher);
    for (size_t k = 0; k < 3; k++)
        assert_ok(moeg_expert_affine_create(&experts[k], 2, 1, A, &means[k]));
    p.teacher = hard_teacher(3, V, e, 1, experts);
    real end[200], node[RULE], weight[RULE], sum = 0;
    set_rule(node, weight);
    const size_t ends = grade(2, (real[]){0, off}, 1e-3L, end);
    for (size_t i = 0; i + 1 < ends; i++)
        for (size_t k = 0; k < RULE; k++) {
            const real half = (end[i + 1] - end[i]) / 2, u = end[i] + half * (1 + node[k]);
            const real inside = u < off ? erfl((off - u) / 0.01L / sqrtl(2)) : 0;
            const real m = inside * means[0] + (1 - inside) * ((real)means[1] + means[2]) / 2;
            const real h = winners[u < 0], moved = (winners[u > 0] - h) / (1 + expl(2 * fabsl(u) / tau));
            sum += weight[k] * half * expl(-u * u / 2) / sqrtl(2 * acosl(-1)) * moved * (moved + 2 * (h - m));
        }
    const struct answer a = nodes_answer(&p, MOEG_MIX_OUTPUT, tau);
    assert_near(a.gap.value, (double)sum, a.gap.quad_error);
    assert_true(a.gap.quad_error <= 1e-13 * tau);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_the_closed_form),
        cmocka_unit_test(gaps_and_hard_risks_are_their_definitions),
        cmocka_unit_test(corners_beside_a_tie_are_felt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
