// SPDX-License-Identifier: Apache-2.0
/*
 * rawenv FILE PROGRAM [ARG]...: execute PROGRAM with exactly the strings of
 * FILE, each ended by a zero byte, as its environment: also those that no
 * library function would let through, in their order, duplicates included.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat facts;
	char *bytes;
	ssize_t got;

	if (fd < 0 || fstat(fd, &facts))
		return NULL;
	bytes = malloc((size_t)facts.st_size + 1);
	if (!bytes)
		return NULL;
	*size = 0;
	while ((got = read(fd, bytes + *size, (size_t)facts.st_size - *size)) > 0)
		*size += (size_t)got;
	close(fd);
	return bytes;
}

int main(int argc, char **argv)
{
	size_t size = 0, count = 0;
	char *bytes, **environment;

	if (argc < 3)
		return 125;
	bytes = read_file(argv[1], &size);
	environment = bytes ? calloc(size + 1, sizeof(*environment)) : NULL;
	if (!environment) {
		perror(argv[1]);
		return 125;
	}
	for (size_t at = 0; at < size; at += strlen(bytes + at) + 1)
		environment[count++] = bytes + at;
	execve(argv[2], argv + 2, environment);
	perror(argv[2]);
	return 125;
}
