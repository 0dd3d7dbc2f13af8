/* M of symmetry breaking by sampling beside its floor, on one thread: the product X' diag(r) X of a linear contrast and
 * the Gram matrix of the fit, both symmetric, so that half of their flops do, and the teacher's flops, at the rate of
 * OpenBLAS's dgemm; one normal for each coordinate and one exponential of a soft teacher; each at the rate measured in
 * the same run. That rows are kept for the second pass, or drawn again if they are many, is not in it. Beside it
 * `dgemm`: the same with all flops of the product, as dgemm would do it. A ratio above 1 is faster than that.
 *
 * bench_symmetry [--quick] [PART OF A NAME] */
#include "base/kernel.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "bench/floor.h"

#include <moegeom/moegeom.h>
#include <stdio.h>
#include <string.h>

typedef struct shape {
    const char *name;
    size_t d;
    double tau; /* of the teacher */
    size_t rows;
} shape;

typedef struct symmetry_case {
    moeg_teacher *teacher;
    moeg_law *law;
    size_t rows;
    moeg_estimate *M;
    int failed;
} symmetry_case;

static void run(void *user)
{
    symmetry_case *c = user;
    const moeg_contrast contrast = moeg_contrast_linear();
    moeg_sampling s = moeg_sampling_default();
    s.n = c->rows;
    s.max_threads = 1;
    c->failed |= moeg_symmetry_sample(c->teacher, c->law, MOEG_SYMMETRIC_AFFINE, &contrast, &s, c->M) < 0;
}

static moeg_status make_case(symmetry_case *c, const shape *s)
{
    double *numbers = moeg_alloc(moeg_round_lanes(2 * s->d), sizeof *numbers);
    c->M = moeg_alloc(s->d * s->d, sizeof *c->M);
    if (numbers == NULL || c->M == NULL) {
        moeg_release(numbers);
        return MOEG_ENOMEM;
    }
    moeg_kernel_normals(1, 0, 0, 1, moeg_round_lanes(2 * s->d), numbers);
    const moeg_halves halves = {.d = s->d, .outputs = 1, .v = numbers, .beta = numbers + s->d, .tau = s->tau};
    moeg_status status = moeg_halves_teacher_create(&halves, &c->teacher);
    if (status == MOEG_OK)
        status = moeg_law_gaussian_create(&c->law, s->d, NULL, NULL);
    moeg_release(numbers);
    return status;
}

/* Seconds of a row, `flops` those of the product. */
static double find_floor(const shape *s, double flops, const floor_rates *rates)
{
    const double d = (double)s->d, gram = (d + 2) * (d + 3), teacher = 2 * 3 * d;
    return (flops + gram + teacher) * rates->flop + d * rates->normal + (s->tau > 0 ? rates->exponential : 0);
}

static int report(const floor_rates *rates, const shape *s)
{
    symmetry_case c = {.rows = s->rows};
    const double d = (double)s->d, each_way = d * (d + 1);
    const moeg_status status = make_case(&c, s);
    if (status == MOEG_OK) {
        const double each = bench_seconds(run, &c) / (double)s->rows, least = find_floor(s, each_way, rates);
        printf("symmetry %-13s %9.1f ns/row, floor %9.1f, floor/time %4.2f, dgemm/time %4.2f\n", s->name, 1e9 * each,
               1e9 * least, least / each, find_floor(s, 2 * d * d, rates) / each);
    }
    moeg_law_free(c.law);
    moeg_teacher_free(c.teacher);
    moeg_release(c.M);
    return status != MOEG_OK || c.failed;
}

int main(int argc, char **argv)
{
    static const shape shapes[] = {
        {"hard 4", 4, 0, 1 << 16},     {"soft 4", 4, 0.5, 1 << 16},   {"hard 64", 64, 0, 1 << 15},
        {"soft 64", 64, 0.5, 1 << 15}, {"hard 256", 256, 0, 1 << 17}, {"soft 256", 256, 0.5, 1 << 17},
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
        s.rows >>= quick ? 5 : 0;
        failed |= report(&rates, &s);
    }
    return failed;
}
