/* Whole weights are repeated rows, and rows of weight 0 are not there. */
#include "support/check.h"
#include "support/random.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>

enum { N = 120, D = 3, K = 4, M = 2, MOST = 4 * N };

struct data {
    double x[N * D], y[N * M], w[N];
    double many_x[MOST * D], many_y[MOST * M], few_w[MOST];
    size_t many;
};

/* Weights 0, 1, 2 and 3, and the rows as often as they say. */
static void make(struct data *s)
{
    uint64_t seed = 8;
    s->many = 0;
    for (size_t i = 0; i < N; i++) {
        s->w[i] = (double)(next_bits(&seed) % 4);
        for (size_t j = 0; j < D; j++)
            s->x[i * D + j] = next_normal(&seed) + (double)(i % K);
        for (size_t j = 0; j < M; j++)
            s->y[i * M + j] = next_normal(&seed) + s->x[i * D + j];
        for (int copy = 0; copy < (int)s->w[i]; copy++, s->many++) {
            memcpy(s->many_x + s->many * D, s->x + i * D, D * sizeof(double));
            memcpy(s->many_y + s->many * M, s->y + i * M, M * sizeof(double));
        }
    }
}

static void weights_of_centroids(void **state)
{
    (void)state;
    struct data s;
    make(&s);
    for (uint64_t seed = 1; seed < 20; seed++) {
        double weighted[K * D], repeated[K * D];
        size_t place[N];
        assert_ok(moeg_centroids(N, D, s.x, s.w, K, seed, weighted, place, NULL));
        assert_ok(moeg_centroids(s.many, D, s.many_x, NULL, K, seed, repeated, NULL, NULL));
        for (size_t j = 0; j < K * D; j++)
            assert_near(weighted[j], repeated[j], 64 * EPS);
        for (size_t i = 0; i < N; i++) { /* Rows that do not count have a centroid all the same: the nearest. */
            double distance[K];
            size_t nearest = 0;
            for (size_t k = 0; k < K; k++) {
                distance[k] = 0;
                for (size_t j = 0; j < D; j++)
                    distance[k] += pow(s.x[i * D + j] - weighted[k * D + j], 2);
                if (distance[k] < distance[nearest])
                    nearest = k;
            }
            assert_int_equal(place[i], nearest);
        }
    }
    double centroids[K * D], w[N] = {0};
    assert_status(moeg_centroids(N, D, s.x, w, 2, 1, centroids, NULL, NULL), MOEG_EINVAL, "weights must not all be 0");
    w[5] = -1;
    assert_status(moeg_centroids(N, D, s.x, w, 2, 1, centroids, NULL, NULL), MOEG_EINVAL,
                  "weights[5] must be finite and at least 0, got -1");
    w[5] = 1;
    assert_status(moeg_centroids(N, D, s.x, w, 2, 1, centroids, NULL, NULL), MOEG_EDOM,
                  "number of distinct rows, 1, got 2");
    assert_ok(moeg_centroids(N, D, s.x, w, 1, 1, centroids, NULL, NULL));
    assert_memory_equal(centroids, s.x + 5 * D, D * sizeof(double));
}

static void weights_of_profiles(void **state)
{
    (void)state;
    struct data s;
    make(&s);
    double centroids[K * D];
    moeg_router *router;
    moeg_expert *weighted[K], *repeated[K];
    moeg_cell_fit fit[K], other[K];
    assert_ok(moeg_centroids(N, D, s.x, NULL, K, 3, centroids, NULL, NULL));
    assert_ok(moeg_router_centroids_create(&router, K, D, centroids));
    assert_ok(moeg_profile_hard(router, N, s.x, M, s.y, s.w, weighted, fit));
    assert_ok(moeg_profile_hard(router, s.many, s.many_x, M, s.many_y, NULL, repeated, other));
    size_t rows = 0, counted = 0;
    for (size_t k = 0; k < K; k++) {
        double A[M * D], c[M], B[M * D], e[M];
        assert_ok(moeg_expert_affine_form(weighted[k], A, c));
        assert_ok(moeg_expert_affine_form(repeated[k], B, e));
        for (size_t j = 0; j < M * D; j++)
            assert_near(A[j], B[j], 1e-12);
        for (size_t j = 0; j < M; j++)
            assert_near(c[j], e[j], 1e-12);
        assert_relative(fit[k].residual, other[k].residual, 1e-12);
        assert_int_equal(fit[k].rank, other[k].rank);
        counted += fit[k].rows;
        moeg_expert_free(weighted[k]);
        moeg_expert_free(repeated[k]);
    }
    for (size_t i = 0; i < N; i++)
        rows += s.w[i] > 0;
    assert_int_equal(counted, rows);
    s.w[7] = NAN;
    assert_status(moeg_profile_hard(router, N, s.x, M, s.y, s.w, weighted, fit), MOEG_EINVAL,
                  "profile_hard: weights[7] must be finite and at least 0, got nan");
    moeg_router_free(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_centroids),
        cmocka_unit_test(weights_of_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
