/* k-means against an obvious implementation in long double with the same draws, and the corners of its contract. */
#include "fit/fit.h"
#include "support/check.h"
#include "support/failing_alloc.h"

#include <moegeom/moegeom.h>
#include <omp.h>
#include <stdlib.h>

enum { MOST = 3000 };

/* n x d normals around three centres, from the library's own streams. */
static double *make_rows(size_t n, size_t d, uint64_t seed, double offset)
{
    double *x = malloc(n * d * sizeof *x);
    assert_non_null(x);
    assert_ok(moeg_stream_normals((moeg_stream){seed, 77}, 0, n, d, x));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            x[i * d + j] = offset + 0.731 * x[i * d + j] + 2.385 * (double)((i + j) % 3);
    return x;
}

static long double squared(size_t d, const double *x, const long double *c)
{
    long double sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += (x[j] - c[j]) * (x[j] - c[j]);
    return sum;
}

static size_t nearest(size_t d, size_t K, const double *x, const long double *c)
{
    size_t best = 0;
    for (size_t k = 1; k < K; k++)
        if (squared(d, x, c + k * d) < squared(d, x, c + best * d))
            best = k;
    return best;
}

/* k-means++ and Lloyd as in a textbook. Returns how often a centroid lost all its rows. */
static size_t obvious(size_t n, size_t d, const double *x, size_t K, uint64_t seed, long double *c, size_t *assignment,
                      size_t *sweeps)
{
    size_t lost = 0;
    for (size_t k = 0; k < K; k++) {
        double u;
        assert_ok(moeg_stream_uniforms((moeg_stream){seed, 1}, k, 1, 1, &u));
        size_t row = (size_t)(u * (double)n);
        if (k > 0) {
            long double total = 0, running = 0;
            for (size_t i = 0; i < n; i++)
                total += squared(d, x + i * d, c + nearest(d, k, x + i * d, c) * d);
            for (row = 0; row < n; row++) {
                running += squared(d, x + row * d, c + nearest(d, k, x + row * d, c) * d);
                if (running > u * total)
                    break;
            }
        }
        for (size_t j = 0; j < d; j++)
            c[k * d + j] = x[row * d + j];
    }
    int again = 1;
    for (*sweeps = 0; again; ++*sweeps) {
        size_t count[64] = {0};
        int changed = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t k = nearest(d, K, x + i * d, c);
            changed |= *sweeps == 0 || k != assignment[i];
            assignment[i] = k;
            count[k]++;
        }
        again = changed;
        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < d && count[k] > 0; j++) {
                long double sum = 0;
                for (size_t i = 0; i < n; i++)
                    if (assignment[i] == k)
                        sum += x[i * d + j];
                c[k * d + j] = sum / (long double)count[k];
            }
        char taken[MOST] = {0};
        for (size_t k = 0; k < K; k++) {
            if (count[k] > 0)
                continue;
            size_t farthest = 0;
            long double most = -1;
            for (size_t i = 0; i < n; i++) {
                const long double distance = taken[i] ? 0 : squared(d, x + i * d, c + assignment[i] * d);
                if (distance > most) {
                    most = distance;
                    farthest = i;
                }
            }
            taken[farthest] = 1;
            for (size_t j = 0; j < d; j++)
                c[k * d + j] = x[farthest * d + j];
            lost++;
            again = 1;
        }
    }
    return lost;
}

/* Means of well-conditioned data round once or twice: 4 EPS of the largest coordinate. */
static size_t compare(size_t n, size_t d, const double *x, size_t K, uint64_t seed, double scale)
{
    double *c = malloc(K * d * sizeof *c);
    long double *expected = malloc(K * d * sizeof *expected);
    size_t *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), sweeps, expected_sweeps;
    assert_ok(moeg_centroids(n, d, x, NULL, K, seed, c, a, &sweeps));
    const size_t lost = obvious(n, d, x, K, seed, expected, b, &expected_sweeps);
    assert_memory_equal(a, b, n * sizeof *a);
    assert_int_equal(sweeps, expected_sweeps);
    for (size_t i = 0; i < K * d; i++)
        assert_near(c[i], (double)expected[i], 4 * EPS * scale);
    free(c);
    free(expected);
    free(a);
    free(b);
    return lost;
}

