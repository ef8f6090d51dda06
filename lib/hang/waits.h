/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Python libraries in which a process waits: waits.def. */
#ifndef RI_HANG_WAITS_H
#define RI_HANG_WAITS_H

#include <stddef.h>

enum ri_wait_kind {
	RI_WAIT_COLLECTIVE,
	RI_WAIT_BACKWARD,
	RI_WAIT_PEERS,
	RI_WAIT_LOADER,
	RI_WAIT_WORK,
	RI_WAIT_LOADS,
	RI_WAIT_DATA,
	RI_WAIT_LOCK,
	RI_WAIT_THREAD,
	RI_WAIT_CHILD,
	RI_WAIT_DEBUGGER,
};

struct ri_wait_row {
	enum ri_wait_kind kind;
	const char *file, *function;
	size_t reach;
};

/*
 * The row for a function of that file, with so many frames further in, or NULL. A qualified
 * name's last part counts ("Queue.get").
 */
const struct ri_wait_row *ri_wait_find(const char *file, const char *function, size_t inner);

/* The last part of a qualified name. */
const char *ri_wait_name(const char *function);

#endif
