/* Affine maps with an activation between, widths[0] -> widths[1] -> … -> widths[count]: what multilayer experts and
 * routers have in common. */
#ifndef MOEG_MODEL_LAYERS_H
#define MOEG_MODEL_LAYERS_H

#include <moegeom/activation.h>
#include <moegeom/status.h>
#include <stddef.h>

typedef struct moeg_layers {
    size_t count, widest; /* layers, at least 1; the largest of the hidden widths, 0 if there are none */
    moeg_activation activation;
    const size_t *widths;  /* (count + 1) */
    const double *numbers; /* of each layer the bias, then the weights */
} moeg_layers;

/* MOEG_OK, or MOEG_EINVAL that names the layer: no layers, NULL, a width of 0, weights or a bias that are not finite,
 * an unknown activation. The last bias is looked at only if `last_bias`. */
moeg_status moeg_layers_check(const char *function, size_t count, const size_t *widths, const double *const *W,
                              const double *const *b, moeg_activation activation, int last_bias);

/* The last bias, or NULL for 0. */
const double *moeg_layers_last_bias(size_t count, const double *const *b);

/* Doubles of room that moeg_layers_init() wants; SIZE_MAX if that is more. */
size_t moeg_layers_doubles(size_t count, const size_t *widths);

/* Copies everything to `room`. */
void moeg_layers_init(moeg_layers *layers, void *room, size_t count, const size_t *widths, const double *const *W,
                      const double *const *b, moeg_activation activation);

/* The last layer's bias, then its weights. */
const double *moeg_layers_last_numbers(const moeg_layers *layers);

/* y (m x stride) of x (d x stride). A unit's y does not depend on its neighbours. NaN or infinite where a sum, of
 * hidden layers too, overflows. */
size_t moeg_layers_workspace(const moeg_layers *layers, size_t stride);
void moeg_layers_forward(const moeg_layers *layers, size_t stride, const double *x, double *y, double *workspace);

/* y (m d x stride): the derivative of output j by input k is variable j d + k. */
size_t moeg_layers_jacobian_workspace(const moeg_layers *layers, size_t stride);
void moeg_layers_jacobian(const moeg_layers *layers, size_t stride, const double *x, double *y, double *workspace);

/* out (cols x rows) = the transpose of W (rows x cols). */
void moeg_transpose(size_t rows, size_t cols, const double *W, double *out);

#endif
