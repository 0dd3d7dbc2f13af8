/* The gap L_tau - L_0 is O(tau^alpha), with its exact constant and a certified bound [P1 §2].
 *
 * Two experts f = +1 and -1, teacher Y = 0.2, and a logit difference s = a_1 - a_2 of a law with a known margin
 * exponent alpha, P(|s| <= t) ~ C t^alpha: the leading term is -4 C Gamma(alpha + 1) eta(alpha - 1) tau^alpha, for s ~
 * N(0, 1) -1.595769 tau; and where |s| > Delta_0, it is exponentially small. Or any number of experts on a router of
 * the user's own, or one drawn by the seed: by lines, down to temperatures that no sampled row feels. */
#include "support/routed.h"
#include "support/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    const char *family, *csv, *plot;
    routed_options routed;
    grid tau;
    moeg_sampling s;
    int quick, n_given;
} setting;

static setting read_setting(int argc, char **argv)
{
    setting o = {.s = moeg_sampling_default()};
    const option_spec options[] = {
        {"family", OPTION_TEXT, &o.family, "NAME",
         "affine (the default), power2, power3, power5, power1/2, rayleigh or bounded", NULL},
        ROUTED_OPTIONS(&o.routed),
        {"experts", OPTION_TEXT, &o.routed.experts, "KIND",
         "scalar experts on a router, drawn by the seed: constant, affine or mlp (affine). Where its logits differ in "
         "two dimensions, as with d = 2, they are integrated, which takes affine experts some 10 s of processor time "
         "for "
         "K = 16 and a minute for K = 32, mlp experts 30 s for K = 8 and minutes for K = 16",
         NULL},
        {"tau", OPTION_GRID, &o.tau, "LO:HI:COUNT",
         "temperatures, a geometric grid (1e-12:1:49; of bounded 1e-3:1:49; of a router 1e-12:1:25)", NULL},
        {"method", OPTION_METHOD, &o.s.method, "METHOD",
         "what the columns of the gap hold: auto or line (quadrature, of a router by lines), mc (sampling)", NULL},
        {"n", OPTION_COUNT, &o.s.n, "N",
         "rows sampled (1048576; with --quick 131072); of a router lines too (65536; 8192), of mlp experts not given N "
         "as many as 5 % of every gap takes (10 %)",
         &o.n_given},
        {"seed", OPTION_SEED, &o.s.seed, "SEED", "seed of the sampling (1)", NULL},
        {"threads", OPTION_THREADS, &o.s.max_threads, "T", "threads, 0: as OpenMP decides (0); changes no digit", NULL},
        {"quick", OPTION_FLAG, &o.quick, NULL, "fewer temperatures and rows, unless given", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE",
         "write family,alpha,tau,gap,std_error,leading,bound (router: tau,gap,std_error,lo,hi,leading,bound) (-: "
         "stdout)",
         NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(argc, argv,
                 "The gap between soft and hard routing is O(tau^alpha): measured, its exact leading term, and a bound "
                 "that is\ncertified where experts are constant.",
                 options);
    const char *own = routed_asked(&o.routed);
    if (own != NULL && o.family != NULL)
        die("--family, --%s: expected one of them, as a family has two experts and a law of its own, got both", own);
    if (o.family == NULL)
        o.family = "affine";
    const scaling_family *family = scaling_find(o.family);
    if (o.tau.count == 0)
        o.tau = own != NULL ? (grid){1e-12, 1, o.quick ? 13 : 25} : (grid){family->lowest, 1, o.quick ? 25 : 49};
    if (!o.n_given)
        o.s.n = own != NULL ? ROUTED_UNITS(o.quick) : (o.quick ? 1 << 17 : 1 << 20);
    /* A line of theirs costs hundreds of evaluations of every expert. */
    if (!o.n_given && o.routed.experts != NULL && strcmp(o.routed.experts, "mlp") == 0)
        o.s.rel_tol = o.quick ? 0.1 : 0.05;
    routed_outputs(&o.routed, o.csv, o.plot);
    return o;
}

/* Cells of row i that are blank where the gap is too small for a double. */
static void known_text(table *t, const scaling *c, size_t i, const char *format, double value)
{
    char text[64] = "";
    if (scaling_is_known(c, i))
        snprintf(text, sizeof text, format, value);
    table_text(t, "%s", text);
}

static void print_table(const scaling *c, FILE *out)
{
    static const char *const names[] = {"tau",   "gap (quadrature)", "leading term", "gap/leading",
                                        "bound", "gap (sampled)",    "std. error",   "rows in 45 tau"};
    table *t = table_create(sizeof names / sizeof *names, names);
    int any_few = 0, any_left_out = 0;
    for (size_t i = 0; i < c->n; i++) {
        table_number(t, c->tau[i]);
        known_text(t, c, i, "%.9g", c->line[i].value);
        known_text(t, c, i, "%.9g", c->leading[i]);
        known_text(t, c, i, "%.9f", c->line[i].value / c->leading[i]);
        table_number(t, c->bound[i]);
        table_number(t, c->sampled[i].value);
        const int known = scaling_is_sampled(c, i), left_out = !known && isfinite(c->sampled[i].std_error);
        any_left_out |= left_out;
        any_few |= !known && !left_out;
        if (known)
            table_number(t, c->sampled[i].std_error);
        else
            table_text(t, left_out ? "below e^-45" : "too few rows");
        table_text(t, "%llu", (unsigned long long)c->sampled[i].contributing);
    }
    table_print(t, out);
    table_free(t);
    if (any_few)
        fputs("too few rows: fewer than 30, or such as add no more to the gap than 30 equal ones\n", out);
    if (any_left_out)
        fputs("below e^-45: what rows beyond 45 tau would add, which are left out, is no small part of the gap\n", out);
}

static void write_csv(const scaling *c, const setting *o)
{
    static const char *const names[] = {"family", "alpha", "tau", "gap", "std_error", "leading", "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const int sampled = o->s.method == MOEG_METHOD_MC;
        const moeg_estimate *gap = sampled ? &c->sampled[i] : &c->line[i];
        table_text(t, "%s", o->family);
        table_number(t, c->family->alpha);
        table_number(t, c->tau[i]);
        if (sampled || scaling_is_known(c, i))
            table_number(t, gap->value);
        else
            table_text(t, "%s", "");
        table_number(t, gap->std_error);
        if (scaling_is_known(c, i))
            table_number(t, c->leading[i]);
        else
            table_text(t, "%s", "");
        table_number(t, c->bound[i]);
    }
    table_csv(t, o->csv);
    table_free(t);
}

static int measure_routed(const setting *o)
{
    routed r = routed_read(&o->routed, o->s.seed);
    routed_curve c = routed_gap(&r, o->routed.experts, o->tau, &o->s);
    const int status = routed_report(&r, &c, &o->s, o->csv, o->plot);
    routed_curve_free(&c);
    routed_free(&r);
    return status;
}

int main(int argc, char **argv)
{
    const setting o = read_setting(argc, argv);
    if (routed_asked(&o.routed) != NULL)
        return measure_routed(&o);
    FILE *out = report_stream(o.csv);
    scaling c = scaling_measure(scaling_find(o.family), o.tau, &o.s);
    fprintf(out, "family %s: %s; f = +1 and -1, Y = 0.2\n", o.family, c.family->text);
    fprintf(out, "leading coefficient %.6f, alpha = %g; sampled with %llu rows, seed %llu\n\n", c.term.coefficient,
            c.family->alpha, (unsigned long long)o.s.n, (unsigned long long)o.s.seed);
    print_table(&c, out);
    if (o.csv != NULL)
        write_csv(&c, &o);
    if (o.plot != NULL)
        scaling_draw(&c, o.plot, o.s.n);
    const int status = scaling_judge(&c, out);
    scaling_free(&c);
    return status;
}
