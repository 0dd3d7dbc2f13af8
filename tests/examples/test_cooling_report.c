/* cooling_report against the obvious computation, in long double, on data made here: preprocessing, the router, experts
 * by normal equations, softmax, risks and gaps, all in loops of this file's own. */
#include "support/check.h"

#include <moegeom/moegeom.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 90, D = 3, K = 3, NTAU = 33, NW = 7 };

/* Two independent computations of some hundred roundings each. */
static const double close_enough = 1e-12;

static char directory[] = "/tmp/moegeom-XXXXXX";

typedef struct data {
    double raw[N][D + 1]; /* columns u, price, v, t; price is the target */
    double router[K][D + 1];
} data;

static const char *path(const char *name)
{
    static char text[4][128];
    static size_t next;
    char *to = text[next++ % 4];
    snprintf(to, sizeof text[0], "%s/%s", directory, name);
    return to;
}

static FILE *open_file(const char *name, const char *mode)
{
    FILE *file = fopen(path(name), mode);
    assert_non_null(file);
    return file;
}

/* Runs the program, its standard output into the file "report"; returns its exit status. */
static int run(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && " MOEG_EXAMPLES_DIR "/cooling_report %s >report 2>errors", directory,
             arguments);
    const int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Whether a line of the report holds the text. */
static int reported(const char *text)
{
    char line[512];
    int found = 0;
    FILE *file = open_file("report", "r");
    while (fgets(line, sizeof line, file) != NULL)
        found |= strstr(line, text) != NULL;
    fclose(file);
    return found;
}

