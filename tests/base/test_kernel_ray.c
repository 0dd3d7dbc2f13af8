/* The kernels of gaps along rays in every instruction set: against sums over the nodes in long double, and lane by
 * lane. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "support/check.h"
#include "support/random.h"

enum { LOSERS = 3, OUTPUTS = 2, CONSTANTS = 1, STRIDE = 40, PANELS = 4, PANEL = 5, NODES = PANELS * PANEL };

/* All that a kernel reads, and where it writes. */
struct lines {
    double start[PANELS], offset[NODES], kronrod[NODES], gauss[NODES], decay[NODES * LOSERS];
    double contrast_slope[LOSERS * OUTPUTS], residual_slope[OUTPUTS];
    double fixed_contrast[LOSERS * CONSTANTS], fixed_residual[CONSTANTS];
    _Alignas(64) double crossing[STRIDE];
    _Alignas(64) double gate[LOSERS * STRIDE];
    _Alignas(64) double contrast[LOSERS * OUTPUTS * STRIDE];
    _Alignas(64) double residual[OUTPUTS * STRIDE];
    _Alignas(64) double excess[LOSERS * 3 * STRIDE];
    _Alignas(64) double number[STRIDE];
    _Alignas(64) double tied[(OUTPUTS + CONSTANTS) * STRIDE];
    _Alignas(64) double scratch[2 * LOSERS * MOEG_LANES];
    _Alignas(64) double value[STRIDE];
    _Alignas(64) double error[STRIDE];
    moeg_kernel_ray ray;
};

static void fill(uint64_t *seed, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = next_normal(seed);
}

/* Nodes at offsets up to `reach`, where terms have fallen to e^-6; crossings at either side of 0, some far out. */
static void draw(uint64_t seed, double reach, int loss, struct lines *l)
{
    fill(&seed, LOSERS * OUTPUTS, l->contrast_slope);
    fill(&seed, OUTPUTS, l->residual_slope);
    fill(&seed, LOSERS * CONSTANTS, l->fixed_contrast);
    fill(&seed, CONSTANTS, l->fixed_residual);
    fill(&seed, STRIDE, l->crossing);
    fill(&seed, LOSERS * OUTPUTS * STRIDE, l->contrast);
    fill(&seed, OUTPUTS * STRIDE, l->residual);
    fill(&seed, LOSERS * 3 * STRIDE, l->excess);
    for (size_t q = 0; q < NODES; q++) {
        l->offset[q] = reach * ((double)q + 0.5) / NODES;
        l->kronrod[q] = reach / NODES * (1 + 0.3 * next_normal(&seed) / 4);
        l->gauss[q] = l->kronrod[q] * (q % 2 == 0 ? 1.9 : 0);
        for (size_t j = 0; j < LOSERS; j++)
            l->decay[q * LOSERS + j] = exp(-(6 + (double)j) * l->offset[q] / reach);
    }
    for (size_t p = 0; p < PANELS; p++)
        l->start[p] = reach * (double)p / PANELS;
    for (size_t i = 0; i < STRIDE; i++) {
        const size_t ties = i % LOSERS;
        l->crossing[i] *= i % 5 == 0 ? 6 : 1;
        l->number[i] = (double)ties;
        for (size_t j = 0; j < LOSERS; j++)
            l->gate[j * STRIDE + i] = j == ties ? 1 : exp(-fabs(next_normal(&seed)));
        for (size_t m = 0; m < OUTPUTS; m++)
            l->tied[m * STRIDE + i] = l->contrast[(ties * OUTPUTS + m) * STRIDE + i];
        l->tied[OUTPUTS * STRIDE + i] = l->fixed_contrast[ties];
        if (loss)
            l->tied[i] = l->excess[ties * 3 * STRIDE + i];
    }
    l->ray = (moeg_kernel_ray){.losers = LOSERS,
                               .outputs = OUTPUTS,
                               .constants = CONSTANTS,
                               .stride = STRIDE,
                               .loss = loss,
                               .nodes = NODES,
                               .panel = PANEL,
                               .start = l->start,
                               .offset = l->offset,
                               .kronrod = l->kronrod,
                               .gauss = l->gauss,
                               .decay = l->decay,
                               .crossing = l->crossing,
                               .gate = l->gate,
                               .contrast = l->contrast,
                               .contrast_slope = l->contrast_slope,
                               .residual = l->residual,
                               .residual_slope = l->residual_slope,
                               .fixed_contrast = l->fixed_contrast,
                               .fixed_residual = l->fixed_residual,
                               .excess = l->excess,
                               .number = l->number,
                               .tied = l->tied,
                               .steepness = 8 / reach};
}

