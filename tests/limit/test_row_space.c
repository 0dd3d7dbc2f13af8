/* The row space: its logits have the covariance and the means of those it stands for, exact ties stay, and the mass is
 * that of the full space. */
#include "limit/row_space.h"

#include "base/memory.h"
#include "limit/boundary_job.h"
#include "limit/problem.h"
#include "model/model.h"
#include "support/failing_alloc.h"

/* The objects of a problem in its row space; the caller frees them. */
struct space {
    moeg_router *router;
    moeg_law *law;
    size_t K, r;
    const double *T, *constant;
};

static struct space make_space(const struct problem *p)
{
    struct space s;
    assert_ok(moeg_row_space("test", p->router, p->law, &s.router, &s.law));
    if (s.router == NULL) {
        assert_null(s.law);
        return s;
    }
    assert_true(moeg_router_affine_parts(s.router, &s.T, &s.constant));
    s.K = moeg_router_experts(s.router);
    s.r = moeg_router_dim(s.router);
    assert_int_equal(moeg_law_dim(s.law), s.r);
    const double *mean, *covariance;
    assert_true(moeg_law_gaussian_parts(s.law, &mean, &covariance));
    assert_null(covariance);
    for (size_t j = 0; j < s.r; j++)
        assert_near(mean[j], 0, 0);
    return s;
}

static void free_space(struct space *s)
{
    moeg_router_free(s->router);
    moeg_law_free(s->law);
}

/* E (a_i - a_j) and Cov(a_i - a_j, a_k - a_l) of every pair of unmasked experts, in both spaces. */
static void check_space(const struct problem *p, const struct space *s)
{
    const size_t d = p->d;
    size_t live[MOST_K], count = 0;
    for (size_t k = 0; k < p->K; k++)
        if (p->b[k] != -INFINITY)
            live[count++] = k;
    assert_int_equal(s->K, count);
    assert_true(s->r <= count - 1 && s->r < d);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const double *wi = p->W + live[i] * d, *wj = p->W + live[j] * d;
            long double mean = (long double)p->b[live[i]] - p->b[live[j]], size = fabs(p->b[live[i]]);
            size += fabs(p->b[live[j]]);
            for (size_t a = 0; a < d; a++) {
                mean += ((long double)wi[a] - wj[a]) * p->mean[a];
                size += fabsl((fabs(wi[a]) + fabs(wj[a])) * p->mean[a]);
            }
            assert_near(s->constant[i] - s->constant[j], (double)mean, (double)(8 + d) * EPS * (double)size);
            for (size_t k = 0; k < count; k++)
                for (size_t l = 0; l < k; l++) {
                    const double *wk = p->W + live[k] * d, *wl = p->W + live[l] * d;
                    long double full = 0, small = 0, scale = 0;
                    for (size_t a = 0; a < d; a++)
                        for (size_t b = 0; b < d; b++) {
                            const double c = p->covariance[a * d + b];
                            full += ((long double)wi[a] - wj[a]) * c * ((long double)wk[b] - wl[b]);
                            scale += (fabs(wi[a]) + fabs(wj[a])) * fabs(c) * (fabs(wk[b]) + fabs(wl[b]));
                        }
                    for (size_t a = 0; a < s->r; a++)
                        small += ((long double)s->T[i * s->r + a] - s->T[j * s->r + a]) *
                                 ((long double)s->T[k * s->r + a] - s->T[l * s->r + a]);
                    /* A few roundings for each of d products, of the factor and of up to K - 1 reflections. */
                    assert_near((double)small, (double)full, (double)(20 * d * p->K) * EPS * (double)scale);
                }
        }
}

static void covariances_are_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const size_t d = 2 + seed % 5, K = 2 + seed / 5 % (d - 1);
        struct problem p;
        problem_draw(&p, 400 + seed, K, d, 1);
        for (size_t k = 0; seed % 4 == 1 && k < d; k++)
            p.W[k] *= 1e9; /* one expert is loud */
        for (size_t k = 0; seed % 4 == 2 && k < K * d; k++)
            p.W[k] *= seed % 8 == 2 ? 1e-200 : 1e150; /* squares under- or overflow */
        if (seed % 4 == 3 && K > 2)
            p.b[1] = -INFINITY;
        problem_build(&p);
        struct space s = make_space(&p);
        if (seed % 4 != 2) {
            check_space(&p, &s);
        } else { /* Compare at a scale that can be squared. */
            struct problem q = p;
            const double scale = seed % 8 == 2 ? 0x1p660 : 0x1p-500;
            for (size_t k = 0; k < K * d; k++)
                q.W[k] *= scale;
            double T[MOST_K * MOST_D], constant[MOST_K];
            for (size_t k = 0; k < s.K * s.r; k++)
                T[k] = s.T[k] * scale;
            memset(q.mean, 0, sizeof q.mean);
            for (size_t k = 0; k < K; k++)
                constant[k] = q.b[k] - q.b[0];
            const struct space scaled = {s.router, s.law, s.K, s.r, T, constant};
            check_space(&q, &scaled);
        }
        free_space(&s);
        problem_free(&p);
    }
}

