/* The gap L_tau - L_0 is O(tau^alpha), with its exact constant and a certified bound [P1 §2].
 *
 * X ~ N(0, I_3), two experts f = +1 and -1, teacher Y = 0.2, logit difference s = u.x with |u| = 1, hence s ~ N(0, 1):
 * P(|s| <= t) <= sqrt(2/pi) t, so alpha = 1; the leading term is -4 phi(0) tau = -1.595769 tau. */
#include "support/example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = 3, K = 2 };

/* Rows must have felt the temperature (Delta <= 45 tau) this often before an interval is a fair judge: only about one
 * in ten of them carries weight. */
static const uint64_t enough_to_judge = 2000;

/* Order and leading term are judged where s/tau resolves the interface: here the next term of gap/leading is below
 * (pi^2/12) 0.03^2. */
static const double small_tau = 0.03;

typedef struct setting {
    const char *family, *csv, *plot;
    grid tau;
    moeg_sampling s;
    int quick, n_given;
} setting;

typedef struct problem {
    moeg_law *law;
    moeg_router *router;
    moeg_moe *moe;
    moeg_teacher *teacher;
} problem;

typedef struct curves {
    size_t n;
    double *tau, *leading, *bound;
    double coefficient;
    moeg_estimate *line, *sampled;
} curves;

static setting read_setting(int argc, char **argv)
{
    setting o = {.family = "affine", .s = moeg_sampling_default()};
    o.s.n = 1 << 20;
    const option_spec options[] = {
        {"family", OPTION_TEXT, &o.family, "NAME", "router family: affine (the default, alpha = 1)", NULL},
        {"tau", OPTION_GRID, &o.tau, "LO:HI:COUNT", "temperatures, a geometric grid (1e-6:1:25)", NULL},
        {"method", OPTION_METHOD, &o.s.method, "METHOD",
         "what the columns gap and std_error hold: auto or line (quadrature), mc (sampling)", NULL},
        {"n", OPTION_COUNT, &o.s.n, "N", "rows sampled (1048576; with --quick 131072)", &o.n_given},
        {"seed", OPTION_SEED, &o.s.seed, "SEED", "seed of the sampling (1)", NULL},
        {"threads", OPTION_THREADS, &o.s.max_threads, "T", "threads, 0: as OpenMP decides (0); changes no digit", NULL},
        {"quick", OPTION_FLAG, &o.quick, NULL, "fewer temperatures and rows, unless given", NULL},
        {"csv", OPTION_TEXT, &o.csv, "FILE", "write family,alpha,tau,gap,std_error,leading,bound (-: stdout)", NULL},
        {"plot", OPTION_TEXT, &o.plot, "FILE.svg", "draw the curves with gnuplot", NULL},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, NULL},
    };
    read_options(argc, argv,
                 "The gap between soft and hard routing is O(tau^alpha): measured, its exact leading term, and its "
                 "certified bound.",
                 options);
    if (strcmp(o.family, "affine") != 0)
        die("--family: expected affine, got \"%s\"", o.family);
    if (o.tau.count == 0)
        o.tau = (grid){1e-6, 1, o.quick ? 13 : 25};
    if (o.quick && !o.n_given)
        o.s.n = 1 << 17;
    plot_require(o.plot);
    output_distinct("csv", o.csv, "plot", o.plot);
    return o;
}

static problem make_problem(void)
{
    /* u = (0.36, 0.48, 0.8); the part common to both rows changes nothing. */
    const double W[K * D] = {0.3, 0.79, -0.2, -0.06, 0.31, -1.0}, plus = 1, minus = -1, target = 0.2;
    problem p;
    moeg_expert *experts[K], *mean;
    require(moeg_law_gaussian_create(&p.law, D, NULL, NULL));
    require(moeg_router_affine_create(&p.router, K, D, W, NULL));
    require(moeg_expert_constant_create(&experts[0], D, 1, &plus));
    require(moeg_expert_constant_create(&experts[1], D, 1, &minus));
    require(moeg_expert_constant_create(&mean, D, 1, &target));
    require(moeg_moe_create(&p.moe, p.router, MOEG_GATE_SOFTMAX, experts));
    require(moeg_teacher_expert_create(&p.teacher, mean));
    for (size_t k = 0; k < K; k++)
        moeg_expert_free(experts[k]);
    moeg_expert_free(mean);
    return p;
}

static void free_problem(problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
    moeg_moe_free(p->moe);
    moeg_teacher_free(p->teacher);
}

