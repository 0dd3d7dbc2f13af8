/* Activations, of the public enum and of the kernels: their numbers are the same. */
#ifndef MOEG_MODEL_ACTIVATION_H
#define MOEG_MODEL_ACTIVATION_H

#include "base/kernel.h"

#include <moegeom/activation.h>
#include <moegeom/status.h>

/* MOEG_OK, or MOEG_EINVAL if there is no such activation. */
moeg_status moeg_check_activation(const char *function, moeg_activation activation);

static inline moeg_kernel_activation moeg_kernel_activation_of(moeg_activation activation)
{
    return (moeg_kernel_activation)activation;
}

#endif
