/* Sampled risk curves beside their floor: the work that no implementation can leave out (flops of router and experts,
 * the teacher's too, at the rate of OpenBLAS's dgemm, one normal for each coordinate, one exponential for each losing
 * expert of each row that feels a temperature, one GELU for each hidden unit), each at the rate measured in the same
 * run, on one thread. A floor/time above 1 is faster than that. Of gates other than the softmax, how many times as long
 * they take; of two threads, how many times as fast they are, which needs a second processor that is free.
 *
 * bench_risk [--quick] [PART OF A NAME] */
#include "base/kernel.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/floor.h"

#include <math.h>
#include <moegeom/moegeom.h>
#include <stdio.h>
#include <string.h>

enum { TEMPERATURES = 16, MOST_K = 16 };

/* d inputs, K experts with h hidden units (0: affine), m outputs. */
typedef struct shape {
    const char *name;
    size_t d, K, h, m;
    moeg_activation activation;
    size_t rows; /* of a run */
} shape;

typedef struct risk_case {
    moeg_moe *moe;
    moeg_teacher *teacher;
    moeg_law *law;
    size_t rows;
    moeg_mixing mixing;
    double tau[TEMPERATURES];
    moeg_estimate hard, soft[TEMPERATURES], gap[TEMPERATURES];
    int failed;
} risk_case;

static void run_threads(risk_case *c, int threads)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = c->rows;
    s.max_threads = threads;
    c->failed |= moeg_risk_curve(c->moe, c->teacher, c->law, c->mixing, TEMPERATURES, c->tau, &s, &c->hard, c->soft,
                                 c->gap, NULL) < 0;
}

static void run(void *user)
{
    run_threads(user, 1);
}

static void run_two(void *user)
{
    run_threads(user, 2);
}

/* An expert with a hidden layer, or affine if h is 0; its numbers, normals, begin at `numbers`. Weights shrink with the
 * width that they come from, so that values stay of order 1. */
static moeg_status make_expert(moeg_expert **expert, const shape *s, double *numbers)
{
    const size_t d = s->d, h = s->h, m = s->m, widths[] = {d, h, m};
    double *second = numbers + (h == 0 ? m : h) * d;
    for (double *w = numbers; w < second; w++)
        *w /= sqrt((double)d);
    if (h == 0)
        return moeg_expert_affine_create(expert, d, m, numbers, second);
    for (double *w = second; w < second + m * h; w++)
        *w /= sqrt((double)h);
    const double *const W[] = {numbers, second}, *const b[] = {second + m * h, second + m * h + h};
    return moeg_expert_mlp_create(expert, 2, widths, W, b, s->activation);
}

/* A mixture under an affine router, all numbers normals of `seed`. */
static moeg_status make_moe(moeg_moe **moe, uint64_t seed, const shape *s, moeg_gate gate)
{
    const size_t d = s->d, h = s->h, m = s->m, each = h == 0 ? m * (d + 1) : h * (d + 1) + m * (h + 1);
    const size_t size = moeg_round_lanes(s->K * (d + 1 + each));
    double *numbers = moeg_alloc(size, sizeof *numbers);
    moeg_expert *experts[MOST_K] = {NULL};
    moeg_router *router = NULL;
    if (numbers == NULL || s->K > MOST_K)
        return MOEG_ENOMEM;
    moeg_kernel_normals(seed, 0, 0, 1, size, numbers);
    for (size_t i = 0; i < s->K * d; i++)
        numbers[i] /= sqrt((double)d);
    double *rest = numbers + s->K * (d + 1);
    moeg_status status = moeg_router_affine_create(&router, s->K, d, numbers, numbers + s->K * d);
    for (size_t k = 0; k < s->K && status == MOEG_OK; k++)
        status = make_expert(&experts[k], s, rest + k * each);
    if (status == MOEG_OK)
        status = moeg_moe_create(moe, router, gate, experts);
    for (size_t k = 0; k < s->K; k++)
        moeg_expert_free(experts[k]);
    moeg_router_free(router);
    moeg_release(numbers);
    return status;
}

static moeg_status make_case(risk_case *c, const shape *s, moeg_gate gate)
{
    moeg_moe *model = NULL;
    for (int t = 0; t < TEMPERATURES; t++)
        c->tau[t] = pow(1e-4, t / (TEMPERATURES - 1.0));
    moeg_status status = make_moe(&c->moe, 1, s, gate);
    if (status == MOEG_OK)
        status = make_moe(&model, 2, s, moeg_gate_softmax());
    if (status == MOEG_OK)
        status = moeg_teacher_moe_create(&c->teacher, model, 0.5);
    if (status == MOEG_OK)
        status = moeg_law_gaussian_create(&c->law, s->d, NULL, NULL);
    moeg_moe_free(model);
    return status;
}

