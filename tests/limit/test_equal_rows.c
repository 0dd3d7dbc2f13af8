/* Masses of a router two rows of which are equal: its first expert has all of its share in a tie. */
#include "base/normal.h"
#include "support/coverage.h"

#include <moegeom/moegeom.h>

/* Logits x, y, z, -x - y - z and x again under N(0, I_3). */
struct setup {
    moeg_router *router;
    moeg_law *law;
};

enum { WIDTHS = 3 };
static const double widths[WIDTHS] = {0, 1, 1000};

static void make(struct setup *p)
{
    static const double W[5 * 3] = {1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1, 1, 0, 0};
    assert_ok(moeg_router_affine_create(&p->router, 5, 3, W, NULL));
    assert_ok(moeg_law_gaussian_create(&p->law, 3, NULL, NULL));
}

static void unmake(struct setup *p)
{
    moeg_router_free(p->router);
    moeg_law_free(p->law);
}

/* The probability that y, or z, or -x - y - z is above all others by more than w: by midpoints over two coordinates of
 * what the third leaves. That of y over y and x = y - w - t, t > 0, and twice, for z has the same. */
static double single_above(double w)
{
    const double step = 0.04;
    double sum = 0;
    for (double x = -9 + step / 2; x < 9; x += step)
        for (double y = -9 + step / 2; y < 9; y += step) {
            const double t = y + 9, lower = x - w - t, least = w - 2 * x - lower, most = x - w;
            if (most > least)
                sum +=
                    2 * moeg_normal_density(x) * moeg_normal_density(lower) * moeg_normal_interval(least, most - least);
            const double below = -w - x - y - fmax(fmax(x, y), (-w - x - y) / 2);
            sum += moeg_normal_density(x) * moeg_normal_density(y) * moeg_normal_interval(-below, INFINITY);
        }
    return sum * step * step;
}

/* P(x is the largest): of a cone of three faces, by the angles between them. */
static double tied_share(void)
{
    const double pi = acos(-1);
    return 0.125 + (asin(0.5) + 2 * asin(sqrt(1. / 12))) / (4 * pi);
}

static moeg_status masses(const struct setup *p, uint64_t seed, size_t count, moeg_estimate *mass)
{
    moeg_sampling s = moeg_sampling_default();
    s.method = MOEG_METHOD_LINE;
    s.n = 512;
    s.seed = seed;
    s.max_threads = 1;
    return moeg_boundary_mass(p->router, p->law, count, widths, &s, mass);
}

static moeg_status narrow_masses(uint64_t seed, void *user, moeg_estimate *mass)
{
    return masses(user, seed, WIDTHS - 1, mass);
}

/* All of the probability: values and limits end at 1, so that about as many values are 1 as are less, and of the limits
 * no more are less than should. */
static void check_widest(const struct setup *p)
{
    const size_t runs = COVERAGE_JUDGES ? 1000 : 10;
    size_t less = 0, missed = 0;
    for (uint64_t i = 0; i < runs; i++) {
        moeg_estimate mass[WIDTHS];
        assert_ok(masses(p, COVERAGE_SEED + i, WIDTHS, mass));
        less += mass[WIDTHS - 1].value < 1;
        missed += mass[WIDTHS - 1].hi < 1;
    }
    if (!COVERAGE_JUDGES)
        return;
    assert_true(less > 440 && less < 560);
    assert_true(missed < 50);
}

/* The equal rows tie on pieces that end where nearly parallel lines cross, at 1e16 and farther. */
static void no_mass_is_lost_far_out(void **state)
{
    (void)state;
    const double truths[] = {tied_share(), 1 - single_above(1)};
    struct setup p;
    make(&p);
    assert_near(1 - single_above(0), tied_share(), 1e-4);
    assert_coverage(narrow_masses, &p, 2, truths, moeg_sampling_default().level, 1000, COVERAGE_EXACT);
    check_widest(&p);
    unmake(&p);
}

static void one_direction_has_it_all(void **state)
{
    (void)state;
    const double own[3] = {1, 0.3, -0.2};
    moeg_sampling s = moeg_sampling_default();
    moeg_estimate mass;
    struct setup p;
    make(&p);
    s.method = MOEG_METHOD_LINE;
    s.directions = own;
    s.direction_count = 1;
    assert_ok(moeg_boundary_mass(p.router, p.law, 1, &widths[WIDTHS - 1], &s, &mass));
    assert_near(mass.value, 1, mass.quad_error);
    unmake(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_mass_is_lost_far_out),
        cmocka_unit_test(one_direction_has_it_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
