/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small tree of files in a temporary folder, for tests of what reads below
 * a root directory. Every step is asserted: a tree that could not be built
 * proves nothing. Include after cmocka.h.
 */
#ifndef RI_TESTS_TREE_H
#define RI_TESTS_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"

struct tree {
	char path[256];
	int fd;
};

static inline void tree_make(struct tree *tree)
{
	const char *folder = getenv("TMPDIR");

	snprintf(tree->path, sizeof(tree->path), "%s/tree-XXXXXX",
		folder == NULL || strlen(folder) > 200 ? "/tmp" : folder);
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree->fd >= 0);
}

static inline void tree_folder(const struct tree *tree, const char *path)
{
	assert_int_equal(mkdirat(tree->fd, path, 0755), 0);
}

static inline void tree_bytes(const struct tree *tree, const char *path, const char *bytes,
	size_t count)
{
	int fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	close(fd);
}

static inline void tree_file(const struct tree *tree, const char *path, const char *text)
{
	tree_bytes(tree, path, text, strlen(text));
}

static inline void tree_link(const struct tree *tree, const char *path, const char *target)
{
	assert_int_equal(symlinkat(target, tree->fd, path), 0);
}

static inline int tree_remove_one(const char *path, const struct stat *info, int kind,
	struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

static inline void tree_remove(struct tree *tree)
{
	close(tree->fd);
	assert_int_equal(nftw(tree->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/*
 * A recorded machine of tests/hosts, a folder there or one that "make hosts"
 * has grown. The caller closes host.root.
 */
static inline struct ri_host tree_recorded(const char *name)
{
	struct ri_host host = { .live = false };
	char path[256];

	snprintf(path, sizeof(path), "tests/hosts/%s", name);
	if (access(path, F_OK) < 0)
		snprintf(path, sizeof(path), "build/hosts/%s", name);
	host.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host.root < 0)
		fail_msg("no recorded machine %s", path);
	return host;
}

#endif