/* Numbers of a CSV file of exactly `rows` rows under this header. */
static void read_csv(const char *name, const char *header, size_t rows, size_t cols, double *values)
{
    char line[512];
    FILE *file = open_file(name, "r");
    assert_non_null(fgets(line, sizeof line, file));
    line[strcspn(line, "\n")] = '\0';
    assert_string_equal(line, header);
    for (size_t i = 0; i < rows; i++) {
        assert_non_null(fgets(line, sizeof line, file));
        char *at = line;
        for (size_t j = 0; j < cols; j++) {
            values[i * cols + j] = strtod(at, &at);
            assert_int_equal(*at++, j + 1 < cols ? ',' : '\n');
        }
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

static void write_data(const data *s)
{
    FILE *file = open_file("data.csv", "w");
    fputs("u,price,v,t\n", file);
    for (size_t i = 0; i < N; i++)
        fprintf(file, "%.17g,%.17g,%.17g,%.17g\n", s->raw[i][0], s->raw[i][1], s->raw[i][2], s->raw[i][3]);
    fclose(file);
    file = open_file("router.csv", "w");
    for (size_t k = 0; k < K; k++)
        fprintf(file, "%.17g,%.17g,%.17g,%.17g\n", s->router[k][0], s->router[k][1], s->router[k][2], s->router[k][3]);
    fclose(file);
}

/* Irregular but fixed: fractional parts of multiples of irrational numbers. */
static void make_data(data *s)
{
    static const double router[K][D + 1] = {{0.9, -0.4, 0.3, 0.15}, {-0.7, 0.8, 0.2, -0.25}, {-0.1, -0.6, -1.1, 0.05}};
    memcpy(s->router, router, sizeof router);
    for (size_t i = 0; i < N; i++) {
        const double u = fmod(0.7548776662 * (double)(i + 1), 1), v = fmod(0.5698402909 * (double)(i + 1), 1);
        const double t = fmod(0.8191725134 * (double)(i + 1), 1);
        s->raw[i][0] = 3.7 * u - 0.9;
        s->raw[i][2] = exp(2.385 * v);
        s->raw[i][3] = 1e3 + 40 * t;
        s->raw[i][1] = exp(0.7 * u - 1.3 * v * v + 0.4 * sin(9 * t) + 2);
    }
    write_data(s);
}

/* log of price and v, features u, v, t standardised. */
static void prepare(const data *s, long double x[N][D], long double y[N])
{
    for (size_t i = 0; i < N; i++) {
        x[i][0] = s->raw[i][0];
        x[i][1] = logl(s->raw[i][2]);
        x[i][2] = s->raw[i][3];
        y[i] = logl(s->raw[i][1]);
    }
    for (size_t j = 0; j < D; j++) {
        long double mean = 0, variance = 0;
        for (size_t i = 0; i < N; i++)
            mean += x[i][j] / N;
        for (size_t i = 0; i < N; i++)
            variance += (x[i][j] - mean) * (x[i][j] - mean) / N;
        for (size_t i = 0; i < N; i++)
            x[i][j] = (x[i][j] - mean) / sqrtl(variance);
    }
}

/* The solution of the s x s system, by elimination with pivots on the diagonal: normal equations are positive definite.
 */
static void solve(long double G[D + 1][D + 1], long double h[D + 1])
{
    for (size_t c = 0; c <= D; c++)
        for (size_t r = 0; r <= D; r++) {
            if (r == c)
                continue;
            const long double factor = G[r][c] / G[c][c];
            for (size_t j = 0; j <= D; j++)
                G[r][j] -= factor * G[c][j];
            h[r] -= factor * h[c];
        }
    for (size_t c = 0; c <= D; c++)
        h[c] /= G[c][c];
}

typedef struct oracle {
    long double logits[N][K], outputs[N][K], y[N], margin[N];
    size_t best[N];
} oracle;

static void obvious_experts(oracle *o, long double x[N][D])
{
    for (size_t k = 0; k < K; k++) {
        long double G[D + 1][D + 1] = {{0}}, h[D + 1] = {0};
        for (size_t i = 0; i < N; i++)
            for (size_t a = 0; a <= D && o->best[i] == k; a++) {
                for (size_t b = 0; b <= D; b++)
                    G[a][b] += (a < D ? x[i][a] : 1) * (b < D ? x[i][b] : 1);
                h[a] += (a < D ? x[i][a] : 1) * o->y[i];
            }
        solve(G, h);
        for (size_t i = 0; i < N; i++) {
            o->outputs[i][k] = h[D];
            for (size_t j = 0; j < D; j++)
                o->outputs[i][k] += h[j] * x[i][j];
        }
    }
}

static void obvious(const data *s, oracle *o)
{
    long double x[N][D];
    prepare(s, x, o->y);
    for (size_t i = 0; i < N; i++) {
        o->best[i] = 0;
        for (size_t k = 0; k < K; k++) {
            o->logits[i][k] = s->router[k][D];
            for (size_t j = 0; j < D; j++)
                o->logits[i][k] += s->router[k][j] * x[i][j];
            if (o->logits[i][k] > o->logits[i][o->best[i]])
                o->best[i] = k;
        }
        o->margin[i] = INFINITY;
        for (size_t k = 0; k < K; k++)
            if (k != o->best[i])
                o->margin[i] = fminl(o->margin[i], o->logits[i][o->best[i]] - o->logits[i][k]);
    }
    obvious_experts(o, x);
}

/* L_tau, L_0 and the standard error of their difference. */
static void obvious_risks(const oracle *o, long double tau, long double *soft, long double *hard, long double *error)
{
    long double loss[N], mean = 0, square = 0;
    *soft = *hard = 0;
    for (size_t i = 0; i < N; i++) {
        long double sum = 0, mixed = 0;
        for (size_t k = 0; k < K; k++) {
            const long double gate = expl((o->logits[i][k] - o->logits[i][o->best[i]]) / tau);
            sum += gate;
            mixed += gate * o->outputs[i][k];
        }
        const long double cold = o->y[i] - o->outputs[i][o->best[i]], warm = o->y[i] - mixed / sum;
        loss[i] = warm * warm - cold * cold;
        *soft += warm * warm / N;
        *hard += cold * cold / N;
        mean += loss[i] / N;
    }
    for (size_t i = 0; i < N; i++)
        square += (loss[i] - mean) * (loss[i] - mean);
    *error = sqrtl(square / (N - 1) / N);
}

#define COMMON "--data data.csv --target price --router router.csv --log v,price --standardize "

static void risks_equal_the_obvious_computation(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    oracle *o = malloc(sizeof *o);
    double found[NTAU][5], safe = 0, grid_is_safe = 1;
    size_t known = 0;
    make_data(s);
    obvious(s, o);
    assert_int_equal(run(COMMON "--tau 0.002:4:33 --csv risks.csv"), 0);
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *found);
    for (size_t t = 0; t < NTAU; t++) {
        long double soft, hard, error;
        const double tau = found[t][0];
        assert_relative(tau, 0.002 * pow(2000, (double)t / 32), 10 * EPS);
        obvious_risks(o, tau, &soft, &hard, &error);
        assert_relative(found[t][1], (double)soft, close_enough);
        assert_relative(found[t][2], (double)hard, close_enough);
        assert_near(found[t][3], (double)(soft - hard), close_enough * (double)hard);
        /* Rows that feel tau, and how many of equal weight would tell as much. */
        size_t feel = 0;
        long double v = 0, vv = 0;
        for (size_t i = 0; i < N; i++) {
            feel += o->margin[i] <= 45 * (long double)tau;
            v += expl(-o->margin[i] / tau);
            vv += expl(-2 * o->margin[i] / tau);
        }
        known += feel >= 30 && v * v >= 30 * vv;
        if (feel >= 30 && v * v >= 30 * vv)
            assert_relative(found[t][4], (double)error, 10 * close_enough);
        else
            assert_true(isinf(found[t][4]));
        grid_is_safe = grid_is_safe && fabsl(soft - hard) <= 0.01L * hard;
        if (grid_is_safe)
            safe = tau;
    }
    assert_true(known > 0 && known < NTAU);
    char text[64];
    snprintf(text, sizeof text, "safe temperature: tau* = %.6g", safe);
    assert_true(safe > 0.002 && safe < 4);
    assert_true(reported(text));
    assert_true(reported("agrees with theory"));
    free(s);
    free(o);
}

/* Default grids are multiples of the median margin. */
static void default_grid(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    oracle *o = malloc(sizeof *o);
    double found[26][5];
    long double sorted[N];
    make_data(s);
    obvious(s, o);
    for (size_t i = 0; i < N; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > o->margin[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = o->margin[i];
    }
    assert_int_equal(run(COMMON "--csv risks.csv"), 0);
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 26, 5, *found);
    double C = 0;
    char text[64];
    for (size_t i = 0; i < N; i++)
        C = fmax(C, (double)((long double)(i + 1) / N / sorted[i]));
    snprintf(text, sizeof text, "over the data: C = %.6g", C);
    assert_true(reported(text));
    const double median = (double)(sorted[N / 2 - 1] + sorted[N / 2]) / 2;
    assert_relative(found[0][0], 1e-4 * median, close_enough);
    assert_relative(found[25][0], 10 * median, close_enough);
    free(s);
    free(o);
}

static void mass_is_a_count(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    oracle *o = malloc(sizeof *o);
    double found[NW][4];
    make_data(s);
    obvious(s, o);
    /* With price among the features the router needs one more weight: take it out of the data first. */
    FILE *file = open_file("features.csv", "w");
    for (size_t i = 0; i < N; i++)
        fprintf(file, "%.17g,%.17g,%.17g\n", s->raw[i][0], s->raw[i][2], s->raw[i][3]);
    fclose(file);
    assert_int_equal(run("--data features.csv --target none --router router.csv --log c1 --standardize "
                         "--w 0.001:5:7 --csv mass.csv"),
                     0);
    read_csv("mass.csv", "w,mass,lo,hi", NW, 4, *found);
    for (size_t j = 0; j < NW; j++) {
        size_t count = 0;
        for (size_t i = 0; i < N; i++)
            count += o->margin[i] <= (long double)found[j][0];
        assert_near(found[j][1], (double)count / N, EPS);
        assert_true(found[j][2] <= found[j][1] && found[j][1] <= found[j][3] && found[j][3] - found[j][2] > 0.03);
    }
    assert_false(reported("gap"));
    free(s);
    free(o);
}

static void npy_has_columns_by_number(void **state)
{
    (void)state;
    data *s = malloc(sizeof *s);
    double with_names[NTAU][5], by_number[NTAU][5];
    const size_t shape[] = {N, D + 1}, router_shape[] = {K, D + 1};
    make_data(s);
    assert_ok(moeg_npy_write(path("data.npy"), 2, shape, MOEG_NPY_F8, *s->raw));
    assert_ok(moeg_npy_write(path("router.npy"), 2, router_shape, MOEG_NPY_F8, *s->router));
    assert_int_equal(run(COMMON "--tau 0.02:4:33 --csv a.csv"), 0);
    assert_int_equal(run("--data data.npy --target c1 --router router.npy --log c2,c1 --standardize --tau 0.02:4:33 "
                         "--csv b.csv"),
                     0);
    read_csv("a.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *with_names);
    read_csv("b.csv", "tau,soft_risk,hard_risk,gap,std_error", NTAU, 5, *by_number);
    assert_memory_equal(with_names, by_number, sizeof by_number);
    free(s);
}

/* Equal logits everywhere: no certificate of the form C tau, a unit of 1, and empty cells; still the others hold. */
static void ties_are_said(void **state)
{
    (void)state;
    data s;
    make_data(&s);
    memset(s.router, 0, sizeof s.router);
    write_data(&s);
    assert_int_equal(run(COMMON "--csv risks.csv"), 0);
    assert_true(reported("90 rows tie"));
    assert_true(reported("no certificate of the form C tau: 90 rows tie"));
    assert_true(reported("no usable median margin: the unit below is 1"));
    assert_true(reported("empty: zero expert"));
}

/* All rows in one cell, one column twice another: the slopes are not unique. And y linear in x: the hard risk is 0. */
static void perfect_and_deficient(void **state)
{
    (void)state;
    FILE *file = open_file("linear.csv", "w");
    fputs("a,b,y\n", file);
    for (size_t i = 0; i < 40; i++) {
        const double a = fmod(0.7548776662 * (double)(i + 1), 1);
        fprintf(file, "%.17g,%.17g,%.17g\n", a, 2 * a, 1.9 * a + 0.7);
    }
    fclose(file);
    file = open_file("two.csv", "w");
    fputs("1,0,-0.45\n-1,0,0.45\n", file);
    fclose(file);
    assert_int_equal(run("--data linear.csv --target y --router two.csv"), 0);
    assert_true(reported("slopes not unique: minimum norm"));
    assert_true(reported("safe temperature: undefined, since the hard risk is 0"));
    assert_true(reported("agrees with theory"));
}

/* Temperatures far below every margin: exact zeros over the data, and infinite error bars, which are said. */
static void temperatures_that_no_row_feels(void **state)
{
    (void)state;
    data s;
    double found[2][5];
    make_data(&s);
    assert_int_equal(run(COMMON "--tau 1e-9:1e-8:2 --csv risks.csv"), 0);
    read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 2, 5, *found);
    assert_true(reported("no row feels this"));
    for (size_t t = 0; t < 2; t++) {
        assert_near(found[t][3], 0, 0);
        assert_true(isinf(found[t][4]));
    }
}

/* Two clusters of 50 rows, columns on the grid of 2^-10, so that the offset is added exactly; y bends. */
static void write_clusters(double offset, double scale)
{
    FILE *file = open_file("clusters.csv", "w");
    fputs("u,v,y\n", file);
    for (size_t i = 0; i < 100; i++) {
        const double u = floor(1024 * fmod(0.7548776662 * (double)(i + 1), 1)) / 1024 + (i < 50 ? 3 : -3);
        const double v = floor(2048 * fmod(0.5698402909 * (double)(i + 1), 1)) / 1024;
        fprintf(file, "%.17g,%.17g,%.17g\n", (u + offset) * scale, (v - offset) * scale, sin(u) + u * v * v);
    }
    fclose(file);
    /* a_1 - a_2 = 2 (u - offset) - (v + offset) + 0.5, the columns as they are in the file. */
    file = open_file("moved.csv", "w");
    fprintf(file, "1,-0.5,%.17g\n-1,0.5,%.17g\n", 0.25 - 1.5 * offset, 1.5 * offset - 0.25);
    fclose(file);
}

/* Rows at 1e9 give what they give at the origin, as far as experts and margins do: to their rounding. */
static void data_far_from_the_origin(void **state)
{
    (void)state;
    static const char *const runs[] = {"--centroids 2", "--router moved.csv", "--centroids 2 --standardize"};
    for (size_t r = 0; r < 3; r++) {
        double near[11][5], far[11][5];
        char arguments[256];
        snprintf(arguments, sizeof arguments, "--data clusters.csv --target y --quick --csv risks.csv %s", runs[r]);
        for (int moved = 0; moved < 2; moved++) {
            write_clusters(moved ? 1e9 : 0, 1);
            assert_int_equal(run(arguments), 0);
            assert_true(r != 0 || reported("50.00 %"));
            read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 11, 5, moved ? *far : *near);
        }
        /* The offset is exact in the file, but not in units of the deviation: there slopes near 10 see roundings of
         * 1e-7. */
        const double allowed = r == 2 ? 1e-6 : 1e-14;
        for (size_t t = 0; t < 11; t++)
            for (size_t j = 0; j < 4; j++)
                assert_near(far[t][j], near[t][j], 1e-10 * fabs(near[t][j]) + allowed);
    }
}

