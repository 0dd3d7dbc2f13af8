#if defined(__x86_64__)
#define MOEG_KERNEL_TABLE moeg_kernel_avx2
#define MOEG_KERNEL_NAME "avx2"
#include "base/kernel_body.h"
#endif
