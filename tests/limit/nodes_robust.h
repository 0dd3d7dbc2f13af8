/* Functions on general lines under any number of threads, and where memory runs out: on the same problems. */
#ifndef MOEG_TESTS_LIMIT_NODES_ROBUST_H
#define MOEG_TESTS_LIMIT_NODES_ROBUST_H

#include "limit/nodes_problem.h"
#include "limit/nodes_run.h"
#include "support/estimates.h"
#include "support/failing_alloc.h"

enum { ROBUST_MOST = 16 };

/* A public function of general lines, all of whose estimates it writes. */
typedef moeg_status (*robust_function)(const struct problem *p, moeg_mixing mixing, const moeg_sampling *s,
                                       moeg_estimate *all);

/* n lines of affine experts and of others: the same `count` estimates on 1, 2 and 5 threads. */
static inline void assert_threads_change_no_bit(robust_function run, size_t count, uint64_t n)
{
    static const int threads[] = {1, 2, 5};
    assert_true(count <= ROBUST_MOST);
    for (int which = 0; which < 2; which++) {
        struct problem p;
        moeg_estimate all[3][ROBUST_MOST];
        if (which == 0)
            five_experts(&p, moeg_gate_topk_raw(2));
        else
            curved(&p, 4, 0);
        for (int i = 0; i < 3; i++) {
            moeg_sampling s = lines_of(n);
            s.max_threads = threads[i];
            assert_true(run(&p, MOEG_MIX_OUTPUT, &s, all[i]) >= 0);
            assert_same_estimates(all[i], all[0], count);
        }
        problem_free(&p);
    }
}

struct robust_run {
    robust_function run;
    moeg_mixing mixing;
    const struct problem *p;
};

/* An error leaves the estimates as they were; too few lines are none. */
static inline moeg_status robust_call(void *user)
{
    const struct robust_run *r = user;
    moeg_estimate all[ROBUST_MOST] = {{.value = 42}};
    moeg_sampling s = lines_of(64);
    s.max_threads = 1;
    const moeg_status status = r->run(r->p, r->mixing, &s, all);
    if (status < 0)
        assert_near(all[0].value, 42, 0);
    return status == MOEG_EUNABLE ? MOEG_OK : status;
}

/* On lines that are drawn, in the plane, with a teacher that jumps and one that does not, and on one line. */
static inline void assert_every_allocation_may_fail(robust_function run, moeg_mixing mixing)
{
    for (int which = 0; which < 4; which++) {
        static const size_t least[] = {60, 30, 30, 20};
        struct problem p;
        struct robust_run r = {run, mixing, &p};
        if (which == 0) {
            five_experts(&p, moeg_gate_subset(2));
        } else {
            problem_draw(&p, 9, 3, which < 3 ? 2 : 1, 1);
            p.gate = moeg_gate_topk_raw(1);
            p.pieces = which == 1 ? 2 : 1;
            p.V[0] = 1;
            problem_build(&p);
        }
        assert_true(fail_every_allocation(robust_call, &r) > least[which]);
        problem_free(&p);
    }
}

#endif
