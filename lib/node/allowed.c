/* SPDX-License-Identifier: Apache-2.0 */
#include "node/allowed.h"

#include <string.h>

#include "base/number.h"

enum { LIMITS_FILE = 4096 };

/* What follows "NAME:" or "NAME " at the start of a line, past its blanks; NULL: there is none. */
static const char *find_field(const char *text, const char *name, char end)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0 || text[length] != end) {
		text = strchr(text, '\n');
		if (text == NULL)
			return NULL;
		text++;
	}
	text += length + 1;
	return text + strspn(text, " \t");
}

bool ri_status_read(const char *text, struct ri_status *out)
{
	struct ri_status status = { .seccomp = -1 };
	const char *capabilities = find_field(text, "CapEff", ':');
	const char *uid = find_field(text, "Uid", ':');
	const char *mode = find_field(text, "Seccomp", ':');
	size_t digits;

	if (capabilities == NULL || ri_hex_read(capabilities, &status.effective) == 0 ||
		uid == NULL)
		return false;
	/* real, effective, saved, of the file system */
	digits = ri_digits_read(uid, &status.uid);
	uid += digits + strspn(uid + digits, " \t");
	if (digits == 0 || ri_digits_read(uid, &status.uid) == 0)
		return false;
	if (mode != NULL && *mode >= '0' && *mode <= '2')
		status.seccomp = *mode - '0';
	*out = status;
	return true;
}

bool ri_status_has(const struct ri_status *status, int capability)
{
	return (status->effective >> capability & 1) != 0;
}

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
	/* Linux fs/proc/base.c, lnames: a name may have blanks in it */
	static const char *const names[RI_LIMIT_COUNT] = {
		[RI_LIMIT_CORE] = "Max core file size", [RI_LIMIT_MEMLOCK] = "Max locked memory",
		[RI_LIMIT_NOFILE] = "Max open files", [RI_LIMIT_NPROC] = "Max processes",
		[RI_LIMIT_STACK] = "Max stack size",
	};
	struct ri_limit limit;

	text = find_field(text, names[name], ' ');
	if (text == NULL || !read_value(&text, &limit.soft) || *text != ' ' ||
		!read_value(&text, &limit.hard))
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
