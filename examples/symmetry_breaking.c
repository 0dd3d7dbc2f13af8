/* Two experts that are alike part at a rate that grows as 1/tau, along the top singular pair of one matrix [P1].
 *
 * Experts f +- h behind the logit difference u.x, started near h = 0 and u = 0: L = L_0 - u'M c/tau + ..., M = E[X r
 * psi'], so that (u, c) grows as exp(sigma_1(M) t/tau), unless decay lambda holds it back, tau > sigma_1/lambda. M is
 * computed in closed form, by quadrature and by sampling; the growth is that of the nonlinear gradient flow, of the
 * population in the plane of the teacher and of samples in full dimension. Where M = 0 the escape is algebraic. */
#include "support/breaking.h"

#include <stdlib.h>

typedef struct setting {
    breaking_options run;
    const char *csv, *plot;
    int n_given;
} setting;

static setting read_setting(int argc, char **argv)
{
    setting o = {.run = {.s = moeg_sampling_default()}};
    const option_spec options[] = {
        {"d", OPTION_EXPERTS, &o.run.d, "D", "dimension of the samples (4 and 64)", NULL},
        {"tau", OPTION_GRID, &o.run.tau, "LO:HI:COUNT",
         "temperatures, a geometric grid (0.02:0.5:5; with --quick 0.02:0.5:3)", NULL},
        {"n", OPTION_COUNT, &o.run.s.n, "N",
         "rows sampled, for M and for the flow of a sample (32768; with --quick 4096)", &o.n_given},
        {"seed", OPTION_SEED, &o.run.s.seed, "SEED", "seed of the rows, the teachers' directions and the starts (1)",
         NULL},
        {"threads", OPTION_THREADS, &o.run.s.max_threads, "T", "threads, 0: as OpenMP decides (0); changes no digit",
         NULL},
        {"quick", OPTION_FLAG, &o.run.quick, NULL, "fewer temperatures, rows and cells of the phase diagram", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE",
         "write teacher,tau,sigma1,growth_measured,growth_predicted,alignment,flow,d,lambda,escape (-: stdout): the "
         "table of growth, then the phase diagram; alignment is the cosine between u and v",
         NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(argc, argv,
                 "Two experts that are alike part at the rate sigma1/tau, below a temperature that decay sets: the "
                 "operator M of\nwhich sigma1 is the largest singular value in three ways, and the nonlinear flow.",
                 options);
    if (o.run.d > 256)
        die("--d: expected at most 256, got %llu", (unsigned long long)o.run.d);
    if (o.run.tau.count > 0 && (o.run.tau.lo < 1e-3 || o.run.tau.hi > 10))
        die("--tau: expected temperatures from 1e-3 to 10, got %g to %g", o.run.tau.lo, o.run.tau.hi);
    if (o.run.tau.count == 0)
        o.run.tau = (grid){0.02, 0.5, o.run.quick ? 3 : 5};
    if (!o.n_given)
        o.run.s.n = o.run.quick ? 1 << 12 : 1 << 15;
    outputs_require(o.csv, o.plot, 0, NULL);
    return o;
}

int main(int argc, char **argv)
{
    const setting o = read_setting(argc, argv);
    FILE *out = report_stream(o.csv);
    breaking b = breaking_measure(&o.run);
    fprintf(out, "X ~ N(0, I), v and n orthonormal; %llu rows sampled, seed %llu\n", (unsigned long long)o.run.s.n,
            (unsigned long long)o.run.s.seed);
    breaking_print(&b, out);
    if (o.csv != NULL)
        breaking_csv(&b, o.csv);
    if (o.plot != NULL)
        breaking_draw(&b, o.plot);
    const int status = breaking_judge(&b, out);
    breaking_free(&b);
    return status;
}
