/* Mixtures under gates other than the softmax, in every instruction set, against their definition in long double. */
#include "base/kernel.h"
#include "base/kernel_table.h"
#include "base/memory.h"
#include "support/check.h"

enum { MOST_K = 22, M = 5, STRIDE = 24 };

struct rows {
    double *below, *margin, *contrast, *residual, *hard, *gate, *chain, *gap, *soft;
};

static struct rows make_rows(void)
{
    struct rows r;
    double **const all[] = {&r.below, &r.margin, &r.contrast, &r.residual, &r.hard, &r.gate, &r.chain, &r.gap, &r.soft};
    for (size_t i = 0; i < 9; i++) {
        const size_t size = i == 6 ? moeg_kernel_chain(MOST_K, MOST_K / 2) : MOST_K * M * STRIDE;
        *all[i] = moeg_alloc(size, sizeof **all[i]);
        moeg_kernel_normals(60 + i, 0, 0, 1, size, *all[i]);
    }
    for (size_t i = 0; i < MOST_K * STRIDE; i++)
        r.below[i] = i % 11 == 0 ? 0 : i % 13 == 0 ? -INFINITY : -2 * fabs(r.below[i]);
    for (size_t i = 0; i < STRIDE; i++) {
        r.margin[i] = i % 7 == 0 ? 0 : i % 7 == 1 ? INFINITY : fabs(r.margin[i]);
        r.hard[i] *= r.hard[i];
    }
    return r;
}

static void free_rows(struct rows *r)
{
    double *const all[] = {r->below, r->margin, r->contrast, r->residual, r->hard, r->gate, r->chain, r->gap, r->soft};
    for (size_t i = 0; i < 9; i++)
        moeg_release(all[i]);
}

static moeg_kernel_mixture mixture_of(const struct rows *r, moeg_kernel_gates gates, size_t K, size_t k, int loss)
{
    return (moeg_kernel_mixture){
        .gates = gates,
        .experts = K,
        .contrasts = K,
        .winners = k,
        .m = loss ? 1 : M,
        .stride = STRIDE,
        .loss = loss,
        .below = r->below,
        .margin = r->margin,
        .contrast = r->contrast,
        .residual = r->residual,
        .hard = r->hard,
        .gate = r->gate,
        .chain = r->chain,
    };
}

static long double term(const moeg_kernel_mixture *x, size_t e, size_t i, double tau)
{
    return expl((long double)x->below[e * STRIDE + i] / tau);
}

/* Elementary symmetric polynomials of the terms of experts from .. end - 1 but for `left_out`. */
static void polynomials(const moeg_kernel_mixture *x, size_t from, size_t end, size_t left_out, size_t i, double tau,
                        long double *e)
{
    for (size_t r = 0; r <= MOST_K; r++)
        e[r] = r == 0;
    for (size_t j = from; j < end; j++)
        for (size_t r = MOST_K; j != left_out && r > 0; r--)
            e[r] += term(x, j, i, tau) * e[r - 1];
}

/* The probability over k that expert `e` changes sides, as exchanges of r winners for r losers are as probable as
 * rho^r times the product of their terms. `e` = K: that nobody need be left out, the normalising sum. */
static long double weight(const moeg_kernel_mixture *x, size_t e, size_t i, double tau)
{
    long double winners[MOST_K + 1], losers[MOST_K + 1], sum = 0;
    const long double rho = expl(-(long double)x->margin[i] / tau);
    const int must_go = e < x->winners, must_come = e < x->experts && !must_go;
    polynomials(x, 0, x->winners, e, i, tau, winners);
    polynomials(x, x->winners, x->experts, e, i, tau, losers);
    for (size_t r = must_go || must_come ? 1 : 0; r <= MOST_K; r++)
        sum += powl(rho, (long double)r) * winners[r - (size_t)must_go] * losers[r - (size_t)must_come];
    return (e < x->experts ? term(x, e, i, tau) : 1) * sum;
}

