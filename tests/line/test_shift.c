/* Parts of lines: around 0 and around far ties, apart from each other, whose shares make up for it: by quadrature over
 * the parts, the expectations over them add up to those over N(0, I). */
#include "line/shift.h"

#include "support/check.h"
#include "support/failing_alloc.h"

#include <string.h>

enum { R = 2, TIES = 4 };

/* Ties at hand, of two strata; the second is near the first. */
static double points[TIES * R] = {2, 0, 2.1, 0.1, 0, -2.5, 3, 3};
static double squares[TIES] = {4, 4.42, 6.25, 18};
static size_t members[2 * TIES] = {0, 1, 0, 2, 0, 3, 0, 4};
static const moeg_ties ties = {.r = R, .size = 2, .count = TIES, .square = squares, .member = members, .point = points};

/* Stratum 1 sees all but the third; stratum 0 has lines along the first axis. */
static int shift_of(const void *self, const moeg_ties *t, size_t tie, size_t stratum, double *shift)
{
    static const double axis[R] = {1, 0};
    assert_null(self);
    if (stratum == 1) {
        memcpy(shift, t->point + tie * R, R * sizeof *shift);
        return tie != 2;
    }
    moeg_shift_across(R, axis, t->point + tie * R, shift);
    return 1;
}

/* Shifts that are longer than 2.5 are led up to. */
static void parts_are_apart(void **state)
{
    (void)state;
    static const uint32_t stratum[8] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const double shift[8 * R] = {0, 0, 0, -2.5, 0, 1.5, 0, 3, 0, 0, 2, 0, 1.5, 1.5, 3, 3};
    moeg_shifts shifts;
    assert_ok(moeg_shifts_init("test", 2, R, &ties, shift_of, NULL, 1000, &shifts));
    assert_int_equal(shifts.count, 8);
    assert_memory_equal(shifts.stratum, stratum, sizeof stratum);
    for (size_t c = 0; c < 8; c++) {
        assert_near(shifts.height[c], -(shift[2 * c] * shift[2 * c] + shift[2 * c + 1] * shift[2 * c + 1]) / 2, 0);
        for (size_t l = 0; l < R; l++)
            assert_near(shifts.shift[c * R + l], shift[c * R + l], 0);
    }
    assert_int_equal(shifts.strata, 2);
    assert_int_equal(moeg_shifts_most(&shifts), 4);
    moeg_shifts_free(&shifts);
    /* Without ties, one part each. */
    assert_ok(moeg_shifts_init("test", 3, R, NULL, NULL, NULL, 8, &shifts));
    assert_int_equal(shifts.count, 3);
    for (uint32_t c = 0; c < 3; c++)
        assert_int_equal(shifts.stratum[c], c);
    assert_int_equal(moeg_shifts_most(&shifts), 1);
    moeg_shifts_free(&shifts);
}

/* sum_c E_c[share h] by the trapezoidal rule, h a polynomial: 1, u_0, u_1, u_0 u_1, u_0^2, u_1^4. */
static void shares_make_up(void **state)
{
    (void)state;
    static const double truth[6] = {1, 0, 0, 0, 1, 3};
    enum { N = 8 };
    const double step = 0.125, top = 9;
    moeg_shifts shifts;
    assert_ok(moeg_shifts_init("test", 2, R, &ties, shift_of, NULL, 1000, &shifts));
    double sum[2][6] = {{0}}, most = 0;
    for (size_t c = 0; c < shifts.count; c++)
        for (double x = -top; x <= top; x += step)
            for (double y = -top; y <= top; y += N * step) {
                _Alignas(64) double u[R * N], share[4 * N];
                for (int i = 0; i < N; i++) {
                    u[i] = shifts.shift[c * R] + x;
                    u[N + i] = shifts.shift[c * R + 1] + y + i * step;
                }
                moeg_shifts_share(&shifts, c, N, u, share);
                for (int i = 0; i < N; i++) {
                    const double a = u[i], b = u[N + i], v = y + i * step;
                    const double weight = exp(-(x * x + v * v) / 2) / (2 * acos(-1)) * step * step * share[i];
                    const double h[6] = {1, a, b, a * b, a * a, b * b * b * b};
                    for (int k = 0; k < 6; k++)
                        sum[shifts.stratum[c]][k] += weight * h[k];
                    most = fmax(most, share[i]);
                }
            }
    for (int stratum = 0; stratum < 2; stratum++)
        for (int k = 0; k < 6; k++)
            assert_near(sum[stratum][k], truth[k], 1e-12);
    assert_true(most <= 1);
    moeg_shifts_free(&shifts);
}

