/* Teachers of two pieces: where their interface is that of the router, decided by exact arithmetic; what lies between;
 * covariances without variance across; and what has no line. */
#include "limit/lines.h"

static double gap_of(const struct problem *p, moeg_mixing mixing, double tau)
{
    return line(p, mixing, tau).gap.value;
}

static moeg_leading leading_of(const struct problem *p, moeg_mixing mixing)
{
    moeg_leading leading;
    assert_ok(moeg_leading_term(p->moe, p->teacher, p->law, mixing, &leading));
    return leading;
}

/* Two pieces split by factor times the router's own rows. */
static void draw(struct problem *p, uint64_t seed, size_t d, size_t m, double factor)
{
    problem_draw(p, seed, 2, d, m);
    p->pieces = 2;
    for (size_t i = 0; i < 2 * d; i++)
        p->V[i] = factor * p->W[i];
    for (size_t k = 0; k < 2; k++)
        p->e[k] = factor * p->b[k];
    for (size_t i = 0; i < m * d; i++)
        p->A[3][i] = problem_number(seed, 400 + i);
    for (size_t j = 0; j < m; j++)
        p->c[3][j] = 2.385 * problem_number(seed, 500 + j);
}

/* The first order of loss mixing is 2 ln 2 S[J.delta] if the interfaces are one, and not there if they are not, though
 * a unit in the last place is all the difference: which no temperature above it can feel. */
static void one_unit_in_the_last_place_decides(void **state)
{
    (void)state;
    static const double factors[] = {1, -2, 0x1p-900, 0x1p60};
    for (uint64_t seed = 0; seed < 8; seed++)
        for (size_t f = 0; f < 4; f++)
            for (int which = 0; which < 3; which++) {
                struct problem p, other;
                draw(&p, seed, 3, 2, factors[f]);
                other = p;
                double *moved = which < 2 ? &other.V[4 * which] : &other.e[1]; /* A weight of either row, or a bias. */
                *moved = nextafter(*moved, 4 * *moved);
                problem_build(&p);
                problem_build(&other);
                assert_true(leading_of(&p, MOEG_MIX_LOSS).power == 1 && leading_of(&other, MOEG_MIX_LOSS).power == 2);
                const double expected = leading_of(&p, MOEG_MIX_LOSS).coefficient;
                assert_true(expected != 0);
                assert_relative(gap_of(&p, MOEG_MIX_LOSS, 1e-9) / 1e-9, expected, 1e-6);
                assert_relative(gap_of(&other, MOEG_MIX_LOSS, 1e-9), gap_of(&p, MOEG_MIX_LOSS, 1e-9), 1e-5);
                assert_relative(leading_of(&other, MOEG_MIX_OUTPUT).coefficient,
                                leading_of(&p, MOEG_MIX_OUTPUT).coefficient - expected, 1e-12);
                problem_free(&p);
                problem_free(&other);
            }
}

/* Rows whose differences no double holds: (1, 2^-70) and its multiple by 3, and what misses that by 2^-122. */
static void differences_that_no_double_holds(void **state)
{
    (void)state;
    for (int miss = 0; miss < 2; miss++) {
        struct problem p;
        draw(&p, 5, 1, 1, 1);
        p.W[0] = p.b[0] = 1;
        p.W[1] = p.b[1] = 0x1p-70;
        p.V[0] = p.e[0] = 3;
        p.V[1] = p.e[1] = 3 * 0x1p-70;
        if (miss)
            p.V[1] = nextafter(p.V[1], 1);
        problem_build(&p);
        assert_near(leading_of(&p, MOEG_MIX_LOSS).power, miss ? 2 : 1, 0);
        problem_free(&p);
    }
}

/* As the teacher's interface turns or moves to the router's, the gap goes to that of one interface, at the first order
 * of the angle or distance; down to where that is far below the temperature's layer, or the mean's rounding. */
static void gaps_are_continuous(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int i = 0; i < 4; i++) {
            struct problem p;
            draw(&p, 20 + seed, 3, 2, 0.75);
            problem_build(&p);
            const double tau = 0.03, expected = gap_of(&p, both[i % 2], tau);
            problem_free(&p);
            double last = INFINITY;
            for (double turn = 1e-2; turn > 1e-300; turn *= turn > 1e-12 ? 1e-2 : 1e-30) {
                draw(&p, 20 + seed, 3, 2, 0.75);
                if (i < 2)
                    p.V[0] += turn;
                else
                    p.e[0] += turn;
                problem_build(&p);
                const moeg_estimate gap = line(&p, both[i % 2], tau).gap;
                assert_true(gap.quad_error < 1e-12);
                const double off = fabs(gap.value - expected);
                assert_true(off <= 30 * turn + 1e-14 && off <= last + 1e-14);
                last = off;
                problem_free(&p);
            }
        }
}

