/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <string.h>

#include "base/text.h"

/* Fields before the optional ones, whose end is a lone "-". */
enum { AT_ID = 0, AT_ROOT = 3, AT_POINT = 4, AT_FLAGS = 5, FIXED = 6 };

/* Blank, tab, newline and backslash are written as \040, \011, \012, \134. */
static char *decode(char *field)
{
	char *to = field;

	for (const char *p = field; *p != '\0'; to++) {
		if (*p == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
			p[3] >= '0' && p[3] <= '7') {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
	return field;
}

static bool read_mount(char *line, struct ri_mount *out)
{
	char *field, *source, *options;

	for (int i = 0; i < FIXED; i++) {
		field = strsep(&line, " ");
		if (field == NULL || *field == '\0' ||
			(i == AT_ID && ri_digits_read(field, &out->id) == 0))
			return false;
		if (i == AT_ROOT)
			out->root = decode(field);
		else if (i == AT_POINT)
			out->point = decode(field);
		else if (i == AT_FLAGS)
			out->flags = field;
	}
	do {
		field = strsep(&line, " ");
	} while (field != NULL && strcmp(field, "-") != 0);
	out->type = strsep(&line, " ");
	/* what is mounted may be an empty string: then two blanks stand in a row */
	source = strsep(&line, " ");
	options = strsep(&line, " ");
	if (source == NULL || (*source == '\0' && options == NULL))
		return false;
	out->source = decode(source);
	out->options = options == NULL ? "" : decode(options);
	return true;
}

bool ri_mount_next(char **text, struct ri_mount *out)
{
	bool found = false;

	while (!found && **text != '\0') {
		char *line = *text, *end = line + strcspn(line, "\n");

		*text = *end == '\0' ? end : end + 1;
		*end = '\0';
		found = read_mount(line, out);
	}
	return found;
}

bool ri_mount_of(char *text, const char *path, struct ri_mount *out)
{
	struct ri_mount mount;
	bool found = false;

	while (ri_mount_next(&text, &mount)) {
		size_t length = strlen(mount.point);

		while (length > 0 && mount.point[length - 1] == '/')
			length--;
		/* the path leads to the point or below it */
		if (mount.point[0] != '/' || strncmp(mount.point, path, length) != 0 ||
			(path[length] != '/' && path[length] != '\0'))
			continue;
		if (found && strlen(mount.point) < strlen(out->point))
			continue;
		*out = mount;
		found = true;
	}
	return found;
}