/* Too few lines for the parts that count are refused, n/16 = 1 in all; others are left out, and all of them beside a
 * tie that is near. */
static void few_lines(void **state)
{
    (void)state;
    moeg_shifts shifts;
    assert_status(moeg_shifts_init("test", 2, R, &ties, shift_of, NULL, 31, &shifts), MOEG_EINVAL,
                  "test: n must be more than 31");
    moeg_ties others = ties;
    double distances[2][TIES] = {{4, 20, 20, 20}, {0.5, 1, 1, 1}};
    for (int near = 0; near < 2; near++) {
        others.square = distances[near];
        assert_ok(moeg_shifts_init("test", 2, R, &others, shift_of, NULL, near ? 255 : 31, &shifts));
        assert_int_equal(shifts.count, 3);
        assert_near(shifts.shift[2 * R], 2, 0);
        moeg_shifts_free(&shifts);
    }
}

static int shift_to(const void *self, const moeg_ties *t, size_t tie, size_t stratum, double *shift)
{
    (void)self;
    (void)stratum;
    memcpy(shift, t->point + tie * t->r, t->r * sizeof *shift);
    return 1;
}

/* More places than lines are worth it for, whatever n: 1.5 (+- e_i +- e_j), 2.1 apart or more. */
static void many_places(void **state)
{
    (void)state;
    enum { WIDE = 50, MANY = 4900 };
    static double place[MANY * WIDE], square[MANY];
    static size_t member[2 * MANY];
    size_t count = 0;
    for (size_t i = 0; i < WIDE; i++)
        for (size_t j = 0; j < i; j++)
            for (int sign = 0; sign < 4; sign++) {
                place[count * WIDE + i] = sign & 1 ? 1.5 : -1.5;
                place[count * WIDE + j] = sign & 2 ? 1.5 : -1.5;
                square[count++] = 4.5;
            }
    assert_int_equal(count, MANY);
    moeg_ties many = {.r = WIDE, .size = 2, .count = MANY, .square = square, .member = member, .point = place};
    moeg_shifts shifts;
    assert_status(moeg_shifts_init("test", 1, WIDE, &many, shift_to, NULL, 1 << 20, &shifts), MOEG_EUNSUPPORTED,
                  "lines would have to be drawn around more than 4096 places");
    many.count = 1000;
    assert_ok(moeg_shifts_init("test", 1, WIDE, &many, shift_to, NULL, 1 << 20, &shifts));
    assert_int_equal(shifts.count, 1001);
    moeg_shifts_free(&shifts);
}

/* z = Q' u. */
static void embedding(void **state)
{
    (void)state;
    static const double W[2 * 3] = {1, 2, 2, -1, 1, 0.5};
    moeg_router *router;
    moeg_law *law;
    moeg_frame frame;
    moeg_shifts shifts;
    assert_ok(moeg_router_affine_create(&router, 2, 3, W, NULL));
    assert_ok(moeg_law_gaussian_create(&law, 3, NULL, NULL));
    const moeg_router *one = router;
    assert_ok(moeg_frame_init("test", 1, &one, law, &frame));
    assert_int_equal(frame.r, 1);
    assert_ok(moeg_shifts_init("test", 2, 1, NULL, NULL, NULL, 0, &shifts));
    shifts.shift[1] = -3;
    assert_ok(moeg_shifts_embed("test", &frame, &shifts));
    assert_int_equal(shifts.r, 3);
    for (size_t j = 0; j < 3; j++) {
        assert_near(shifts.shift[j], 0, 0);
        assert_near(shifts.shift[3 + j], -3 * frame.Q[j], 0);
    }
    moeg_shifts_free(&shifts);
    moeg_frame_free(&frame);
    moeg_law_free(law);
    moeg_router_free(router);
}

static moeg_status make_shifts(void *user)
{
    moeg_shifts shifts;
    (void)user;
    const moeg_status status = moeg_shifts_init("test", 2, R, &ties, shift_of, NULL, 1000, &shifts);
    if (status == MOEG_OK)
        moeg_shifts_free(&shifts);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_true(fail_every_allocation(make_shifts, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_apart), cmocka_unit_test(shares_make_up), cmocka_unit_test(few_lines),
        cmocka_unit_test(many_places),     cmocka_unit_test(embedding),      cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
