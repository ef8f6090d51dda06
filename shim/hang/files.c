/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { PATH_SIZE = 64 };

ssize_t ri_autopsy_read(char *out, const char *path, ...)
{
	char name[PATH_SIZE];
	ssize_t length = 0, got;
	va_list arguments;
	int fd, saved;

	va_start(arguments, path);
	vsnprintf(name, sizeof(name), path, arguments);
	va_end(arguments);
	out[0] = '\0';
	/* a mount over /proc may have a FIFO at this path */
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((got = read(fd, out + length, (size_t)(RI_AUTOPSY_FILE - length))) > 0)
		length += got;
	saved = errno;
	close(fd);
	errno = saved;
	out[length] = '\0';
	return got < 0 && length == 0 ? -1 : length;
}

bool ri_autopsy_stat(pid_t pid, struct ri_procstat *out)
{
	static char text[RI_AUTOPSY_FILE + 1];

	return ri_autopsy_read(text, "/proc/%d/stat", (int)pid) > 0 && ri_procstat_read(text, out);
}

bool ri_autopsy_link(char *out, size_t size, const char *path, ...)
{
	char name[PATH_SIZE];
	va_list arguments;
	ssize_t length;

	va_start(arguments, path);
	vsnprintf(name, sizeof(name), path, arguments);
	va_end(arguments);
	length = readlink(name, out, size - 1);
	out[length < 0 ? 0 : length] = '\0';
	return length >= 0;
}
