/* Triangles times orthonormal rows are the rows they came from; their rank is that of whole numbers, and rounding that
 * is known to be more takes no dimension. */
#include "line/triangle.h"

#include "base/vector.h"
#include "support/check.h"
#include "support/random.h"

enum { COUNT = 7, D = 5 };

struct triangle {
    double row[COUNT * D], lost[COUNT], v[D * D], Q[D * D];
    int exponent[COUNT];
    size_t rank;
};

static void make(const double *row, const double *lost, struct triangle *t)
{
    memcpy(t->row, row, sizeof t->row);
    memset(t->lost, 0, sizeof t->lost);
    if (lost != NULL)
        memcpy(t->lost, lost, sizeof t->lost);
    t->rank = moeg_triangulate(COUNT, D, t->row, t->lost, t->exponent, t->v);
    moeg_triangle_basis(D, t->rank, t->v, t->Q);
}

/* The first `rank` rows of whole numbers, the others sums and differences of these; of sizes that have no squares. */
static void draw(uint64_t seed, size_t rank, double *row)
{
    for (size_t i = 0; i < COUNT * D; i++)
        row[i] = i < rank * D ? floor(20 * next_uniform(&seed)) : 0;
    for (size_t k = rank; k < COUNT; k++)
        for (size_t i = 0; i < rank; i++)
            for (size_t c = 0; c < D; c++)
                row[k * D + c] += (double)(i + k) * (k % 2 == 0 ? row[i * D + c] : -row[i * D + c]);
    for (size_t i = 0; i < COUNT * D; i++)
        row[i] = ldexp(row[i], i / D % 3 == 1 ? 900 : i / D % 3 == 2 ? -900 : 0);
}

static void rows_are_triangle_times_basis(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed++) {
        const size_t rank = seed % (D + 1);
        double row[COUNT * D];
        struct triangle t;
        draw(seed, rank, row);
        make(row, NULL, &t);
        assert_int_equal(t.rank, rank);
        for (size_t i = 0; i < rank; i++)
            for (size_t j = 0; j < rank; j++)
                assert_near(moeg_dot(D, t.Q + i * D, t.Q + j * D), i == j, 16 * EPS);
        for (size_t k = 0; k < COUNT; k++) {
            const double size = moeg_largest(D, row + k * D);
            for (size_t c = 0; c < D; c++) {
                double sum = 0;
                for (size_t q = 0; q < rank; q++)
                    sum += ldexp(t.row[k * D + q], t.exponent[k]) * t.Q[q * D + c];
                assert_near(sum, row[k * D + c], 64 * EPS * size);
                assert_true(c <= k || t.row[k * D + c] == 0);
            }
        }
    }
}

/* A third row beside the span of two by 1e-9: a dimension, but where it is known to that only. */
static void lost_digits_take_no_dimension(void **state)
{
    (void)state;
    const double row[COUNT * D] = {3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 4, 2, 1e-9, 0, 0};
    for (int known = 0; known < 2; known++) {
        const double lost[COUNT] = {0, 0, known ? 1e-10 : 2e-9};
        struct triangle t;
        make(row, lost, &t);
        assert_int_equal(t.rank, known ? 3 : 2);
        if (known)
            assert_relative(t.lost[2], 0.1, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_triangle_times_basis),
        cmocka_unit_test(lost_digits_take_no_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
