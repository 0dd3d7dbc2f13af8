/* Fails every allocation of a call in turn. */
#ifndef MOEG_TESTS_SUPPORT_FAILING_ALLOC_H
#define MOEG_TESTS_SUPPORT_FAILING_ALLOC_H

#include "base/memory.h"
#include "support/check.h"

static inline int fail_at_zero(size_t bytes, void *user)
{
    (void)bytes;
    /* Several threads may allocate at once: every one past the chosen one is refused too. */
    long *left = user;
    return __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) < 0;
}

/* Calls scenario(user) with the first allocation refused, then the second, and so on, until it succeeds. Each time but
 * the last it must return MOEG_ENOMEM; scenario() itself checks that outputs are untouched and frees what it made.
 * Returns the number of allocations, which the caller checks to be what it expects to be at least. */
static inline size_t fail_every_allocation(moeg_status (*scenario)(void *user), void *user)
{
    for (long n = 0;; n++) {
        long left = n;
        moeg_alloc_set_hook(fail_at_zero, &left);
        const moeg_status status = scenario(user);
        moeg_alloc_set_hook(NULL, NULL);
        if (status == MOEG_OK)
            return (size_t)n;
        assert_status(status, MOEG_ENOMEM, "memory");
        assert_true(n < 10000);
    }
}

#endif
