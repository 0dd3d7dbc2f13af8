/* The fit of a power law against its definition, solved in another way. */
#include "limit/order_gaps.h"

/* Solves A x = b (n x n) by elimination with pivots. */
static void eliminate(size_t n, long double *A, long double *b)
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k; i < n; i++)
            if (fabsl(A[i * n + k]) > fabsl(A[pivot * n + k]))
                pivot = i;
        for (size_t j = 0; j < n; j++) {
            const long double t = A[k * n + j];
            A[k * n + j] = A[pivot * n + j];
            A[pivot * n + j] = t;
        }
        const long double t = b[k];
        b[k] = b[pivot];
        b[pivot] = t;
        for (size_t i = 0; i < n; i++) {
            const long double f = i == k ? 0 : A[i * n + k] / A[k * n + k];
            for (size_t j = 0; j < n; j++)
                A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = 0; k < n; k++)
        b[k] /= A[k * n + k];
}

enum { FITTED = 6, SYSTEM = FITTED + 2 };

/* y with S, C = S + S^2/2 (element by element), S_ij = V_ij/(h_i h_j), h^2 = G F, F = exp(l[0]) tau^l[1]. */
static void logarithms(const double *tau, const moeg_estimate *gap, const double *covariance, const long double *l,
                       long double *y, long double *C)
{
    long double h[FITTED];
    for (size_t i = 0; i < FITTED; i++)
        h[i] = sqrtl(-(long double)gap[i].value * (l == NULL ? -gap[i].value : expl(l[0] + l[1] * logl(tau[i]))));
    for (size_t i = 0; i < FITTED; i++)
        for (size_t j = 0; j < FITTED; j++) {
            const long double s = covariance[i * FITTED + j] / h[i] / h[j];
            C[i * FITTED + j] = s + s * s / 2;
            if (i == j)
                y[i] = logl(-(long double)gap[i].value) + s / 2;
        }
}

/* Lagrange's multipliers: the least of (y - X l)'M^{-1}(y - X l), X = (1, log tau), from the system M r + X l = y,
 * X'r = 0, M = C and `floor` of its diagonal; into r, l. A right side of unit vector FITTED + e in the place
 * of y and 0 gives in r the weights of l[e]. */
static void multipliers(const double *tau, const long double *C, long double floor, long double *right)
{
    long double A[SYSTEM * SYSTEM] = {0};
    for (size_t i = 0; i < FITTED; i++) {
        for (size_t j = 0; j < FITTED; j++)
            A[i * SYSTEM + j] = C[i * FITTED + j] * (i == j ? 1 + floor : 1);
        A[i * SYSTEM + FITTED] = A[FITTED * SYSTEM + i] = 1;
        A[i * SYSTEM + FITTED + 1] = A[(FITTED + 1) * SYSTEM + i] = logl(tau[i]);
    }
    eliminate(SYSTEM, A, right);
}

static void it_is_the_least_squares(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        double tau[FITTED], covariance[FITTED * FITTED];
        moeg_estimate gap[FITTED];
        moeg_power_law fit;
        draw_gaps(seed, FITTED, 0.03, tau, gap, covariance);
        assert_ok(moeg_order_fit(FITTED, tau, gap, covariance, 0.9, &fit));
        assert_int_equal(fit.used, FITTED);
        long double y[FITTED] = {0}, C[FITTED * FITTED], r[SYSTEM] = {0}, chi = 0;
        for (int pass = 0; pass < 4; pass++) {
            logarithms(tau, gap, covariance, pass == 0 ? NULL : r + FITTED, y, C);
            for (size_t i = 0; i < SYSTEM; i++)
                r[i] = i < FITTED ? y[i] : 0;
            multipliers(tau, C, 0.01L, r);
        }
        const double c = -(double)expl(r[FITTED]);
        assert_relative(fit.order.value, (double)r[FITTED + 1], 1e-12);
        assert_relative(fit.constant.value, c, 1e-12);
        for (size_t e = 0; e < 2; e++) {
            long double w[SYSTEM] = {0}, variance = 0;
            w[FITTED + e] = 1;
            multipliers(tau, C, 0.01L, w);
            for (size_t i = 0; i < FITTED * FITTED; i++)
                variance += w[i / FITTED] * C[i] * w[i % FITTED];
            assert_relative(e == 1 ? fit.order.std_error : -fit.constant.std_error / c, (double)sqrtl(variance), 1e-10);
        }
        logarithms(tau, gap, covariance, r + FITTED, y, C);
        for (size_t i = 0; i < SYSTEM; i++)
            r[i] = i < FITTED ? y[i] : 0;
        multipliers(tau, C, 1e-10L, r);
        for (size_t i = 0; i < FITTED; i++)
            chi += r[i] * y[i];
        assert_relative(fit.chi_square, (double)chi, 1e-8);
        /* Student's 95 % quantile at 999 degrees of freedom. */
        const double t = 1.64638034541496;
        assert_relative(fit.order.hi - fit.order.value, t * fit.order.std_error, 1e-9);
        assert_relative(fit.order.value - fit.order.lo, t * fit.order.std_error, 1e-9);
        assert_relative(fit.constant.lo, c * exp(t * fit.constant.std_error / -c), 1e-9);
        assert_relative(fit.constant.hi, c * exp(-t * fit.constant.std_error / -c), 1e-9);
        assert_int_equal(fit.order.n, 1000);
        assert_int_equal(fit.constant.contributing, 500);
        assert_true(fit.order.method == MOEG_METHOD_MC && fit.order.level == 0.9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_least_squares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