static void equals_an_obvious_implementation(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const size_t d = 1 + seed % 4, K = 1 + seed % 7, n = 150 + 211 * (seed % 3);
        double *x = make_rows(n, d, seed, 0);
        compare(n, d, x, K, seed + 5, 8);
        free(x);
    }
}

/* Spread 1 at 1e9: |x|^2 alone is 1e18, whose rounding is 128. */
static void data_far_from_the_origin(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double *x = make_rows(400, 3, seed, 1e9);
        compare(400, 3, x, 5, seed, 1e9);
        free(x);
    }
}

/* Rows are multiples of 2^-20, so that adding 2^30 is exact: the same cells, the same draws. */
static void a_shift_changes_nothing(void **state)
{
    (void)state;
    enum { n = 500, d = 2, K = 4 };
    double *x = make_rows(n, d, 3, 0), c[K * d], moved[K * d];
    size_t a[n], b[n], sweeps[2];
    for (size_t i = 0; i < n * d; i++)
        x[i] = nearbyint(x[i] * 0x1p20) * 0x1p-20;
    assert_ok(moeg_centroids(n, d, x, NULL, K, 9, c, a, &sweeps[0]));
    for (size_t i = 0; i < n * d; i++)
        x[i] += 0x1p30;
    assert_ok(moeg_centroids(n, d, x, NULL, K, 9, moved, b, &sweeps[1]));
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(sweeps[0], sweeps[1]);
    for (size_t i = 0; i < K * d; i++)
        assert_near(moved[i] - 0x1p30, c[i], 2 * EPS * 0x1p30);
    free(x);
}

/* Rows of a coarse lattice and seeds, one in some thousands, with which a centroid loses all its rows; found by trying.
 */
static void a_centroid_without_rows_moves(void **state)
{
    (void)state;
    static const struct {
        size_t d, K, n;
        uint64_t seed;
    } found[] = {{2, 5, 15, 646},  {2, 6, 12, 1731}, {2, 7, 13, 435},
                 {3, 4, 10, 1273}, {3, 7, 21, 2467}, {6, 8, 18, 871}};
    for (size_t f = 0; f < sizeof found / sizeof *found; f++) {
        double x[18 * 6];
        const size_t d = found[f].d, n = found[f].n;
        assert_ok(moeg_stream_uniforms((moeg_stream){found[f].seed, 77}, 0, n, d, x));
        for (size_t i = 0; i < n * d; i++)
            x[i] = floor(20 * x[i] * x[i]);
        assert_true(compare(n, d, x, found[f].K, found[f].seed, 20) > 0);
    }
}

static void one_centroid_and_one_for_each_row(void **state)
{
    (void)state;
    const double x[] = {2.385, -0.731, 5.125, 1e9, -3.5, 0.0625, 11.75};
    double c[7];
    size_t a[7], sweeps;
    assert_ok(moeg_centroids(7, 1, x, NULL, 1, 4, c, a, &sweeps));
    assert_relative(c[0], (2.385 - 0.731 + 5.125 + 1e9 - 3.5 + 0.0625 + 11.75) / 7, 2 * EPS);
    assert_int_equal(sweeps, 2);
    assert_ok(moeg_centroids(7, 1, x, NULL, 7, 4, c, a, NULL));
    for (size_t i = 0; i < 7; i++)
        assert_near(c[a[i]], x[i], 0);
}

/* A plain sum of these 10^5 terms is off by 60 EPS; a compensated one rounds at the end. */
static void means_are_compensated(void **state)
{
    (void)state;
    enum { n = 100003 };
    double *x = malloc(n * sizeof *x), c;
    long double sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = 2.385 + 1e-3 * (double)i * sqrt((double)i);
        sum += x[i];
    }
    assert_ok(moeg_centroids(n, 1, x, NULL, 1, 4, &c, NULL, NULL));
    assert_relative(c, (double)(sum / n), 2 * EPS);
    free(x);
}

