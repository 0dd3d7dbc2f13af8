/* The one place that touches process-wide settings of other libraries: GSL's error handler and OpenBLAS's thread count.
 *
 * Between moeg_guard_enter() and moeg_guard_leave() GSL reports errors by status only, and OpenBLAS runs on one thread.
 * Calls nest and may come from several threads: they are counted under a lock; the first call in saves the host's
 * settings, the last one out puts them back. */
#ifndef MOEG_BASE_GUARD_H
#define MOEG_BASE_GUARD_H

void moeg_guard_enter(void);
void moeg_guard_leave(void);

#endif
