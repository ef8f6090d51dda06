/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real libraries made by the compiler where the test runs: no code, no needs
 * but the stated ones. Include after cmocka.h.
 */
#ifndef RI_TESTS_LIBRARY_OF_H
#define RI_TESTS_LIBRARY_OF_H

#include <errno.h>
#include <sys/wait.h>

#include "tree.h"

/* Ends the test as skipped where there is no gcc. */
static inline void need_compiler(void)
{
	if (system("gcc --version >/dev/null 2>&1") != 0)
		skip();
}

/* gcc -shared of this source to path below the tree, with more options. */
static inline void tree_library(const struct tree *tree, const char *path, const char *options,
	const char *source)
{
	char command[2048];
	int length;

	tree_file(tree, "source.c", source);
	length = snprintf(command, sizeof(command),
		"gcc -shared -fPIC -nostdlib -Wl,--hash-style=gnu -Wl,-z,noseparate-code %s "
		"-o %s/%s %s/source.c", options, tree->path, path, tree->path);
	assert_true(length > 0 && (size_t)length < sizeof(command));
	assert_int_equal(system(command), 0);
	assert_int_equal(unlinkat(tree->fd, "source.c", 0), 0);
}

/* The first count bytes of one file as another. */
static inline void tree_cut(const struct tree *tree, const char *path, const char *from,
	size_t count)
{
	static char bytes[1 << 20];
	int fd = openat(tree->fd, from, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && count <= sizeof(bytes));
	assert_int_equal(read(fd, bytes, count), count);
	close(fd);
	tree_bytes(tree, path, bytes, count);
}

static inline size_t tree_size(const struct tree *tree, const char *path)
{
	struct stat info;

	assert_int_equal(fstatat(tree->fd, path, &info, 0), 0);
	return (size_t)info.st_size;
}

#endif