static void equal_rows(void **state)
{
    (void)state;
    const double x[] = {0.7, 2.385, 0.7, 2.385, -0.0, 1.9, 0.0, 1.9, 0.7, 2.385};
    double c[8];
    size_t a[5];
    const double untouched = c[0] = 4.25;
    assert_status(moeg_centroids(5, 2, x, NULL, 4, 1, c, a, NULL), MOEG_EDOM,
                  "centroids: K must be at most the number of "
                  "distinct rows, 2, got 4");
    assert_near(c[0], untouched, 0);
    assert_ok(moeg_centroids(5, 2, x, NULL, 2, 1, c, a, NULL));
    assert_near(c[2 * a[0]], 0.7, 0);
    assert_near(c[2 * a[0] + 1], 2.385, 0);
    assert_near(c[2 * a[2]], 0, 0);
    assert_near(c[2 * a[2] + 1], 1.9, 0);
}

/* {-3, 0} and {1, 2} have means -1.5 and 1.5: row 0 is equally far from both and belongs to centroid 0, so this
 * partition is stable only if {-3, 0} is that of centroid 0. */
static void ties_go_to_the_lowest_index(void **state)
{
    (void)state;
    const double x[] = {-3, 0, 1, 2};
    size_t seen = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        double c[2];
        size_t a[4];
        assert_ok(moeg_centroids(4, 1, x, NULL, 2, seed, c, a, NULL));
        if (a[0] != a[1]) {
            assert_near(c[a[1]], 1, 0);
            continue;
        }
        seen++;
        assert_int_equal(a[1], 0);
        assert_near(c[0], -1.5, 0);
        assert_near(c[1], 1.5, 0);
    }
    assert_true(seen > 5 && seen < 55);
}

static void the_number_of_threads_changes_nothing(void **state)
{
    (void)state;
    enum { n = 30011, d = 3, K = 6 };
    double *x = make_rows(n, d, 21, 0.5), c[3][K * d];
    size_t *a[3], sweeps[3];
    const int threads[] = {1, 2, 5}, before = omp_get_max_threads();
    for (size_t t = 0; t < 3; t++) {
        omp_set_num_threads(threads[t]);
        a[t] = malloc(n * sizeof **a);
        assert_ok(moeg_centroids(n, d, x, NULL, K, 8, c[t], a[t], &sweeps[t]));
        assert_memory_equal(c[t], c[0], sizeof c[0]);
        assert_memory_equal(a[t], a[0], n * sizeof **a);
        assert_int_equal(sweeps[t], sweeps[0]);
    }
    omp_set_num_threads(before);
    for (size_t t = 0; t < 3; t++)
        free(a[t]);
    free(x);
}

static void too_few_sweeps(void **state)
{
    (void)state;
    double *x = make_rows(500, 2, 6, 0), c[16], full[16];
    size_t a[500], sweeps, needed;
    assert_ok(moeg_centroids(500, 2, x, NULL, 8, 3, full, NULL, &needed));
    assert_true(needed > 4);
    assert_status(moeg_centroids_within(4, 500, 2, x, NULL, 8, 3, c, a, &sweeps), MOEG_EUNABLE,
                  "centroids: rows still change their centroid after 4 sweeps");
    assert_int_equal(sweeps, 4);
    double mean = 0, count = 0;
    for (size_t i = 0; i < 500; i++)
        if (a[i] == 2) {
            mean += x[2 * i];
            count++;
        }
    assert_relative(c[4], mean / count, 100 * EPS);
    assert_ok(moeg_centroids_within(needed, 500, 2, x, NULL, 8, 3, c, a, &sweeps));
    assert_memory_equal(c, full, sizeof full);
    free(x);
}

