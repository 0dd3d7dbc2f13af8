/* Sampled risk curves beside their floor: the work that no implementation can leave out (flops of router and experts,
 * the teacher's too, at the rate of OpenBLAS's dgemm, one normal for each coordinate, one exponential for each losing
 * expert of each row that feels a temperature), each at the rate measured in the same run, on one thread. A ratio of 1
 * is the floor. */
#include "base/kernel.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/floor.h"

#include <math.h>
#include <moegeom/moegeom.h>
#include <stdio.h>
#include <string.h>

enum { TEMPERATURES = 16, ROWS = 1 << 13, MOST_K = 8 };

/* d inputs, K experts with h hidden units (0: affine), m outputs. */
typedef struct shape {
    size_t d, K, h, m;
} shape;

typedef struct risk_case {
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_law *law;
    moeg_mixing mixing;
    double tau[TEMPERATURES];
    moeg_estimate hard, soft[TEMPERATURES], gap[TEMPERATURES];
    int failed;
} risk_case;

static void run(void *user)
{
    risk_case *c = user;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = ROWS;
    s.max_threads = 1;
    c->failed |= moeg_risk_curve(c->moe, c->teacher, c->law, c->mixing, TEMPERATURES, c->tau, &s, &c->hard, c->soft,
                                 c->gap, NULL) < 0;
}

/* An expert with a hidden layer of h ReLUs, or affine if h is 0; its numbers, normals, begin at `numbers`. */
static moeg_status make_expert(moeg_expert **expert, size_t d, size_t h, size_t m, const double *numbers)
{
    if (h == 0)
        return moeg_expert_affine_create(expert, d, m, numbers, numbers + m * d);
    const size_t widths[] = {d, h, m};
    const double *const W[] = {numbers, numbers + h * d}, *const b[] = {numbers + h * d + m * h, W[1] + m * h + h};
    return moeg_expert_mlp_create(expert, 2, widths, W, b, MOEG_ACTIVATION_RELU);
}

/* A mixture under an affine router, all numbers normals of `seed`. */
static moeg_status make_moe(moeg_moe **moe, uint64_t seed, const shape *s)
{
    const size_t each = s->h == 0 ? s->m * (s->d + 1) : s->h * (s->d + 1) + s->m * (s->h + 1) + s->h;
    const size_t size = moeg_round_lanes(s->K * (s->d + 1 + each));
    double *numbers = moeg_alloc(size, sizeof *numbers);
    moeg_expert *experts[MOST_K] = {NULL};
    moeg_router *router = NULL;
    if (numbers == NULL || s->K > MOST_K)
        return MOEG_ENOMEM;
    moeg_kernel_normals(seed, 0, 0, 1, size, numbers);
    const double *rest = numbers + s->K * (s->d + 1);
    moeg_status status = moeg_router_affine_create(&router, s->K, s->d, numbers, numbers + s->K * s->d);
    for (size_t k = 0; k < s->K && status == MOEG_OK; k++)
        status = make_expert(&experts[k], s->d, s->h, s->m, rest + k * each);
    if (status == MOEG_OK)
        status = moeg_moe_create(moe, router, moeg_gate_softmax(), experts);
    for (size_t k = 0; k < s->K; k++)
        moeg_expert_free(experts[k]);
    moeg_router_free(router);
    moeg_release(numbers);
    return status;
}

/* Exponentials of a row: the losing experts, at each temperature that it feels; and the teacher's. */
static double exponentials(const risk_case *c, size_t K)
{
    double count = (double)(K - 1);
    for (size_t t = 0; t < TEMPERATURES; t++)
        count += (double)(K - 1) * (double)c->gap[t].contributing / ROWS;
    return count;
}

/* Of model and teacher. */
static double count_flops(const shape *s)
{
    const size_t expert = s->h == 0 ? s->d * s->m : s->h * (s->d + s->m);
    return 2 * 2 * (double)(s->K * (s->d + expert));
}

/* Only cases whose name holds `only`, if that is not NULL. */
static int report(const char *only, const char *name, const floor_rates *rates, shape s, moeg_mixing mixing)
{
    if (only != NULL && strstr(name, only) == NULL)
        return 0;
    risk_case c = {.mixing = mixing};
    moeg_moe *model = NULL;
    for (int t = 0; t < TEMPERATURES; t++)
        c.tau[t] = pow(1e-4, t / (TEMPERATURES - 1.0));
    moeg_status status = make_moe(&c.moe, 1, &s);
    if (status == MOEG_OK)
        status = make_moe(&model, 2, &s);
    if (status == MOEG_OK)
        status = moeg_teacher_moe_create(&c.teacher, model, 0.5);
    if (status == MOEG_OK)
        status = moeg_law_gaussian_create(&c.law, s.d, NULL, NULL);
    if (status == MOEG_OK) {
        const double each = bench_seconds(run, &c) / ROWS, flops = count_flops(&s), exps = exponentials(&c, s.K);
        const double least = flops * rates->flop + (double)s.d * rates->normal + exps * rates->exponential;
        printf("risk     %-22s %7.1f ns/row, floor %7.1f ns (%.0f flops, %zu normals, %.1f exps), ratio %5.2f\n", name,
               1e9 * each, 1e9 * least, flops, s.d, exps, each / least);
    }
    moeg_law_free(c.law);
    moeg_teacher_free(c.teacher);
    moeg_moe_free(model);
    moeg_moe_free(c.moe);
    return status != MOEG_OK || c.failed;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    const shape small = {16, 4, 32, 1}, mid = {64, 8, 128, 8}, small_affine = {16, 4, 0, 1}, mid_affine = {64, 8, 0, 8};
    floor_rates rates;
    if (floor_measure(&rates) != 0)
        return 1;
    int failed = report(only, "small", &rates, small, MOEG_MIX_OUTPUT);
    failed |= report(only, "small, losses", &rates, small, MOEG_MIX_LOSS);
    failed |= report(only, "mid", &rates, mid, MOEG_MIX_OUTPUT);
    failed |= report(only, "mid, losses", &rates, mid, MOEG_MIX_LOSS);
    failed |= report(only, "small affine", &rates, small_affine, MOEG_MIX_OUTPUT);
    failed |= report(only, "small affine, losses", &rates, small_affine, MOEG_MIX_LOSS);
    failed |= report(only, "mid affine", &rates, mid_affine, MOEG_MIX_OUTPUT);
    failed |= report(only, "mid affine, losses", &rates, mid_affine, MOEG_MIX_LOSS);
    return failed;
}
