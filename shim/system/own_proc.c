/* SPDX-License-Identifier: Apache-2.0 */
#include "system/own_proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/procstat.h"

enum { STAT_SIZE = 1024 };

bool ri_proc_is_ours(pid_t self)
{
	char own[16], link[16];
	ssize_t length = readlink("/proc/self", link, sizeof(link));

	snprintf(own, sizeof(own), "%d", (int)self);
	return length == (ssize_t)strlen(own) && memcmp(link, own, (size_t)length) == 0;
}

bool ri_proc_birth(pid_t pid, uint64_t *born)
{
	char path[32], text[STAT_SIZE];
	struct ri_procstat found;
	ssize_t length;
	int fd;

	if (!ri_proc_is_ours(getpid()))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length < 0 ? 0 : length] = '\0';
	if (!ri_procstat_read(text, &found))
		return false;
	*born = found.started;
	return true;
}
