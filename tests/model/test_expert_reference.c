/* Values and Jacobians of experts of every kind against 30-digit ones (tests/reference/experts.csv). */
#include "model/rows.h"

#include <stdlib.h>

#include <moegeom/moegeom.h>

enum { D = 3, M = 3, H = 4, MOST = 64, TEXT = 24 };

struct weights {
    char of[TEXT], kind[TEXT], name[TEXT];
    double values[H * D];
};

struct tokens {
    char name[TEXT];
    double x[8 * D];
};

static struct weights weights[MOST];
static struct tokens tokens[MOST];
static size_t weights_count, tokens_count;

static const double *weights_of(const char *of, const char *name)
{
    for (size_t i = 0; i < weights_count; i++)
        if (strcmp(weights[i].of, of) == 0 && strcmp(weights[i].name, name) == 0)
            return weights[i].values;
    fail_msg("no %s of %s", name, of);
    return NULL;
}

static const char *kind_of(const char *of)
{
    for (size_t i = 0; i < weights_count; i++)
        if (strcmp(weights[i].of, of) == 0)
            return weights[i].kind;
    fail_msg("no %s", of);
    return NULL;
}

static moeg_expert *make_expert(const char *of)
{
    static const char *const names[] = {"relu", "gelu", "silu", "tanh"};
    const char *kind = kind_of(of);
    moeg_expert *expert = NULL;
    if (strcmp(kind, "affine") == 0)
        assert_ok(moeg_expert_affine_create(&expert, D, M, weights_of(of, "W"), weights_of(of, "b")));
    else if (strcmp(kind, "swiglu") == 0 || strcmp(kind, "geglu") == 0)
        assert_ok(moeg_expert_gated_create(&expert, D, H, M, weights_of(of, "gate"), weights_of(of, "up"),
                                           weights_of(of, "down"),
                                           kind[0] == 's' ? MOEG_ACTIVATION_SILU : MOEG_ACTIVATION_GELU));
    for (int a = 0; a < 4; a++) {
        if (strcmp(kind, names[a]) != 0)
            continue;
        const double *W[] = {weights_of(of, "W1"), weights_of(of, "W2")};
        const double *b[] = {weights_of(of, "b1"), weights_of(of, "b2")};
        assert_ok(moeg_expert_mlp_create(&expert, 2, (const size_t[]){D, H, M}, W, b, (moeg_activation)a));
    }
    assert_non_null(expert);
    return expert;
}

static const double *token_row(const char *name, size_t row)
{
    for (size_t i = 0; i < tokens_count; i++)
        if (strcmp(tokens[i].name, name) == 0)
            return tokens[i].x + row * D;
    fail_msg("no tokens %s", name);
    return NULL;
}

static size_t read_numbers(const char *text, size_t most, double *out)
{
    size_t count = 0;
    for (char *end; count < most; text = end) {
        out[count] = strtod(text, &end);
        if (end == text)
            break;
        count++;
    }
    return count;
}

/* One row: `count` values to 1e-12, relative; four roundings of the largest of them are allowed where terms cancel. */
static void check_values(const char *what, size_t count, const double *actual, const char *text)
{
    double expected[M * D], largest = 0;
    assert_int_equal(read_numbers(text, count, expected), count);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < count; i++) {
        const double tolerance = 1e-12 * fabs(expected[i]) + 4 * EPS * largest;
        if (!check_is_near(actual[i], expected[i], tolerance))
            fail_msg("%s: value %zu is %.17g, not %.17g", what, i, actual[i], expected[i]);
    }
}

static size_t split(char *line, char **fields)
{
    size_t count = 0;
    for (char *field = strtok(line, ",\n"); field != NULL && count < 8; field = strtok(NULL, ",\n"))
        fields[count++] = field;
    return count;
}

static void values_and_jacobians(void **state)
{
    (void)state;
    char line[2048], what[128], *field[8];
    FILE *file = fopen(MOEG_TEST_DATA "/experts.csv", "r");
    assert_non_null(file);
    size_t forward = 0, jacobian = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const size_t count = split(line, field);
        if (count == 0 || field[0][0] == '#')
            continue;
        if (strcmp(field[0], "weights") == 0) {
            struct weights *w = &weights[weights_count++];
            assert_true(weights_count <= MOST && count == 7);
            snprintf(w->of, TEXT, "%s", field[1]);
            snprintf(w->kind, TEXT, "%s", field[2]);
            snprintf(w->name, TEXT, "%s", field[3]);
            assert_true(read_numbers(field[6], H * D, w->values) >= M);
        } else if (strcmp(field[0], "tokens") == 0) {
            struct tokens *t = &tokens[tokens_count++];
            assert_true(tokens_count <= MOST && count == 6);
            snprintf(t->name, TEXT, "%s", field[1]);
            assert_true(read_numbers(field[4], 8 * D, t->x) >= D);
        } else {
            const int is_forward = strcmp(field[0], "forward") == 0;
            moeg_expert *expert = make_expert(field[1]);
            const double *x = token_row(field[2], (size_t)atoi(field[3]));
            double values[M * D];
            if (is_forward)
                assert_ok(moeg_expert_forward(expert, 1, x, values));
            else
                assert_ok(moeg_expert_jacobian(expert, 1, x, values));
            snprintf(what, sizeof what, "%s of %s at %s %s", field[0], field[1], field[2], field[3]);
            check_values(what, is_forward ? M : M * D, values, field[count - 1]);
            *(is_forward ? &forward : &jacobian) += 1;
            moeg_expert_free(expert);
        }
    }
    fclose(file);
    assert_int_equal(forward, 180);
    assert_int_equal(jacobian, 180);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_jacobians)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
