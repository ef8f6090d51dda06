/* SPDX-License-Identifier: Apache-2.0 */
#include "node/sysfile.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

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

bool ri_sysfile_hex(struct ri_host *host, const char *path, uint64_t *out)
{
	char line[32];
	uint64_t value;
	size_t digits;

	if (!ri_sysfile_line(host, path, line, sizeof(line)) || strncmp(line, "0x", 2) != 0)
		return false;
	digits = ri_hex_read(line + 2, &value);
	if (digits == 0 || line[2 + digits] != '\0')
		return false;
	*out = value;
	return true;
}

bool ri_sysfile_link(struct ri_host *host, const char *path, char *name, size_t size)
{
	char target[PATH_MAX];
	const char *last;

	name[0] = '\0';
	if (ri_host_link(host, path, target, sizeof(target)) <= 0)
		return false;
	last = strrchr(target, '/');
	last = last == NULL ? target : last + 1;
	if (*last == '\0' || strlen(last) >= size)
		return false;
	ri_text_copy(name, size, last);
	return true;
}
