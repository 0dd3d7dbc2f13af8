#include "limit/gap_rows.h"

#include "base/error.h"
#include "base/kernel.h"
#include "limit/row_space.h"
#include "model/model.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

moeg_status moeg_gap_rows_init(const char *function, const moeg_router *router, moeg_gap gap, const moeg_law *law,
                               int row_space, uint64_t seed, moeg_gap_rows *rows)
{
    moeg_gap_rows r = {.function = function, .gap = gap, .seed = seed};
    const moeg_status status = row_space ? moeg_row_space(function, router, law, &r.router, &r.law) : MOEG_OK;
    if (status != MOEG_OK)
        return status;
    if (r.router == NULL) {
        r.router = moeg_router_retain(router);
        r.law = moeg_law_retain(law);
    }
    r.K = moeg_router_experts(r.router);
    r.d = moeg_router_dim(r.router);
    *rows = r;
    return MOEG_OK;
}

void moeg_gap_rows_free(moeg_gap_rows *rows)
{
    moeg_router_free(rows->router);
    moeg_law_free(rows->law);
}

/* x, the logits, and the scratch of law and router. */
size_t moeg_gap_rows_workspace(const moeg_gap_rows *rows, size_t stride)
{
    const size_t law = moeg_law_workspace(rows->law, stride), router = moeg_router_workspace(rows->router, stride);
    return (rows->d + rows->K) * stride + moeg_round_lanes(law > router ? law : router);
}

/* Why row i of a block, the sample `sample`, has no gap. */
static moeg_status report_row(const moeg_gap_rows *rows, uint64_t sample, size_t i, size_t stride, const double *logits)
{
    size_t left = 0;
    int finite = 1;
    for (size_t k = 0; k < rows->K; k++) {
        left += logits[k * stride + i] != -INFINITY;
        finite = finite && logits[k * stride + i] <= DBL_MAX;
    }
    if (finite && left < rows->gap.upper)
        return moeg_fail(MOEG_EDOM,
                         "%s: the router masks all but %zu experts at sample %" PRIu64 ", fewer than gap.upper = %zu",
                         rows->function, left, sample, rows->gap.upper);
    return moeg_fail(MOEG_ERANGE, "%s: logits of sample %" PRIu64 " overflow", rows->function, sample);
}

moeg_status moeg_gap_rows_draw(const moeg_gap_rows *rows, uint64_t first, size_t n, size_t stride, double *workspace,
                               double *gap)
{
    double *x = workspace, *logits = x + rows->d * stride, *scratch = logits + rows->K * stride;
    moeg_status status = moeg_law_draw(rows->law, rows->seed, first, n, stride, x, scratch);
    if (status == MOEG_OK)
        status = moeg_router_logits_block(rows->router, n, stride, x, logits, scratch);
    if (status != MOEG_OK)
        return status;
    const size_t bad = moeg_gap_block(rows->K, n, stride, logits, rows->gap, gap);
    return bad < n ? report_row(rows, first + bad, bad, stride, logits) : MOEG_OK;
}
