/* cooling_report on data far from the origin, of extreme scale, and on features that depend on each other. */
#include "examples/report.h"

#include <moegeom/moegeom.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_far_from_the_origin),         cmocka_unit_test(columns_of_extreme_scale_are_standardized),
        cmocka_unit_test(perfect_far_from_the_origin),      cmocka_unit_test(dependent_but_for_rounding),
        cmocka_unit_test(default_grids_of_extreme_margins), cmocka_unit_test(features_of_extreme_scale),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
