/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
	/*
	 * PF_EXITING of include/linux/sched.h, in field 9 (proc(5), "flags"): set before
	 * the files of a process are closed (kernel/exit.c, do_exit).
	 */
	EXITING = 0x4,
	DUMPCORE = 0x200,	/* PF_DUMPCORE, set before the core is written (fs/coredump.c) */
	/* fields that are read, by their number in proc(5) */
	PARENT = 4, GROUP = 5, SESSION = 6, FLAGS = 9, FAULTS = 10, USER_TICKS = 14,
	KERNEL_TICKS = 15, STARTED = 22, BLOCKED = 32, IGNORED = 33, CAUGHT = 34,
};

const char *ri_proc_field(const char *text, const char *name, char end)
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

/* The number that starts here and ends at a blank or at the end of the line; UINT64_MAX: none. */
static uint64_t read_number(const char *text)
{
	uint64_t number;
	size_t length = ri_digits_read(text, &number);

	return length == 0 || strchr(" \n", text[length]) == NULL ? UINT64_MAX : number;
}

/* "PID (NAME) STATE PPID PGRP SESSION ...": a name may hold blanks and parentheses. */
bool ri_procstat_read(const char *text, struct ri_procstat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	uint64_t pid = read_number(text), fields[CAUGHT + 1];
	size_t length;
	char state;

	if (open == NULL || close == NULL || close < open || close[1] != ' ' ||
		close[2] == '\0' || close[3] != ' ')
		return false;
	state = close[2];
	at = close + 3;
	for (int i = PARENT; i <= CAUGHT; i++) {
		fields[i] = at == NULL ? UINT64_MAX : read_number(at + 1);
		at = at == NULL ? NULL : strchr(at + 1, ' ');
	}
	if (pid > INT32_MAX || fields[PARENT] > INT32_MAX || fields[GROUP] > INT32_MAX ||
		fields[SESSION] > INT32_MAX || fields[FLAGS] == UINT64_MAX ||
		fields[STARTED] == UINT64_MAX)
		return false;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(out->name))
		length = sizeof(out->name) - 1;
	*out = (struct ri_procstat){ .pid = (pid_t)pid, .parent = (pid_t)fields[PARENT],
		.group = (pid_t)fields[GROUP], .session = (pid_t)fields[SESSION], .state = state,
		.dying = (fields[FLAGS] & EXITING) != 0 || state == 'Z' || state == 'X',
		.dumping = (fields[FLAGS] & DUMPCORE) != 0,
		.started = fields[STARTED], .blocked = fields[BLOCKED], .ignored = fields[IGNORED],
		.caught = fields[CAUGHT], .faults = fields[FAULTS],
		.ticks = fields[USER_TICKS] + fields[KERNEL_TICKS] };
	memcpy(out->name, open + 1, length);
	return true;
}

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

bool ri_cgroup_controls(const struct ri_cgroup_member *member, const char *controller)
{
	return ri_list_has(member->controllers, member->controllers_length, controller);
}

/* The number after "NAME " at the start of a line. */
static int read_count(const char *text, const char *name, uint64_t *count)
{
	const char *number = ri_proc_field(text, name, ' ');
	size_t digits = number == NULL ? 0 : strspn(number, "0123456789");

	return digits == 0 || (number[digits] != '\n' && number[digits] != '\0') ||
		ri_digits_read(number, count) == 0 ? -1 : 0;
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

bool ri_cgroup_oom_kills_all(struct ri_host *host, const struct ri_cgroup_oom *oom)
{
	uint64_t group;

	return read_number_beside(host, oom, "memory.oom.group", &group) == 0 && group == 1;
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
