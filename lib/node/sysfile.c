/* SPDX-License-Identifier: Apache-2.0 */
#include "node/sysfile.h"

#include <string.h>

#include "base/number.h"

/* A file of sysfs is at most a page (kernel documentation, filesystems/sysfs.rst). */
enum { PAGE = 4096 };

bool ri_sysfile_line(struct ri_host *host, const char *path, char *line, size_t size)
{
	char text[PAGE + 1];
	const char *start = text;
	size_t length;

	line[0] = '\0';
	if (ri_host_read(host, path, text, sizeof(text)) < 0)
		return false;
	start += strspn(start, " \t");
	length = strcspn(start, "\n");
	while (length > 0 && strchr(" \t\r", start[length - 1]) != NULL)
		length--;
	if (length == 0 || length >= size)
		return false;
	memcpy(line, start, length);
	line[length] = '\0';
	return true;
}

bool ri_sysfile_number(struct ri_host *host, const char *path, uint64_t *out)
{
	char line[64];

	return ri_sysfile_line(host, path, line, sizeof(line)) && ri_digits_read(line, out) > 0;
}
