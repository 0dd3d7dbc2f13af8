#define MOEG_KERNEL_TABLE moeg_kernel_generic
#define MOEG_KERNEL_NAME "generic"
#include "base/kernel_body.h"
