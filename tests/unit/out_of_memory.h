/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that runs out of address space, for the paths that only a failing
 * mmap(2) reaches. The limit counts from what the process already has, since
 * sanitizers and valgrind reserve far more than the program itself.
 */
#ifndef RI_TESTS_OUT_OF_MEMORY_H
#define RI_TESTS_OUT_OF_MEMORY_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

enum {
	MEMORY_LARGE = 2 * 1024 * 1024,		/* no longer to be had once exhausted */
	MEMORY_ROOM = 64 * 1024 * 1024,
};

/* Take all of the room that is left in pieces of MEMORY_LARGE. */
static inline bool memory_exhaust(struct ri_arena *arena)
{
	for (int i = 0; i <= MEMORY_ROOM / MEMORY_LARGE; i++)
		if (ri_arena_alloc(arena, MEMORY_LARGE) == NULL)
			return true;
	return false;
}

/* Run step in a child whose address space is full soon; its result, or -1. */
static inline int memory_limited(int (*step)(void))
{
	unsigned long long pages = 0;
	struct rlimit limit;
	int status;
	FILE *file;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		file = fopen("/proc/self/statm", "r");
		if (file == NULL || fscanf(file, "%llu", &pages) != 1)
			_exit(99);
		fclose(file);
		limit.rlim_cur = pages * (unsigned long long)sysconf(_SC_PAGESIZE) + MEMORY_ROOM;
		limit.rlim_max = limit.rlim_cur;
		_exit(setrlimit(RLIMIT_AS, &limit) == 0 ? step() : 98);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif
