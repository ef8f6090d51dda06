/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Thirteen hierarchies of version 1, each with the path of a nested container. */
enum { FILE_SIZE = 16384 };

/* One line of /proc/self/cgroup: "ID:CONTROLLERS:PATH" (cgroups(7)). */
struct membership {
	const char *controllers;
	size_t controllers_length;
	const char *path;
	size_t path_length;
};

static bool read_membership(const char *line, size_t length, struct membership *out)
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

/* Is name one of the words of a list separated by commas? */
static bool has_word(const char *list, size_t length, const char *name)
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
	char text[FILE_SIZE];

	if (oom->path[0] == '\0' || ri_host_read(host, oom->path, text, sizeof(text)) < 0)
		return -1;
	return read_count(text, kills);
}

/*
 * The path in /proc/self/cgroup counts from the root of the hierarchy, but a
 * container without a cgroup namespace has only its own part of it mounted:
 * the same file is then found at the mount itself.
 */
static int find_below(struct ri_host *host, const char *mount, const struct membership *member,
	const char *file, struct ri_cgroup_oom *oom, uint64_t *kills)
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
	char text[FILE_SIZE];
	struct membership member;

	oom->path[0] = '\0';
	if (ri_host_read(host, "proc/self/cgroup", text, sizeof(text)) < 0)
		return -1;
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n");

		if (read_membership(line, length, &member)) {
			if (has_word(member.controllers, member.controllers_length, "memory") &&
				find_below(host, "sys/fs/cgroup/memory", &member,
					"memory.oom_control", oom, kills) == 0)
				return 0;
			if (member.controllers_length == 0 &&
				find_below(host, "sys/fs/cgroup", &member, "memory.events", oom,
					kills) == 0)
				return 0;
		}
		line += length + (line[length] == '\n');
	}
	oom->path[0] = '\0';
	return -1;
}
