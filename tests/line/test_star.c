/* The nearest point of a hull by its certificate: it lies in the hull, and no point of the hull lies before the plane
 * through it. Star directions by their definition. */
#include "line/star.h"
#include "support/check.h"
#include "support/failing_alloc.h"
#include "support/random.h"

enum { MOST = 40, MOST_R = 12 };

/* Random points around a centre `shift` away from 0. */
static void fill(uint64_t *seed, size_t n, size_t r, double shift, double *points)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < r; j++)
            points[i * r + j] = next_normal(seed) + (j == 0 ? shift : 0);
}

/* max over the points of |x|^2 - x.p: 0 at the nearest point of a hull that x lies in. */
static double shortfall(size_t n, size_t r, const double *points, const double *x)
{
    double square = 0, least = INFINITY;
    for (size_t j = 0; j < r; j++)
        square += x[j] * x[j];
    for (size_t i = 0; i < n; i++) {
        double height = 0;
        for (size_t j = 0; j < r; j++)
            height += x[j] * points[i * r + j];
        least = fmin(least, height);
    }
    return square - least;
}

static void nearest_point_has_its_certificate(void **state)
{
    (void)state;
    uint64_t seed = 11;
    size_t inside = 0;
    for (int trial = 0; trial < 400; trial++) {
        const size_t n = 1 + (size_t)(trial * 7) % MOST, r = 1 + (size_t)trial % MOST_R;
        double points[MOST * MOST_R], x[MOST_R], square;
        fill(&seed, n, r, trial % 3 == 0 ? 3 : 0.4, points);
        assert_ok(moeg_hull_nearest("test", n, r, points, x, &square));
        assert_near(shortfall(n, r, points, x), 0, 1e-11);
        inside += square < 1e-20;
        /* x is in the hull: it is not farther than any point, and no direction separates it from the points. */
        for (int probe = 0; probe < 20; probe++) {
            double v[MOST_R], most = -INFINITY, at = 0;
            for (size_t j = 0; j < r; j++) {
                v[j] = next_normal(&seed);
                at += v[j] * x[j];
            }
            for (size_t i = 0; i < n; i++) {
                double height = 0;
                for (size_t j = 0; j < r; j++)
                    height += v[j] * points[i * r + j];
                most = fmax(most, height);
            }
            assert_true(at <= most + 1e-11);
        }
    }
    assert_true(inside > 20 && inside < 380);
}

static void hulls_with_a_face_or_a_repeated_point(void **state)
{
    (void)state;
    const double square[] = {1, 1, 1, -1, 3, 1, 3, -1, 1, 1, 1, -1};
    double x[2], norm;
    assert_ok(moeg_hull_nearest("test", 6, 2, square, x, &norm));
    assert_near(x[0], 1, 4 * EPS);
    assert_near(x[1], 0, 4 * EPS);
    const double zero[] = {0, 0, 2, 1};
    assert_ok(moeg_hull_nearest("test", 2, 2, zero, x, &norm));
    assert_near(norm, 0, 0);
    const double around[] = {1, 0, -0.5, 0.9, -0.5, -0.9, 0.1, 0};
    assert_ok(moeg_hull_nearest("test", 4, 2, around, x, &norm));
    assert_near(norm, 0, 1e-20);
}

/* A vertex of the hull of the rows has a star; a row inside it, or one that stands twice, has none. */
static void vertices_have_stars(void **state)
{
    (void)state;
    const double T[] = {2, 0, 0, 2.3, -1.7, -1, 0.1, 0.1};
    double direction[2], slope[3];
    int exists;
    for (size_t k = 0; k < 4; k++) {
        assert_ok(moeg_star_direction("test", 4, 2, T, k, direction, slope, &exists));
        assert_int_equal(exists, k < 3);
        if (!exists)
            continue;
        assert_near(hypot(direction[0], direction[1]), 1, 4 * EPS);
        double least = INFINITY, best = 0;
        for (size_t j = 0; j < 3; j++)
            least = fmin(least, slope[j]);
        for (int i = 0; i < 100000; i++) { /* No other direction is better. */
            const double angle = i * 6.28318530717958648 / 100000;
            double worst = INFINITY;
            for (size_t j = 0; j < 4; j++)
                if (j != k)
                    worst =
                        fmin(worst, cos(angle) * (T[2 * k] - T[2 * j]) + sin(angle) * (T[2 * k + 1] - T[2 * j + 1]));
            best = fmax(best, worst);
        }
        assert_true(best <= least * (1 + 1e-12) && best > least * (1 - 1e-3));
    }
    /* A row that is barely a vertex, with grazing lines; and one beside a near twin, with slopes of 1 and 1e-4. */
    const double barely[] = {1, 0, -1, 0, 0, 0.05}, clearly[] = {1, 0, -1, 0, 0, 0.2};
    assert_ok(moeg_star_direction("test", 3, 2, barely, 2, direction, slope, &exists));
    assert_int_equal(exists, 0);
    assert_ok(moeg_star_direction("test", 3, 2, clearly, 2, direction, slope, &exists));
    assert_int_equal(exists, 1);
    const double near[] = {1, 0, 1.0001, 0, -1, 0};
    assert_ok(moeg_star_direction("test", 3, 2, near, 1, direction, slope, &exists));
    assert_int_equal(exists, 0);
    const double twins[] = {1, 2, 1, 2, 0, 1};
    assert_ok(moeg_star_direction("test", 3, 2, twins, 0, direction, slope, &exists));
    assert_int_equal(exists, 0);
}

/* Squares of these would overflow, or underflow. */
static void rows_of_any_size(void **state)
{
    (void)state;
    for (int e = -1000; e <= 1000; e += 500) {
        const double T[] = {ldexp(2, e), 0, 0, ldexp(2.3, e), ldexp(-1.7, e), ldexp(-1, e)};
        double direction[2], slope[2];
        int exists;
        assert_ok(moeg_star_direction("test", 3, 2, T, 1, direction, slope, &exists));
        assert_int_equal(exists, 1);
        assert_relative(ldexp(slope[0], -e), 2.3 * direction[1] - 2 * direction[0], 8 * EPS);
    }
}

static moeg_status call(void *user)
{
    const double T[] = {2, 0, 0, 2.3, -1.7, -1};
    double direction[2], slope[2];
    int exists;
    (void)user;
    return moeg_star_direction("test", 3, 2, T, 1, direction, slope, &exists);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(call, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_point_has_its_certificate),
        cmocka_unit_test(hulls_with_a_face_or_a_repeated_point),
        cmocka_unit_test(vertices_have_stars),
        cmocka_unit_test(rows_of_any_size),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
