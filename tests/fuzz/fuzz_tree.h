/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine as one input: an environment, one string a line, then files. A
 * line "%%" begins each of them, "PATH" or "PATH -> TARGET" follows, and what
 * is in it. A byte of it may be any. Folders are made on the way.
 */
#ifndef RI_TESTS_FUZZ_TREE_H
#define RI_TESTS_FUZZ_TREE_H

#include <errno.h>

#include "fuzz.h"

enum { FUZZ_PATHS = 512, FUZZ_PATH = 128, FUZZ_STRINGS = 128 };

struct fuzz_tree {
	int root;
	char made[FUZZ_PATHS][FUZZ_PATH];	/* in this order */
	size_t count;
	char *strings[FUZZ_STRINGS + 1];	/* of the environment */
	char *text;				/* that holds them */
	int free;				/* the lowest descriptor that nobody has open */
};

static inline int fuzz_free_descriptor(const struct fuzz_tree *tree)
{
	int fd = dup(tree->root);

	CHECK(fd >= 0);
	close(fd);
	return fd;
}

/* The start of the next line "%%", or end. */
static inline const char *fuzz_next_file(const char *at, const char *end)
{
	while (end - at >= 3 && memcmp(at, "%%\n", 3) != 0) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		if (line == NULL)
			return end;
		at = line + 1;
	}
	return end - at >= 3 ? at : end;
}

/* Letters, digits and what names of files have beside them; no "..", no root. */
static inline bool fuzz_is_path(const char *path)
{
	static const char some[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789.-_:,/";
	size_t length = strlen(path);

	return length > 0 && length < FUZZ_PATH && path[0] != '/' && path[length - 1] != '/' &&
		strspn(path, some) == length && strstr(path, "..") == NULL &&
		strstr(path, "//") == NULL;
}

static inline void fuzz_made(struct fuzz_tree *tree, const char *path, size_t length)
{
	CHECK(tree->count < FUZZ_PATHS);
	snprintf(tree->made[tree->count++], FUZZ_PATH, "%.*s", (int)length, path);
}

static inline void fuzz_make_folders(struct fuzz_tree *tree, const char *path)
{
	char folder[FUZZ_PATH];

	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		if (tree->count < FUZZ_PATHS && mkdirat(tree->root, folder, 0755) == 0)
			fuzz_made(tree, folder, strlen(folder));
	}
}

static inline void fuzz_make_file(struct fuzz_tree *tree, const char *path, const char *bytes,
	size_t size)
{
	int fd = openat(tree->root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	if (fd < 0)
		return;
	CHECK(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
	fuzz_made(tree, path, strlen(path));
}

/* One of them: from its first line up to end. */
static inline void fuzz_grow_one(struct fuzz_tree *tree, const char *at, const char *end)
{
	const char *line = memchr(at, '\n', (size_t)(end - at));
	size_t length = (size_t)((line == NULL ? end : line) - at);
	char *path = fuzz_string(at, length), *link = strstr(path, " -> ");

	if (link != NULL)
		*link = '\0';
	if (fuzz_is_path(path) && tree->count < FUZZ_PATHS) {
		fuzz_make_folders(tree, path);
		at = line == NULL ? end : line + 1;
		if (tree->count == FUZZ_PATHS)
			;
		else if (link == NULL)
			fuzz_make_file(tree, path, at, (size_t)(end - at));
		else if (symlinkat(link + 4, tree->root, path) == 0)
			fuzz_made(tree, path, strlen(path));
	}
	free(path);
}

static inline void fuzz_grow(struct fuzz_tree *tree, const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	const char *file = fuzz_next_file(at, end);

	tree->text = fuzz_string(at, (size_t)(file - at));
	fuzz_split(tree->text, tree->strings, 0, FUZZ_STRINGS);
	while (end - file >= 3) {
		const char *next = fuzz_next_file(file + 3, end);

		fuzz_grow_one(tree, file + 3, next);
		file = next;
	}
	tree->free = fuzz_free_descriptor(tree);
}

/* Nothing of it stays, nor is any file left open. */
static inline void fuzz_fell(struct fuzz_tree *tree)
{
	CHECK(fuzz_free_descriptor(tree) == tree->free);
	while (tree->count > 0) {
		const char *path = tree->made[--tree->count];

		CHECK(unlinkat(tree->root, path, 0) == 0 ||
			unlinkat(tree->root, path, AT_REMOVEDIR) == 0);
	}
	free(tree->text);
}

#endif
