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
 * A file as a string; what does not fit is left out. Returns its length, or -1 and errno: then, and
 * where it is empty, the string is "".
 */
ssize_t ri_proc_text(char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* Where a link leads, as a string. False, and "": nowhere, or it may not be read. */
bool ri_proc_link(char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

enum { RI_PROC_FILE = 262144 };	/* bytes of a file, or of a part: mount tables are large */

/* The parts of a file that end in a byte, as strings, but for those of RI_PROC_FILE bytes. */
struct ri_proc_parts {
	int fd;			/* -1, and errno: it has none, since it cannot be opened */
	char end;
	bool is_long;		/* the part that begins here has lost its beginning */
	size_t begin, used;
};

void ri_proc_parts_open(struct ri_proc_parts *parts, char end, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* The next one, which lasts until the next one is asked for; NULL: none, and it is closed. */
const char *ri_proc_parts_next(struct ri_proc_parts *parts);

/* A variable that a process was started with. False: it has none, or one that does not fit. */
bool ri_proc_variable(pid_t pid, const char *name, char *out, size_t size);

/* What /proc says of a process. False where that cannot be known. */
bool ri_proc_read(pid_t pid, struct ri_procstat *out);

/*
 * The numbers that name something in a folder: in /proc, or that of a process's threads. There is
 * one list at a time.
 */
struct ri_proc_list {
	int dir;		/* -1: it is closed */
	bool refused;		/* the kernel has not listed all of it; errno says why */
	long length, at;	/* of the entries that were read last */
};

struct ri_proc_list ri_proc_list_open(const char *folder);

/* The next one; 0: there is none, and the list is closed. */
pid_t ri_proc_list_next(struct ri_proc_list *list);

/* The rest is not asked for. */
void ri_proc_list_close(struct ri_proc_list *list);

/* When a process of our PID namespace began, in ticks since boot; false: /proc does not tell. */
bool ri_proc_birth(pid_t pid, uint64_t *born);

/*
 * Call take for each TCP socket of our network, as /proc/self/net shows them. Returns false where
 * there is no file.
 */
struct ri_socket;

bool ri_tcp_sockets_read(void (*take)(void *context, const struct ri_socket *socket),
	void *context);

#endif
