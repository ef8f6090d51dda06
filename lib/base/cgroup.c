/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static bool read_member(const char *line, size_t length, struct ri_cgroup_member *out)
{
	const char *first = memchr(line, ':', length);
	const char *second =
		first == NULL ? NULL : memchr(first + 1, ':', length - (size_t)(first + 1 - line));

	if (second == NULL)
		return false;
	out->controllers = first + 1;
	out->controllers_length = (size_t)(second - first - 1);
	out->path = second + 1;
	out->path_length = length - (size_t)(second + 1 - line);
	return true;
}

bool ri_cgroup_next(const char **text, struct ri_cgroup_member *out)
{
	bool found = false;

	while (!found && **text != '\0') {
		size_t length = strcspn(*text, "\n");

		found = read_member(*text, length, out);
		*text += length + ((*text)[length] == '\n');
	}
	return found;
}

bool ri_cgroup_has_word(const char *list, size_t length, const char *name)
{
	size_t wanted = strlen(name);

	while (length > 0) {
		const char *comma = memchr(list, ',', length);
		size_t word = comma == NULL ? length : (size_t)(comma - list);

		if (word == wanted && memcmp(list, name, word) == 0)
			return true;
		if (comma == NULL)
			return false;
		list += word + 1;
		length -= word + 1;
	}
	return false;
}

bool ri_cgroup_controls(const struct ri_cgroup_member *member, const char *controller)
{
	return ri_cgroup_has_word(member->controllers, member->controllers_length, controller);
}

/* The number after "oom_kill " at the start of a line. */
static int read_count(const char *text, uint64_t *kills)
{
	const struct ri_range range = { 0, UINT64_MAX };
	static const char key[] = "oom_kill ";
	char number[24];
	size_t length;

	for (const char *line = text; line != NULL && *line != '\0';
		line = strchr(line, '\n'), line = line == NULL ? NULL : line + 1) {
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		line += sizeof(key) - 1;
		length = strcspn(line, "\n");
		if (length >= sizeof(number))
			return -1;
		snprintf(number, sizeof(number), "%.*s", (int)length, line);
		return ri_number_read(number, range, kills, NULL) == RI_NUMBER_OK ? 0 : -1;
	}
	return -1;
}

int ri_cgroup_oom_read(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *kills)
{
	char text[RI_CGROUP_COUNTS];

	if (oom->path[0] == '\0' || ri_host_read(host, oom->path, text, sizeof(text)) < 0)
		return -1;
	return read_count(text, kills);
}

/*
 * The path in /proc/self/cgroup counts from the root of the hierarchy, but a
 * container without a cgroup namespace has only its own part of it mounted:
 * the same file is then found at the mount itself.
 */
static int find_below(struct ri_host *host, const char *mount,
	const struct ri_cgroup_member *member, const char *file, struct ri_cgroup_oom *oom,
	uint64_t *kills)
{
	int length = snprintf(oom->path, sizeof(oom->path), "%s%.*s/%s", mount,
		member->path_length > 1 ? (int)member->path_length : 0, member->path, file);

	if (length > 0 && (size_t)length < sizeof(oom->path) &&
		ri_cgroup_oom_read(host, oom, kills) == 0)
		return 0;
	snprintf(oom->path, sizeof(oom->path), "%s/%s", mount, file);
	return ri_cgroup_oom_read(host, oom, kills);
}

int ri_cgroup_oom_find(struct ri_host *host, struct ri_cgroup_oom *oom, uint64_t *kills)
{
	char text[RI_CGROUP_FILE];
	const char *rest = text;
	struct ri_cgroup_member member;

	oom->path[0] = '\0';
	if (ri_host_read(host, "proc/self/cgroup", text, sizeof(text)) < 0)
		return -1;
	while (ri_cgroup_next(&rest, &member)) {
		if (ri_cgroup_controls(&member, "memory") &&
			find_below(host, "sys/fs/cgroup/memory", &member, "memory.oom_control",
				oom, kills) == 0)
			return 0;
		if (member.controllers_length == 0 &&
			find_below(host, "sys/fs/cgroup", &member, "memory.events", oom,
				kills) == 0)
			return 0;
	}
	oom->path[0] = '\0';
	return -1;
}
