/* Expectations over a plane: the means of a teacher across u against panels in long double, and closed forms and limits
 * of all of them where layers are infinitely thin or wide. */
#include "dynamics/plane_rule.h"

#include "dynamics/flow_plane_oracle.h"
#include "dynamics/plane_teacher.h"
#include "support/check.h"

static const double pi = 3.14159265358979323846, kappa = 0.79788456080286535588; /* sqrt(2/pi) */

static long double teacher_at(double y, double tau)
{
    return tau > 0 ? tanhl((long double)y / (2 * (long double)tau)) : (y > 0) - (y < 0);
}

/* E[q^k T(mid + slope q)] by panels that are graded towards the layer, offsets from which are exact. */
static void teacher_by_panels(double mid, double slope, double tau, long double *J)
{
    double node[ORACLE_NODES], weight[ORACLE_NODES], edge[ORACLE_EDGES];
    oracle_rule(node, weight);
    memset(J, 0, MOEG_PLANE_POWERS * sizeof *J);
    const int far = fabs(mid) >= 15 * fabs(slope);
    const double centre = far ? 0 : -mid / slope,
                 width = far ? 1 : fmax(1e-18, fmin(1, tau > 0 ? tau / fabs(slope) : 1));
    const int edges = oracle_edges(0, 30, width / 2, 0.5, 0, edge);
    for (int side = -1; side <= 1; side += 2)
        for (int i = 0; i + 1 < edges; i++)
            for (int n = 0; n < ORACLE_NODES; n++) {
                const long double half = ((long double)edge[i + 1] - edge[i]) / 2;
                const long double offset = side * (edge[i] + half * (1 + (long double)node[n])), q = centre + offset;
                const double y = far ? (double)(mid + slope * q) : (double)(slope * offset);
                long double term = half * weight[n] * expl(-q * q / 2) / sqrtl(2 * 3.14159265358979323846L);
                term *= teacher_at(y, tau);
                for (int k = 0; k < MOEG_PLANE_POWERS; k++, term *= q)
                    J[k] += term;
            }
}

/* To a few roundings of E |q|^k times the largest |T| that is felt, whatever the scales. */
static void test_teacher(void **state)
{
    (void)state;
    static const double mids[] = {0, 0.3, -2.4, 7, 39, 1e10}, slopes[] = {0, 1e-8, 0.5, -1.3, 40, 1e5};
    static const double taus[] = {0, 1e-300, 1e-6, 0.02, 0.1249, 0.1251, 0.26, 0.33, 5, 9.9, 10.1, 1e200};
    static const double moments[] = {1, 0.8, 1, 1.6};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int l = 0; l < 12; l++) {
                double J[MOEG_PLANE_POWERS];
                long double panels[MOEG_PLANE_POWERS];
                if (mids[i] == 0 && slopes[j] == 0)
                    continue;
                moeg_plane_teacher(mids[i], slopes[j], taus[l], J);
                teacher_by_panels(mids[i], slopes[j], taus[l], panels);
                const double size = taus[l] > 0 ? fmin(1, (fabs(mids[i]) + 3 * fabs(slopes[j])) / (2 * taus[l])) : 1;
                for (int k = 0; k < MOEG_PLANE_POWERS; k++)
                    assert_near(J[k], (double)panels[k], 1e-14 * moments[k] * size);
            }
}

static double table_at(const moeg_plane_table *table, moeg_plane_weight weight, int i, int k)
{
    return table[weight].at[i][k];
}

/* Infinitely thin layers of both at an angle: E[sign sign x x'] = I - (4/pi) (...), to 1e-14 also where
 * the angle is 1e-9, and the router's layer itself. */
