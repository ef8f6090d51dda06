/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool ri_cgroup_next(const char **text, struct ri_cgroup_member *out)
{
	while (**text != '\0') {
		const char *line = *text, *end = strchrnul(line, '\n');
		const char *first = memchr(line, ':', (size_t)(end - line));
		const char *second = first == NULL ? NULL
			: memchr(first + 1, ':', (size_t)(end - first - 1));

		*text = *end == '\0' ? end : end + 1;
		if (second == NULL)
			continue;
		*out = (struct ri_cgroup_member){
			.controllers = first + 1,
			.controllers_length = (size_t)(second - first - 1),
			.path = second + 1, .path_length = (size_t)(end - second - 1),
		};
		return true;
	}
	return false;
}

bool ri_cgroup_has_word(const char *list, size_t length, const char *name)
{
	size_t wanted = strlen(name);

	for (const char *end = list + length, *comma; list < end; list = comma + 1) {
		comma = memchr(list, ',', (size_t)(end - list));
		if (comma == NULL)
			comma = end;
		if ((size_t)(comma - list) == wanted && memcmp(list, name, wanted) == 0)
			return true;
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
	size_t key = strlen(name), digits;
	const char *line = text;

	while (line != NULL && (strncmp(line, name, key) != 0 || line[key] != ' ')) {
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	if (line == NULL)
		return -1;
	digits = strspn(line + key + 1, "0123456789");
	return (line[key + 1 + digits] != '\n' && line[key + 1 + digits] != '\0') ||
		ri_digits_read(line + key + 1, count) == 0 ? -1 : 0;
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

	if (slash == NULL || snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - oom->path),
				     oom->path, name) >= (int)sizeof(path))
		return -1;
	return ri_host_read(host, path, text, RI_CGROUP_FILE) < 0 ? -1 : 0;
}

static int read_number_beside(struct ri_host *host, const struct ri_cgroup_oom *oom,
	const char *name, uint64_t *out)
{
	char text[RI_CGROUP_FILE];

	if (read_beside(host, oom, name, text) < 0)
		return -1;
	*out = UINT64_MAX;
	return strcmp(text, "max\n") == 0 || ri_digits_read(text, out) > 0 ? 0 : -1;
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
