/* What pairs of lines say, against sums over all of them in long double; merged in any order; strata without lines. */
#include "line/tally.h"

#include "support/check.h"
#include "support/random.h"

enum { STRATA = 3, COUNT = 4, PAIRS = 60, BLOCK = 20, STRIDE = 48 };

/* Values of a line: of both signs; 0 on most lines; 0; far below 1 and never 0. */
static void draw(uint64_t *seed, double *value)
{
    const double sign = next_normal(seed), rare = next_normal(seed), size = next_normal(seed);
    value[0] = sign + 0.3;
    value[1] = rare > 1.3 ? rare : 0;
    value[2] = 0;
    value[3] = 1e-140 * exp(size);
}

struct sample {
    double line[STRATA][2 * PAIRS][COUNT], error[STRATA][2 * PAIRS][COUNT];
};

static void draw_all(struct sample *all)
{
    uint64_t seed = 4;
    for (int k = 0; k < STRATA; k++)
        for (int i = 0; i < 2 * PAIRS; i++) {
            draw(&seed, all->line[k][i]);
            for (int j = 0; j < COUNT; j++) {
                all->line[k][i][j] *= 1 + 2 * k;
                all->error[k][i][j] = fabs(next_normal(&seed));
            }
        }
}

/* A block of a stratum, whose pair i is lines 2 i and 2 i + 1 of the sample. What is behind the pairs is not looked at.
 */
static void add(const struct sample *all, int k, int block, double *state)
{
    double values[COUNT * STRIDE], errors[COUNT * STRIDE];
    for (int j = 0; j < COUNT * STRIDE; j++)
        values[j] = errors[j] = NAN;
    for (int j = 0; j < COUNT; j++)
        for (int i = 0; i < 2 * BLOCK; i++) {
            const int at = j * STRIDE + i / 2 + i % 2 * STRIDE / 2, line = 2 * BLOCK * block + i;
            values[at] = all->line[k][line][j];
            errors[at] = all->error[k][line][j];
        }
    assert_ok(moeg_tally_add(COUNT, BLOCK, STRIDE, values, errors, state));
}

static long double pair(const struct sample *all, int k, int i, int j)
{
    return ((long double)all->line[k][2 * i][j] + all->line[k][2 * i + 1][j]) / 2;
}

/* The variance of the mean of a stratum's pairs, or covariance; `sizes`: of |v|. */
static long double variance(const struct sample *all, int k, int j, int l, int sizes)
{
    const int of[2] = {j, l};
    long double mean[2] = {0, 0}, sum = 0;
    for (int i = 0; i < PAIRS; i++)
        for (int s = 0; s < 2; s++)
            mean[s] += (sizes ? fabsl(pair(all, k, i, of[s])) : pair(all, k, i, of[s])) / PAIRS;
    for (int i = 0; i < PAIRS; i++) {
        long double product = 1;
        for (int s = 0; s < 2; s++)
            product *= (sizes ? fabsl(pair(all, k, i, of[s])) : pair(all, k, i, of[s])) - mean[s];
        sum += product / PAIRS / (PAIRS - 1);
    }
    return sum;
}

static void check(const struct sample *all, const moeg_ray_result *result)
{
    for (int j = 0; j < COUNT; j++) {
        long double value = 0, error = 0, size = 0, spread = 0, scatter = 0, squares = 0;
        uint64_t contributing = 0;
        for (int k = 0; k < STRATA; k++) {
            for (int i = 0; i < 2 * PAIRS; i++) {
                value += all->line[k][i][j] / (2.0L * PAIRS);
                error += all->error[k][i][j] / (2.0L * PAIRS);
                size += fabsl(pair(all, k, i / 2, j)) / (2 * PAIRS);
                contributing += all->line[k][i][j] != 0;
            }
            const long double part = variance(all, k, j, j, 0);
            spread += part;
            squares += part * part / (PAIRS - 1);
            scatter += variance(all, k, j, j, 1);
        }
        assert_near(result->value[j], (double)value, 8 * EPS * (double)size);
        assert_relative(result->error[j], (double)error, 8 * EPS);
        assert_relative(result->covariance[j * COUNT + j], (double)spread, 16 * EPS);
        assert_int_equal(result->contributing[j], contributing);
        assert_relative(result->freedom[j], spread > 0 ? (double)(spread * spread / squares) : STRATA * PAIRS - 1,
                        64 * EPS);
        assert_relative(result->seen[j], size > 0 ? (double)(size * size / scatter) : 0, 256 * EPS);
    }
    assert_int_equal(result->lines, 2 * STRATA * PAIRS);
    assert_true(result->contributing[1] > 20 && result->contributing[1] < 60 && result->contributing[2] == 0);
    assert_true(result->seen[1] > 8 && result->seen[1] < (double)result->contributing[1]);
}

