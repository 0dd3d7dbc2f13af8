/* Callback laws: against the map called by hand on the stream's latents; failures of the map. */
#include "model/laws.h"

enum { D = 3, MOST = 5, N = 200 };

/* What the map of these tests does: x_j = shift_j + sum_q A_jq z_q, and what goes wrong with it where z_0 > limit. */
struct affine {
    size_t q, d;
    double shift[D], A[D * MOST];
    double limit;
    int code;        /* returned there */
    double value;    /* or written there, into coordinate 1 */
    size_t unwrites; /* coordinate left out everywhere, or D for none */
    size_t calls, rows, most;
};

static int affine_map(size_t n, const double *z, double *x, void *user)
{
    struct affine *a = user;
    int result = 0;
    a->calls++;
    a->rows += n;
    a->most = n > a->most ? n : a->most;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < a->d; j++) {
            double sum = a->shift[j];
            for (size_t k = 0; k < a->q; k++)
                sum += a->A[j * MOST + k] * z[i * a->q + k];
            if (j != a->unwrites)
                x[i * a->d + j] = sum;
        }
        if (z[i * a->q] > a->limit && a->code == 0)
            x[i * a->d + 1] = a->value;
        if (z[i * a->q] > a->limit && result == 0)
            result = a->code;
    }
    return result;
}

static struct affine make_map(size_t q, size_t d)
{
    struct affine a = {.q = q, .d = d, .limit = INFINITY, .unwrites = D};
    fill_values(q, D, 2.385, a.shift);
    fill_values(d, D * MOST, 1.3, a.A);
    return a;
}

static void samples_are_the_map_of_the_stream(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (size_t q = 1; q <= MOST; q++)
            for (size_t d = 1; d <= D; d++) {
                struct affine a = make_map(q, d);
                double x[N * D], z[N * MOST], expected[N * D];
                moeg_law *law;
                assert_ok(moeg_law_callback_create(&law, d, q, (moeg_latent_kind)kind, affine_map, &a));
                assert_int_equal(moeg_law_dim(law), d);
                assert_int_equal(moeg_law_rows(law), 0);
                assert_int_equal(a.calls, 0);
                assert_ok(moeg_law_sample(law, 42, 1000, N, x));
                assert_int_equal(a.rows, N); /* no sample is made twice, nor one that nobody wants */
                assert_ok(
                    (kind == 0 ? moeg_stream_normals : moeg_stream_uniforms)((moeg_stream){42, 0}, 1000, N, q, z));
                assert_int_equal(affine_map(N, z, expected, &a), 0);
                assert_same_bits(x, expected, N * d);
                check_samples_stand_alone(law, ~0ull, (1ull << 40) - 70);
                moeg_law_free(law);
            }
}

static int copy(size_t n, const double *z, double *x, void *user)
{
    memcpy(x, z, n * *(const size_t *)user * sizeof *x);
    return 0;
}

/* The identity map of either kind of latents is the standard law of that kind. */
static void the_identity_gives_the_plain_laws(void **state)
{
    (void)state;
    size_t d = D;
    double x[N * D], same[N * D];
    const double zero[D] = {0}, one[D] = {1, 1, 1};
    for (int kind = 0; kind < 2; kind++) {
        moeg_law *law, *plain;
        assert_ok(moeg_law_callback_create(&law, D, D, (moeg_latent_kind)kind, copy, &d));
        assert_ok(kind == 0 ? moeg_law_gaussian_create(&plain, D, NULL, NULL)
                            : moeg_law_box_create(&plain, D, zero, one));
        assert_ok(moeg_law_sample(law, 7, 1ull << 63, N, x));
        assert_ok(moeg_law_sample(plain, 7, 1ull << 63, N, same));
        assert_same_bits(x, same, N * D);
        moeg_law_free(law);
        moeg_law_free(plain);
    }
}

/* The first sample from `first` on whose first latent is above the limit. */
static uint64_t first_above(double limit, uint64_t seed, uint64_t first, size_t q)
{
    double z[MOST];
    do
        assert_ok(moeg_stream_normals((moeg_stream){seed, 0}, first++, 1, q, z));
    while (z[0] <= limit);
    return first - 1;
}

