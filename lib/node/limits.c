/* SPDX-License-Identifier: Apache-2.0 */
#include "node/limits.h"

#include <string.h>

#include "base/number.h"

enum { LIMITS_FILE = 4096 };

/* Linux fs/proc/base.c, lnames: a name may have blanks in it. */
static const char *const names[RI_LIMIT_COUNT] = {
	[RI_LIMIT_CORE] = "Max core file size",
	[RI_LIMIT_MEMLOCK] = "Max locked memory",
	[RI_LIMIT_NOFILE] = "Max open files",
	[RI_LIMIT_NPROC] = "Max processes",
	[RI_LIMIT_STACK] = "Max stack size",
};

static bool read_value(const char **text, uint64_t *out)
{
	static const char word[] = "unlimited";
	size_t digits;

	*text += strspn(*text, " ");
	if (strncmp(*text, word, sizeof(word) - 1) == 0) {
		*text += sizeof(word) - 1;
		*out = RI_UNLIMITED;
		return true;
	}
	digits = ri_digits_read(*text, out);
	*text += digits;
	return digits > 0;
}

bool ri_limit_read(const char *text, enum ri_limit_name name, struct ri_limit *out)
{
	size_t length = strlen(names[name]);
	struct ri_limit limit;

	while (strncmp(text, names[name], length) != 0 || text[length] != ' ') {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += length;
	if (!read_value(&text, &limit.soft) || *text != ' ' || !read_value(&text, &limit.hard))
		return false;
	*out = limit;
	return true;
}

bool ri_limit_read_file(struct ri_host *host, enum ri_limit_name name, struct ri_limit *out)
{
	char text[LIMITS_FILE];

	return ri_host_read(host, "proc/self/limits", text, sizeof(text)) >= 0 &&
		ri_limit_read(text, name, out);
}
