/* The problems of boundary_mass, and their constants in closed form. */
#include "nearties.h"

#include <math.h>
#include <stdlib.h>

enum { PLANE = 2, FIVE = 5 };

/* X ~ N(mu, Sigma), a = W x + b, in the plane: the case K5 of the project's table of boundary masses. */
static const double plane_mean[PLANE] = {0.2, -0.1};
static const double plane_covariance[PLANE * PLANE] = {1.1, 0.3, 0.3, 0.7};
static const double plane_W[FIVE * PLANE] = {1.2, 0.1, 0.35, 1.05, -0.95, 0.6, -0.7, -0.85, 0.4, -1.15};
static const double plane_bias[FIVE] = {0.05, -0.15, 0.2, 0.1, -0.25};

nearties_problem nearties_two(void)
{
    enum { D = 3, K = 2 };
    /* u = W_1 - W_2 = (1.1, -0.6, 0.9), b = b_1 - b_2 = 0.25: a_1 - a_2 = u.x + b is N(u.mu + b, u'Sigma u). */
    static const double mean[D] = {0.31, -0.58, 0.17};
    static const double covariance[D * D] = {1.7, 0.4, -0.3, 0.4, 0.9, 0.25, -0.3, 0.25, 1.2};
    static const double W[K * D] = {0.75, -0.2, 0.4, -0.35, 0.4, -0.5}, bias[K] = {0.1, -0.15};
    nearties_problem p = {.text = "two experts, X ~ N(mu, Sigma) in R^3", .name = "margin", .order = 1};
    p.gap = moeg_gap_margin();
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            p.deviation += (W[i] - W[D + i]) * covariance[i * D + j] * (W[j] - W[D + j]);
    p.deviation = sqrt(p.deviation);
    require(moeg_law_gaussian_create(&p.law, D, mean, covariance));
    require(moeg_router_affine_create(&p.router, K, D, W, bias));
    require(moeg_boundary_slope(p.router, p.law, &p.constant));
    return p;
}

/* The logits as functions of z ~ N(0, I), X = mu + L z, L lower triangular: slope . z + offset. */
typedef struct plane_logit {
    double slope[PLANE], offset;
} plane_logit;

static void plane_logits(plane_logit *a)
{
    const double *S = plane_covariance, l0 = sqrt(S[0]), l1 = S[2] / l0, l2 = sqrt(S[3] - l1 * l1);
    for (size_t k = 0; k < FIVE; k++) {
        const double *w = plane_W + k * PLANE;
        a[k].slope[0] = w[0] * l0 + w[1] * l1;
        a[k].slope[1] = w[1] * l2;
        a[k].offset = w[0] * plane_mean[0] + w[1] * plane_mean[1] + plane_bias[k];
    }
}

static plane_logit difference(plane_logit a, plane_logit b)
{
    return (plane_logit){{a.slope[0] - b.slope[0], a.slope[1] - b.slope[1]}, a.offset - b.offset};
}

static double normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

static double normal_distribution(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The integral of p/|grad(a_i - a_j)| over the part of the line a_i = a_j where k - 1 experts are above the two: along
 * the line z = foot + t v each other expert crosses them once. */
static double interface_integral(const plane_logit *a, size_t i, size_t j, size_t k)
{
    const plane_logit s = difference(a[i], a[j]);
    const double norm = hypot(s.slope[0], s.slope[1]), distance = -s.offset / norm;
    const double foot[PLANE] = {distance * s.slope[0] / norm, distance * s.slope[1] / norm};
    const double v[PLANE] = {-s.slope[1] / norm, s.slope[0] / norm};
    double start[FIVE], rise[FIVE], cut[FIVE], sum = 0;
    size_t others = 0;
    for (size_t m = 0; m < FIVE; m++) {
        if (m == i || m == j)
            continue;
        const plane_logit above = difference(a[m], a[i]);
        start[others] = above.slope[0] * foot[0] + above.slope[1] * foot[1] + above.offset;
        rise[others] = above.slope[0] * v[0] + above.slope[1] * v[1];
        cut[others] = -start[others] / rise[others];
        others++;
    }
    qsort(cut, others, sizeof *cut, ascending);
    for (size_t c = 0; c <= others; c++) {
        const double lo = c == 0 ? -INFINITY : cut[c - 1], hi = c == others ? INFINITY : cut[c];
        const double inside = c == 0 ? hi - 1 : c == others ? lo + 1 : (lo + hi) / 2;
        size_t above = 0;
        for (size_t m = 0; m < others; m++)
            above += start[m] + rise[m] * inside > 0;
        if (above == k - 1)
            sum += normal_distribution(hi) - normal_distribution(lo);
    }
    return normal_density(distance) * sum / norm;
}

/* p/|det D| at the point where three experts tie, if no other is above them there. */
static double triple_density(const plane_logit *a, size_t i, size_t j, size_t k)
{
    const plane_logit s = difference(a[i], a[j]), t = difference(a[i], a[k]);
    const double det = s.slope[0] * t.slope[1] - s.slope[1] * t.slope[0];
    const double z0 = (s.slope[1] * t.offset - t.slope[1] * s.offset) / det;
    const double z1 = (t.slope[0] * s.offset - s.slope[0] * t.offset) / det;
    const double level = a[i].slope[0] * z0 + a[i].slope[1] * z1 + a[i].offset;
    for (size_t m = 0; m < FIVE; m++)
        if (m != i && m != j && m != k && a[m].slope[0] * z0 + a[m].slope[1] * z1 + a[m].offset > level)
            return 0;
    return normal_density(z0) * normal_density(z1) / fabs(det);
}

/* 2 sum over pairs of ranks k and k + 1; for order 2, 3 sum over triples at the top [theory: boundary mass]. */
static double plane_constant(int order, size_t k)
{
    plane_logit a[FIVE];
    double sum = 0;
    plane_logits(a);
    for (size_t i = 0; i < FIVE; i++)
        for (size_t j = i + 1; j < FIVE; j++) {
            if (order == 1)
                sum += interface_integral(a, i, j, k);
            for (size_t m = j + 1; order == 2 && m < FIVE; m++)
                sum += triple_density(a, i, j, m);
        }
    return (order + 1) * sum;
}

static nearties_problem five(moeg_gap gap, int order, size_t k)
{
    nearties_problem p = {.text = "five experts, X ~ N(mu, Sigma) in the plane", .gap = gap, .order = order};
    p.constant = plane_constant(order, k);
    require(moeg_law_gaussian_create(&p.law, PLANE, plane_mean, plane_covariance));
    require(moeg_router_affine_create(&p.router, FIVE, PLANE, plane_W, plane_bias));
    return p;
}

nearties_problem nearties_five_order(uint64_t r)
{
    if (r > PLANE)
        die("--r: expected 1 or 2, as no four of these experts tie anywhere, got %llu", (unsigned long long)r);
    nearties_problem p = five(moeg_gap_order((size_t)r), (int)r, 1);
    snprintf(p.name, sizeof p.name, "gap of order %d", p.order);
    return p;
}

nearties_problem nearties_five_top(uint64_t k)
{
    if (k >= FIVE)
        die("--k: expected 1 to 4 of five experts, got %llu", (unsigned long long)k);
    nearties_problem p = five(moeg_gap_top((size_t)k), 1, (size_t)k);
    snprintf(p.name, sizeof p.name, "top-%d gap", (int)k);
    return p;
}

void nearties_problem_free(nearties_problem *p)
{
    moeg_law_free(p->law);
    moeg_router_free(p->router);
}
