#include "limit/check.h"

#include "base/error.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

moeg_status moeg_check_router_law(const char *function, const moeg_router *router, const moeg_law *law)
{
    moeg_status status = moeg_check_pointer(function, "router", router);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if (moeg_router_dim(router) != moeg_law_dim(law))
        return moeg_fail(MOEG_EINVAL, "%s: the router takes dimension %zu, the law has %zu", function,
                         moeg_router_dim(router), moeg_law_dim(law));
    return MOEG_OK;
}

moeg_status moeg_check_teacher_law(const char *function, const moeg_teacher *teacher, const moeg_law *law)
{
    moeg_status status = moeg_check_pointer(function, "teacher", teacher);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    const size_t d = moeg_law_dim(law), teacher_d = moeg_teacher_dim(teacher);
    const uint64_t rows = moeg_teacher_rows(teacher);
    if (teacher_d != 0 && teacher_d != d)
        return moeg_fail(MOEG_EINVAL, "%s: the teacher takes dimension %zu, the law has %zu", function, teacher_d, d);
    if (rows != 0 && rows != moeg_law_rows(law))
        return moeg_fail(MOEG_EINVAL,
                         "%s: a data teacher of %" PRIu64
                         " rows needs an empirical law of as many, got one of %" PRIu64,
                         function, rows, moeg_law_rows(law));
    return MOEG_OK;
}

/* The teacher fits the mixture and the law. */
static moeg_status check_teacher(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                 const moeg_law *law)
{
    const size_t m = moeg_moe_outputs(moe), teacher_m = moeg_teacher_outputs(teacher);
    if (teacher_m != m)
        return moeg_fail(MOEG_EINVAL, "%s: the mixture has %zu outputs, the teacher %zu", function, m, teacher_m);
    return moeg_check_teacher_law(function, teacher, law);
}

moeg_status moeg_check_mixing(const char *function, moeg_mixing mixing)
{
    if (mixing == MOEG_MIX_OUTPUT || mixing == MOEG_MIX_LOSS)
        return MOEG_OK;
    return moeg_fail(MOEG_EINVAL, "%s: mixing must be output (0) or loss (1), got %d", function, (int)mixing);
}

moeg_status moeg_check_risk_objects(const char *function, const moeg_moe *moe, const moeg_teacher *teacher,
                                    const moeg_law *law, moeg_mixing mixing)
{
    moeg_status status = moeg_check_pointer(function, "moe", moe);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "teacher", teacher);
    if (status == MOEG_OK)
        status = moeg_check_pointer(function, "law", law);
    if (status != MOEG_OK)
        return status;
    if ((status = moeg_check_mixing(function, mixing)) != MOEG_OK)
        return status;
    if (moeg_moe_dim(moe) != moeg_law_dim(law))
        return moeg_fail(MOEG_EINVAL, "%s: the mixture takes dimension %zu, the law has %zu", function,
                         moeg_moe_dim(moe), moeg_law_dim(law));
    return check_teacher(function, moe, teacher, law);
}

moeg_status moeg_check_grid_size(const char *function, size_t n, size_t bytes)
{
    return n > PTRDIFF_MAX / bytes ? moeg_fail_memory(function) : MOEG_OK;
}

moeg_status moeg_check_temperatures(const char *function, size_t ntau, const double *tau)
{
    if (ntau == 0)
        return moeg_fail(MOEG_EINVAL, "%s: ntau must be at least 1, got 0", function);
    moeg_status status = moeg_check_pointer(function, "tau", tau);
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, ntau, sizeof(moeg_estimate));
    if (status == MOEG_OK)
        status = moeg_check_grid_size(function, ntau, ntau * sizeof(double));
    for (size_t t = 0; status == MOEG_OK && t < ntau; t++) {
        char name[32];
        snprintf(name, sizeof name, "tau[%zu]", t);
        status = moeg_check_tau(function, name, tau[t]);
    }
    return status;
}

moeg_status moeg_check_no_directions(const char *function, const moeg_sampling *s)
{
    if (s->directions != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: directions must be NULL: no lines are drawn along them here",
                         function);
    return MOEG_OK;
}

moeg_status moeg_check_risk(const char *function, const moeg_moe *moe, const moeg_teacher *teacher, const moeg_law *law,
                            moeg_mixing mixing, size_t ntau, const double *tau, const moeg_sampling *s)
{
    moeg_status status = moeg_check_risk_objects(function, moe, teacher, law, mixing);
    if (status == MOEG_OK)
        status = moeg_check_temperatures(function, ntau, tau);
    if (status == MOEG_OK)
        status = moeg_sampling_check(s);
    return status;
}

moeg_status moeg_choose_line(const char *function, const char *refusal, moeg_method method, int *line)
{
    if (method == MOEG_METHOD_LINE && refusal != NULL)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: method line does not apply: %s", function, refusal);
    *line = method != MOEG_METHOD_MC && refusal == NULL;
    return MOEG_OK;
}

moeg_status moeg_check_job_method(const char *function, const moeg_sampling *s)
{
    if (s->method == MOEG_METHOD_LINE)
        return moeg_fail(MOEG_EUNSUPPORTED, "%s: a job samples rows: method must be auto or mc, got line", function);
    return MOEG_OK;
}

moeg_status moeg_sampled_status(const char *function, moeg_status run, moeg_status read)
{
    if (read >= 0 && run == MOEG_ECANCELED)
        return moeg_fail(run, "%s: canceled by the progress callback", function);
    return read;
}

moeg_status moeg_report_logits(const char *name, moeg_gate gate, size_t K, size_t stride, const double *logits,
                               size_t unit, uint64_t sample)
{
    size_t left = 0;
    int finite = 1;
    for (size_t k = 0; k < K; k++) {
        const double a = logits[k * stride + unit];
        left += a != -INFINITY;
        finite = finite && (a == -INFINITY || isfinite(a));
    }
    if (finite && left < gate.k)
        return moeg_fail(MOEG_EDOM,
                         "%s: the router masks all but %zu experts at sample %" PRIu64 ", fewer than gate.k = %zu",
                         name, left, sample, gate.k);
    return moeg_fail(MOEG_ERANGE, "%s: logits of sample %" PRIu64 " overflow", name, sample);
}

int moeg_has_equal_weights(const moeg_law *law)
{
    const double *weights = moeg_law_weights(law);
    const uint64_t rows = moeg_law_rows(law);
    double common = 0;
    for (uint64_t i = 0; weights != NULL && i < rows; i++) {
        if (weights[i] > 0 && common > 0 && weights[i] != common)
            return 0;
        common = fmax(common, weights[i]);
    }
    return 1;
}

uint64_t moeg_sample_units(const moeg_law *law, const moeg_sampling *s)
{
    const uint64_t rows = moeg_law_rows(law);
    return rows != 0 ? rows : s->n;
}
