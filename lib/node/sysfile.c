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

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c == '\0' ? NULL : strchr(digits, c | ('a' - 'A'));

	return found == NULL ? -1 : (int)(found - digits);
}

bool ri_sysfile_hex(struct ri_host *host, const char *path, uint16_t *out)
{
	char line[16];
	uint16_t value = 0;

	if (!ri_sysfile_line(host, path, line, sizeof(line)) || strncmp(line, "0x", 2) != 0 ||
		strlen(line) < 3 || strlen(line) > 6)
		return false;
	for (const char *p = line + 2; *p != '\0'; p++) {
		if (digit_of(*p) < 0)
			return false;
		value = (uint16_t)(value << 4 | digit_of(*p));
	}
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