/* Scales that are powers of two change no digit, however far from 1 they are. */
static void columns_of_extreme_scale_are_standardized(void **state)
{
    (void)state;
    const double scales[] = {1, 0x1p664, 0x1p-664, 0x1p1020, 0x1p-1010};
    double expected[11][5], found[11][5];
    for (size_t s = 0; s < 5; s++) {
        write_clusters(0, scales[s]);
        assert_int_equal(run("--data clusters.csv --target y --centroids 2 --standardize --quick --csv risks.csv"), 0);
        read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 11, 5, s == 0 ? *expected : *found);
        assert_true(s == 0 || memcmp(expected, found, sizeof found) == 0);
    }
}

/* y is affine in the features, exactly or to the rounding of the file, where terms of the experts cancel. */
static void perfect_far_from_the_origin(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int standardize = 0; standardize < 2; standardize++) {
            double z[200];
            assert_ok(moeg_stream_normals((moeg_stream){9, 78}, 0, 200, 1, z));
            FILE *file = open_file("far.csv", "w");
            fputs(kind == 2 ? "a,b,y\n" : "a,y\n", file);
            for (size_t i = 0; i < 200; i++)
                if (kind == 0)
                    fprintf(file, "%.17g,%.17g\n", round(10 * z[i]) + 1e5, 0.5 * round(10 * z[i]));
                else if (kind == 1)
                    fprintf(file, "%.17g,%.17g\n", round(86400 * z[i]) + 1.7e9, 2.385e-5 * round(86400 * z[i]));
                else
                    fprintf(file, "%.17g,%.17g,%.17g\n", 1000 + z[i], (1000 + z[i]) * (1000 + z[i]), z[i] * z[i]);
            fclose(file);
            assert_int_equal(run(standardize ? "--data far.csv --target y --centroids 3 --standardize"
                                             : "--data far.csv --target y --centroids 3"),
                             0);
            assert_true(reported("safe temperature: undefined, since the hard risk is 0"));
        }
}