static void errors(void **state)
{
    (void)state;
    double x[] = {0.5, 2.385, -1.5, 0.731, 3.25, 1.75}, c[6] = {9.5};
    size_t a[6] = {77}, sweeps = 78;
    assert_status(moeg_centroids(0, 2, x, NULL, 1, 1, c, a, &sweeps), MOEG_EINVAL,
                  "centroids: n must be at least 1, got 0");
    assert_status(moeg_centroids(3, 0, x, NULL, 1, 1, c, a, &sweeps), MOEG_EINVAL,
                  "centroids: d must be at least 1, got 0");
    assert_status(moeg_centroids(3, 2, x, NULL, 0, 1, c, a, &sweeps), MOEG_EINVAL,
                  "centroids: K must be at least 1, got 0");
    assert_status(moeg_centroids(3, 2, x, NULL, 4, 1, c, a, &sweeps), MOEG_EINVAL,
                  "centroids: K must be at most n = 3, got 4");
    assert_status(moeg_centroids(SIZE_MAX / 2, 5, x, NULL, 2, 1, c, a, &sweeps), MOEG_EINVAL,
                  "x (9223372036854775807 x 5) has more values than memory can hold");
    assert_status(moeg_centroids(3, 2, NULL, NULL, 2, 1, c, a, &sweeps), MOEG_EINVAL, "centroids: x must not be NULL");
    assert_status(moeg_centroids(3, 2, x, NULL, 2, 1, NULL, a, &sweeps), MOEG_EINVAL,
                  "centroids: centroids must not be NULL");
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 6; i++)
        for (size_t b = 0; b < 3; b++) {
            char text[64];
            snprintf(text, sizeof text, "centroids: x[%zu, %zu] must be finite", i / 2, i % 2);
            const double value = x[i];
            x[i] = bad[b];
            assert_status(moeg_centroids(3, 2, x, NULL, 2, 1, c, a, &sweeps), MOEG_EINVAL, text);
            x[i] = value;
        }
    const double far[] = {-1e300, 1e300, 0, 2.5}, near[] = {1e-200, 2e-200, 3e-200, 4e-200};
    assert_status(moeg_centroids(4, 1, far, NULL, 1, 1, c, a, &sweeps), MOEG_ERANGE, "to every centroid overflows");
    assert_status(moeg_centroids(4, 1, far, NULL, 2, 1, c, a, &sweeps), MOEG_ERANGE,
                  "centroids: the sum of squared distances overflows");
    assert_status(moeg_centroids(4, 1, near, NULL, 2, 1, c, a, &sweeps), MOEG_ERANGE, "underflows");
    assert_near(c[0], 9.5, 0);
    assert_int_equal(a[0], 77);
    assert_int_equal(sweeps, 78);
    assert_ok(moeg_centroids(3, 2, x, NULL, 2, 1, c, NULL, NULL));
}

static moeg_status scenario(void *user)
{
    double c[4] = {9.5};
    size_t a[60] = {77};
    const moeg_status status = moeg_centroids(60, 2, user, NULL, 2, 1, c, a, NULL);
    if (status != MOEG_OK) {
        assert_near(c[0], 9.5, 0);
        assert_int_equal(a[0], 77);
    }
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    double *x = make_rows(60, 2, 2, 0);
    assert_true(fail_every_allocation(scenario, x) >= 9);
    free(x);
}

