/** @file
 * Activations of experts and routers. */
#ifndef MOEGEOM_ACTIVATION_H
#define MOEGEOM_ACTIVATION_H

#ifdef __cplusplus
extern "C" {
#endif

/** s(z), of each hidden value, right to 4 ulp wherever it is above 1e-304 in magnitude [theory: experts]. */
typedef enum moeg_activation {
    MOEG_ACTIVATION_RELU = 0, /**< max(z, 0); its derivative at 0 is 0 */
    MOEG_ACTIVATION_GELU = 1, /**< z Phi(z), the exact form: Phi is the normal distribution function */
    MOEG_ACTIVATION_SILU = 2, /**< z/(1 + exp(-z)) */
    MOEG_ACTIVATION_TANH = 3  /**< tanh z; its derivative sech^2 z is no 0 until it underflows */
} moeg_activation;

#ifdef __cplusplus
}
#endif

#endif
