#include "routed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERT_STREAM = 2002, HIDDEN = 16 };

/* Scalar experts: c ~ N(0, 1); A x + c, entries of A of variance 1/d; or GELU on 16 hidden units of such maps. */
static moeg_expert *draw_expert(const char *kind, size_t d, const double *z)
{
    moeg_expert *expert;
    double *A = allocate(HIDDEN * d, sizeof *A), *out = allocate(HIDDEN, sizeof *out);
    const double *c = z + HIDDEN * d, *hidden_c = c + 1, *last = hidden_c + HIDDEN;
    for (size_t i = 0; i < HIDDEN * d; i++)
        A[i] = z[i] / sqrt((double)d);
    for (size_t i = 0; i < HIDDEN; i++)
        out[i] = last[i] / sqrt(HIDDEN);
    if (strcmp(kind, "constant") == 0) {
        require(moeg_expert_constant_create(&expert, d, 1, c));
    } else if (strcmp(kind, "affine") == 0) {
        require(moeg_expert_affine_create(&expert, d, 1, A, c));
    } else {
        const size_t widths[] = {d, HIDDEN, 1};
        const double *const W[] = {A, out}, *const b[] = {hidden_c, c};
        require(moeg_expert_mlp_create(&expert, 2, widths, W, b, MOEG_ACTIVATION_GELU));
    }
    free(A);
    free(out);
    return expert;
}

/* The mixture, and its largest constant output. */
static moeg_moe *draw_mixture(const routed *r, const char *kind, uint64_t seed, double *largest)
{
    const size_t numbers = HIDDEN * r->rows.d + 1 + 2 * HIDDEN;
    double *z = allocate(numbers, sizeof *z);
    moeg_expert **experts = allocate(r->rows.K, sizeof(moeg_expert *));
    moeg_moe *moe;
    *largest = 0;
    for (size_t k = 0; k < r->rows.K; k++) {
        require(moeg_stream_normals((moeg_stream){seed, EXPERT_STREAM}, k, 1, numbers, z));
        *largest = fmax(*largest, fabs(z[HIDDEN * r->rows.d]));
        experts[k] = draw_expert(kind, r->rows.d, z);
    }
    require(moeg_moe_create(&moe, r->router, moeg_gate_softmax(), experts));
    for (size_t k = 0; k < r->rows.K; k++)
        moeg_expert_free(experts[k]);
    free(experts);
    free(z);
    return moe;
}

static moeg_teacher *zero_teacher(size_t d)
{
    const double zero = 0;
    moeg_expert *mean;
    moeg_teacher *teacher;
    require(moeg_expert_constant_create(&mean, d, 1, &zero));
    require(moeg_teacher_expert_create(&teacher, mean));
    moeg_expert_free(mean);
    return teacher;
}

/* The least of Hoelder's bounds with moments of orders 2, 4 and 8 and of the moment form, all sampled: below their
 * upper limits with 99.9 % for all together. Each is a sampled size of what does not fall as tau rises, so that the
 * least of a bound's limits at tau and above is one at tau. */
static void bound_by_moments(routed_curve *c, const routed *r, const moeg_moe *moe, const moeg_teacher *teacher,
                             const moeg_margin_condition *condition, moeg_sampling s)
{
    const double orders[] = {2, 4, 8};
    double *bound = allocate(c->n, sizeof *bound);
    moeg_estimate *form = allocate(c->n, sizeof *form);
    s.method = MOEG_METHOD_MC;
    s.level = 1 - 2 * 0.001 / (3 + (double)c->n);
    require(moeg_bound_moment(moe, teacher, r->law, MOEG_MIX_OUTPUT, c->n, c->x, &s, form));
    for (size_t i = 0; i < c->n; i++)
        c->bound[i] = form[i].hi;
    for (size_t p = 0; p < 3; p++) {
        moeg_estimate moment;
        require(moeg_bound_holder_moment(moe, teacher, r->law, MOEG_MIX_OUTPUT, orders[p], &s, &moment));
        if (!isfinite(moment.hi))
            continue;
        require(moeg_bound_holder(condition, moeg_gate_softmax(), r->rows.K, orders[p], moment.hi, c->n, c->x, bound));
        for (size_t i = 0; i < c->n; i++)
            c->bound[i] = fmin(c->bound[i], bound[i]);
    }
    for (size_t i = c->n - 1; i > 0; i--)
        c->bound[i - 1] = fmin(c->bound[i - 1], c->bound[i]);
    free(bound);
    free(form);
}