static curves measure(const problem *p, const setting *o)
{
    const size_t n = o->tau.count;
    curves c = {.n = n,
                .tau = grid_values(o->tau),
                .leading = allocate(n, sizeof(double)),
                .bound = allocate(n, sizeof(double)),
                .line = allocate(n, sizeof(moeg_estimate)),
                .sampled = allocate(n, sizeof(moeg_estimate))};
    moeg_sampling s = o->s;
    progress bar;
    s.method = MOEG_METHOD_LINE;
    require(moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, n, c.tau, &s, c.line));
    /* 99.9 % for all intervals together. */
    s.method = MOEG_METHOD_MC;
    s.level = 1 - 0.001 / (double)n;
    progress_begin(&bar, "sampling", &s);
    require(moeg_risk_gap(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, n, c.tau, &s, c.sampled));
    progress_end(&bar, &s);
    require(moeg_leading_coefficient(p->moe, p->teacher, p->law, MOEG_MIX_OUTPUT, &c.coefficient));
    const moeg_margin_condition condition = {.C = sqrt(2 / acos(-1)), .alpha = 1, .t0 = INFINITY};
    require(moeg_bound_bounded(&condition, K, 1, 0.2, n, c.tau, c.bound));
    for (size_t i = 0; i < n; i++)
        c.leading[i] = c.coefficient * c.tau[i];
    return c;
}

static void free_curves(curves *c)
{
    free(c->tau);
    free(c->leading);
    free(c->bound);
    free(c->line);
    free(c->sampled);
}

static void print_table(const curves *c, FILE *out)
{
    static const char *const names[] = {"tau",   "gap (quadrature)", "leading term", "gap/leading",
                                        "bound", "gap (sampled)",    "std. error",   "rows in 45 tau"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        table_number(t, c->tau[i]);
        table_text(t, "%.9g", c->line[i].value);
        table_text(t, "%.9g", c->leading[i]);
        table_text(t, "%.9f", c->line[i].value / c->leading[i]);
        table_number(t, c->bound[i]);
        table_number(t, c->sampled[i].value);
        if (isfinite(c->sampled[i].std_error))
            table_number(t, c->sampled[i].std_error);
        else
            table_text(t, "too few rows");
        table_text(t, "%llu", (unsigned long long)c->sampled[i].contributing);
    }
    table_print(t, out);
    table_free(t);
    fputs("too few rows: fewer than 30, or such as weigh no more than 30 equal ones by exp(-margin/tau)\n", out);
}

static void write_csv(const curves *c, const setting *o)
{
    static const char *const names[] = {"family", "alpha", "tau", "gap", "std_error", "leading", "bound"};
    table *t = table_create(sizeof names / sizeof *names, names);
    for (size_t i = 0; i < c->n; i++) {
        const moeg_estimate *gap = o->s.method == MOEG_METHOD_MC ? &c->sampled[i] : &c->line[i];
        table_text(t, "%s", o->family);
        table_number(t, 1);
        table_number(t, c->tau[i]);
        table_number(t, gap->value);
        table_number(t, gap->std_error);
        table_number(t, c->leading[i]);
        table_number(t, c->bound[i]);
    }
    table_csv(t, o->csv);
    table_free(t);
}

static void draw(const curves *c, const setting *o)
{
    enum { COLUMNS = 9 };
    double *column[COLUMNS];
    int positive = 0;
    for (size_t j = 0; j < COLUMNS; j++)
        column[j] = allocate(c->n, sizeof(double));
    for (size_t i = 0; i < c->n; i++) {
        const double gap = c->sampled[i].value, two = 2 * c->sampled[i].std_error;
        const int known = isfinite(two);
        column[0][i] = c->tau[i];
        column[1][i] = fabs(c->line[i].value);
        column[2][i] = fabs(c->leading[i]);
        column[3][i] = c->bound[i];
        column[4][i] = known && gap <= 0 ? -gap : NAN;
        column[5][i] = known && gap > 0 ? gap : NAN;
        /* The lower end of an error bar that reaches 0 stands at the foot of a logarithmic axis. */
        column[6][i] = fabs(gap) > two ? fabs(gap) - two : 1e-300;
        column[7][i] = fabs(gap) + two;
        column[8][i] = 1 / c->leading[i];
        positive |= known && gap > 0;
    }
    plot p = plot_begin(o->plot, 860, 860);
    plot_data(&p, "gap", c->n, COLUMNS, (const double *const *)column);
    fprintf(p.gnuplot,
            "set multiplot\nset logscale x\nset format x ''\nset xrange [%g:%g]\n"
            "set lmargin at screen 0.12\nset rmargin at screen 0.965\n"
            "set tmargin at screen 0.93\nset bmargin at screen 0.40\n"
            "set title 'The gap between soft and hard routing is O(τ): exact constant and certified bound'\n"
            "set logscale y\nset format y '10^{%%L}'\nset yrange [%g:%g]\n"
            "set ylabel '|L_τ − L_0|'\nset key top left reverse Left\n"
            "plot $gap u 1:4 w l ls 3 t 'certified bound', $gap u 1:3 w l ls 2 t 'leading term, %.6f τ', "
            "$gap u 1:2 w p ls 1 t 'gap < 0, by quadrature', "
            "$gap u 1:5:7:8 w yerr ls 4 pt 11 t 'gap < 0, by sampling %llu rows, ± 2 std. errors'%s\n",
            o->tau.lo / 1.5, o->tau.hi * 1.5, fabs(c->leading[0]) / 20, 4 * c->bound[c->n - 1], c->coefficient,
            (unsigned long long)o->s.n, positive ? ", $gap u 1:6:7:8 w yerr ls 4 t 'gap > 0, by sampling'" : "");
    fprintf(
        p.gnuplot,
        "unset title\nset tmargin at screen 0.37\nset bmargin at screen 0.09\nunset logscale y\nset format y '%%g'\n"
        "set format x '10^{%%L}'\nset xlabel 'temperature τ  (logit units)'\nset ylabel 'gap / leading term'\n"
        "set yrange [0:2]\nset key bottom center reverse Left\n"
        "plot 1 w l ls 2 t 'theory as τ → 0', $gap u 1:(-$2*$9) w lp ls 1 t 'by quadrature', "
        "$gap u 1:(-$5*$9):(-$7*$9):(-$8*$9) w yerr ls 4 pt 11 t 'by sampling'\nunset multiplot\n");
    plot_end(&p);
    for (size_t j = 0; j < COLUMNS; j++)
        free(column[j]);
}

