/* Experts without biases in three dimensions: interfaces are sectors of planes through 0, and their integrals angles.
 * Error bars of what lines say of them, also where rows are barely corners of their hull. */
#include <moegeom/surface.h>

#include "support/coverage.h"

#include <moegeom/boundary.h>
#include <moegeom/stream.h>

enum { K = 6 };

struct cones {
    double W[K * 3];
    moeg_router *router;
    moeg_law *law;
};

static void make(uint64_t seed, struct cones *c)
{
    assert_ok(moeg_stream_normals((moeg_stream){seed, 3}, 0, 1, K * 3, c->W));
    for (int i = 0; i < K * 3; i++)
        c->W[i] /= sqrt(3);
    assert_ok(moeg_router_affine_create(&c->router, K, 3, c->W, NULL));
    assert_ok(moeg_law_gaussian_create(&c->law, 3, NULL, NULL));
}

static void unmake(struct cones *c)
{
    moeg_router_free(c->router);
    moeg_law_free(c->law);
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The unit vector at an angle in the plane orthogonal to n. */
static void turn(const double *n, double angle, double *u)
{
    const size_t axis = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    const double size = sqrt(dot(n, n)), m[3] = {n[0] / size, n[1] / size, n[2] / size};
    double e[3] = {axis == 0, axis == 1, 0};
    const double along = m[axis], norm = sqrt(1 - along * along);
    for (int l = 0; l < 3; l++)
        e[l] = (e[l] - along * m[l]) / norm;
    const double f[3] = {m[1] * e[2] - m[2] * e[1], m[2] * e[0] - m[0] * e[2], m[0] * e[1] - m[1] * e[0]};
    for (int l = 0; l < 3; l++)
        u[l] = cos(angle) * e[l] + sin(angle) * f[l];
}

/* Whether experts i and j, which tie there, are on top. */
static int on_top(const double *W, int i, int j, const double *u)
{
    for (int k = 0; k < K; k++)
        if (k != i && k != j && dot(W + 3 * k, u) > dot(W + 3 * i, u))
            return 0;
    return 1;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The angle of the directions where i and j tie on top: between the angles at which another ties with them, it is all
 * or nothing. */
static double sector(const double *W, int i, int j)
{
    double n[3], e[3], f[3], cut[2 * K + 1], angle = 0;
    size_t cuts = 0;
    for (int l = 0; l < 3; l++)
        n[l] = W[3 * i + l] - W[3 * j + l];
    turn(n, 0, e);
    turn(n, acos(-1) / 2, f);
    for (int k = 0; k < K; k++) {
        const double v[3] = {W[3 * i] - W[3 * k], W[3 * i + 1] - W[3 * k + 1], W[3 * i + 2] - W[3 * k + 2]};
        if (k == i || k == j)
            continue;
        cut[cuts++] = atan2(-dot(v, e), dot(v, f));
        cut[cuts] = cut[cuts - 1] + (cut[cuts - 1] > 0 ? -acos(-1) : acos(-1));
        cuts++;
    }
    qsort(cut, cuts, sizeof *cut, by_size);
    cut[cuts] = cut[0] + 2 * acos(-1);
    for (size_t c = 0; c < cuts; c++) {
        double u[3];
        turn(n, (cut[c] + cut[c + 1]) / 2, u);
        angle += on_top(W, i, j, u) ? cut[c + 1] - cut[c] : 0;
    }
    return angle;
}

/* lim P(Delta <= w)/w = 2 S[1], of every pair phi(0)/|W_i - W_j| times the share of its plane. */
static double slope_of(const double *W)
{
    double sum = 0;
    for (int i = 0; i < K; i++)
        for (int j = 0; j < i; j++) {
            const double n[3] = {W[3 * i] - W[3 * j], W[3 * i + 1] - W[3 * j + 1], W[3 * i + 2] - W[3 * j + 2]};
            const double turns = sector(W, i, j) / (2 * acos(-1));
            sum += 2 * turns / sqrt(2 * acos(-1) * dot(n, n));
        }
    return sum;
}

static const double width = 1e-9;

/* The slope, and a narrow mass, whose slope it is to 1e-9. Of 1000 lines one run in twelve has no error bar: few of its
 * lines meet the interfaces of the cells without a star, and they count for much. */
static moeg_status estimate(uint64_t seed, void *user, moeg_estimate *estimates)
{
    const struct cones *c = user;
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.seed = seed;
    s.n = 4096;
    s.level = 0.9;
    s.max_threads = 1;
    const moeg_status status = moeg_surface_slope(c->router, 1, c->law, &s, &estimates[0]);
    return status == MOEG_OK ? moeg_boundary_mass(c->router, c->law, 1, &width, &s, &estimates[1]) : status;
}

static void error_bars_of_barely_corners_are_right(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {1, 3, 7};
    for (int i = 0; i < 3; i++) {
        struct cones c;
        make(seeds[i], &c);
        const double slope = slope_of(c.W), truths[] = {slope, slope * width};
        assert_coverage(estimate, &c, 2, truths, 0.9, 1000, COVERAGE_EXACT);
        unmake(&c);
    }
}

/* Many lines, against the angles. */
static void slopes_are_angles(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cones c;
        moeg_estimate slope;
        moeg_sampling s = moeg_sampling_default();
        make(seed, &c);
        assert_ok(moeg_surface_slope(c.router, 1, c.law, &s, &slope));
        assert_near(slope.value, slope_of(c.W), 4.5 * slope.std_error + slope.quad_error);
        assert_true(slope.std_error < 0.02 * slope.value);
        unmake(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_are_angles),
        cmocka_unit_test(error_bars_of_barely_corners_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
