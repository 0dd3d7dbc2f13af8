/* Interfaces and ties of a law on a plane in space: slopes are what they are in the plane, where rows coincide on it
 * alone, or to rounding. */
#include "limit/grid.h"
#include "limit/nodes_run.h"

/* x = B y, and as many rows of x as there are rows w of y, (count x 2): those with w y = row x, and `off` times what B
 * does not reach. */
static const double B[6] = {1, 0.3, -0.2, 0.9, 0.5, -0.7}, off_B[3] = {-0.31, 0.85, 0.96};

static void lift(size_t count, const double *w, const double *off, double *row)
{
    double a = 0, b = 0, c = 0;
    for (size_t l = 0; l < 3; l++) {
        a += B[2 * l] * B[2 * l];
        b += B[2 * l] * B[2 * l + 1];
        c += B[2 * l + 1] * B[2 * l + 1];
    }
    for (size_t k = 0; k < count; k++) {
        const double u = (c * w[2 * k] - b * w[2 * k + 1]) / (a * c - b * b),
                     v = (a * w[2 * k + 1] - b * w[2 * k]) / (a * c - b * b);
        for (size_t l = 0; l < 3; l++)
            row[3 * k + l] = u * B[2 * l] + v * B[2 * l + 1] + off[k] * off_B[l];
    }
}

/* A problem of two dimensions on a plane in space, with a variance across it. */
static void embed(const struct problem *plane, double across, struct problem *space)
{
    static const double off[MOST_K] = {0.7, -1.3, 2.1, 0.4, -0.6}, teacher_off[2] = {0.9, -0.2};
    *space = *plane;
    space->d = 3;
    lift(plane->K, plane->W, off, space->W);
    lift(2, plane->V, teacher_off, space->V);
    for (size_t i = 0; i < 3; i++) {
        space->mean[i] = B[2 * i] * plane->mean[0] + B[2 * i + 1] * plane->mean[1];
        for (size_t j = 0; j < 3; j++) {
            space->covariance[3 * i + j] = across * off_B[i] * off_B[j];
            for (size_t l = 0; l < 4; l++)
                space->covariance[3 * i + j] += B[2 * i + l / 2] * plane->covariance[l] * B[2 * j + l % 2];
        }
    }
}

/* The same in the units of D x, D = diag(unit). */
static void stretch(const double *unit, struct problem *space)
{
    for (size_t i = 0; i < 3; i++) {
        space->mean[i] *= unit[i];
        for (size_t j = 0; j < 3; j++)
            space->covariance[3 * i + j] *= unit[i] * unit[j];
        for (size_t k = 0; k < space->K; k++)
            space->W[3 * k + i] /= unit[i];
        for (size_t k = 0; k < 2; k++)
            space->V[3 * k + i] /= unit[i];
    }
}

static void interfaces_may_coincide_on_the_support_alone(void **state)
{
    (void)state;
    static const double units[][3] = {{1, 1, 1}, {1, 1e8, 1e-8}, {3e-120, 1, 1e17}};
    const moeg_sampling s = line_options();
    for (uint64_t seed = 1; seed < 6; seed++)
        for (int i = 0; i < 2; i++) {
            struct problem plane, space;
            moeg_estimate slope, expected;
            grid(&plane, moeg_gate_softmax());
            tilt(seed, &plane);
            problem_build(&plane);
            assert_ok(moeg_leading_slope(plane.moe, plane.teacher, plane.law, both[i], &s, &expected));
            embed(&plane, 0, &space);
            stretch(units[seed % 3], &space);
            problem_build(&space);
            assert_ok(moeg_leading_slope(space.moe, space.teacher, space.law, both[i], &s, &slope));
            assert_true(slope.n == 1 && (i == 0 || expected.value > 0.5));
            assert_near(slope.value, expected.value, 1e-13);
            problem_free(&space);
            problem_free(&plane);
        }
}

/* A jump beside a tie: by more than rounding on the support, or where there is a third dimension. */
static void interfaces_that_differ_are_told_apart(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct problem plane, space;
        moeg_estimate slope;
        const moeg_sampling s = lines_of(64);
        grid(&plane, moeg_gate_softmax());
        tilt(1, &plane);
        plane.e[0] = which == 0 ? 1e-11 : 0;
        plane.V[0] = which == 1 ? 1e-11 : 0;
        embed(&plane, which == 2 ? 0.1 : 0, &space);
        problem_build(&space);
        assert_ok(moeg_leading_slope(space.moe, space.teacher, space.law, MOEG_MIX_LOSS, &s, &slope));
        assert_true(slope.value == 0 && slope.n == (which == 2 ? 64 : 1));
        problem_free(&space);
    }
}

/* Rows on one line: on the support; and far from the origin, where the constants of logits are rounded to 1e-3. */
static void three_may_tie_to_rounding(void **state)
{
    (void)state;
    const double third[] = {0.1, 0.2, 0.3};
    for (int which = 0; which < 4; which++) {
        struct problem p, space;
        moeg_estimate slope;
        const moeg_sampling s = line_options();
        const double far = which == 1 ? 1e3 : which == 2 ? 1e9 : 1e13;
        if (which == 0) {
            grid(&p, moeg_gate_softmax());
            tilt(2, &p);
            for (size_t l = 0; l < 6; l++)
                p.W[l] = third[l / 2] * (l % 2 == 0 ? 3 : 7);
            embed(&p, 0, &space);
            problem_build(&space);
        } else {
            space =
                (struct problem){.K = 3, .d = 1, .m = 1, .mean = {far + 1}, .covariance = {1}, .c = {{0}, {5}, {1}}};
            for (size_t k = 0; k < 3; k++) {
                space.W[k] = third[k];
                space.b[k] = -(far + 0.3) * third[k];
            }
            problem_build(&space);
        }
        assert_int_equal(moeg_leading_slope(space.moe, space.teacher, space.law, MOEG_MIX_OUTPUT, &s, &slope),
                         MOEG_EUNSUPPORTED);
        assert_non_null(strstr(moeg_last_error(), "tie wherever two of them do and decide"));
        problem_free(&space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interfaces_may_coincide_on_the_support_alone),
        cmocka_unit_test(interfaces_that_differ_are_told_apart),
        cmocka_unit_test(three_may_tie_to_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