/* l_tau - l_0 of line i at node q, outputs at the offset o: of all losers, or of one alone (else `alone` < 0). */
static long double loss_at(const struct lines *l, size_t i, size_t q, long double o, int alone)
{
    long double v[LOSERS], sum = 1, gap = 0;
    for (size_t j = 0; j < LOSERS; j++) {
        v[j] = alone < 0 || (size_t)alone == j ? (long double)l->gate[j * STRIDE + i] * l->decay[q * LOSERS + j] : 0;
        sum += v[j];
    }
    for (size_t j = 0; l->ray.loss && j < LOSERS; j++) {
        const double *e = l->excess + 3 * j * STRIDE + i;
        gap += v[j] / sum * (e[0] + o * (e[STRIDE] + o * e[2 * STRIDE]));
    }
    for (size_t m = 0; !l->ray.loss && m < OUTPUTS + CONSTANTS; m++) {
        const int fixed = m >= OUTPUTS;
        long double D = 0, r = fixed ? l->fixed_residual[0] : l->residual[m * STRIDE + i] + o * l->residual_slope[m];
        for (size_t j = 0; j < LOSERS; j++)
            D += v[j] / sum *
                 (fixed ? l->fixed_contrast[j]
                        : l->contrast[(j * OUTPUTS + m) * STRIDE + i] + o * l->contrast_slope[j * OUTPUTS + m]);
        gap += D * (D + 2 * r);
    }
    return gap;
}

static long double density(long double x)
{
    return expl(-x * x / 2) * 0.39894228040143267793994605993438L;
}

/* Sums of Kronrod's rule, of its differences from Gauss's by panels, and of magnitudes. */
struct sums {
    long double value, difference, size;
};

static struct sums by_definition(const struct lines *l, size_t i, int rest)
{
    struct sums sums = {0, 0, 0};
    const long double t = l->crossing[i];
    for (size_t first = 0; first < NODES; first += PANEL) {
        long double difference = 0;
        for (size_t q = first; q < first + PANEL; q++) {
            const long double o = l->offset[q];
            long double f = density(t + o) * loss_at(l, i, q, o, -1);
            if (rest)
                f -= density(t) * loss_at(l, i, q, 0, (int)l->number[i]);
            sums.value += l->kronrod[q] * f;
            sums.size += l->kronrod[q] * fabsl(f);
            difference += ((long double)l->kronrod[q] - l->gauss[q]) * f;
        }
        sums.difference += fabsl(difference);
    }
    return sums;
}

/* Outputs and their products are below 100. The error of a rest has the rounding of crossings too, by which losers that
 * do not tie move: that is some epsilon times the steepness of their terms. */
static void check(const struct lines *l, int rest)
{
    for (size_t i = 0; i < STRIDE; i++) {
        const struct sums sums = by_definition(l, i, rest);
        const double rounding = 40 * EPS * (double)sums.size, t = l->crossing[i], reach = l->ray.offset[NODES - 1];
        const double most = (double)fmaxl(density(t), density(t + reach)) * reach * 100;
        const double blur = rest ? 8 * EPS * l->ray.steepness * (1 + fabs(t)) * most : 0;
        assert_near(l->value[i], (double)sums.value, rounding);
        assert_true(l->error[i] >= (double)sums.difference - rounding);
        assert_true(l->error[i] <= (double)sums.difference + rounding + blur);
        assert_true(sums.difference > 0.01L * sums.size);
    }
}

