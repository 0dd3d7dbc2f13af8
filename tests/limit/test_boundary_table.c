/* The 30-digit table of K = 3 and 5 in two dimensions: masses of margin, second order and top-2 gap inside sampled
 * intervals, their limits at 0 too, and the pairwise bound in closed form. */
#include "limit/boundary.h"
#include "limit/reference.h"

/* A row of the table with the objects of its case. */
struct row {
    const char *quantity;
    double w, value;
    moeg_law *law;
    moeg_router *router;
};

static struct row read_row(const struct reference *r, size_t i)
{
    const char *of = reference_text(r, i, "case");
    const struct parameter *W = reference_parameter(r, of, "W");
    struct row row = {
        .quantity = reference_text(r, i, "quantity"),
        .w = (double)reference_value(r, i, "w"),
        .value = (double)reference_value(r, i, "value"),
    };
    assert_ok(moeg_law_gaussian_create(&row.law, 2, reference_parameter(r, of, "mu")->values,
                                       reference_parameter(r, of, "Sigma")->values));
    assert_ok(moeg_router_affine_create(&row.router, W->rows, 2, W->values, reference_parameter(r, of, "b")->values));
    return row;
}

static void free_row(struct row *row)
{
    moeg_law_free(row->law);
    moeg_router_free(row->router);
}

/* Quantities that are sampled, and where: a limit as w -> 0 at a width where what is left of it is a tenth of the error
 * bar or less. power: of w that the mass is divided by. */
static const struct {
    const char *quantity;
    moeg_gap gap;
    double at;
    int power;
    uint64_t n;
} sampled[] = {
    {"BM", {1, 2}, 0, 0, 1 << 15},          {"BM_2", {1, 3}, 0, 0, 1 << 15},           {"TOPK2", {2, 3}, 0, 0, 1 << 15},
    {"SLOPE_BM", {1, 2}, 0.01, 1, 1 << 18}, {"SLOPE_TOPK2", {2, 3}, 0.01, 1, 1 << 18}, {"C2", {1, 3}, 0.1, 2, 1 << 18},
};

/* At a level corrected for their number. */
static void sampled_intervals_hold_the_table(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t checked = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        struct row row = read_row(r, i);
        for (size_t j = 0; j < sizeof sampled / sizeof *sampled; j++) {
            if (strcmp(row.quantity, sampled[j].quantity) != 0)
                continue;
            moeg_sampling s = options(MOEG_METHOD_MC, sampled[j].n, 12);
            s.level = 1 - 0.01 / 108;
            const double w = sampled[j].power > 0 ? sampled[j].at : row.w, scale = pow(w, sampled[j].power);
            moeg_estimate mass;
            assert_ok(moeg_boundary_gap_mass(row.router, sampled[j].gap, row.law, 1, &w, &s, &mass));
            assert_int_equal(mass.method, MOEG_METHOD_MC);
            assert_true(mass.lo <= row.value * scale && row.value * scale <= mass.hi);
            checked++;
        }
        free_row(&row);
    }
    assert_int_equal(checked, 108);
    free(r);
}

static void pairwise_bound_in_closed_form(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    size_t checked = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        struct row row = read_row(r, i);
        double bound = 0, slope;
        assert_ok(moeg_boundary_pairwise(row.router, row.law, 1, &row.w, &bound, &slope));
        if (strcmp(row.quantity, "PAIRWISE") == 0) {
            /* Rounded up, so that it stays a bound: no further than 4 epsilon. */
            assert_true(row.value <= bound && bound <= row.value * (1 + 4 * EPS));
            checked++;
        } else if (strcmp(row.quantity, "SLOPE_PAIRWISE") == 0) {
            assert_relative(slope, row.value, 2 * EPS);
            checked++;
        } else if (strcmp(row.quantity, "BM") == 0) {
            assert_true(row.value < bound);
            checked++;
        }
        free_row(&row);
    }
    assert_int_equal(checked, 70);
    free(r);
}

/* The exponents of the table's masses: r of the order r. */
static void exponents_are_the_orders(void **state)
{
    (void)state;
    struct reference *r = reference_read("boundary_k3.csv");
    for (size_t i = 0; i < r->row_count; i++) {
        struct row row = read_row(r, i);
        const int order = strcmp(row.quantity, "C2") == 0 ? 2 : strcmp(row.quantity, "SLOPE_BM") == 0 ? 1 : 0;
        moeg_sampling s = options(MOEG_METHOD_AUTO, 1 << 17, 4);
        s.level = 0.999;
        const double w = order == 1 ? 0.02 : 0.1;
        moeg_estimate alpha, C;
        if (order > 0) {
            assert_ok(moeg_boundary_exponent(row.router, moeg_gap_order((size_t)order), row.law, 1, &w, &s, &alpha, &C,
                                             NULL));
            assert_true(alpha.lo <= order && order <= alpha.hi && alpha.hi - alpha.lo < 0.5 * order);
            assert_true(C.lo <= row.value && row.value <= C.hi);
        }
        free_row(&row);
    }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_intervals_hold_the_table),
        cmocka_unit_test(pairwise_bound_in_closed_form),
        cmocka_unit_test(exponents_are_the_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