/* Two experts that differ by 1e-9 of their rows: their difference keeps its digits. */
static void near_twins_keep_their_distance(void **state)
{
    (void)state;
    struct problem p;
    problem_draw(&p, 470, 4, 6, 1);
    long double square = 0;
    for (size_t j = 0; j < 6; j++) {
        p.W[6 + j] = p.W[j] * (1 + 1e-9 * (double)(j + 1));
        for (size_t k = 0; k < 6; k++)
            p.covariance[j * 6 + k] = j == k;
    }
    for (size_t j = 0; j < 6; j++)
        square += ((long double)p.W[6 + j] - p.W[j]) * ((long double)p.W[6 + j] - p.W[j]);
    problem_build(&p);
    struct space s = make_space(&p);
    long double got = 0;
    for (size_t a = 0; a < s.r; a++)
        got += ((long double)s.T[s.r + a] - s.T[a]) * ((long double)s.T[s.r + a] - s.T[a]);
    /* EPS of the rows, of size about 1, beside a difference of about 1e-9. */
    assert_relative((double)sqrtl(got), (double)sqrtl(square), 100 * EPS / 1e-9);
    free_space(&s);
    problem_free(&p);
}

static moeg_sampling options(uint64_t n, uint64_t seed)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_MC;
    s.n = n;
    s.seed = seed;
    return s;
}

/* Equal rows tie in all samples, where they are the best; first, last, or the one that all are measured from. */
static void exact_ties_stay(void **state)
{
    (void)state;
    for (size_t twin = 1; twin < 4; twin++)
        for (int reference = 0; reference < 2; reference++) {
            struct problem p;
            problem_draw(&p, 480, 4, 6, 1);
            memcpy(p.W + twin * 6, p.W, 6 * sizeof *p.W);
            for (size_t k = 0; k < 4; k++) /* the two are always ahead */
                p.b[k] = (k == 0 || k == twin ? 1e3 : 0) - (reference ? 1e3 : 0);
            problem_build(&p);
            const moeg_sampling s = options(500, 3);
            const double w = 0;
            moeg_estimate mass;
            assert_ok(moeg_boundary_mass(p.router, p.law, 1, &w, &s, &mass));
            assert_int_equal(mass.contributing, 500);
            problem_free(&p);
        }
}

static void where_it_does_not_apply(void **state)
{
    (void)state;
    struct problem p;
    struct space s;
    problem_make(&p, 490, 4, 3, 1); /* r = d */
    assert_null((s = make_space(&p)).router);
    problem_free(&p);
    problem_draw(&p, 490, 3, 4, 1);
    p.b[0] = p.b[2] = -INFINITY;
    problem_build(&p);
    assert_null((s = make_space(&p)).router);
    moeg_law *data;
    assert_ok(moeg_law_empirical_create(&data, 3, 4, p.W, NULL));
    assert_ok(moeg_row_space("test", p.router, data, &s.router, &s.law));
    assert_null(s.router);
    moeg_law_free(data);
    problem_free(&p);
    problem_draw(&p, 490, 3, 4, 1); /* all logits differ by constants alone */
    for (size_t k = 4; k < 12; k++)
        p.W[k] = p.W[k - 4];
    problem_build(&p);
    assert_null((s = make_space(&p)).router);
    problem_free(&p);
    problem_draw(&p, 490, 3, 4, 1); /* a difference overflows */
    p.W[0] = 1.7e308;
    p.W[4] = -1.7e308;
    problem_build(&p);
    assert_null((s = make_space(&p)).router);
    problem_free(&p);
}

/* Masses in both spaces, from different samples: within 4.5 deviations of each other, 200 comparisons. */
static void mass_is_that_of_the_full_space(void **state)
{
    (void)state;
    enum { NW = 5, N = 20000 };
    const double w[NW] = {1e-2, 0.1, 0.385, 1, 2.385};
    for (uint64_t seed = 0; seed < 40; seed++) {
        const size_t d = 3 + seed % 4, K = 2 + seed / 4 % (d - 2);
        struct problem p;
        problem_make(&p, 500 + seed, K, d, 1);
        moeg_estimate mass[2][NW];
        for (int row_space = 0; row_space < 2; row_space++) {
            const moeg_sampling s = options(N, 10 + (uint64_t)row_space);
            moeg_job *job;
            moeg_partial *partial;
            assert_ok(
                moeg_boundary_job_make("test", &job, p.router, moeg_gap_margin(), p.law, NW, w, 0, row_space, &s));
            assert_ok(moeg_job_run(job, &s, 0, moeg_job_blocks(job), &partial));
            assert_int_equal(moeg_boundary_context_of(job)->rows.d, row_space ? K - 1 : d);
            assert_ok(moeg_boundary_job_read("test", job, partial, s.level,
                                             &(moeg_boundary_results){.mass = mass[row_space]}));
            moeg_partial_free(partial);
            moeg_job_free(job);
        }
        for (size_t j = 0; j < NW; j++) {
            const double pooled = (mass[0][j].value + mass[1][j].value) / 2;
            const double deviation = sqrt(2 * pooled * (1 - pooled) / N);
            assert_near(mass[0][j].value, mass[1][j].value, 4.5 * deviation + 2.0 / N);
        }
        problem_free(&p);
    }
}

static moeg_status allocating(void *user)
{
    const struct problem *p = user;
    struct space s;
    const moeg_status status = moeg_row_space("test", p->router, p->law, &s.router, &s.law);
    assert_true(status == MOEG_OK ? s.router != NULL : s.router == NULL && s.law == NULL);
    free_space(&s);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct problem p;
    problem_make(&p, 495, 3, 5, 1);
    assert_true(fail_every_allocation(allocating, &p) >= 9);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covariances_are_the_same),
        cmocka_unit_test(near_twins_keep_their_distance),
        cmocka_unit_test(exact_ties_stay),
        cmocka_unit_test(where_it_does_not_apply),
        cmocka_unit_test(mass_is_that_of_the_full_space),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