/* Least-squares slope of log|gap| against log tau over the temperatures up to small_tau. Returns how many there are. */
static size_t fitted_order(const curves *c, double *order)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n && c->tau[i] <= small_tau; i++) {
        const double x = log(c->tau[i]), y = log(fabs(c->line[i].value));
        n++;
        const double dx = x - mean_x;
        mean_x += dx / (double)n;
        mean_y += (y - mean_y) / (double)n;
        xx += dx * (x - mean_x);
        xy += dx * (y - mean_y);
    }
    *order = xy / xx;
    return n;
}

static int judge(const curves *c, FILE *out)
{
    verdict v = verdict_begin(out);
    double worst_ratio = 0, worst_bound = 0, worst_at = 0, order;
    size_t judged = 0, outside = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double off = fabs(c->line[i].value - c->leading[i]) - c->line[i].quad_error;
        const double by_rate = off / (fabs(c->leading[i]) * c->tau[i]);
        if (by_rate > worst_ratio) {
            worst_ratio = by_rate;
            worst_at = c->tau[i];
        }
        worst_bound = fmax(worst_bound, fabs(c->line[i].value) / c->bound[i]);
        if (c->sampled[i].contributing >= enough_to_judge) {
            judged++;
            outside += !(c->sampled[i].lo <= c->line[i].value && c->line[i].value <= c->sampled[i].hi);
        }
    }
    verdict_check(&v, worst_ratio <= 1, "|gap/leading - 1| <= tau: at most %.3f tau, at tau = %.3g", worst_ratio,
                  worst_at);
    verdict_check(&v, worst_bound <= 1, "|gap| <= certified bound: at most %.3f of it", worst_bound);
    if (fitted_order(c, &order) < 2)
        verdict_none(&v, "too few temperatures are low enough to fit the order alpha = 1");
    else
        verdict_check(&v, fabs(order - 1) <= 0.01, "order over tau <= %g is alpha = 1: fitted %.6f", small_tau, order);
    if (judged == 0)
        verdict_none(&v, "no temperature is felt by enough rows to hold the sample against the quadrature");
    else
        verdict_check(
            &v, outside == 0,
            "quadrature inside the sampled interval (99.9 %% for all together), where %llu rows felt tau: %zu of %zu",
            (unsigned long long)enough_to_judge, judged - outside, judged);
    return verdict_end(&v);
}

int main(int argc, char **argv)
{
    const setting o = read_setting(argc, argv);
    FILE *out = report_stream(o.csv);
    problem p = make_problem();
    curves c = measure(&p, &o);
    fprintf(out, "family %s: X ~ N(0, I_3), f = +1 and -1, Y = 0.2, a_1 - a_2 ~ N(0, 1)\n", o.family);
    fprintf(out, "leading coefficient %.6f, alpha = 1; sampled with %llu rows, seed %llu\n\n", c.coefficient,
            (unsigned long long)o.s.n, (unsigned long long)o.s.seed);
    print_table(&c, out);
    if (o.csv != NULL)
        write_csv(&c, &o);
    if (o.plot != NULL)
        draw(&c, &o);
    const int status = judge(&c, out);
    free_curves(&c);
    free_problem(&p);
    return status;
}
