#include "limit/binary_risk.h"

#include <math.h>

static const double sqrt_half = 0.70710678118654752440;
static const double one_over_root_two_pi = 0.39894228040143267794;

/* Of x = t + z, from the nearer of the two expansions. */
static moeg_sized quadratic_at(const moeg_quadratic *q, double x, double t)
{
    const int inner = fabs(x) <= fabs(t);
    const double *c = inner ? q->interface : q->mean, y = inner ? x : t;
    return (moeg_sized){c[0] + y * (c[1] + y * q->curvature), fabs(c[0]) + fabs(c[1] * y) + fabs(q->curvature * y * y)};
}

/* The probability that t > 0, h deviations. */
static double above(double h)
{
    return 0.5 * erfc(-h * sqrt_half);
}

static double density(double h)
{
    return one_over_root_two_pi * exp(-0.5 * h * h);
}

/* Given x the standardised t is normal around h, y its deviation from that. With the pieces' Q_0 + Q_1 y + Q_2 y^2 and
 * means Q = Q_0 + Q_2 the mean is, as E[y; y > -h] = phi(h) and E[y^2; y > -h] = Phi(h) - h phi(h),
 *
 *   Phi(h) Q_first + Phi(-h) Q_second + phi(h) {Q_1 - h Q_2}_first-second. */
static moeg_sized side_at(const moeg_binary_risk *risk, const moeg_binary_side *side, double x, double t, double h)
{
    if (risk->teacher.lay == MOEG_LAY_WHOLE || risk->teacher.lay == MOEG_LAY_COINCIDENT)
        return quadratic_at(&side->piece[0], x, t);
    const moeg_sized first = quadratic_at(&side->piece[0], x, t), second = quadratic_at(&side->piece[1], x, t);
    const double up = above(h), down = above(-h), phi = density(h);
    moeg_sized sum = {up * first.value + down * second.value, up * first.size + down * second.size};
    if (phi > 0) {
        const int inner = fabs(x) <= fabs(t);
        const double constant = inner ? side->along.interface : side->along.mean;
        const double slope = side->along.slope * (inner ? x : t), square = side->along.square * h;
        sum.value += phi * (constant + slope - square);
        sum.size += phi * (fabs(constant) + fabs(slope) + fabs(square));
    }
    return sum;
}

moeg_sized moeg_binary_near(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at)
{
    return side_at(risk, &q->near, at->x, at->t, at->h_near);
}

/* At -x, which is z + x below the mean. */
static double below_mean(const moeg_binary_place *at)
{
    return at->t - 2 * at->x;
}

moeg_sized moeg_binary_far(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at)
{
    return side_at(risk, &q->far, -at->x, below_mean(at), at->h_far);
}

moeg_sized moeg_binary_contrast_near(const moeg_binary_risk *risk, const moeg_binary_place *at)
{
    return quadratic_at(&risk->contrast.near.piece[0], at->x, at->t);
}

moeg_sized moeg_binary_contrast_far(const moeg_binary_risk *risk, const moeg_binary_place *at)
{
    return quadratic_at(&risk->contrast.far.piece[0], -at->x, below_mean(at));
}

/* value + weight (fold[0] + fold[1] x + fold[2] x^2). */
static void add_fold(const double *fold, double x, double weight, moeg_sized *sum)
{
    sum->value += weight * (fold[0] + x * (fold[1] + x * fold[2]));
    sum->size += fabs(weight) * (fabs(fold[0]) + fabs(x) * (fabs(fold[1]) + fabs(x * fold[2])));
}

/* Phi(h0 + a) - Phi(h0 - a). */
static double rise_of_above(const moeg_binary_risk *risk, const moeg_binary_place *at)
{
    if (risk->teacher.lay == MOEG_LAY_STEP)
        return above(at->h_near) - above(at->h_far);
    const double a = risk->teacher.h1 * at->x;
    return copysign((double)moeg_binary_normal_mass(fabs(risk->teacher.h0), fabs(a)), a);
}

/* phi(h0 + a) - phi(h0 - a). */
static double rise_of_density(const moeg_binary_risk *risk, const moeg_binary_place *at)
{
    const double h0 = risk->teacher.h0, a = risk->teacher.h1 * at->x;
    if (fabs(h0 * a) < 1)
        return -2 * density(h0) * exp(-0.5 * a * a) * sinh(h0 * a);
    return density(at->h_near) - density(at->h_far);
}

