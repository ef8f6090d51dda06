/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a machine, read below a root directory: "/" of the live one,
 * or a recorded tree. No path, and no symbolic link inside the tree, leads
 * out of it: openat2(2) with RESOLVE_IN_ROOT, and where the kernel or a
 * seccomp profile lacks that, a walk of our own.
 */
#ifndef RI_BASE_HOST_H
#define RI_BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>

struct ri_host {
	int root;	/* directory fd, owned by whoever opened it */
	bool live;	/* this machine; else a recorded one */
	bool walk;	/* openat2 was refused once: do not ask again */
};

/*
 * Open path, relative to the root whether or not it starts with '/', with
 * O_CLOEXEC added to flags (reading only). Returns an fd, or -1 and errno;
 * EXDEV never: ".." stops at the root.
 */
int ri_host_open(struct ri_host *host, const char *path, int flags);

/*
 * Read a whole file of at most size - 1 bytes and end it with '\0'. Returns
 * the number of bytes, or -1 and errno: EFBIG when it does not fit.
 */
long ri_host_read(struct ri_host *host, const char *path, char *buffer, size_t size);

/*
 * The names in a folder, without "." and "..", each ended by '\0' and in the
 * order in which the kernel gives them. Returns how many there are, or -1 and
 * errno: EFBIG when they do not fit.
 */
long ri_host_list(struct ri_host *host, const char *path, char *names, size_t size);

/* Is there something at this path? A symbolic link counts as what it leads to. */
bool ri_host_has(struct ri_host *host, const char *path);

#endif