/* Sums of D over outputs. The gates have (K + 2) roundings and those of their exponents, |x| EPS of e^x each. */
static void check_row(const moeg_kernel_mixture *x, const long double *gate, size_t i, double gap, double soft)
{
    long double want_gap = 0, want_soft = x->loss ? x->hard[i] : 0, size = fabs(x->hard[i]);
    for (size_t j = 0; j < x->m; j++) {
        long double D = 0, magnitude = 0;
        for (size_t k = 0; k < x->experts; k++) {
            const size_t at = k < x->contrasts ? k : x->contrasts - 1;
            D += gate[k] * x->contrast[(at * x->m + j) * STRIDE + i];
            magnitude += gate[k] * fabs(x->contrast[(at * x->m + j) * STRIDE + i]);
        }
        const long double r = x->residual[j * STRIDE + i];
        want_gap += x->loss ? D : D * (D + 2 * r);
        want_soft += x->loss ? D : (r + D) * (r + D);
        size += x->loss ? magnitude : (magnitude + fabsl(r)) * (magnitude + fabsl(r));
    }
    const double allowed = (20 + 3 * (double)x->experts) * EPS * (double)size;
    assert_near(gap, (double)want_gap, allowed);
    assert_near(soft, (double)want_soft, allowed);
}

static void subsets_are_as_defined(void **state)
{
    (void)state;
    struct rows r = make_rows();
    const double taus[] = {1e-300, 0.03, 0.385, 2e5};
    const size_t shapes[][2] = {{2, 1}, {2, 2}, {3, 1}, {3, 2}, {5, 2}, {8, 2}, {8, 7}, {9, 4}, {22, 11}};
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t c = 0; c < 9 * 4 * 2; c++) {
            const size_t K = shapes[c / 8][0], k = shapes[c / 8][1];
            const double tau = taus[c / 2 % 4];
            const moeg_kernel_mixture x = mixture_of(&r, MOEG_KERNEL_SUBSET, K, k, c % 2 == 1);
            set->mix(&x, 0, STRIDE, tau, r.gap, r.soft);
            for (size_t i = 0; i < STRIDE; i += K < 20 ? 1 : 7) {
                long double gate[MOST_K];
                const long double sum = weight(&x, K, i, tau);
                for (size_t e = 0; e < K; e++)
                    gate[e] = weight(&x, e, i, tau) / (sum * (long double)k);
                check_row(&x, gate, i, r.gap[i], r.soft[i]);
            }
        }
    free_rows(&r);
}

/* What all gates hold that are given, and what the last contrast stands for. */
static void gates_may_be_given_or_share_a_contrast(void **state)
{
    (void)state;
    enum { K = 6 };
    struct rows r = make_rows();
    const moeg_kernel_table *set;
    for (size_t s = 0; (set = moeg_kernel_available(s)) != NULL; s++)
        for (size_t c = 0; c < 2 * 2 * K; c++) {
            const int given = c % 2 == 1, loss = c / 2 % 2 == 1;
            moeg_kernel_mixture x = mixture_of(&r, given ? MOEG_KERNEL_GIVEN : MOEG_KERNEL_SOFTMAX, K, 1, loss);
            long double gate[STRIDE][K];
            x.contrasts = 1 + c / 4;
            for (size_t i = 0; i < STRIDE; i++) {
                long double sum = 1;
                for (size_t k = 0; k < K; k++)
                    sum += term(&x, k, i, 0.385);
                for (size_t k = 0; k < K; k++) {
                    r.gate[k * STRIDE + i] = 0.1 * (double)(k + 1) / (double)(i + 1);
                    gate[i][k] = given ? r.gate[k * STRIDE + i] : term(&x, k, i, 0.385) / sum;
                }
            }
            set->mix(&x, 0, STRIDE, 0.385, r.gap, r.soft);
            for (size_t i = 0; i < STRIDE; i++)
                check_row(&x, gate[i], i, r.gap[i], r.soft[i]);
        }
    free_rows(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subsets_are_as_defined),
        cmocka_unit_test(gates_may_be_given_or_share_a_contrast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