static void clear_case(risk_case *c)
{
    moeg_law_free(c->law);
    moeg_teacher_free(c->teacher);
    moeg_moe_free(c->moe);
}

/* Seconds of a row that cannot be left out. Exponentials: of losing experts at each temperature that a row feels, and
 * the teacher's. */
static double find_floor(const risk_case *c, const shape *s, const floor_rates *rates)
{
    const size_t expert = s->h == 0 ? s->d * s->m : s->h * (s->d + s->m);
    const double flops = 2 * 2 * (double)(s->K * (s->d + expert)), losers = (double)(s->K - 1);
    double exponentials = losers;
    for (size_t t = 0; t < TEMPERATURES; t++)
        exponentials += losers * (double)c->gap[t].contributing / (double)c->rows;
    const double gelus = s->activation == MOEG_ACTIVATION_GELU ? 2 * (double)(s->K * s->h) : 0;
    return flops * rates->flop + (double)s->d * rates->normal + exponentials * rates->exponential + gelus * rates->gelu;
}

/* Seconds of a row. */
static double report_mixing(const floor_rates *rates, const shape *s, moeg_mixing mixing, risk_case *c)
{
    c->mixing = mixing;
    const double each = bench_seconds(run, c) / (double)c->rows, least = find_floor(c, s, rates);
    printf("risk     %-13s %-7s %9.1f ns/row, floor %9.1f, floor/time %4.2f\n", s->name,
           mixing == MOEG_MIX_LOSS ? "losses" : "outputs", 1e9 * each, 1e9 * least, least / each);
    return each;
}

static int report(const floor_rates *rates, const shape *s, double *softmax)
{
    risk_case c = {.rows = s->rows};
    const moeg_status status = make_case(&c, s, moeg_gate_softmax());
    if (status == MOEG_OK) {
        report_mixing(rates, s, MOEG_MIX_LOSS, &c);
        *softmax = report_mixing(rates, s, MOEG_MIX_OUTPUT, &c);
        printf("risk     %-13s two threads are %4.2f times as fast as one\n", s->name,
               bench_wall_ratio(run, run_two, &c));
    }
    clear_case(&c);
    return status != MOEG_OK || c.failed;
}

static int report_gate(const char *name, const shape *s, moeg_gate gate, double softmax)
{
    risk_case c = {.mixing = MOEG_MIX_OUTPUT, .rows = s->rows};
    moeg_status status = make_case(&c, s, gate);
    if (status == MOEG_OK) {
        const double each = bench_seconds(run, &c) / (double)c.rows;
        printf("risk     %-13s %-12s %9.1f ns/row, %5.2f times the softmax\n", s->name, name, 1e9 * each,
               each / softmax);
    }
    clear_case(&c);
    return status != MOEG_OK || c.failed;
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        {"small ReLU", 16, 4, 32, 1, MOEG_ACTIVATION_RELU, 1 << 16},
        {"small GELU", 16, 4, 32, 1, MOEG_ACTIVATION_GELU, 1 << 16},
        {"small affine", 16, 4, 0, 1, MOEG_ACTIVATION_RELU, 1 << 16},
        {"mid ReLU", 64, 8, 128, 8, MOEG_ACTIVATION_RELU, 1 << 13},
        {"mid GELU", 64, 8, 128, 8, MOEG_ACTIVATION_GELU, 1 << 13},
        {"mid affine", 64, 8, 0, 8, MOEG_ACTIVATION_RELU, 1 << 13},
        {"large ReLU", 512, 16, 512, 32, MOEG_ACTIVATION_RELU, 1 << 9},
        {"large GELU", 512, 16, 512, 32, MOEG_ACTIVATION_GELU, 1 << 9},
    };
    const int quick = bench_quick(&argc, argv);
    floor_rates rates;
    if (floor_measure(&rates) != 0)
        return 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shape s = shapes[i];
        if (argc > 1 && strstr(s.name, argv[1]) == NULL)
            continue;
        s.rows >>= quick ? 3 : 0;
        double softmax = 0;
        failed |= report(&rates, &s, &softmax);
        if (s.h == 0) {
            failed |= report_gate("top-2 of all", &s, moeg_gate_topk_raw(2), softmax);
            failed |= report_gate("top-2 alone", &s, moeg_gate_topk_renorm(2), softmax);
            failed |= report_gate("subsets of 2", &s, moeg_gate_subset(2), softmax);
        }
    }
    return failed;
}