/* What the pieces of m, and the moments along t, add to near(x) + far(-x). Of each pair of terms u n + v f, u and v the
 * weights at x and at -x, it is (u + v)/2 (n + f) + (u - v)/2 (n - f). */
static moeg_sized fold_pieces(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at)
{
    const moeg_binary_teacher *teacher = &risk->teacher;
    const double x = at->x, y = below_mean(at), rise = rise_of_above(risk, at);
    moeg_sized sum = {0, 0};
    add_fold(q->fold[0], x, (above(at->h_near) + above(at->h_far)) / 2, &sum);
    add_fold(q->fold[1], x, (above(-at->h_near) + above(-at->h_far)) / 2, &sum);
    for (int p = 0; p < 2 && rise != 0; p++) {
        const moeg_sized near = quadratic_at(&q->near.piece[p], x, at->t), far = quadratic_at(&q->far.piece[p], -x, y);
        sum.value += (p == 0 ? rise : -rise) / 2 * (near.value - far.value);
        sum.size += fabs(rise) / 2 * (near.size + far.size);
    }
    const double both = (density(at->h_near) + density(at->h_far)) / 2;
    if (teacher->lay == MOEG_LAY_STEP || both == 0)
        return sum;
    const moeg_binary_along *n = &q->near.along, *f = &q->far.along;
    const double along[3] = {q->fold_along[0] - teacher->h0 * q->fold_along[2],
                             q->fold_along[1] - teacher->h1 * (n->square - f->square), 0};
    const double fall = rise_of_density(risk, at) / 2;
    const double apart[3] = {(n->interface - f->interface) - teacher->h0 * (n->square - f->square),
                             (n->slope + f->slope) - teacher->h1 * (n->square + f->square), 0};
    add_fold(along, x, both, &sum);
    add_fold(apart, x, fall, &sum);
    return sum;
}

/* With phi = phi(h_0): Phi(h_0 +- h_1 x) rise by +- h_1 phi x, phi(h_0 +- h_1 x) by -+ h_0 h_1 phi x, and what is the
 * same on both sides does not change. A STEP is not near x = 0. */
double moeg_binary_folded_slope(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at)
{
    const moeg_binary_teacher *teacher = &risk->teacher;
    const double falling = 2 * (double)risk->logit.z * moeg_binary_far(risk, q, at).value;
    if (teacher->lay == MOEG_LAY_WHOLE || teacher->lay == MOEG_LAY_COINCIDENT)
        return q->fold[0][1] - falling;
    const double h0 = teacher->h0, h1 = teacher->h1;
    double slope = q->fold[0][1] * above(at->h_near) + q->fold[1][1] * above(-at->h_near);
    if (teacher->lay == MOEG_LAY_OBLIQUE) {
        const moeg_binary_along *n = &q->near.along, *f = &q->far.along;
        const double jump = (q->near.piece[0].interface[0] - q->far.piece[0].interface[0]) -
                            (q->near.piece[1].interface[0] - q->far.piece[1].interface[0]);
        const double along = q->fold_along[1] - h1 * (n->square - f->square);
        const double apart = (n->interface - f->interface) - h0 * (n->square - f->square);
        slope += density(h0) * (h1 * jump + along - h0 * h1 * apart);
    }
    return slope - falling;
}

moeg_sized moeg_binary_folded(const moeg_binary_risk *risk, const moeg_binary_product *q, const moeg_binary_place *at)
{
    const double z = (double)risk->logit.z, lost = -expm1(-2 * at->x * z), left = exp(-2 * at->x * z);
    const moeg_sized far = moeg_binary_far(risk, q, at);
    if (left <= 0.5) {
        const moeg_sized near = moeg_binary_near(risk, q, at);
        return (moeg_sized){near.value + left * far.value, near.size + left * far.size};
    }
    moeg_sized sum = {0, 0};
    if (risk->teacher.lay == MOEG_LAY_WHOLE || risk->teacher.lay == MOEG_LAY_COINCIDENT)
        add_fold(q->fold[0], at->x, 1, &sum);
    else
        sum = fold_pieces(risk, q, at);
    return (moeg_sized){sum.value - lost * far.value, sum.size + lost * far.size};
}
