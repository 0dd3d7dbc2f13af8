#if defined(__x86_64__)
#define MOEG_KERNEL_TABLE moeg_kernel_avx512
#define MOEG_KERNEL_NAME "avx512"
#include "base/kernel_body.h"
#endif