static void sums_are_those_of_all_pairs(void **state)
{
    (void)state;
    static struct sample all;
    static const int orders[2][3] = {{0, 1, 2}, {2, 0, 1}};
    moeg_ray_result result[2];
    const size_t size = moeg_tally_size(COUNT);
    draw_all(&all);
    for (int order = 0; order < 2; order++) {
        double states[STRATA * 64] = {0};
        assert_true(size <= 64);
        for (int k = 0; k < STRATA; k++)
            for (int block = 0; block < 3; block++) {
                double part[64] = {0};
                add(&all, k, orders[order][block], part);
                moeg_tally_merge(COUNT, part, states + (size_t)k * size);
            }
        assert_ok(moeg_ray_result_init("test", COUNT, &result[order]));
        moeg_tally_read(STRATA, COUNT, states, &result[order]);
        check(&all, &result[order]);
    }
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++) {
            long double covariance = 0;
            for (int k = 0; k < STRATA; k++)
                covariance += variance(&all, k, i, j, 0);
            const double *got = result[0].covariance, scale = sqrt(got[i * COUNT + i] * got[j * COUNT + j]);
            assert_near(got[i * COUNT + j], (double)covariance, 16 * EPS * scale);
            assert_near(got[j * COUNT + i], got[i * COUNT + j], 0);
        }
    moeg_ray_result_free(&result[0]);
    moeg_ray_result_free(&result[1]);
}

/* A sample whose fourth value is what adds up to 1 in each of two groups, of one and of two strata. The third is a
 * multiple of it in each group, and the first goes with it. */
static const uint32_t group[STRATA] = {0, 1, 1};

static void draw_shares(struct sample *all, double *states)
{
    static const double times[STRATA] = {3, -2, -2};
    uint64_t seed = 8;
    draw_all(all);
    for (int k = 0; k < STRATA; k++)
        for (int i = 0; i < 2 * PAIRS; i++) {
            all->line[k][i][3] = (k == 0 ? 1 : 0.5) + 0.2 * next_normal(&seed);
            all->line[k][i][0] = all->line[k][i][0] / 64 + 2 * all->line[k][i][3];
            all->line[k][i][2] = times[k] * all->line[k][i][3];
        }
    for (int k = 0; k < STRATA; k++)
        for (int block = 0; block < 3; block++)
            add(all, k, block, states + (size_t)k * moeg_tally_size(COUNT));
}

/* The covariance of two values of a group, as sums of means. */
static long double group_covariance(const struct sample *all, uint32_t g, int j, int l)
{
    long double sum = 0;
    for (int k = 0; k < STRATA; k++)
        sum += group[k] == g ? variance(all, k, j, l, 0) : 0;
    return sum;
}

/* The slopes of regression, where they explain half of a variance: of the first value and the third, not the second. */
static void slopes_are_those_of_regression(void **state)
{
    (void)state;
    static struct sample all;
    double states[STRATA * 64] = {0}, slope[STRATA * (COUNT - 1)];
    draw_shares(&all, states);
    moeg_tally_slopes(STRATA, group, COUNT - 1, states, slope);
    size_t none = 0;
    for (int k = 0; k < STRATA; k++)
        for (int j = 0; j < COUNT - 1; j++) {
            const long double both = group_covariance(&all, group[k], j, 3),
                              last = group_covariance(&all, group[k], 3, 3);
            const int worth = both * both > 0.5L * last * group_covariance(&all, group[k], j, j);
            assert_near(slope[k * (COUNT - 1) + j], worth ? (double)(both / last) : 0, 1e-12);
            none += !worth;
        }
    assert_int_equal(none, STRATA);
}

