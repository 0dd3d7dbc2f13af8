/* Affine maps with an activation between. */
#include "base/error.h"
#include "model/expert_kind.h"
#include "model/layers.h"

typedef struct mlp_expert {
    moeg_expert expert;
    moeg_layers layers;
    double room[];
} mlp_expert;

static const moeg_layers *layers_of(const moeg_expert *expert)
{
    return &((const mlp_expert *)expert)->layers;
}

static size_t workspace(const moeg_expert *expert, size_t stride)
{
    return moeg_layers_workspace(layers_of(expert), stride);
}

static moeg_status forward_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                 double *scratch)
{
    (void)n;
    moeg_layers_forward(layers_of(expert), stride, x, y, scratch);
    return MOEG_OK;
}

static size_t jacobian_workspace(const moeg_expert *expert, size_t stride)
{
    return moeg_layers_jacobian_workspace(layers_of(expert), stride);
}

static moeg_status jacobian_block(const moeg_expert *expert, size_t n, size_t stride, const double *x, double *y,
                                  double *scratch)
{
    (void)n;
    moeg_layers_jacobian(layers_of(expert), stride, x, y, scratch);
    return MOEG_OK;
}

static const moeg_expert_kind mlp_kind = {
    .workspace = workspace,
    .forward_block = forward_block,
    .jacobian_workspace = jacobian_workspace,
    .jacobian_block = jacobian_block,
};

moeg_status moeg_expert_mlp_create(moeg_expert **expert, size_t layers, const size_t *widths, const double *const *W,
                                   const double *const *b, moeg_activation activation)
{
    static const char function[] = "expert_mlp";
    moeg_status status = moeg_check_pointer(function, "expert", expert);
    if (status == MOEG_OK)
        status = moeg_layers_check(function, layers, widths, W, b, activation, 1);
    if (status != MOEG_OK)
        return status;
    /* Without hidden values it is affine, and whoever has closed forms for affine experts may use them. */
    if (layers == 1)
        return moeg_expert_affine_create(expert, widths[0], widths[1], W[0], moeg_layers_last_bias(layers, b));
    mlp_expert *e = moeg_object_alloc(sizeof *e, moeg_layers_doubles(layers, widths));
    if (e == NULL)
        return moeg_fail_memory(function);
    e->expert.kind = &mlp_kind;
    e->expert.dim = widths[0];
    e->expert.outputs = widths[layers];
    moeg_layers_init(&e->layers, e->room, layers, widths, W, b, activation);
    *expert = &e->expert;
    return MOEG_OK;
}
