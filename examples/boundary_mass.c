/* BM(w) = P(a_(1) - a_(2) <= w) is linear in w, with the slope of the coarea formula [P1 §3].
 *
 * Two experts under X ~ N(mu, Sigma): s = a_1 - a_2 = u.x + b is N(u.mu + b, u'Sigma u), so that BM is a difference of
 * two normal distribution functions and its slope 2 p_s(0); sampling must agree with both. */
#include "support/example.h"

#include <math.h>
#include <stdlib.h>

enum { D = 3, K = 2 };

/* X and the router: u = W_1 - W_2 = (1.1, -0.6, 0.9), b = b_1 - b_2 = 0.25. */
static const double mean[D] = {0.31, -0.58, 0.17};
static const double covariance[D * D] = {1.7, 0.4, -0.3, 0.4, 0.9, 0.25, -0.3, 0.25, 1.2};
static const double W[K * D] = {0.75, -0.2, 0.4, -0.35, 0.4, -0.5};
static const double bias[K] = {0.1, -0.15};

/* Hill's estimate is judged at the smallest width that has this many rows. */
static const uint64_t enough_for_exponent = 1000;

typedef struct setting {
    const char *csv, *plot;
    grid w;
    moeg_sampling s;
    int quick, n_given;
} setting;

typedef struct curves {
    size_t n;
    double *w, *linear;
    double slope, deviation; /* of BM at 0; standard deviation of s */
    moeg_estimate *exact, *sampled, *exponent;
} curves;

static setting read_setting(int argc, char **argv)
{
    setting o = {.s = moeg_sampling_default()};
    o.s.n = 1 << 20;
    const option_spec options[] = {
        {"w", OPTION_GRID, &o.w, "LO:HI:COUNT", "widths, a geometric grid (1e-6:10:29)", NULL},
        {"method", OPTION_METHOD, &o.s.method, "METHOD",
         "what the columns mass, lo and hi hold: auto or line (exact), mc (sampling)", NULL},
        {"n", OPTION_COUNT, &o.s.n, "N", "rows sampled (1048576; with --quick 131072)", &o.n_given},
        {"seed", OPTION_SEED, &o.s.seed, "SEED", "seed of the sampling (1)", NULL},
        {"threads", OPTION_THREADS, &o.s.max_threads, "T", "threads, 0: as OpenMP decides (0); changes no digit", NULL},
        {"quick", OPTION_FLAG, &o.quick, NULL, "fewer widths and rows, unless given", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE", "write w,mass,lo,hi,linear (-: stdout)", NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(
        argc, argv,
        "The mass near a routing tie is linear in the width: exact, sampled, and the slope of the coarea formula.",
        options);
    if (o.w.count == 0)
        o.w = (grid){1e-6, 10, o.quick ? 15 : 29};
    if (o.quick && !o.n_given)
        o.s.n = 1 << 17;
    plot_require(o.plot);
    output_distinct("csv", o.csv, "plot", o.plot);
    return o;
}

/* Standard deviation of s = u.x + b. */
static double deviation(void)
{
    double variance = 0;
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            variance += (W[i] - W[D + i]) * covariance[i * D + j] * (W[j] - W[D + j]);
    return sqrt(variance);
}

static curves measure(const setting *o)
{
    const size_t n = o->w.count;
    curves c = {.n = n,
                .w = grid_values(o->w),
                .linear = allocate(n, sizeof(double)),
                .deviation = deviation(),
                .exact = allocate(n, sizeof(moeg_estimate)),
                .sampled = allocate(n, sizeof(moeg_estimate)),
                .exponent = allocate(n, sizeof(moeg_estimate))};
    moeg_law *law;
    moeg_router *router;
    moeg_sampling s = o->s;
    progress bar;
    require(moeg_law_gaussian_create(&law, D, mean, covariance));
    require(moeg_router_affine_create(&router, K, D, W, bias));
    require(moeg_boundary_slope(router, law, &c.slope));
    for (size_t i = 0; i < n; i++)
        c.linear[i] = c.slope * c.w[i];
    s.method = MOEG_METHOD_LINE;
    require(moeg_boundary_mass(router, law, n, c.w, &s, c.exact));
    /* 99.9 % for all intervals together. */
    s.method = MOEG_METHOD_MC;
    s.level = 1 - 0.001 / (double)n;
    progress_begin(&bar, "sampling", &s);
    require(moeg_boundary_mass(router, law, n, c.w, &s, c.sampled));
    require(moeg_boundary_exponent(router, moeg_gap_margin(), law, n, c.w, &s, c.exponent, NULL, NULL));
    progress_end(&bar, &s);
    moeg_law_free(law);
    moeg_router_free(router);
    return c;
}

static void free_curves(curves *c)
{
    free(c->w);
    free(c->linear);
    free(c->exact);
    free(c->sampled);
    free(c->exponent);
}

static void print_table(const curves *c, FILE *out)
{
    static const char *const names[] = {"w",  "mass (exact)", "slope w",      "mass/(slope w)", "mass (sampled)",
                                        "lo", "hi",           "alpha (Hill)", "std. error"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        table_number(t, c->w[i]);
        table_text(t, "%.9g", c->exact[i].value);
        table_text(t, "%.9g", c->linear[i]);
        table_text(t, "%.9f", c->exact[i].value / c->linear[i]);
        table_number(t, c->sampled[i].value);
        table_number(t, c->sampled[i].lo);
        table_number(t, c->sampled[i].hi);
        table_exponent(t, &c->exponent[i]);
    }
    table_print(t, out);
    table_free(t);
}

static void write_csv(const curves *c, const setting *o)
{
    static const char *const names[] = {"w", "mass", "lo", "hi", "linear"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *mass = o->s.method == MOEG_METHOD_MC ? &c->sampled[i] : &c->exact[i];
        table_number(t, c->w[i]);
        table_number(t, mass->value);
        table_number(t, mass->lo);
        table_number(t, mass->hi);
        table_number(t, c->linear[i]);
    }
    table_csv(t, o->csv);
    table_free(t);
}

static void draw(const curves *c, const setting *o)
{
    enum { COLUMNS = 9 };
    double *column[COLUMNS];
    for (size_t j = 0; j < COLUMNS; j++)
        column[j] = allocate(c->n, sizeof(double));
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *e = &c->exponent[i];
        column[0][i] = c->w[i];
        column[1][i] = c->exact[i].value;
        column[2][i] = c->linear[i];
        column[3][i] = c->sampled[i].value > 0 ? c->sampled[i].value : NAN;
        column[4][i] = fmax(c->sampled[i].lo, 1e-300);
        column[5][i] = c->sampled[i].hi;
        column[6][i] = e->contributing >= MOEG_ENOUGH_UNITS ? e->value : NAN;
        column[7][i] = e->lo;
        column[8][i] = e->hi;
    }
    plot p = plot_begin(o->plot, 860, 860);
    plot_data(&p, "mass", c->n, COLUMNS, (const double *const *)column);
    fprintf(p.gnuplot,
            "set multiplot\nset logscale x\nset format x ''\nset xrange [%g:%g]\n"
            "set lmargin at screen 0.12\nset rmargin at screen 0.965\n"
            "set tmargin at screen 0.93\nset bmargin at screen 0.40\n"
            "set title 'Boundary mass of two experts: linear in the width, with the coarea slope'\n"
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:2]\n"
            "set ylabel 'BM(w) = P(margin ≤ w)'\nset key top left reverse Left\n"
            "plot $mass u 1:3 w l ls 2 t 'slope × w, slope %.6f', $mass u 1:2 w l ls 1 t 'exact', "
            "$mass u 1:4:5:6 w yerr ls 4 t 'sampled %llu rows, Clopper–Pearson, 99.9 %% jointly'\n",
            c->w[0] / 1.5, c->w[c->n - 1] * 1.5, c->linear[0] / 3, c->slope, (unsigned long long)o->s.n);
    fprintf(
        p.gnuplot,
        "unset title\nset tmargin at screen 0.37\nset bmargin at screen 0.09\nunset logscale y\nset format y '%%g'\n"
        "set format x '10^{%%L}'\nset xlabel 'width w  (logit units)'\nset ylabel 'margin exponent α(w)'\n"
        "set yrange [0:2]\nset key bottom center reverse Left\n"
        "plot 1 w l ls 2 t 'theory as w → 0', "
        "$mass u 1:7:8:9 w yerr ls 4 t 'Hill’s estimate from the margins up to w'\nunset multiplot\n");
    plot_end(&p);
    for (size_t j = 0; j < COLUMNS; j++)
        free(column[j]);
}

