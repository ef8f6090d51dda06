/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc/ld.so.cache, by which the loader of glibc finds libraries (glibc
 * sysdeps/generic/dl-cache.h): a table of the first kind, one of the second,
 * or the second behind the first.
 */
#ifndef RI_IMAGE_LDCACHE_H
#define RI_IMAGE_LDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ri_ldcache {
	const char *bytes;	/* borrowed; NULL: an empty table */
	size_t size;
	size_t entries;		/* offset of the first */
	size_t entry_size;
	size_t count;
	size_t names;		/* what the offsets of names count from */
};

struct ri_ldcache_entry {
	const char *name;	/* "libmpi.so.40" */
	const char *path;	/* what the loader opens for it */
	uint32_t flags;		/* kind of file and machine */
	uint64_t hardware;	/* not 0: only for some CPUs */
};

/* False where bytes are no table of either kind, or one that ends early. */
bool ri_ldcache_read(struct ri_ldcache *out, const char *bytes, size_t size);

/*
 * The entry at *at, which is moved on; 0 is the first. Entries whose names lie
 * outside of the table are passed over. False when there is no more.
 */
bool ri_ldcache_next(const struct ri_ldcache *cache, size_t *at, struct ri_ldcache_entry *out);

/*
 * The entry that the loader takes on a CPU of no special kind: the first of
 * that name for this machine. Where all are for some CPUs, the first of them.
 */
bool ri_ldcache_find(const struct ri_ldcache *cache, const char *name,
	struct ri_ldcache_entry *out);

/* Is it a library for this machine's own programs? */
bool ri_ldcache_is_ours(const struct ri_ldcache_entry *entry);

#endif
