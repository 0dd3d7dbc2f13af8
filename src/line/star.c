#include "line/star.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

/* The corral of Wolfe's method: affinely independent points whose hull holds x in its interior. */
typedef struct corral {
    size_t n, r, count, most;
    const double *points;
    size_t *index;       /* (most) */
    double *weight;      /* (most) */
    double *x;           /* (r) */
    long double *system; /* (most x most), Cholesky's */
    long double *affine; /* (most) */
} corral;

static void set_point(corral *c)
{
    memset(c->x, 0, c->r * sizeof *c->x);
    for (size_t i = 0; i < c->count; i++)
        for (size_t j = 0; j < c->r; j++)
            c->x[j] += c->weight[i] * c->points[c->index[i] * c->r + j];
}

/* Weights, of sum 1, of the point of smallest norm in the affine hull: alpha ~ (G + s 1 1')^-1 1, G the Gram matrix,
 * positive definite for any s > 0. 0 if rounding has made the points dependent. */
static int solve_affine(corral *c, double scale)
{
    const size_t n = c->count;
    long double *A = c->system, *y = c->affine, sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double entry = scale;
            const double *p = c->points + c->index[i] * c->r, *q = c->points + c->index[j] * c->r;
            for (size_t l = 0; l < c->r; l++)
                entry += (long double)p[l] * q[l];
            for (size_t l = 0; l < j; l++)
                entry -= A[i * c->most + l] * A[j * c->most + l];
            A[i * c->most + j] = i == j ? sqrtl(entry) : entry / A[j * c->most + j];
            if (i == j && !(entry > 1e-17L * scale))
                return 0;
        }
        y[i] = 1;
        for (size_t l = 0; l < i; l++)
            y[i] -= A[i * c->most + l] * y[l];
        y[i] /= A[i * c->most + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t l = i + 1; l < n; l++)
            y[i] -= A[l * c->most + i] * y[l];
        y[i] /= A[i * c->most + i];
        sum += y[i];
    }
    for (size_t i = 0; i < n; i++)
        y[i] /= sum;
    return 1;
}

/* Moves the weights towards the affine ones until one of them vanishes, and drops that point. */
static void drop_point(corral *c)
{
    double step = 1;
    size_t gone = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->affine[i] <= 1e-14L) {
            const double reach = c->weight[i] / (double)(c->weight[i] - c->affine[i]);
            if (!(reach > step)) {
                step = reach;
                gone = i;
            }
        }
    for (size_t i = 0; i < c->count; i++)
        c->weight[i] += step * (double)(c->affine[i] - c->weight[i]);
    c->count--;
    for (size_t i = gone; i < c->count; i++) {
        c->index[i] = c->index[i + 1];
        c->weight[i] = c->weight[i + 1];
    }
}

/* The point of smallest norm in the hull of the corral, by leaving out those on the far side of it. 0 if stuck. */
static int settle(corral *c, double scale)
{
    for (;;) {
        if (!solve_affine(c, scale))
            return 0;
        int inside = 1;
        for (size_t i = 0; i < c->count; i++)
            inside = inside && c->affine[i] > 1e-14L;
        if (inside || c->count == 1)
            break;
        drop_point(c);
    }
    for (size_t i = 0; i < c->count; i++)
        c->weight[i] = (double)c->affine[i];
    set_point(c);
    return 1;
}

/* Wolfe (1976): while some point lies before the plane through x, take it in. */
static void search(corral *c)
{
    double scale = 0;
    size_t first = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double square = moeg_dot(c->r, c->points + i * c->r, c->points + i * c->r);
        scale = fmax(scale, square);
        if (square < moeg_dot(c->r, c->points + first * c->r, c->points + first * c->r))
            first = i;
    }
    c->index[0] = first;
    c->weight[0] = 1;
    c->count = 1;
    set_point(c);
    /* Each step lowers |x|: the limit is for rounding alone. */
    for (size_t step = 0; step < 100 * (c->n + c->r); step++) {
        const double square = moeg_dot(c->r, c->x, c->x);
        size_t nearest = 0;
        double least = INFINITY;
        for (size_t i = 0; i < c->n; i++) {
            const double height = moeg_dot(c->r, c->x, c->points + i * c->r);
            if (height < least) {
                least = height;
                nearest = i;
            }
        }
        int there = 0;
        for (size_t i = 0; i < c->count; i++)
            there = there || c->index[i] == nearest;
        if (there || least >= square - 1e-13 * scale || c->count == c->most)
            return;
        c->index[c->count] = nearest;
        c->weight[c->count++] = 0;
        if (!settle(c, scale)) {
            c->count--;
            return;
        }
    }
}

moeg_status moeg_hull_nearest(const char *function, size_t n, size_t r, const double *points, double *point,
                              double *square)
{
    corral c = {.n = n, .r = r, .points = points, .most = (n < r + 1 ? n : r + 1) + 1, .x = point};
    c.index = moeg_alloc(c.most, sizeof *c.index);
    c.weight = moeg_alloc(c.most, sizeof *c.weight);
    c.system = moeg_alloc(c.most, c.most * sizeof *c.system);
    c.affine = moeg_alloc(c.most, sizeof *c.affine);
    moeg_status status = MOEG_OK;
    if (c.index == NULL || c.weight == NULL || c.system == NULL || c.affine == NULL) {
        status = moeg_fail_memory(function);
    } else {
        search(&c);
        *square = moeg_dot(r, point, point);
    }
    moeg_release(c.index);
    moeg_release(c.weight);
    moeg_release(c.system);
    moeg_release(c.affine);
    return status;
}

moeg_status moeg_star_direction(const char *function, size_t K, size_t r, const double *T, size_t k, double *direction,
                                double *slope, int *exists)
{
    double *points = moeg_alloc(K - 1, r * sizeof *points), largest = 0, square;
    if (points == NULL)
        return moeg_fail_memory(function);
    for (size_t j = 0, at = 0; j < K; j++)
        for (size_t l = 0; j != k && l < r; l++, at++) {
            points[at] = T[k * r + l] - T[j * r + l];
            largest = fmax(largest, fabs(points[at]));
        }
    /* By a power of two, so that squares neither over- nor underflow. */
    const int exponent = largest > 0 ? ilogb(largest) : 0;
    for (size_t i = 0; i < (K - 1) * r; i++)
        points[i] = ldexp(points[i], -exponent);
    const moeg_status status = moeg_hull_nearest(function, K - 1, r, points, direction, &square);
    if (status == MOEG_OK) {
        double least = INFINITY, steepest = 0, grazing = INFINITY;
        for (size_t j = 0; j + 1 < K; j++) {
            slope[j] = moeg_dot(r, points + j * r, direction) / sqrt(square);
            least = fmin(least, slope[j]);
            steepest = fmax(steepest, slope[j]);
            grazing = fmin(grazing, slope[j] / sqrt(moeg_dot(r, points + j * r, points + j * r)));
            slope[j] = ldexp(slope[j], exponent);
        }
        *exists = square > 0 && least > MOEG_STAR_FLATTEST * steepest && grazing > MOEG_STAR_GRAZING;
        for (size_t l = 0; l < r; l++)
            direction[l] /= sqrt(square);
    }
    moeg_release(points);
    return status;
}
