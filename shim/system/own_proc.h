/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_SYSTEM_OWN_PROC_H
#define RI_SHIM_SYSTEM_OWN_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Is /proc that of our own PID namespace? After unshare --pid without a new
 * mount it shows strangers under our numbers. self is getpid().
 */
bool ri_proc_is_ours(pid_t self);

/* When a process of our PID namespace began, in ticks since boot; false: /proc does not tell. */
bool ri_proc_birth(pid_t pid, uint64_t *born);

#endif