/* Sampled, in more dimensions: within 4.5 of its standard errors, of any gate. */
static void sampling_agrees(void **state)
{
    (void)state;
    const moeg_gate gates[] = {moeg_gate_softmax(), moeg_gate_topk_raw(1), moeg_gate_subset(2)};
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct problem p;
        draw(&p, 60 + seed, 4, 3, seed % 2 ? -1 : 0.5);
        p.gate = gates[seed % 3];
        p.noise = 0.385;
        for (size_t i = 0; i < 8 && seed >= 2; i++)
            p.V[i] += problem_number(seed, 800 + i);
        problem_build(&p);
        moeg_sampling s = moeg_sampling_default();
        s.method = MOEG_METHOD_MC;
        s.n = 40000;
        const double tau = 0.4;
        for (int i = 0; i < 2; i++) {
            moeg_estimate hard, soft, gap, slope;
            const struct answer a = line(&p, both[i], tau);
            assert_ok(moeg_risk_curve(p.moe, p.teacher, p.law, both[i], 1, &tau, &s, &hard, &soft, &gap, NULL));
            assert_ok(moeg_risk_derivative(p.moe, p.teacher, p.law, both[i], 1, &tau, &s, &slope));
            assert_near(a.hard.value, hard.value, 4.5 * hard.std_error);
            assert_near(a.soft.value, soft.value, 4.5 * soft.std_error);
            assert_near(a.gap.value, gap.value, 4.5 * gap.std_error);
            assert_near(a.slope.value, slope.value, 4.5 * slope.std_error);
        }
        problem_free(&p);
    }
}

/* On x_2 = x_1 the rows (a, b) and (a + b, 0) are the same; on x_2 = const they differ by a constant. */
static void covariances_without_variance_across(void **state)
{
    (void)state;
    static const double one[] = {0.49, 0.49, 0.49, 0.49}, flat[] = {0.49, 0, 0, 0};
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int i = 0; i < 4; i++) {
            struct problem p, plain;
            draw(&p, 90 + seed, 2, 2, 1);
            memcpy(p.covariance, i < 2 ? one : flat, sizeof one);
            p.mean[1] = i < 2 ? p.mean[0] : 0.5;
            plain = p;
            problem_build(&plain);
            for (size_t k = 0; k < 2; k++) {
                if (i < 2)
                    p.V[2 * k] += p.V[2 * k + 1];
                else
                    p.e[k] += 0.5 * p.V[2 * k + 1];
                p.V[2 * k + 1] = 0;
            }
            problem_build(&p);
            const double tau = 0.2;
            assert_relative(gap_of(&p, both[i % 2], tau), gap_of(&plain, both[i % 2], tau), 1e-12);
            assert_near(leading_of(&p, MOEG_MIX_LOSS).power, 1, 0);
            problem_free(&p);
            problem_free(&plain);
        }
}

/* A t that does not vary, or a masked expert of the teacher, leave one piece of it. */
static void one_piece_of_two(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 2; i++) {
            struct problem p, alone;
            draw(&p, 7, 3, 2, 1);
            for (size_t j = 0; j < 3; j++)
                p.V[3 + j] = p.V[j];
            p.e[0] = kind == 1 ? 0.2 : kind == 3 ? -INFINITY : 0.3;
            p.e[1] = kind == 2 ? 0.2 : kind == 4 ? -INFINITY : 0.3; /* 0: a tie, which the lower index takes. */
            if (kind == 1)
                p.e[0] = 0.1;
            alone = p;
            alone.pieces = 1;
            if (kind == 1 || kind == 3) {
                memcpy(alone.A[2], p.A[3], sizeof p.A[3]);
                memcpy(alone.c[2], p.c[3], sizeof p.c[3]);
            }
            problem_build(&p);
            problem_build(&alone);
            assert_near(gap_of(&p, both[i], 0.3), gap_of(&alone, both[i], 0.3), 0);
            assert_near(line(&p, both[i], 0.3).hard.value, line(&alone, both[i], 0.3).hard.value, 0);
            problem_free(&p);
            problem_free(&alone);
        }
}

