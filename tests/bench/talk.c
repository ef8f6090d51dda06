/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of a pipe whose throughput is measured.
 *
 * usage: talk say BYTES LENGTH     so many bytes, in lines of this length
 *        talk hear                 read all: "bytes nanoseconds", the time
 *                                  from the first byte to the last
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 65536, HEARD = 131072 };

static int say(long bytes, long length)
{
	static char block[2 * BLOCK];
	long at = 0;

	memset(block, 'x', sizeof(block));
	for (long i = length - 1; i < (long)sizeof(block); i += length)
		block[i] = '\n';
	while (bytes > 0) {
		/* begin where the last write ended: lines go on from block to block */
		long most = bytes < BLOCK ? bytes : BLOCK;
		ssize_t count = write(STDOUT_FILENO, block + at, (size_t)most);

		if (count < 0)
			return 1;
		bytes -= count;
		at = (at + count) % length;
	}
	return 0;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int hear(void)
{
	static char block[HEARD];
	int64_t first = 0, last = 0;
	long bytes = 0;
	ssize_t count;

	while ((count = read(STDIN_FILENO, block, sizeof(block))) > 0) {
		last = now();
		if (first == 0)
			first = last;
		bytes += count;
	}
	printf("%ld %lld\n", bytes, (long long)(last - first));
	return count < 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "say") == 0)
		return say(atol(argv[2]), atol(argv[3]));
	if (argc == 2 && strcmp(argv[1], "hear") == 0)
		return hear();
	fprintf(stderr, "usage: talk say BYTES LENGTH | talk hear\n");
	return 2;
}
