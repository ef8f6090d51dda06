/* SPDX-License-Identifier: Apache-2.0 */
#include "node/status.h"

#include <string.h>

#include "base/number.h"

/* What follows "NAME:" at the start of a line, past its blanks; NULL: there is none. */
static const char *find_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0 || text[length] != ':') {
		text = strchr(text, '\n');
		if (text == NULL)
			return NULL;
		text++;
	}
	text += length + 1;
	return text + strspn(text, " \t");
}

static bool read_set(const char *text, const char *name, uint64_t *out)
{
	const char *at = find_field(text, name);

	return at != NULL && ri_hex_read(at, out) > 0;
}

bool ri_status_read(const char *text, struct ri_status *out)
{
	struct ri_status status = { .seccomp = -1 };
	const char *uid = find_field(text, "Uid"), *mode = find_field(text, "Seccomp");
	size_t digits;

	if (!read_set(text, "CapEff", &status.effective) ||
		!read_set(text, "CapBnd", &status.bounding) || uid == NULL)
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
