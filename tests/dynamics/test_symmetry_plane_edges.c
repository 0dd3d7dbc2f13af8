/* M by quadrature over a plane: scaling, v.x = 0 at the edge of what is integrated, errors of arguments and callbacks.
 */
#include "dynamics/symmetry_cases.h"
#include "support/failing_alloc.h"

/* sign(a) (b + 0.45) (1 + tanh |a/scale|), scale a power of two. */
static int scaled(size_t n, const double *a, const double *b, double *y, void *user)
{
    const double scale = *(const double *)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]) * (b[i] + 0.45) * (1 + tanh(fabs(a[i] / scale)));
    return 0;
}

/* M does not know how long v is. */
static void scales_with_v(void **state)
{
    (void)state;
    const double covariance[] = {1.7, 0.6, 0.6, 0.9}, mean[] = {0.3, -0.2}, w[] = {0.7, -1.3};
    const moeg_contrast contrast = moeg_contrast_affine();
    const int powers[] = {0, -900, 7, 900};
    moeg_law *law;
    double M[4][6], error[4][6];
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, covariance));
    for (size_t k = 0; k < 4; k++) {
        double scale = ldexp(1, powers[k]);
        const double v[] = {0.6 * scale, -0.8 * scale};
        assert_ok(moeg_symmetry_plane(law, v, w, 1, scaled, &scale, MOEG_SYMMETRIC_LINEAR, &contrast, M[k], error[k]));
        for (size_t i = 0; i < 6; i++)
            assert_true(M[k][i] == M[0][i] && error[k][i] == error[0][i]);
    }
    moeg_law_free(law);
}

static int hard(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = copysign(1, a[i]);
    return 0;
}

/* d = 1, X = h + s, Y = sign(X), f = 0: E X Y = h erf(h/sqrt 2) + 2 phi(h). The jump is inside, at the edge, outside of
 * the 10 deviations, and where panels are no longer graded towards it. */
static void jumps_far_from_the_mean(void **state)
{
    (void)state;
    const double means[] = {0, 0.7, -3, 8.5, 9.5, -9.999, 10, 10.5, -11.5, 12, 13, -1e3, 1e5}, v = 2, w = 0;
    const moeg_contrast one = moeg_contrast_constant();
    for (size_t k = 0; k < sizeof means / sizeof *means; k++) {
        const double h = means[k], expected = h * erf(h / sqrt(2)) + 2 * exp(-h * h / 2) / sqrt(2 * acos(-1));
        moeg_law *law;
        double M, error;
        assert_ok(moeg_law_gaussian_create(&law, 1, &h, NULL));
        assert_ok(moeg_symmetry_plane(law, &v, &w, 1, hard, NULL, MOEG_SYMMETRIC_ZERO, &one, &M, &error));
        assert_near(M, expected, error);
        assert_relative(M, expected, 10 * EPS);
        /* The size of E r, 1 + |h|, and the rounding of v.x is |h| of its own. */
        assert_true(error < 1e-13 * (1 + h * h));
        moeg_law_free(law);
    }
}

struct refusal {
    int result;   /* of the callback, */
    double value; /* what it writes, */
    size_t calls; /* after this many good calls */
};

static int refusing(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)b;
    struct refusal *r = user;
    for (size_t i = 0; i < 2 * n; i++)
        y[i] = 1;
    if (r->calls-- > 0)
        return 0;
    r->calls = 0;
    y[1] = r->value;
    return r->result;
}

static int silent(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)n, (void)a, (void)b, (void)y, (void)user;
    return 0;
}

static int huge(size_t n, const double *a, const double *b, double *y, void *user)
{
    (void)a, (void)b, (void)user;
    for (size_t i = 0; i < n; i++)
        y[i] = 1e307;
    return 0;
}

