/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/self/mountinfo: what is mounted where (proc(5); kernel documentation,
 * filesystems/proc.rst, 3.5).
 */
#ifndef RI_BASE_MOUNTS_H
#define RI_BASE_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* One mount. The strings lie in the text that was read. */
struct ri_mount {
	uint64_t id;
	const char *root;	/* what of the file system is mounted: "/" is all of it */
	const char *point;	/* where */
	const char *flags;	/* of this mount: "ro,nosuid,relatime" */
	const char *type;	/* "tmpfs", "cgroup2" */
	const char *source;	/* of what: a device, "server:/export", a program, "none", "" */
	const char *options;	/* of the file system: "rw,size=65536k" */
};

/*
 * Take the next line off *text, which is cut into strings; \040 and the like
 * become what they stand for. Lines that are no mounts are passed over. False
 * when there is no more.
 */
bool ri_mount_next(char **text, struct ri_mount *out);

/*
 * The mount that a path lies on: the longest mount point that it begins with,
 * of equal ones the last. text is cut up as by ri_mount_next; path is absolute,
 * without "..", "." or links. False where no mount holds it.
 */
bool ri_mount_of(char *text, const char *path, struct ri_mount *out);

#endif