/* s constant: E of the two pieces' means, each with its moments on its own side of t = 0. X = t here, N(0.3, 0.49). */
static void where_s_is_constant(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; masked++) {
        struct problem p = {.K = 2, .d = 1, .m = 1, .mean = {0.3}, .covariance = {0.49}, .W = {0.7, 0.7}, .pieces = 2};
        const double tau = 0.6, deviation = 0.7, h = 0.3 / deviation;
        p.b[0] = 0.9;
        p.b[1] = masked ? -INFINITY : 0.4;
        p.V[0] = 1;
        p.A[0][0] = 0.4, p.c[0][0] = 1.1;
        p.A[1][0] = -0.3, p.c[1][0] = 0.2;
        p.A[2][0] = 0.9, p.c[2][0] = -0.6;
        p.A[3][0] = -0.2, p.c[3][0] = 0.8;
        problem_build(&p);
        const double q = masked ? 0 : 1 / (1 + exp(0.5 / tau)), up = erfc(-h / sqrt(2)) / 2,
                     phi = exp(-h * h / 2) / sqrt(2 * 3.14159265358979323846);
        double hard = 0, soft = 0;
        for (int piece = 0; piece < 2; piece++)
            for (int is_soft = 0; is_soft < 2; is_soft++) { /* E (u + v y)^2 over y > -h or y < -h. */
                const double share = is_soft ? q : 0, side = piece == 0 ? 1 : -1, mass = piece == 0 ? up : 1 - up;
                const double slope = (1 - share) * p.A[0][0] + share * p.A[1][0] - p.A[2 + piece][0];
                const double u = (1 - share) * p.c[0][0] + share * p.c[1][0] - p.c[2 + piece][0] + slope * 0.3;
                const double v = slope * deviation;
                *(is_soft ? &soft : &hard) += u * u * mass + 2 * u * v * side * phi + v * v * (mass - side * h * phi);
            }
        const struct answer a = line(&p, MOEG_MIX_OUTPUT, tau);
        assert_relative(a.hard.value, hard, 16 * EPS);
        assert_relative(a.soft.value, soft, 16 * EPS);
        assert_near(a.gap.value, soft - hard, 16 * EPS * hard);
        if (masked)
            assert_near(fabs(a.gap.value) + a.gap.quad_error + fabs(a.slope.value), 0, 0);
        moeg_leading leading = {.coefficient = 42};
        const moeg_status status = moeg_leading_term(p.moe, p.teacher, p.law, MOEG_MIX_OUTPUT, &leading);
        assert_int_equal(status, masked ? MOEG_OK : MOEG_EDOM);
        assert_near(leading.coefficient, masked ? 0 : 42, 0);
        problem_free(&p);
    }
}

/* Where a step is so far away that nothing of it is in range: an error bar that says so, no false zero. The experts are
 * right up to x = 15, and the gap is of order e^(-15^2/2). */
static void beyond_the_range(void **state)
{
    (void)state;
    struct problem p = {
        .K = 2, .d = 1, .m = 1, .covariance = {1}, .W = {1, 0}, .pieces = 2, .V = {1, 0}, .e = {-15, 0}};
    p.c[0][0] = p.c[3][0] = 1;
    p.c[1][0] = 1;
    p.c[2][0] = 9;
    problem_build(&p);
    const struct answer a = line(&p, MOEG_MIX_OUTPUT, 0.3);
    assert_near(a.hard.value, 64 * erfc(15 / sqrt(2)) / 2, a.hard.quad_error);
    assert_true(a.hard.quad_error < 1e-20);
    problem_free(&p);
}

static moeg_teacher *teacher_on(moeg_router *router, moeg_gate gate, moeg_expert **experts, double tau)
{
    moeg_moe *moe;
    moeg_teacher *teacher;
    assert_ok(moeg_moe_create(&moe, router, gate, experts));
    assert_ok(moeg_teacher_moe_create(&teacher, moe, tau));
    moeg_moe_free(moe);
    return teacher;
}

