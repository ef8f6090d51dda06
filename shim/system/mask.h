/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process blocks every signal first. The kernel drops one that PID 1 has neither blocked nor a
 * handler for (pid_namespaces(7)); blocked, it waits until the command runs and can be told. There
 * is no handler anywhere: signals are taken one by one from the queue.
 */
#ifndef RI_SHIM_SYSTEM_MASK_H
#define RI_SHIM_SYSTEM_MASK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A signal set as the kernel has it: signal n is bit n - 1. */
typedef uint64_t ri_sigset;

/* The mask that we were started with, for the command. */
extern ri_sigset ri_mask_inherited;

/* Did that work? If not, errno says why. */
bool ri_mask_is_set(void);

/* By system call, since the C library keeps 32 to 34. Safe in a child that shares our memory. */
void ri_mask_set(ri_sigset set);

/* Every signal, and one. */
#define RI_MASK_ALL (~(ri_sigset)0)
#define RI_MASK_OF(number) ((ri_sigset)1 << ((number) - 1))

/* The signals in the queue. */
ri_sigset ri_mask_pending(void);

/*
 * Wait for one signal for at most timeout_ms (-1: for ever) and take it off the queue. Returns its
 * number and *info, or 0 when the time is over, or earlier where the kernel refuses
 * rt_sigtimedwait(2). Of *info only the number, the code and the sender count. The lowest number
 * comes first, but a SIGTERM before long, whatever else comes. Or for some signals alone.
 */
int ri_mask_wait(siginfo_t *info, int64_t timeout_ms);
int ri_mask_wait_for(ri_sigset set, siginfo_t *info, int64_t timeout_ms);

/* Wait so long, below a second, for nothing. */
void ri_mask_pause(long ms);

/*
 * What means a stop before there is a command; whatever else comes waits for
 * it. A signal that we were started to ignore, as by nohup(1) or in the
 * background of a script, is none: it is queued all the same, being blocked.
 */
ri_sigset ri_mask_stops(void);

/* All that may be in it, which asks the kernel nothing. */
#define RI_MASK_MAY_STOP (RI_MASK_OF(SIGTERM) | RI_MASK_OF(SIGINT) | RI_MASK_OF(SIGQUIT) | \
	RI_MASK_OF(SIGHUP))

/* A stop that waits in the queue, and stays there: its number, SIGTERM first; 0: there is none. */
int ri_mask_pending_stop(void);

/* Give SIGCHLD its default action: one that is ignored is never reported. */
void ri_mask_default_chld(void);

#endif