/* |BM(w) - slope w| <= max|p''| w^3/3 and max|p''| = 1/(sqrt(2 pi) sigma^3) for a normal density p. The same curvature
 * biases Hill's estimate by at most twice |BM/(slope w) - 1|. */
static double curvature(const curves *c, size_t i)
{
    const double w = c->w[i] / c->deviation;
    return w * w * w / (3 * sqrt(2 * acos(-1)));
}

static void judge_exponent(const curves *c, verdict *v)
{
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *e = &c->exponent[i];
        const double bias_of_hill = 2 * curvature(c, i) / c->linear[i];
        if (e->contributing < enough_for_exponent)
            continue;
        verdict_check(v, e->lo - bias_of_hill <= 1 && 1 <= e->hi + bias_of_hill,
                      "alpha = 1 inside Hill's interval [%.4f, %.4f] at w = %.3g (%llu rows; bias at most %.2g)", e->lo,
                      e->hi, c->w[i], (unsigned long long)e->contributing, bias_of_hill);
        return;
    }
}

static int judge(const curves *c, FILE *out)
{
    verdict v = verdict_begin(out);
    size_t inside = 0;
    double worst = 0;
    for (size_t i = 0; i < c->n; i++) {
        /* A few roundings of the exact value are not curvature. */
        const double off = fabs(c->exact[i].value - c->linear[i]) - 1e-14 * c->linear[i];
        worst = fmax(worst, off / curvature(c, i));
        inside += c->sampled[i].lo <= c->exact[i].value && c->exact[i].value <= c->sampled[i].hi;
    }
    verdict_check(&v, worst <= 1,
                  "mass/(slope w) -> 1: |mass - slope w| <= w^3/(3 sqrt(2 pi) sigma^3), at most %.3f of it", worst);
    verdict_check(&v, inside == c->n,
                  "exact mass inside the sampled interval (99.9 %% for all together): %zu of %zu widths", inside, c->n);
    judge_exponent(c, &v);
    return verdict_end(&v);
}

int main(int argc, char **argv)
{
    const setting o = read_setting(argc, argv);
    FILE *out = report_stream(o.csv);
    curves c = measure(&o);
    fprintf(out, "two experts, X ~ N(mu, Sigma) in R^3, a_1 - a_2 of standard deviation %.6f\n", c.deviation);
    fprintf(out, "coarea slope %.9f; sampled with %llu rows, seed %llu\n\n", c.slope, (unsigned long long)o.s.n,
            (unsigned long long)o.s.seed);
    print_table(&c, out);
    if (o.csv != NULL)
        write_csv(&c, &o);
    if (o.plot != NULL)
        draw(&c, &o);
    const int status = judge(&c, out);
    free_curves(&c);
    return status;
}
