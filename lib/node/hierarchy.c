/* SPDX-License-Identifier: Apache-2.0 */
#include "node/hierarchy.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mounts.h"
#include "base/number.h"
#include "base/text.h"

/* Where one hierarchy is mounted, and what of our cgroup's path is below that. */
struct place {
	bool v2;
	const char *point;
	char below[RI_CGROUP_PATH];	/* "", or "/" and more */
};

static void visit(const struct ri_hierarchy *hierarchy, const struct place *place)
{
	char folder[RI_CGROUP_PATH];
	int length = snprintf(folder, sizeof(folder), "%s%s", place->point, place->below);

	if (length > 0 && (size_t)length < sizeof(folder))
		hierarchy->visit(hierarchy->context, folder, place->v2);
}

/* The cgroup, and each around it up to the mount. */
static void climb(const struct ri_hierarchy *hierarchy, struct place *place)
{
	char *slash;

	visit(hierarchy, place);
	while ((slash = strrchr(place->below, '/')) != NULL) {
		*slash = '\0';
		visit(hierarchy, place);
	}
}

static bool has_dots(const char *path)
{
	for (const char *p = strstr(path, "/.."); p != NULL; p = strstr(p + 1, "/.."))
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

/*
 * The path in /proc/self/cgroup counts from the root of the hierarchy, the
 * mount may show only a part of it. What does not fit together (we were moved,
 * or look in from another cgroup namespace) leaves the mount itself.
 */
static void find_below(struct place *place, const struct ri_cgroup_member *member,
	const char *root)
{
	size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
	int length = (int)member->path_length;

	place->below[0] = '\0';
	if (length <= 1 || (size_t)length >= sizeof(place->below) || (size_t)length < skip ||
		strncmp(member->path, root, skip) != 0 ||
		(member->path[skip] != '/' && (size_t)length != skip))
		return;
	snprintf(place->below, sizeof(place->below), "%.*s", length - (int)skip,
		member->path + skip);
	if (has_dots(place->below))
		place->below[0] = '\0';
}

static bool is_mount_of(const struct ri_mount *mount, const char *controller, bool v2)
{
	if (v2)
		return strcmp(mount->type, "cgroup2") == 0;
	return strcmp(mount->type, "cgroup") == 0 &&
		ri_cgroup_has_word(mount->options, strlen(mount->options), controller);
}

/* Where there is no mountinfo: the usual places. */
static void find_usual(const struct ri_hierarchy *hierarchy,
	const struct ri_cgroup_member *member)
{
	/* ",cpuacct" is of cpu alone, and nowhere else anything */
	static const char *const ends[] = { "", ",cpuacct" };
	struct place place = { .v2 = member->controllers_length == 0, .point = "sys/fs/cgroup" };
	char point[64];

	for (size_t i = 0; i < (place.v2 ? 1 : sizeof(ends) / sizeof(ends[0])); i++) {
		snprintf(point, sizeof(point), "sys/fs/cgroup/%s%s", hierarchy->controller,
			ends[i]);
		place.point = place.v2 ? place.point : point;
		find_below(&place, member, "/");
		climb(hierarchy, &place);
	}
}

/* Every mount counts: one may show what another one hides. */
static void find_mounted(const struct ri_hierarchy *hierarchy,
	const struct ri_cgroup_member *member)
{
	struct place place = { .v2 = member->controllers_length == 0 };
	char *text = ri_arena_alloc(hierarchy->arena, RI_MAX_FILE);
	struct ri_mount mount;

	if (text == NULL ||
		ri_host_read(hierarchy->host, "proc/self/mountinfo", text, RI_MAX_FILE) < 0) {
		find_usual(hierarchy, member);
		return;
	}
	while (ri_mount_next(&text, &mount)) {
		if (!is_mount_of(&mount, hierarchy->controller, place.v2))
			continue;
		place.point = mount.point;
		find_below(&place, member, mount.root);
		climb(hierarchy, &place);
	}
}

void ri_hierarchy_walk(const struct ri_hierarchy *hierarchy)
{
	char text[RI_CGROUP_FILE];
	const char *rest = text;
	struct ri_cgroup_member member;

	if (ri_host_read(hierarchy->host, "proc/self/cgroup", text, sizeof(text)) < 0)
		return;
	while (ri_cgroup_next(&rest, &member))
		if (member.controllers_length == 0 ||
			ri_cgroup_controls(&member, hierarchy->controller))
			find_mounted(hierarchy, &member);
}

/* A number that is looked for, and where it is found. */
struct search {
	struct ri_host *host;
	struct ri_group_limit *out;
	const char *names[2];	/* of the file in version 1 and in version 2 */
	bool found;
};

/* "max", or a number; version 1 has one near the end of what 64 bits hold for none. */
static bool read_limit(const char *text, uint64_t *out)
{
	const struct ri_range range = { 0, UINT64_MAX };

	if (strncmp(text, "max", 3) == 0) {
		*out = UINT64_MAX;
		return true;
	}
	if (ri_number_read(text, range, out, NULL) != RI_NUMBER_OK)
		return false;
	if (*out >= (uint64_t)1 << 60)
		*out = UINT64_MAX;
	return true;
}

static void take_limit(void *context, const char *folder, bool v2)
{
	struct search *search = context;
	char path[RI_CGROUP_PATH], text[64];
	uint64_t number;
	int length = snprintf(path, sizeof(path), "%s/%s", folder, search->names[v2]);

	if (length < 0 || (size_t)length >= sizeof(path) ||
		ri_host_read(search->host, path, text, sizeof(text)) < 0 ||
		!read_limit(text, &number) ||
		(search->found && number >= search->out->number))
		return;
	search->found = true;
	search->out->number = number;
	ri_text_copy(search->out->path, sizeof(search->out->path), path);
}

static bool find_limit(struct search *search, const char *controller, struct ri_arena *arena)
{
	const struct ri_hierarchy hierarchy = {
		.host = search->host, .arena = arena, .controller = controller,
		.visit = take_limit, .context = search,
	};

	*search->out = (struct ri_group_limit){ .number = UINT64_MAX };
	ri_hierarchy_walk(&hierarchy);
	return search->found;
}

bool ri_memory_limit_find(struct ri_group_limit *out, struct ri_host *host,
	struct ri_arena *arena)
{
	struct search search = {
		.host = host, .out = out, .names = { "memory.limit_in_bytes", "memory.max" },
	};

	return find_limit(&search, "memory", arena);
}

bool ri_pids_limit_find(struct ri_group_limit *out, struct ri_host *host, struct ri_arena *arena)
{
	struct search search = {
		.host = host, .out = out, .names = { "pids.max", "pids.max" },
	};

	return find_limit(&search, "pids", arena);
}
