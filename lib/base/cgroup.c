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

/* The number after "NAME " at the start of a line. */
static int read_count(const char *text, const char *name, uint64_t *count)
{
	const struct ri_range range = { 0, UINT64_MAX };
	size_t key = strlen(name), length;
	char number[24];

	for (const char *line = text; line != NULL && *line != '\0';
		line = strchr(line, '\n'), line = line == NULL ? NULL : line + 1) {
		if (strncmp(line, name, key) != 0 || line[key] != ' ')
			continue;
		line += key + 1;
		length = strcspn(line, "\n");
		if (length >= sizeof(number))
			return -1;
		snprintf(number, sizeof(number), "%.*s", (int)length, line);
		return ri_number_read(number, range, count, NULL) == RI_NUMBER_OK ? 0 : -1;
	}
	return -1;
}

int ri_cgroup_oom_read(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *kills)
{
	char text[RI_CGROUP_COUNTS];

	if (oom->path[0] == '\0' || ri_host_read(host, oom->path, text, sizeof(text)) < 0)
		return -1;
	return read_count(text, "oom_kill", kills);
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

/* A file beside the one that counts. */
static int read_beside(struct ri_host *host, const struct ri_cgroup_oom *oom, const char *name,
	char text[RI_CGROUP_FILE])
{
	const char *slash = strrchr(oom->path, '/');
	char path[RI_CGROUP_PATH];
	int length = slash == NULL ? -1
		: snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - oom->path), oom->path,
			name);

	return length < 0 || (size_t)length >= sizeof(path) ||
			ri_host_read(host, path, text, RI_CGROUP_FILE) < 0
		? -1
		: 0;
}

static int read_number_beside(struct ri_host *host, const struct ri_cgroup_oom *oom,
	const char *name, uint64_t *out)
{
	char text[RI_CGROUP_FILE];

	if (read_beside(host, oom, name, text) < 0)
		return -1;
	if (strcmp(text, "max\n") == 0) {
		*out = UINT64_MAX;
		return 0;
	}
	return ri_digits_read(text, out) > 0 ? 0 : -1;
}

int ri_cgroup_room(struct ri_host *host, const struct ri_cgroup_oom *oom, uint64_t *bytes)
{
	/* version 1 says so by the largest number, rounded */
	static const uint64_t unlimited = (uint64_t)1 << 62;
	uint64_t limit, usage, active = 0, inactive = 0;
	bool second = read_number_beside(host, oom, "memory.max", &limit) == 0;
	char text[RI_CGROUP_FILE];

	if (!second && read_number_beside(host, oom, "memory.limit_in_bytes", &limit) < 0)
		return -1;
	if (limit > unlimited) {
		*bytes = UINT64_MAX;
		return 0;
	}
	if (read_number_beside(host, oom,
		    second ? "memory.current" : "memory.usage_in_bytes", &usage) < 0)
		return -1;
	if (read_beside(host, oom, "memory.stat", text) == 0) {
		read_count(text, second ? "active_file" : "total_active_file", &active);
		read_count(text, second ? "inactive_file" : "total_inactive_file", &inactive);
	}
	/* the parts and their sum are of different moments */
	active = active < usage ? active : usage;
	inactive = inactive < usage - active ? inactive : usage - active;
	usage -= active + inactive;
	*bytes = usage < limit ? limit - usage : 0;
	return 0;
}