/* a_k = c_k.x - |c_k|^2/2, a margin is half the difference of squared distances, the choice is the nearest. */
static void router_of_centroids(void **state)
{
    (void)state;
    enum { n = 300, d = 3, K = 5 };
    double *x = make_rows(n, d, 12, 0), c[K * d], logits[n * K], margin[n];
    size_t a[n], top[n];
    moeg_router *router;
    assert_ok(moeg_centroids(n, d, x, NULL, K, 2, c, a, NULL));
    assert_ok(moeg_router_centroids_create(&router, K, d, c));
    assert_int_equal(moeg_router_experts(router), K);
    assert_int_equal(moeg_router_dim(router), d);
    assert_ok(moeg_router_logits(router, n, x, logits));
    assert_ok(moeg_router_margin(router, n, x, margin));
    assert_ok(moeg_router_top(router, n, x, 1, top));
    assert_memory_equal(top, a, sizeof a);
    for (size_t i = 0; i < n; i++) {
        double nearest_two[2] = {INFINITY, INFINITY};
        for (size_t k = 0; k < K; k++) {
            long double dot = 0, norm = 0, distance = 0;
            for (size_t j = 0; j < d; j++) {
                dot += (long double)c[k * d + j] * x[i * d + j];
                norm += (long double)c[k * d + j] * c[k * d + j];
                distance += ((long double)c[k * d + j] - x[i * d + j]) * ((long double)c[k * d + j] - x[i * d + j]);
            }
            /* Terms up to 8^2 d, some ten roundings. */
            assert_near(logits[i * K + k], (double)(dot - norm / 2), 2000 * EPS);
            if (distance < nearest_two[0]) {
                nearest_two[1] = nearest_two[0];
                nearest_two[0] = (double)distance;
            } else if (distance < nearest_two[1]) {
                nearest_two[1] = (double)distance;
            }
        }
        assert_near(margin[i], (nearest_two[1] - nearest_two[0]) / 2, 4000 * EPS);
    }
    moeg_router_free(router);
    free(x);
}

static void router_errors(void **state)
{
    (void)state;
    double c[] = {0.5, 2.385, -1.5, 0.731};
    moeg_router *router = NULL;
    assert_status(moeg_router_centroids_create(NULL, 2, 2, c), MOEG_EINVAL,
                  "router_centroids: router must not be NULL");
    assert_status(moeg_router_centroids_create(&router, 2, 2, NULL), MOEG_EINVAL,
                  "router_centroids: centroids must not be NULL");
    assert_status(moeg_router_centroids_create(&router, 0, 2, c), MOEG_EINVAL,
                  "router_centroids: K must be at least 1, got 0");
    assert_status(moeg_router_centroids_create(&router, 2, 0, c), MOEG_EINVAL,
                  "router_centroids: d must be at least 1, got 0");
    assert_status(moeg_router_centroids_create(&router, 2, SIZE_MAX / 2 + 2, c), MOEG_EINVAL,
                  "router_centroids: centroids (2 x 9223372036854775809) has more values than memory can hold");
    c[2] = NAN;
    assert_status(moeg_router_centroids_create(&router, 2, 2, c), MOEG_EINVAL,
                  "router_centroids: centroids[1, 0] must be finite, got nan");
    c[2] = -1e200;
    assert_status(moeg_router_centroids_create(&router, 2, 2, c), MOEG_ERANGE,
                  "router_centroids: the squared norm of centroid 1 overflows");
    assert_null(router);
}

static moeg_status router_scenario(void *user)
{
    moeg_router *router = NULL;
    const moeg_status status = moeg_router_centroids_create(&router, 2, 2, user);
    if (status != MOEG_OK)
        assert_null(router);
    moeg_router_free(router);
    return status;
}

static void router_out_of_memory(void **state)
{
    (void)state;
    double c[] = {0.5, 2.385, -1.5, 0.731};
    assert_true(fail_every_allocation(router_scenario, c) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_an_obvious_implementation),
        cmocka_unit_test(data_far_from_the_origin),
        cmocka_unit_test(a_shift_changes_nothing),
        cmocka_unit_test(a_centroid_without_rows_moves),
        cmocka_unit_test(one_centroid_and_one_for_each_row),
        cmocka_unit_test(means_are_compensated),
        cmocka_unit_test(equal_rows),
        cmocka_unit_test(ties_go_to_the_lowest_index),
        cmocka_unit_test(the_number_of_threads_changes_nothing),
        cmocka_unit_test(too_few_sweeps),
        cmocka_unit_test(errors),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(router_of_centroids),
        cmocka_unit_test(router_errors),
        cmocka_unit_test(router_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