/* Not the one line, and why; AUTO is many lines where they leave nothing to be drawn, else rows. Takes the teacher. */
static void check_refused(const struct problem *p, moeg_teacher *teacher, const char *text)
{
    moeg_sampling line = line_options(), any = moeg_sampling_default();
    moeg_estimate e = {.value = 42};
    moeg_leading leading = {.coefficient = 42};
    const double tau = 0.3;
    any.n = 1000;
    assert_status(moeg_risk_derivative(p->moe, teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e), MOEG_EUNSUPPORTED,
                  text);
    assert_status(moeg_leading_term(p->moe, teacher, p->law, MOEG_MIX_OUTPUT, &leading), MOEG_EUNSUPPORTED, text);
    assert_near(e.value + leading.coefficient, 84, 0);
    const int many =
        moeg_risk_gap(p->moe, teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &line, &e) >= 0 && e.std_error == 0;
    if (moeg_risk_gap(p->moe, teacher, p->law, MOEG_MIX_OUTPUT, 1, &tau, &any, &e) >= 0)
        assert_int_equal(e.method, many ? MOEG_METHOD_LINE : MOEG_METHOD_MC);
    moeg_teacher_free(teacher);
}

static int tilt(size_t n, const double *x, double *y, void *user)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        y[2 * i] = x[2 * i];
        y[2 * i + 1] = 0.3;
    }
    return 0;
}

static void what_has_no_line(void **state)
{
    (void)state;
    struct problem p;
    draw(&p, 11, 2, 2, 1);
    problem_build(&p);
    const double W[6] = {0.3, 1.2, -0.4, 0.9, 0.2, 0.7}, b[3] = {0}, mask[2] = {0, -INFINITY},
                 huge[4] = {1.7e308, 1.7e308, -1.7e308, -1.7e308};
    moeg_router *two, *three, *masked, *called, *steep;
    assert_ok(moeg_router_affine_create(&two, 2, 2, W, b));
    assert_ok(moeg_router_affine_create(&three, 3, 2, W, b));
    assert_ok(moeg_router_affine_create(&masked, 2, 2, W, mask));
    assert_ok(moeg_router_affine_create(&steep, 2, 2, huge, b));
    assert_ok(moeg_router_callback_create(&called, 2, 2, tilt, NULL));
    const size_t widths[3] = {2, 2, 2};
    const double *weights[2] = {W, W}, *biases[2] = {NULL, NULL};
    moeg_expert *affine[3] = {problem_expert(&p, 0), problem_expert(&p, 1), problem_expert(&p, 2)}, *curved[2];
    assert_ok(moeg_expert_mlp_create(&curved[0], 2, widths, weights, biases, MOEG_ACTIVATION_TANH));
    curved[1] = affine[0];
    const moeg_gate soft = moeg_gate_softmax();
    check_refused(&p, teacher_on(two, soft, affine, 0.1), "the teacher is soft");
    check_refused(&p, teacher_on(three, soft, affine, 0), "the teacher has more than two pieces");
    check_refused(&p, teacher_on(called, soft, affine, 0), "the teacher's router is not affine");
    check_refused(&p, teacher_on(two, moeg_gate_subset(2), affine, 0), "the teacher is a mean of experts");
    check_refused(&p, teacher_on(masked, moeg_gate_topk_raw(2), affine, 0), "masks an expert that its gate wants");
    check_refused(&p, teacher_on(two, soft, curved, 0), "an expert of the teacher is neither constant nor affine");
    check_refused(&p, teacher_on(masked, soft, curved, 0), "the teacher's expert is neither constant nor affine");
    moeg_teacher *overflowing = teacher_on(steep, soft, affine, 0);
    const moeg_sampling s = line_options();
    moeg_estimate e = {.value = 42};
    const double tau = 0.3;
    assert_status(moeg_risk_gap(p.moe, overflowing, p.law, MOEG_MIX_OUTPUT, 1, &tau, &s, &e), MOEG_ERANGE,
                  "risk_gap: the difference of the teacher's logits overflows");
    assert_near(e.value, 42, 0);
    moeg_teacher_free(overflowing);
    for (size_t k = 0; k < 3; k++)
        moeg_expert_free(affine[k]);
    moeg_expert_free(curved[0]);
    moeg_router_free(two);
    moeg_router_free(three);
    moeg_router_free(masked);
    moeg_router_free(steep);
    moeg_router_free(called);
    problem_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unit_in_the_last_place_decides),
        cmocka_unit_test(differences_that_no_double_holds),
        cmocka_unit_test(gaps_are_continuous),
        cmocka_unit_test(sampling_agrees),
        cmocka_unit_test(covariances_without_variance_across),
        cmocka_unit_test(one_piece_of_two),
        cmocka_unit_test(where_s_is_constant),
        cmocka_unit_test(beyond_the_range),
        cmocka_unit_test(what_has_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