static void test_thin(void **state)
{
    (void)state;
    static const double angles[] = {0, 1e-9, 1e-3, 0.7, 1.5707963267948966, 2.3, 3.1415926535897931};
    for (int i = 0; i < 7; i++) {
        const double angle = angles[i], gain = 1e250, scale = 2.385;
        moeg_plane_table t[MOEG_PLANE_WEIGHTS];
        assert_ok(moeg_plane_rule(gain, scale * cos(angle), scale * sin(angle), 0, t));
        assert_near(table_at(t, MOEG_PLANE_TEACHER_T, 0, 0), 1 - 2 * angle / pi, 1e-14);
        assert_near(table_at(t, MOEG_PLANE_TEACHER_T, 2, 0), 1 - 4 / pi * (angle / 2 - sin(2 * angle) / 4), 1e-14);
        assert_near(table_at(t, MOEG_PLANE_TEACHER_T, 0, 2), 1 - 4 / pi * (angle / 2 + sin(2 * angle) / 4), 1e-14);
        assert_near(table_at(t, MOEG_PLANE_TEACHER_T, 1, 1), 2 / pi * sin(angle) * sin(angle), 1e-14);
        assert_relative(table_at(t, MOEG_PLANE_T, 1, 0), kappa, 1e-14);
        assert_relative(table_at(t, MOEG_PLANE_T2, 0, 0), 1.0, 1e-14);
        /* int sech^2(g s) ds = 2/g, int s^2 sech^2(g s) ds = pi^2/(6 g^3), on a density of kappa/2 */
        assert_relative(table_at(t, MOEG_PLANE_S, 0, 0), kappa / gain, 1e-14);
        assert_relative(table_at(t, MOEG_PLANE_S, 0, 2), kappa / gain, 1e-14);
        /* E[S q T] = E[S] E[q sign(sin q)], since s is 0 there, beside the least sine that is not */
        const double across = (sin(angle) > 0) * kappa * kappa / gain;
        assert_near(table_at(t, MOEG_PLANE_TEACHER_S, 0, 1), across, 1e-14 / gain);
        assert_near(table_at(t, MOEG_PLANE_TEACHER_S, 0, 3), 2 * across, 1e-14 / gain);
    }
}

/* u almost along v: the mean of q T is 2 phi(s/w) over the width w of s between the two, where t = gain s, S = 1. */
static void test_wedge(void **state)
{
    (void)state;
    const double gain = 0.7;
    for (double w = 1e-3; w > 1e-16; w /= 100) {
        moeg_plane_table t[MOEG_PLANE_WEIGHTS];
        assert_ok(moeg_plane_rule(gain, 1, w, 0, t));
        assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 0, 1), kappa * w, 1e-14 + 3 * w * w);
        assert_relative(table_at(t, MOEG_PLANE_TEACHER_T, 1, 1), kappa * gain * w * w * w, 1e-14 + 3 * w * w);
    }
}

/* Infinitely wide ones: t = gain s, T = (mid s + slope q)/(2 tau). */
static void test_wide(void **state)
{
    (void)state;
    const double gain = 1e-100, mid = 0.7, slope = -1.9, tau = 1e120, a = mid / (2 * tau), b = slope / (2 * tau);
    moeg_plane_table t[MOEG_PLANE_WEIGHTS];
    assert_ok(moeg_plane_rule(gain, mid, slope, tau, t));
    assert_relative(table_at(t, MOEG_PLANE_S, 0, 0), 1.0, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TS, 3, 0), 3 * gain, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TS, 1, 2), gain, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_T, 1, 0), gain, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_T2, 2, 0), 3 * gain * gain, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_T2, 0, 2), gain * gain, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 1, 0), a, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 0, 1), b, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 3, 0), 3 * a, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 2, 1), b, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 1, 2), a, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_S, 0, 3), 3 * b, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_T, 0, 0), gain * a, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_T, 2, 0), 3 * gain * a, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_T, 1, 1), gain * b, 1e-14);
    assert_relative(table_at(t, MOEG_PLANE_TEACHER_T, 0, 2), gain * a, 1e-14);
}

/* (1 + 2 s - q) (3 - s), and its expectation under no weight. */
static void test_polynomials(void **state)
{
    (void)state;
    const moeg_plane_table left = moeg_plane_affine(1, 2, -1), right = moeg_plane_affine(3, -1, 0);
    const moeg_plane_table p = moeg_plane_product(&left, &right);
    assert_true(p.at[0][0] == 3 && p.at[1][0] == 5 && p.at[0][1] == -3 && p.at[2][0] == -2 && p.at[1][1] == 1);
    moeg_plane_table t[MOEG_PLANE_WEIGHTS];
    assert_ok(moeg_plane_rule(1, 1, 0, 0, t));
    assert_true(moeg_plane_sum(&p, &t[MOEG_PLANE_ONE]) == 1);
    assert_status(moeg_plane_rule(1e301, 1, 0, 0, t), MOEG_ERANGE, "overflows");
    assert_status(moeg_plane_rule(NAN, 1, 0, 0, t), MOEG_ERANGE, "overflows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_teacher), cmocka_unit_test(test_thin),        cmocka_unit_test(test_wedge),
        cmocka_unit_test(test_wide),    cmocka_unit_test(test_polynomials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