static void callbacks_that_fail(void **state)
{
    (void)state;
    const double v[] = {0.6, 0.8}, w[] = {0.7, -1.3}, far[] = {1e10, 1e10};
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_law *law, *wide;
    double M[8], error[8];
    for (size_t i = 0; i < 8; i++)
        M[i] = error[i] = 5;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_ok(moeg_law_gaussian_create(&wide, 2, far, NULL));
#define PLANE(law, m, y, user) moeg_symmetry_plane(law, v, w, m, y, user, MOEG_SYMMETRIC_ZERO, &linear, M, error)
    for (size_t calls = 0; calls < 1000; calls += 499) {
        struct refusal stop = {-7, 1, calls}, nan = {0, NAN, calls}, infinite = {0, INFINITY, calls};
        assert_status(PLANE(law, 2, refusing, &stop), MOEG_ECALLBACK, "symmetry_plane: y returned -7 at v.x = ");
        assert_int_equal(stop.calls, 0); /* and is not called again */
        assert_status(PLANE(law, 2, refusing, &nan), MOEG_ERANGE, "symmetry_plane: y[1] is ");
        assert_status(PLANE(law, 2, refusing, &infinite), MOEG_ERANGE, "symmetry_plane: y[1] is inf at v.x = ");
    }
    assert_status(PLANE(law, 1, silent, NULL), MOEG_ERANGE, "symmetry_plane: y[0] is nan at v.x = ");
    assert_status(PLANE(wide, 1, huge, NULL), MOEG_ERANGE, "symmetry_plane: M[0, 0] overflows");
#undef PLANE
    for (size_t i = 0; i < 8; i++)
        assert_true(M[i] == 5 && error[i] == 5);
    moeg_law_free(wide);
    moeg_law_free(law);
}

static void errors(void **state)
{
    (void)state;
    const double v[] = {0.6, 0.8}, w[] = {0.7, -1.3}, zero[] = {0, 0}, bad[] = {0, NAN}, mean[] = {0, 0.25};
    const double flat[] = {0.64, -0.48, -0.48, 0.36}, across[] = {0.8, -0.6}, huge_w[] = {1.7e308, 1.7e308};
    const moeg_contrast linear = moeg_contrast_linear(), own = moeg_contrast_user(1, NULL, NULL);
    moeg_law *law, *box, *singular, *centred;
    double M[4] = {5, 5, 5, 5}, error[4] = {5, 5, 5, 5};
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, NULL));
    assert_ok(moeg_law_gaussian_create(&singular, 2, mean, flat));
    assert_ok(moeg_law_gaussian_create(&centred, 2, NULL, flat));
    assert_ok(moeg_law_box_create(&box, 2, mean, v));
