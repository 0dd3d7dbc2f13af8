#include "base/guard.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long inside;
static gsl_error_handler_t *host_handler;
static int host_threads;

void moeg_guard_enter(void)
{
    pthread_mutex_lock(&lock);
    if (inside++ == 0) {
        host_handler = gsl_set_error_handler_off();
        host_threads = openblas_get_num_threads();
        if (host_threads != 1)
            openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&lock);
}

void moeg_guard_leave(void)
{
    pthread_mutex_lock(&lock);
    if (--inside == 0) {
        gsl_set_error_handler(host_handler);
        if (host_threads != 1)
            openblas_set_num_threads(host_threads);
    }
    pthread_mutex_unlock(&lock);
}