/* A pressure that is the temperature + 101325.3: dependent but for the rounding of the file. */
static void dependent_but_for_rounding(void **state)
{
    (void)state;
    double z[600];
    assert_ok(moeg_stream_normals((moeg_stream){10, 78}, 0, 200, 3, z));
    FILE *file = open_file("pressure.csv", "w");
    fputs("t,h,p,y\n", file);
    for (size_t i = 0; i < 200; i++) {
        const double t = round(1500 + 800 * z[3 * i]) / 100;
        fprintf(file, "%.17g,%.17g,%.17g,%.17g\n", t, z[3 * i + 1], t + 101325.3, 2 * t + z[3 * i + 1] + z[3 * i + 2]);
    }
    fclose(file);
    for (int standardize = 0; standardize < 2; standardize++) {
        assert_int_equal(run(standardize ? "--data pressure.csv --target y --centroids 3 --standardize"
                                         : "--data pressure.csv --target y --centroids 3"),
                         0);
        assert_true(reported("slopes not unique: minimum norm"));
        assert_false(reported("since the hard risk is 0"));
    }
}

/* The margins of this router are `scale` times those of a router of weights +-1. */
static void write_scaled_router(double scale)
{
    FILE *file = open_file("scaled.csv", "w");
    fprintf(file, "%.17g,0,0\n%.17g,0,0\n", scale, -scale);
    fclose(file);
}

