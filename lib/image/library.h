/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries as the image's loader would find them for a program without a
 * path of its own (ld.so(8)): LD_LIBRARY_PATH, the loader's table, its own
 * folders. musl's loader has no table (musl ldso/dynlink.c).
 */
#ifndef RI_IMAGE_LIBRARY_H
#define RI_IMAGE_LIBRARY_H

#include "image/elf.h"
#include "image/program.h"

/*
 * /etc/ld.so.cache, by which the loader of glibc finds libraries (glibc
 * sysdeps/generic/dl-cache.h): a table of the first kind, one of the second,
 * or the second behind the first.
 */
struct ri_ldcache {
	const char *bytes;	/* borrowed; NULL: an empty table */
	size_t size;
	size_t entries;		/* offset of the first */
	size_t entry_size;
	size_t count;
	size_t names;		/* what the offsets of names count from */
};

/* False where bytes are no table of either kind, or one that ends early. */
bool ri_ldcache_read(struct ri_ldcache *out, const char *bytes, size_t size);

/*
 * The path of the entry that the loader takes on a CPU of no special kind: the first of that name
 * for this machine's own programs. Where all are for some CPUs, the first of them. A path that
 * lies outside of the table is passed over. NULL: there is none.
 */
const char *ri_ldcache_find(const struct ri_ldcache *cache, const char *name);

struct ri_loader {
	const struct ri_image *image;
	struct ri_ldcache cache;	/* /etc/ld.so.cache; empty where it is none, or broken */
	const char *folders;	/* of musl's loader, as a list; NULL: it is glibc's */
};

enum ri_library_place {
	RI_LIBRARY_BY_VARIABLE,	/* LD_LIBRARY_PATH */
	RI_LIBRARY_BY_TABLE,
	RI_LIBRARY_BY_FOLDER,	/* one that the loader looks into by itself */
	RI_LIBRARY_APART,	/* one into which it does not look */
};

struct ri_library {
	const char *path;	/* what is opened; NULL: nothing was found */
	const char *real;	/* without links; path, where that cannot be told */
	enum ri_library_place place;
	enum ri_elf_fault fault;	/* not OK: the loader gives up there */
	/* what was passed over on the way, NULL: nothing */
	const char *foreign;	/* for another machine */
	unsigned machine;	/* that one */
	const char *gone;	/* in the table, but not there */
};

/* Read the table. Never fails: without one, folders are left. */
void ri_loader_init(struct ri_loader *loader, const struct ri_image *image);

/* What the loader takes for this name. True where it finds something, be it broken. */
bool ri_loader_find(const struct ri_loader *loader, const char *name, struct ri_library *out);

/* Is it in a folder where libraries of this field often lie, but no loader looks? */
bool ri_loader_find_apart(const struct ri_loader *loader, const char *name,
	struct ri_library *out);

/* In this folder. */
bool ri_loader_look(const struct ri_loader *loader, const char *folder, const char *name,
	struct ri_library *out);

/* "LD_LIBRARY_PATH", "/etc/ld.so.cache", and so on: how it was found. */
const char *ri_library_place_name(enum ri_library_place place);

#endif
