/* The probability of a near tie is a power of its width, with the constant of the coarea formula [P1 §3].
 *
 * Two experts: s = a_1 - a_2 is normal, so that BM(w) = P(|s| <= w) is a difference of two normal distribution
 * functions and its slope 2 p_s(0). Five experts in the plane: the gaps of order r and the top-k gap, whose constants
 * are integrals over lines and points where experts tie. Sampling must agree with each. Or a router of the user's own,
 * or one drawn by the seed: by lines, down to widths that no sampled row is in. */
#include "support/nearties.h"
#include "support/routed.h"

#include <math.h>
#include <stdlib.h>

typedef struct setting {
    const char *csv, *plot;
    routed_options routed;
    grid w;
    moeg_sampling s;
    uint64_t k, r;
    int quick, n_given, k_given, r_given;
} setting;

static setting read_setting(int argc, char **argv)
{
    setting o = {.s = moeg_sampling_default()};
    const option_spec options[] = {
        {"k", OPTION_COUNT, &o.k, "K", "of five experts the top-k gap, ranks K and K + 1 (not: two experts)",
         &o.k_given},
        {"r", OPTION_COUNT, &o.r, "R", "of five experts the gap of order R, ranks 1 and R + 1", &o.r_given},
        ROUTED_OPTIONS(&o.routed),
        {"w", OPTION_GRID, &o.w, "LO:HI:COUNT", "widths, a geometric grid (1e-6:10:29; of a router 1e-12:1:25)", NULL},
        {"method", OPTION_METHOD, &o.s.method, "METHOD",
         "what the columns mass, lo and hi hold: auto or line (exact of two experts, of a router by lines), mc "
         "(sampling)",
         NULL},
        {"n", OPTION_COUNT, &o.s.n, "N",
         "rows sampled (1048576; with --quick 131072); of a router lines too (65536; 8192)", &o.n_given},
        {"seed", OPTION_SEED, &o.s.seed, "SEED", "seed of the sampling (1)", NULL},
        {"threads", OPTION_THREADS, &o.s.max_threads, "T", "threads, 0: as OpenMP decides (0); changes no digit", NULL},
        {"quick", OPTION_FLAG, &o.quick, NULL, "fewer widths and rows, unless given", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE",
         "write w,mass,lo,hi,leading,pairwise (router: w,mass,std_error,lo,hi,leading,bound) (-: stdout)", NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(argc, argv,
                 "The mass near a routing tie is a power of the width: exact, sampled, and the constant of the coarea "
                 "formula.",
                 options);
    if (o.k_given && o.r_given)
        die("--k, --r: expected at most one of them, got both");
    const char *own = routed_asked(&o.routed);
    if ((o.k_given || o.r_given) && own == NULL && o.s.method == MOEG_METHOD_LINE)
        die("--method: expected auto or mc with --k or --r, got \"line\": only two experts have a closed form");
    if (o.w.count == 0)
        o.w = own != NULL ? (grid){1e-12, 1, o.quick ? 13 : 25} : (grid){1e-6, 10, o.quick ? 15 : 29};
    if (!o.n_given)
        o.s.n = own != NULL ? ROUTED_UNITS(o.quick) : (o.quick ? 1 << 17 : 1 << 20);
    routed_outputs(&o.routed, o.csv, o.plot);
    return o;
}

static void print_masses(const nearties *c, FILE *out)
{
    static const char *const names[] = {"w",  "mass (exact)", "C w^alpha", "mass/(C w^alpha)", "mass (sampled)",
                                        "lo", "hi",           "pairwise",  "alpha (Hill)",     "std. error"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const double mass = c->exact != NULL ? c->exact[i].value : c->sampled[i].value;
        table_number(t, c->w[i]);
        if (c->exact != NULL)
            table_text(t, "%.9g", mass);
        else
            table_text(t, "-");
        table_text(t, "%.9g", c->leading[i]);
        if (mass > 0)
            table_text(t, c->exact != NULL ? "%.9f" : "%.4f", mass / c->leading[i]);
        else
            table_text(t, "-");
        table_number(t, c->sampled[i].value);
        table_number(t, c->sampled[i].lo);
        table_number(t, c->sampled[i].hi);
        table_number(t, c->bound[i]);
        table_exponent(t, &c->exponent[i]);
    }
    table_print(t, out);
    table_free(t);
}

static void print_quantiles(const nearties *c, FILE *out)
{
    const char *const names[] = {
        "mass", c->exact != NULL ? "width (exact)" : "(mass/C)^(1/alpha)", "width (sampled)", "lo", "hi", "std. error"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t j = 0; j < NEARTIES_QUANTILES; j++) {
        table_number(t, c->p[j]);
        table_text(t, "%.9g", c->width[j]);
        table_number(t, c->quantile[j].value);
        table_number(t, c->quantile[j].lo);
        table_number(t, c->quantile[j].hi);
        table_number(t, c->quantile[j].std_error);
    }
    fprintf(out, "\n");
    table_print(t, out);
    table_free(t);
}

static void write_csv(const nearties *c, const setting *o)
{
    static const char *const names[] = {"w", "mass", "lo", "hi", "leading", "pairwise"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *mass = o->s.method == MOEG_METHOD_MC || c->exact == NULL ? &c->sampled[i] : &c->exact[i];
        table_number(t, c->w[i]);
        table_number(t, mass->value);
        table_number(t, mass->lo);
        table_number(t, mass->hi);
        table_number(t, c->leading[i]);
        table_number(t, c->bound[i]);
    }
    table_csv(t, o->csv);
    table_free(t);
}

static int measure_routed(const setting *o)
{
    routed r = routed_read(&o->routed, o->s.seed);
    if (o->k >= r.rows.K || o->r >= r.rows.K)
        die("--%c: expected at most %zu of %zu experts, got %llu", o->k_given ? 'k' : 'r', r.rows.K - 1, r.rows.K,
            (unsigned long long)(o->k_given ? o->k : o->r));
    const moeg_gap gap = o->k_given   ? moeg_gap_top((size_t)o->k)
                         : o->r_given ? moeg_gap_order((size_t)o->r)
                                      : moeg_gap_margin();
    routed_curve c = routed_mass(&r, gap, o->r_given ? (int)o->r : 1, o->w, &o->s);
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
    const nearties_problem problem = o.k_given   ? nearties_five_top(o.k)
                                     : o.r_given ? nearties_five_order(o.r)
                                                 : nearties_two();
    nearties t = nearties_measure(problem, o.w, &o.s);
    fprintf(out, "%s, the %s: P(gap <= w) ~ C w^alpha, alpha = %d\n", problem.text, problem.name, problem.order);
    if (problem.deviation > 0)
        fprintf(out, "a_1 - a_2 of standard deviation %.6f; ", problem.deviation);
    fprintf(out, "C = %.9f; sampled with %llu rows, seed %llu\n\n", problem.constant, (unsigned long long)o.s.n,
            (unsigned long long)o.s.seed);
    print_masses(&t, out);
    print_quantiles(&t, out);
    if (o.csv != NULL)
        write_csv(&t, &o);
    if (o.plot != NULL)
        nearties_draw(&t, o.plot, o.s.n);
    const int status = nearties_judge(&t, out);
    nearties_free(&t);
    return status;
}
