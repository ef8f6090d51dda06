// SPDX-License-Identifier: Apache-2.0
/*
 * crowd: leave thousands of processes behind, and count their SIGTERMs.
 *
 *   crowd FILE COUNT
 *
 * makes COUNT processes and ends with 7. FILE has a byte
 * for each of them: how many SIGTERMs it had. All stay until each has had one,
 * and half a second longer, for a second one to come.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static atomic_uchar *counts;
static int own;

static void count(int number)
{
	(void)number;
	counts[own]++;
}

static void nap(long ms)
{
	const struct timespec limit = { .tv_nsec = ms * 1000000 };

	nanosleep(&limit, NULL);
}

static int all_had_one(int number)
{
	for (int i = 0; i < number; i++)
		if (counts[i] == 0)
			return 0;
	return 1;
}

static void be_one(int index, int number)
{
	struct sigaction action = { .sa_handler = count };

	own = index;
	sigaction(SIGTERM, &action, NULL);
	/* one of them looks, the others wait for it: by the byte after the last one */
	while (!counts[number]) {
		nap(index == 0 ? 100 : 900);
		if (index == 0 && all_had_one(number)) {
			nap(500);
			counts[number] = 1;
		}
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;

	if (number <= 0 || fd < 0 || ftruncate(fd, number + 1) < 0)
		return 99;
	counts = mmap(NULL, (size_t)number + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return 98;
	for (int i = 0; i < number; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 97;
		if (pid == 0)
			be_one(i, number);
	}
	return 7;
}
