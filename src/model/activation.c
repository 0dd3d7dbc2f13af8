#include "model/activation.h"

#include "base/error.h"

_Static_assert((int)MOEG_ACTIVATION_RELU == (int)MOEG_KERNEL_RELU && (int)MOEG_ACTIVATION_GELU == (int)MOEG_KERNEL_GELU,
               "the kernels number activations as users do");
_Static_assert((int)MOEG_ACTIVATION_SILU == (int)MOEG_KERNEL_SILU && (int)MOEG_ACTIVATION_TANH == (int)MOEG_KERNEL_TANH,
               "the kernels number activations as users do");

moeg_status moeg_check_activation(const char *function, moeg_activation activation)
{
    switch (activation) {
    case MOEG_ACTIVATION_RELU:
    case MOEG_ACTIVATION_GELU:
    case MOEG_ACTIVATION_SILU:
    case MOEG_ACTIVATION_TANH:
        return MOEG_OK;
    }
    return moeg_fail(MOEG_EINVAL, "%s: activation must be ReLU (0), GELU (1), SiLU (2) or tanh (3), got %d", function,
                     (int)activation);
}