static void run(const moeg_kernel_table *set, int rest, struct lines *l)
{
    memset(l->value, 0xff, sizeof l->value);
    memset(l->error, 0xff, sizeof l->error);
    (rest ? set->ray_rest : set->ray_gap)(&l->ray, l->scratch, l->value, l->error);
}

static void every_set_is_the_sum_over_nodes(void **state)
{
    (void)state;
    static struct lines l;
    static const double reach[] = {1, 1e-3};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (int kind = 0; kind < 8; kind++) {
            draw(5 + (uint64_t)kind, reach[kind / 4], kind % 2, &l);
            run(set, kind / 2 % 2, &l);
            check(&l, kind / 2 % 2);
        }
}

/* Where the density is below e^-45 of that at the crossing, a panel is left out, and only there. */
static void panels_past_the_law_are_left_out(void **state)
{
    (void)state;
    static struct lines l;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++) {
        draw(9, 20, 0, &l);
        for (size_t q = 0; q < NODES; q++)
            for (size_t j = 0; j < LOSERS; j++)
                l.decay[q * LOSERS + j] = 1;
        run(set, 0, &l);
        for (size_t i = 0; i < STRIDE; i++) {
            const struct sums sums = by_definition(&l, i, 0);
            /* The gap grows as the square of the offset. */
            assert_near(l.value[i], (double)sums.value, 40 * EPS * (double)sums.size + exp(-45) * 1e4);
        }
    }
}

/* Lines at other places, among others: the same bits. */
static void lanes_are_alike(void **state)
{
    (void)state;
    static struct lines l, turned;
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (int kind = 0; kind < 4; kind++) {
            draw(3, 1, kind % 2, &l);
            draw(3, 1, kind % 2, &turned);
            double *const from[] = {l.crossing, l.gate, l.contrast, l.residual, l.excess, l.number, l.tied};
            double *const to[] = {turned.crossing, turned.gate,   turned.contrast, turned.residual,
                                  turned.excess,   turned.number, turned.tied};
            const size_t rows[] = {1, LOSERS, LOSERS * OUTPUTS, OUTPUTS, LOSERS * 3, 1, OUTPUTS + CONSTANTS};
            for (size_t a = 0; a < 7; a++)
                for (size_t r = 0; r < rows[a]; r++)
                    for (size_t i = 0; i < STRIDE; i++)
                        to[a][r * STRIDE + i] = from[a][r * STRIDE + (i * 7 + 3) % STRIDE];
            run(set, kind / 2, &l);
            run(set, kind / 2, &turned);
            for (size_t i = 0; i < STRIDE; i++) {
                const size_t was = (i * 7 + 3) % STRIDE;
                assert_memory_equal(&turned.value[i], &l.value[was], sizeof(double));
                assert_memory_equal(&turned.error[i], &l.error[was], sizeof(double));
            }
        }
}

static void the_best_set_is_used(void **state)
{
    (void)state;
    static struct lines l;
    double value[STRIDE], error[STRIDE];
    for (int rest = 0; rest < 2; rest++) {
        draw(7, 1, 0, &l);
        run(moeg_kernel_best(), rest, &l);
        memcpy(value, l.value, sizeof value);
        memcpy(error, l.error, sizeof error);
        (rest ? moeg_kernel_ray_rest : moeg_kernel_ray_gap)(&l.ray, l.scratch, l.value, l.error);
        assert_memory_equal(l.value, value, sizeof value);
        assert_memory_equal(l.error, error, sizeof error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_is_the_sum_over_nodes),
        cmocka_unit_test(panels_past_the_law_are_left_out),
        cmocka_unit_test(lanes_are_alike),
        cmocka_unit_test(the_best_set_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
