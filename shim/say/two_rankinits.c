/* SPDX-License-Identifier: Apache-2.0 */
#include "say/two_rankinits.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/kept_fds.h"

enum {
	FIRST_FD = 100,		/* scripts have the lower ones: exec 3>log */
	MOST_FD = 1048576,
};

const char ri_outer_ranks[] = "ranks", ri_outer_manager[] = "manager";

static int own;		/* where an inner one may leave its word; 0: nowhere */

bool ri_outer_says(const struct ri_env *env, const char *word)
{
	const char *value = ri_env_get(env, RI_OUTER_VARIABLE);

	return value != NULL && strcmp(value, word) == 0;
}

int ri_outer_fd(const struct ri_env *env)
{
	static int found;	/* 0: not looked for yet */
	const char *value = found != 0 ? NULL : ri_env_get(env, RI_OUTER_VARIABLE);
	uint64_t fd, inode;
	struct stat info;
	size_t digits;

	if (found != 0)
		return found;
	found = -1;
	digits = value == NULL ? 0 : ri_digits_read(value, &fd);
	if (digits == 0 || value[digits] != ':' || fd < 3 || fd > MOST_FD ||
		ri_digits_read(value + digits + 1, &inode) == 0)
		return -1;
	/*
	 * The number may be another file's by now: a program between the two has closed it. What
	 * one before us left was about another command, and goes.
	 */
	if (fstat((int)fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_nlink != 0 ||
		info.st_ino != inode || ftruncate((int)fd, 0) < 0)
		return -1;
	ri_kept_fds_add((int)fd);
	found = (int)fd;
	return found;
}

void ri_outer_tell(const struct ri_env *env, const struct ri_inner_word *word)
{
	char bytes[RI_INNER_WORD];
	int fd = ri_outer_fd(env);

	if (fd < 0 || word->exit_status == 0)
		return;
	ri_inner_word_write(word, bytes);
	/* where that fails the outer one speaks */
	if (pwrite(fd, bytes, sizeof(bytes), 0) < 0)
		return;
}

const char *ri_inner_listen(struct ri_arena *arena, int *fd)
{
	struct stat info;

	*fd = ri_memory_file("rankinit-inner", FIRST_FD);
	if (*fd < 0 || fstat(*fd, &info) < 0)
		return NULL;
	own = *fd;
	ri_kept_fds_add(own);
	return ri_arena_format(arena, "%d:%llu", own, (unsigned long long)info.st_ino);
}

bool ri_inner_told(struct ri_inner_word *out)
{
	char bytes[RI_INNER_WORD];
	ssize_t length = own == 0 ? 0 : pread(own, bytes, sizeof(bytes), 0);

	return length > 0 && ri_inner_word_read(out, bytes, (size_t)length);
}