/* Default grids are cut to the range of the library, and refused only if nothing is left of them. */
static void default_grids_of_extreme_margins(void **state)
{
    (void)state;
    static const char arguments[] = "--data clusters.csv --target y --router scaled.csv --quick --csv risks.csv";
    const double scales[] = {1e-297, 1e-298, 1e299, 1e300};
    double found[11][5];
    write_clusters(0, 1);
    for (size_t s = 0; s < 4; s++) {
        write_scaled_router(scales[s]);
        assert_int_equal(run(arguments), 0);
        read_csv("risks.csv", "tau,soft_risk,hard_risk,gap,std_error", 11, 5, *found);
        assert_true(found[0][0] >= 1e-300 && found[10][0] <= 1e300 && found[0][0] < found[10][0]);
        assert_near(found[s < 2 ? 0 : 10][0], s < 2 ? 1e-300 : 1e300, 0);
    }
    const double beyond[] = {1e-303, 1e-320, 2e307};
    for (size_t s = 0; s < 3; s++) {
        char line[512];
        write_scaled_router(beyond[s]);
        assert_int_equal(run(arguments), 2);
        FILE *file = open_file("errors", "r");
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        assert_non_null(strstr(line, "--tau, --w: expected grids from 1e-300 to 1e+300"));
        assert_non_null(strstr(line, "median margin"));
    }
}

/* Features of size 1e150 and 1e-150 have margins of centroids near 1e300 and 1e-300. */
static void features_of_extreme_scale(void **state)
{
    (void)state;
    const double scales[] = {1e149, 1e-149};
    for (size_t s = 0; s < 2; s++) {
        write_clusters(0, scales[s]);
        assert_int_equal(run("--data clusters.csv --target y --centroids 2 --quick"), 0);
        assert_true(reported("50.00 %"));
        assert_true(reported("agrees with theory"));
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(risks_equal_the_obvious_computation),
        cmocka_unit_test(default_grid),
        cmocka_unit_test(mass_is_a_count),
        cmocka_unit_test(npy_has_columns_by_number),
        cmocka_unit_test(ties_are_said),
        cmocka_unit_test(perfect_and_deficient),
        cmocka_unit_test(temperatures_that_no_row_feels),
        cmocka_unit_test(data_far_from_the_origin),
        cmocka_unit_test(columns_of_extreme_scale_are_standardized),
        cmocka_unit_test(perfect_far_from_the_origin),
        cmocka_unit_test(dependent_but_for_rounding),
        cmocka_unit_test(default_grids_of_extreme_margins),
        cmocka_unit_test(features_of_extreme_scale),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
