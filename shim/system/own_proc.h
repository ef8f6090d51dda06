/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of this PID namespace, its processes and its sockets. */
#ifndef RI_SHIM_SYSTEM_OWN_PROC_H
#define RI_SHIM_SYSTEM_OWN_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"

/*
 * Is /proc that of our own PID namespace? After unshare --pid without a new mount it shows
 * strangers under our numbers. self is getpid().
 */
bool ri_proc_is_ours(pid_t self);

/*
 * A file that /proc has of a process, "stat" or "wchan", as a string; pid 0: of ourselves, also
 * where it is not that of our namespace. False, and "", where it is empty or cannot be read.
 */
bool ri_proc_text(pid_t pid, const char *name, char *text, size_t size);

/* What /proc says of a process. False where that cannot be known. */
bool ri_proc_read(pid_t pid, struct ri_procstat *out);

/*
 * Call visit for each number that names something in a folder, /proc or that of a process's
 * threads, until it returns false. Returns false where the folder cannot be listed.
 */
bool ri_proc_each(const char *folder, bool (*visit)(pid_t pid, void *context), void *context);

/* When a process of our PID namespace began, in ticks since boot; false: /proc does not tell. */
bool ri_proc_birth(pid_t pid, uint64_t *born);

/*
 * Call take for each TCP socket of our network, as /proc/self/net shows them, a piece of a file
 * after the other in the room of so many bytes, which are more than a line. Returns false where
 * there is no file.
 */
struct ri_socket;

bool ri_tcp_sockets_read(char *room, size_t size,
	void (*take)(void *context, const struct ri_socket *socket), void *context);

#endif
