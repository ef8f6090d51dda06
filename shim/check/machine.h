/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits, sizes and capabilities for checks: of the live machine by system
 * call, of a recorded one from its files. Each returns false where it cannot
 * be known.
 */
#ifndef RI_SHIM_CHECK_MACHINE_H
#define RI_SHIM_CHECK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

/* setrlimit(2); of a recorded machine from proc/self/limits. */
bool ri_machine_limit(struct ri_host *host, enum ri_limit_name name, struct ri_limit *out);

/*
 * Is a recorded machine an image that runs nowhere, as an unpacked one is? It has programs or
 * libraries, and nothing in /proc and /sys, which the kernel fills.
 */
bool ri_machine_is_image(struct ri_host *host);

/* proc/self/mountinfo, until the next call of a function here; NULL: it cannot be read. */
char *ri_machine_mounts(struct ri_host *host);

struct ri_space {
	char type[32];		/* of the file system: "tmpfs" */
	uint64_t size;		/* bytes in all; 0: unknown */
	uint64_t free;		/* bytes for us */
	bool knows_free;	/* only of one in memory, and of the live machine */
};

/*
 * The file system mounted at this very path; its size is that of size= in proc/self/mountinfo where
 * it is not measured. Returns 1, 0 where nothing is mounted there, -1 where that cannot be known.
 */
int ri_machine_space(struct ri_host *host, const char *path, struct ri_space *out);

/* Bytes of shared memory that so many ranks of a node need at least. */
uint64_t ri_machine_shm_least(uint64_t ranks);

/*
 * Would the kernel let this user write to the path? 0, or the errno of it. Of
 * a recorded machine: by the flags of its mount, and by its owner's mode.
 */
int ri_machine_writable(struct ri_host *host, const char *path);

bool ri_machine_status(struct ri_host *host, struct ri_status *out);	/* proc/self/status */

/* The first line of proc/self/uid_map (user_namespaces(7)). */
struct ri_user_map {
	uint64_t inside, outside;
	bool is_whole;		/* all users, as themselves: there is no user namespace */
};

bool ri_machine_user_map(struct ri_host *host, struct ri_user_map *out);

#endif
