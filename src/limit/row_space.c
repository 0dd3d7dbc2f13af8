#include "limit/row_space.h"

#include "line/frame.h"
#include "model/model.h"

#include <math.h>

/* Whether the row space has fewer dimensions than x, by the count of the experts that are not masked. */
static int is_smaller(const moeg_router *router)
{
    const double *W, *b;
    moeg_router_affine_parts(router, &W, &b);
    size_t live = 0;
    for (size_t k = 0; k < moeg_router_experts(router); k++)
        live += b[k] != -INFINITY;
    return live >= 2 && live <= moeg_router_dim(router);
}

moeg_status moeg_row_space(const char *function, const moeg_router *router, const moeg_law *law,
                           moeg_router **small_router, moeg_law **small_law)
{
    *small_router = NULL;
    *small_law = NULL;
    if (moeg_frame_refusal(router, law) != NULL || !is_smaller(router))
        return MOEG_OK;
    moeg_frame frame;
    const moeg_frame_logits *logits = &frame.logits[0];
    moeg_router *made = NULL;
    moeg_status status = moeg_frame_init(function, 1, &router, law, &frame);
    if (status == MOEG_ERANGE) /* The full space is what can still be had. */
        return MOEG_OK;
    if (status == MOEG_OK && frame.r > 0)
        status = moeg_router_affine_create(&made, logits->K, frame.r, logits->T, logits->constant);
    if (status == MOEG_OK && frame.r > 0)
        status = moeg_law_gaussian_create(small_law, frame.r, NULL, NULL);
    moeg_frame_free(&frame);
    if (status == MOEG_OK)
        *small_router = made;
    else
        moeg_router_free(made);
    return status;
}