/* Values less slopes of any kind times the last one, against long double. */
static void last_value_controls(void **state)
{
    (void)state;
    static struct sample all;
    static const double slope[STRATA * (COUNT - 1)] = {1.7, 0.3, 3, 2.2, 0, -2, 2.2, 0, -2};
    double states[STRATA * 64] = {0};
    moeg_ray_result result;
    draw_shares(&all, states);
    assert_ok(moeg_ray_result_init("test", COUNT - 1, &result));
    moeg_tally_read_controlled(STRATA, group, COUNT - 1, states, slope, &result);
    for (int j = 0; j < COUNT - 1; j++)
        for (int l = 0; l <= j; l++) {
            long double value = 0, covariance = 0, squares = 0, size = 0;
            for (int k = 0; k < STRATA; k++) {
                const long double b = slope[k * (COUNT - 1) + j], c = slope[k * (COUNT - 1) + l];
                const long double part = variance(&all, k, j, l, 0) - b * variance(&all, k, 3, l, 0) -
                                         c * variance(&all, k, 3, j, 0) + b * c * variance(&all, k, 3, 3, 0);
                covariance += part;
                squares += part * part / (PAIRS - 1);
                size +=
                    sqrtl(variance(&all, k, j, j, 0) * variance(&all, k, l, l, 0)) + b * c * variance(&all, k, 3, 3, 0);
                value += k == 0 || group[k] != group[k - 1] ? b : 0;
                for (int i = 0; i < PAIRS; i++)
                    value += (pair(&all, k, i, j) - b * pair(&all, k, i, 3)) / PAIRS;
            }
            assert_near(result.covariance[j * (COUNT - 1) + l], (double)covariance, 64 * EPS * (double)size);
            assert_near(result.covariance[l * (COUNT - 1) + j], result.covariance[j * (COUNT - 1) + l], 0);
            if (l == j) {
                assert_near(result.value[j], (double)value, 64 * EPS * (1 + fabs((double)value)));
                if (j != 2)
                    assert_relative(result.freedom[j], (double)(covariance * covariance / squares), 1e-11);
            }
        }
    assert_near(result.value[2], 3 - 2, 16 * EPS);
    assert_int_equal(result.lines, 2 * STRATA * PAIRS);
    assert_int_equal(result.contributing[2], 2 * STRATA * PAIRS);
    moeg_ray_result_free(&result);
}

/* Values that are all equal are seen without end, whatever their size. */
static void equal_values_leave_no_doubt(void **state)
{
    (void)state;
    static const double sizes[] = {1.3, -2e-300, 1e150};
    for (int i = 0; i < 3; i++) {
        double values[16], errors[16] = {0}, tally[8] = {0};
        moeg_ray_result result;
        for (int l = 0; l < 16; l++)
            values[l] = sizes[i];
        assert_ok(moeg_tally_add(1, 8, 16, values, errors, tally));
        assert_ok(moeg_ray_result_init("test", 1, &result));
        moeg_tally_read(1, 1, tally, &result);
        assert_near(result.value[0], sizes[i], 0);
        assert_true(result.seen[0] > 1e12 && result.covariance[0] == 0 && result.contributing[0] == 16);
        moeg_ray_result_free(&result);
    }
}

static void strata_without_lines_leave_no_number(void **state)
{
    (void)state;
    static struct sample all;
    double states[2 * 64] = {0};
    moeg_ray_result result;
    draw_all(&all);
    add(&all, 0, 0, states);
    assert_ok(moeg_ray_result_init("test", COUNT, &result));
    moeg_tally_read(2, COUNT, states, &result);
    for (int j = 0; j < COUNT; j++)
        assert_true(isnan(result.value[j]) && !(result.seen[j] >= 0));
    assert_int_equal(result.lines, 2 * BLOCK);
    assert_int_equal(result.contributing[0], 2 * BLOCK);
    moeg_ray_result_free(&result);
}

static void values_must_be_finite(void **state)
{
    (void)state;
    double values[16] = {1, 2, NAN}, errors[16] = {0}, tally[8] = {0};
    assert_int_equal(moeg_tally_add(1, 8, 16, values, errors, tally), MOEG_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_all_pairs),
        cmocka_unit_test(slopes_are_those_of_regression),
        cmocka_unit_test(last_value_controls),
        cmocka_unit_test(equal_values_leave_no_doubt),
        cmocka_unit_test(strata_without_lines_leave_no_number),
        cmocka_unit_test(values_must_be_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