#define PLANE(law, v, w, m, y, class, contrast)                                                                        \
    moeg_symmetry_plane(law, v, w, m, y, NULL, MOEG_SYMMETRIC_##class, contrast, M, error)
    assert_status(PLANE(NULL, v, w, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: law must not be NULL");
    assert_status(PLANE(law, NULL, w, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: v must not be NULL");
    assert_status(PLANE(law, zero, w, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: v must not be 0");
    assert_status(PLANE(law, bad, w, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: v[1] must be finite");
    assert_status(PLANE(law, v, NULL, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: w must not be NULL");
    assert_status(PLANE(law, v, bad, 1, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: w[1] must be finite");
    assert_status(PLANE(law, v, w, 0, hard, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: m must be at least 1, got 0");
    assert_status(PLANE(law, v, w, SIZE_MAX, hard, ZERO, &linear), MOEG_EINVAL, "more than memory can hold");
    assert_status(PLANE(law, v, w, 1, NULL, ZERO, &linear), MOEG_EINVAL, "symmetry_plane: y must not be NULL");
    assert_status(PLANE(law, v, w, 1, hard, ZERO, NULL), MOEG_EINVAL, "symmetry_plane: contrast must not be NULL");
    assert_status(PLANE(law, v, w, 1, hard, ZERO, &own), MOEG_EINVAL, "contrast->function must not be NULL");
    assert_status(moeg_symmetry_plane(law, v, w, 1, hard, NULL, (moeg_symmetric)-1, &linear, M, error), MOEG_EINVAL,
                  "the symmetric expert must be zero (0), constant (1), linear (2) or affine (3), got");
    assert_status(moeg_symmetry_plane(law, v, w, 1, hard, NULL, MOEG_SYMMETRIC_ZERO, &linear, NULL, error), MOEG_EINVAL,
                  "symmetry_plane: M must not be NULL");
    assert_status(PLANE(box, v, w, 1, hard, ZERO, &linear), MOEG_EUNSUPPORTED, "the law must be Gaussian");
    assert_status(PLANE(centred, v, w, 1, hard, ZERO, &linear), MOEG_EDOM, "v.x does not vary under the law");
    assert_status(
        PLANE(singular, across, w, 1, hard, LINEAR, &linear), MOEG_EDOM,
        "symmetry_plane: without an intercept M has no value at a mean other than 0 and a singular covariance");
    assert_ok(moeg_symmetry_plane(singular, across, w, 1, hard, NULL, MOEG_SYMMETRIC_AFFINE, &linear, (double[4]){0},
                                  (double[4]){0}));
    assert_ok(moeg_symmetry_plane(centred, across, w, 1, hard, NULL, MOEG_SYMMETRIC_LINEAR, &linear, (double[4]){0},
                                  (double[4]){0}));
    assert_status(PLANE(law, v, huge_w, 1, hard, ZERO, &linear), MOEG_ERANGE, "the moments of w.x overflow");
#undef PLANE
    for (size_t i = 0; i < 4; i++)
        assert_true(M[i] == 5 && error[i] == 5);
    moeg_law_free(centred);
    moeg_law_free(singular);
    moeg_law_free(box);
    moeg_law_free(law);
}

/* Laws whose numbers leave the range of doubles on the way. */
static void means_too_far(void **state)
{
    (void)state;
    const double mean[] = {1e300, 1e300}, v[] = {0.6, 0.8}, top[] = {1.7e308, 1.7e308};
    const moeg_contrast linear = moeg_contrast_linear();
    moeg_law *law, *edge;
    double M[4];
    assert_ok(moeg_law_gaussian_create(&law, 2, mean, NULL));
    assert_ok(moeg_law_gaussian_create(&edge, 2, top, NULL));
    assert_status(moeg_symmetry_plane(law, v, v, 1, hard, NULL, MOEG_SYMMETRIC_LINEAR, &linear, M, NULL), MOEG_ERANGE,
                  "symmetry_plane: the mean is too many standard deviations from 0");
    assert_status(moeg_symmetry_plane(edge, top, v, 1, hard, NULL, MOEG_SYMMETRIC_ZERO, &linear, M, NULL), MOEG_ERANGE,
                  "symmetry_plane: the moments of v.x overflow");
    moeg_law_free(edge);
    moeg_law_free(law);
}

static moeg_status scenario(void *law)
{
    const double v[] = {0.6, 0.8}, w[] = {0.7, -1.3};
    const moeg_contrast linear = moeg_contrast_linear();
    double M[4] = {5, 5, 5, 5}, error[4] = {5, 5, 5, 5};
    const moeg_status status = moeg_symmetry_plane(law, v, w, 1, hard, NULL, MOEG_SYMMETRIC_AFFINE, &linear, M, error);
    for (size_t i = 0; i < 4; i++)
        assert_true(status == MOEG_OK || (M[i] == 5 && error[i] == 5));
    return status;
}

static void out_of_memory(void **state)
{
    (void)state;
    moeg_law *law;
    assert_ok(moeg_law_gaussian_create(&law, 2, NULL, NULL));
    assert_int_equal(fail_every_allocation(scenario, law), 5);
    moeg_law_free(law);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_with_v),       cmocka_unit_test(jumps_far_from_the_mean),
        cmocka_unit_test(callbacks_that_fail), cmocka_unit_test(errors),
        cmocka_unit_test(means_too_far),       cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