/* The bound from the margin condition of all pairs: of constant experts, the largest of them `largest`, the proven one;
 * of others (0) that of sampled moments. */
static void bound_gaps(routed_curve *c, const routed *r, const moeg_moe *moe, const moeg_teacher *teacher,
                       double largest, moeg_sampling s)
{
    const moeg_output_limits limits = {.B = largest};
    moeg_margin_condition condition;
    if (routed_condition(r, &condition) != MOEG_OK) {
        snprintf(c->no_bound, sizeof c->no_bound, "no margin condition of all pairs of experts: %.200s",
                 moeg_last_error());
        return;
    }
    c->small = routed_straight(r, fmin(1e-3 / condition.C, c->x[c->n - 1]), 0, ROUTED_SMALL_TERM);
    c->bound_name = largest > 0 ? "certified bound" : "bound from sampled moments";
    if (largest > 0)
        require(moeg_bound_bounded(&condition, moeg_gate_softmax(), MOEG_MIX_OUTPUT, r->rows.K, &limits, c->n, c->x,
                                   c->bound));
    else
        bound_by_moments(c, r, moe, teacher, &condition, s);
}

static routed_curve curve_create(const char *name, const char *variable, const char *felt, int power, grid x)
{
    routed_curve c = {.name = name,
                      .variable = variable,
                      .felt = felt,
                      .n = x.count,
                      .x = grid_values(x),
                      .sampled = allocate(x.count, sizeof(moeg_estimate)),
                      .bound = allocate(x.count, sizeof(double)),
                      .power = power,
                      .constant = {.value = NAN}};
    for (size_t i = 0; i < c.n; i++)
        c.bound[i] = INFINITY;
    return c;
}

void routed_curve_free(routed_curve *c)
{
    free(c->x);
    free(c->line);
    free(c->sampled);
    free(c->covariance);
    free(c->bound);
    free(c->jump);
}

int routed_is_drawn(const routed_curve *c)
{
    for (size_t i = 0; i < c->n && c->line != NULL; i++)
        if (c->line[i].std_error != 0)
            return 1;
    return 0;
}

const char *routed_source(const routed_curve *c)
{
    return c->line == NULL || routed_is_drawn(c) ? "lines" : "quadrature";
}

/* Takes the results of lines if there are some; if they do not apply, says so, and fails if they were asked for. */
static void keep_lines(routed_curve *c, moeg_status status, const moeg_sampling *asked, moeg_estimate *line)
{
    if (status == MOEG_EINVAL)
        die("--n: %s", moeg_last_error());
    if (status != MOEG_EUNSUPPORTED) {
        require(status);
        c->line = line;
        return;
    }
    if (asked->method == MOEG_METHOD_LINE)
        die("--method: %s", moeg_last_error());
    snprintf(c->no_lines, sizeof c->no_lines, "%s", moeg_last_error());
    free(line);
}

/* Takes the constant of the leading term if there is one with an error bar. */
static void keep_constant(routed_curve *c, moeg_status status, const moeg_estimate *constant)
{
    if (status >= 0 && isfinite(constant->std_error))
        c->constant = *constant;
    else
        snprintf(c->no_constant, sizeof c->no_constant, "%s", moeg_last_error());
}

/* Options for the constant: lines that are not those of the curve. */
static moeg_sampling other_lines(moeg_sampling s)
{
    s.method = MOEG_METHOD_LINE;
    s.seed++;
    s.level = 0.999;
    return s;
}