static void a_failing_map_stops_and_touches_nothing(void **state)
{
    (void)state;
    struct affine a = make_map(2, D);
    double x[N * D];
    char text[120];
    moeg_law *law;
    assert_ok(moeg_law_callback_create(&law, D, 2, MOEG_LATENT_NORMAL, affine_map, &a));
    a.limit = 3;
    const uint64_t bad = first_above(a.limit, 3, 500, 2), first = bad - 100;
    assert_true(first >= 500); /* it is not in the first tile: what came before is not written either */
    const uint64_t tile = first + 64, end = first + 127;
    mark(N * D, x);
    static const int codes[] = {7, -1};
    for (size_t v = 0; v < 2; v++) {
        a.code = codes[v];
        snprintf(text, sizeof text, "law_callback: the map returned %d for samples %u .. %u", a.code, (unsigned)tile,
                 (unsigned)end);
        assert_status(moeg_law_sample(law, 3, first, N, x), MOEG_ECALLBACK, text);
        snprintf(text, sizeof text, "returned %d for samples %u .. %u", a.code, (unsigned)bad, (unsigned)bad);
        assert_status(moeg_law_sample(law, 3, bad, 1, x), MOEG_ECALLBACK, text);
    }
    a.code = 0;
    static const double values[] = {NAN, INFINITY, -INFINITY};
    static const char *const names[] = {"nan", "inf", "-inf"};
    for (size_t v = 0; v < 3; v++) {
        a.value = values[v];
        snprintf(text, sizeof text, "law_callback: coordinate 1 of sample %u must be finite, got %s from the map",
                 (unsigned)bad, names[v]);
        assert_status(moeg_law_sample(law, 3, first, N, x), MOEG_ERANGE, text);
    }
    assert_true(is_marked(N * D, x));
    a.limit = INFINITY;
    a.unwrites = 2;
    snprintf(text, sizeof text, "law_callback: coordinate 2 of sample %u must be finite, got nan from the map",
             (unsigned)first);
    assert_status(moeg_law_sample(law, 3, first, N, x), MOEG_ERANGE, text);
    assert_true(is_marked(N * D, x));
    a.unwrites = D;
    assert_ok(moeg_law_sample(law, 3, first, N, x));
    moeg_law_free(law);
}

static void every_error_is_named(void **state)
{
    (void)state;
    moeg_law *law = NULL;
    struct affine a = make_map(2, D);
    assert_status(moeg_law_callback_create(NULL, D, 2, MOEG_LATENT_NORMAL, affine_map, &a), MOEG_EINVAL,
                  "law_callback: law must not be NULL");
    assert_status(moeg_law_callback_create(&law, 0, 2, MOEG_LATENT_NORMAL, affine_map, &a), MOEG_EINVAL,
                  "law_callback: d must be in [1, 2^32), got 0");
    assert_status(moeg_law_callback_create(&law, 1ull << 32, 2, MOEG_LATENT_NORMAL, affine_map, &a), MOEG_EINVAL,
                  "law_callback: d must be in [1, 2^32)");
    assert_status(moeg_law_callback_create(&law, D, 0, MOEG_LATENT_NORMAL, affine_map, &a), MOEG_EINVAL,
                  "law_callback: latents must be in [1, 2^32), got 0");
    assert_status(moeg_law_callback_create(&law, D, 1ull << 32, MOEG_LATENT_NORMAL, affine_map, &a), MOEG_EINVAL,
                  "law_callback: latents must be in [1, 2^32)");
    assert_status(moeg_law_callback_create(&law, D, 2, (moeg_latent_kind)2, affine_map, &a), MOEG_EINVAL,
                  "law_callback: kind must be normal (0) or uniform (1), got 2");
    assert_status(moeg_law_callback_create(&law, D, 2, MOEG_LATENT_NORMAL, NULL, &a), MOEG_EINVAL,
                  "law_callback: map must not be NULL");
    assert_null(law);
    assert_ok(moeg_law_callback_create(&law, D, 2, MOEG_LATENT_NORMAL, affine_map, &a));
    assert_ok(moeg_law_sample(law, 1, 0, 0, NULL));
    assert_int_equal(a.calls, 0);
    moeg_law_free(law);
}

static moeg_status create(moeg_law **law, void *user)
{
    return moeg_law_callback_create(law, D, 2, MOEG_LATENT_NORMAL, affine_map, user);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct affine a = make_map(2, D);
    check_law_allocations(create, &a, D, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_the_map_of_the_stream),
        cmocka_unit_test(the_identity_gives_the_plain_laws),
        cmocka_unit_test(a_failing_map_stops_and_touches_nothing),
        cmocka_unit_test(every_error_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
