#include <moegeom/options.h>

#include "base/error.h"

#include <math.h>

const char *moeg_method_name(moeg_method method)
{
    switch (method) {
    case MOEG_METHOD_AUTO:
        return "auto";
    case MOEG_METHOD_MC:
        return "mc";
    case MOEG_METHOD_LINE:
        return "line";
    }
    return "unknown";
}

moeg_sampling moeg_sampling_default(void)
{
    return (moeg_sampling){
        .seed = 1,
        .n = 1 << 14,
        .method = MOEG_METHOD_AUTO,
        .level = 0.95,
        .rel_tol = 0,
        .abs_tol = 0,
        .max_threads = 0,
        .directions = NULL,
        .direction_count = 0,
        .runner = NULL,
        .progress = NULL,
        .progress_user = NULL,
    };
}

static moeg_status check_directions(const moeg_sampling *options)
{
    if (options->directions == NULL && options->direction_count > 0)
        return moeg_fail(MOEG_EINVAL, "sampling: directions must not be NULL: direction_count is %zu",
                         options->direction_count);
    if (options->directions != NULL && options->direction_count == 0)
        return moeg_fail(MOEG_EINVAL, "sampling: direction_count must be at least 1 with directions, got 0");
    if (options->directions != NULL && options->method != MOEG_METHOD_LINE)
        return moeg_fail(MOEG_EINVAL, "sampling: method must be line with directions, got %s",
                         moeg_method_name(options->method));
    return MOEG_OK;
}

moeg_status moeg_sampling_check(const moeg_sampling *options)
{
    const moeg_status status = moeg_check_pointer("sampling", "options", options);
    if (status != MOEG_OK)
        return status;
    if (options->n == 0)
        return moeg_fail(MOEG_EINVAL, "sampling: n must be at least 1, got 0");
    if (options->method != MOEG_METHOD_AUTO && options->method != MOEG_METHOD_MC && options->method != MOEG_METHOD_LINE)
        return moeg_fail(MOEG_EINVAL, "sampling: method must be one of auto, mc, line, got %d", (int)options->method);
    if (!(options->level > 0 && options->level < 1))
        return moeg_fail(MOEG_EINVAL, "sampling: level must be in (0, 1), got %g", options->level);
    if (!(options->rel_tol >= 0) || isinf(options->rel_tol))
        return moeg_fail(MOEG_EINVAL, "sampling: rel_tol must be finite and at least 0, got %g", options->rel_tol);
    if (!(options->abs_tol >= 0) || isinf(options->abs_tol))
        return moeg_fail(MOEG_EINVAL, "sampling: abs_tol must be finite and at least 0, got %g", options->abs_tol);
    if (options->max_threads < 0)
        return moeg_fail(MOEG_EINVAL, "sampling: max_threads must be at least 0, got %d", options->max_threads);
    return check_directions(options);
}