routed_curve routed_gap(const routed *r, const char *experts, grid tau, const moeg_sampling *asked)
{
    const char *kind = experts != NULL ? experts : "affine";
    if (strcmp(kind, "constant") != 0 && strcmp(kind, "affine") != 0 && strcmp(kind, "mlp") != 0)
        die("--experts: expected constant, affine or mlp, got \"%s\"", kind);
    double largest;
    routed_curve c = curve_create("gap", "tau", "rows in 45 tau", 1, tau);
    moeg_moe *moe = draw_mixture(r, kind, asked->seed, &largest);
    moeg_teacher *teacher = zero_teacher(r->rows.d);
    moeg_estimate *line = allocate(c.n, sizeof *line), slope;
    moeg_sampling s = *asked;
    progress bar;
    snprintf(c.what, sizeof c.what, "%s experts, Y = 0", kind);
    c.covariance = allocate(c.n * c.n, sizeof(double));
    s.level = 1 - 0.001 / (double)c.n;
    s.method = MOEG_METHOD_LINE;
    progress_begin(&bar, "lines", &s);
    keep_lines(&c, moeg_risk_curve(moe, teacher, r->law, MOEG_MIX_OUTPUT, c.n, c.x, &s, NULL, NULL, line, c.covariance),
               asked, line);
    progress_end(&bar, &s);
    const moeg_sampling other = other_lines(s);
    keep_constant(&c, moeg_leading_slope(moe, teacher, r->law, MOEG_MIX_OUTPUT, &other, &slope), &slope);
    s.method = MOEG_METHOD_MC;
    s.rel_tol = 0;
    progress_begin(&bar, "sampling", &s);
    require(moeg_risk_gap(moe, teacher, r->law, MOEG_MIX_OUTPUT, c.n, c.x, &s, c.sampled));
    progress_end(&bar, &s);
    bound_gaps(&c, r, moe, teacher, strcmp(kind, "constant") == 0 ? largest : 0, s);
    moeg_moe_free(moe);
    moeg_teacher_free(teacher);
    return c;
}

/* The pairwise bound, where rounding is all that decides, and how far the leading term reaches. */
static void bound_masses(routed_curve *c, const routed *r)
{
    double slope;
    c->bound_name = "pairwise bound";
    c->jump = allocate(c->n, sizeof *c->jump);
    routed_jumps(r, c->n, c->x, c->jump);
    if (moeg_boundary_pairwise(r->router, r->law, c->n, c->x, c->bound, &slope) != MOEG_OK) {
        snprintf(c->no_bound, sizeof c->no_bound, "%s", moeg_last_error());
        return;
    }
    c->small = routed_straight(r, fmin(1e-3 / slope, c->x[c->n - 1]),
                               c->power == 1 && c->constant.value > 0 ? c->constant.value : 0, ROUTED_SMALL_TERM);
}

routed_curve routed_mass(const routed *r, moeg_gap gap, int power, grid w, const moeg_sampling *asked)
{
    routed_curve c = curve_create("mass", "w", "rows in w", power, w);
    moeg_estimate *line = allocate(c.n, sizeof *line), constant;
    moeg_sampling s = *asked;
    progress bar;
    if (gap.upper > 1)
        snprintf(c.what, sizeof c.what, "gap of ranks %zu and %zu", gap.upper, gap.lower);
    else
        snprintf(c.what, sizeof c.what, "gap of order %d, of ranks 1 and %zu", power, gap.lower);
    s.level = 1 - 0.001 / (double)c.n;
    s.method = MOEG_METHOD_LINE;
    progress_begin(&bar, "lines", &s);
    keep_lines(&c, moeg_boundary_gap_mass(r->router, gap, r->law, c.n, c.x, &s, line), asked, line);
    progress_end(&bar, &s);
    s.method = MOEG_METHOD_MC;
    progress_begin(&bar, "sampling", &s);
    require(moeg_boundary_gap_mass(r->router, gap, r->law, c.n, c.x, &s, c.sampled));
    progress_end(&bar, &s);
    /* The limit of mass/w^power. */
    s = other_lines(s);
    keep_constant(&c,
                  power == 1 ? moeg_surface_slope(r->router, gap.upper, r->law, &s, &constant)
                             : moeg_surface_order_constant(r->router, (size_t)power, r->law, &s, &constant),
                  &constant);
    bound_masses(&c, r);
    return c;
}
