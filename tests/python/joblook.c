/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joblook TIMES PID...: look so often at the ranks below each PID, at all of them at the same
 * moment, as the nodes of a job do whose rankinits have those numbers. Each time prints what is
 * found as "ODD RANK NODE TEXT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hang/look.h"
#include "hang/together.h"

enum { MOST_MS = 20000, INTERVAL_MS = 200 };

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* In a process of its own: the groups of one node, into a pipe. */
static void look(pid_t root, int fd)
{
	static char text[RI_GROUPS_MAX];
	struct ri_look_region *region = ri_look_open();
	const struct ri_look_wish wish = {
		.root = root, .now_ms = now_ms, .why = "job", .interval_ms = INTERVAL_MS,
		.most_ms = MOST_MS,
	};
	size_t length;

	if (region == NULL || !ri_look_examine(region, &wish))
		exit(1);
	length = ri_groups_write(&region->hang, text);
	exit(write(fd, text, length) == (ssize_t)length ? 0 : 1);
}

static size_t take(int fd, char text[RI_GROUPS_MAX])
{
	size_t length = 0;
	ssize_t got;

	while ((got = read(fd, text + length, RI_GROUPS_MAX - length)) > 0)
		length += (size_t)got;
	close(fd);
	return length;
}

static int look_once(char **pids, size_t count)
{
	static struct ri_arena arena;
	struct ri_together *together = ri_together_new(&arena, count, 0);
	struct ri_together_found found;
	char text[RI_GROUPS_MAX];
	int *ends = calloc(count, sizeof(*ends)), pair[2], status = 0;

	for (size_t i = 0; i < count; i++) {
		if (pipe(pair) != 0)
			return 1;
		if (fork() == 0)
			look((pid_t)strtol(pids[i], NULL, 10), pair[1]);
		close(pair[1]);
		ends[i] = pair[0];
	}
	for (size_t i = 0; i < count; i++) {
		const char *fault = ri_together_add(together, i, "", text, take(ends[i], text));

		if (fault != NULL)
			fprintf(stderr, "%s\n", fault);
	}
	for (size_t i = 0; i < count; i++) {
		int one;

		status |= wait(&one) < 0 || one != 0;
	}
	if (status == 0 && ri_together_judge(together, &found))
		printf("%zu %lld %lld %s\n", found.odd, (long long)found.rank,
			(long long)found.node, found.text);
	fflush(stdout);
	ri_arena_release(&arena);
	free(ends);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 3)
		return 2;
	for (long times = strtol(argv[1], NULL, 10); times > 0 && status == 0; times--)
		status = look_once(argv + 2, (size_t)argc - 2);
	return status;
}
