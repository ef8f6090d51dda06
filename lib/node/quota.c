/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/mounts.h"
#include "base/number.h"
#include "node/budget.h"

/* Where one hierarchy is mounted, and what of our cgroup's path is below that. */
struct place {
	bool v2;
	const char *point;
	char below[RI_CGROUP_PATH];	/* "", or "/" and more */
};

/* Microseconds: of a quota up to RI_MAX_CPUS CPUs, and far more. */
static bool read_us(const char *text, uint64_t *out)
{
	const struct ri_range range = { 1, 1000000000000 };

	return ri_number_read(text, range, out, NULL) == RI_NUMBER_OK;
}

/* "max 100000", or "200000 100000" */
static bool read_max(struct ri_host *host, const char *path, uint64_t *quota, uint64_t *period)
{
	char text[64], *blank;

	if (ri_host_read(host, path, text, sizeof(text)) < 0)
		return false;
	blank = strchr(text, ' ');
	if (blank == NULL)
		return false;
	*blank = '\0';
	return read_us(text, quota) && read_us(blank + 1, period);
}

/* A quota of -1, which is no number for us, is none. */
static bool read_cfs(struct ri_host *host, const char *path, uint64_t *quota, uint64_t *period)
{
	char text[64], other[RI_CGROUP_PATH];
	size_t folder = strlen(path) - strlen("cpu.cfs_quota_us");

	if (ri_host_read(host, path, text, sizeof(text)) < 0 || !read_us(text, quota))
		return false;
	snprintf(other, sizeof(other), "%.*scpu.cfs_period_us", (int)folder, path);
	return ri_host_read(host, other, text, sizeof(text)) >= 0 && read_us(text, period);
}

/* The quota of one cgroup, if it is the smallest so far. */
static void take(struct ri_quota *out, struct ri_host *host, const struct place *place)
{
	char path[RI_CGROUP_PATH];
	uint64_t quota, period, milli;
	int length = snprintf(path, sizeof(path), "%s%s/%s", place->point, place->below,
		place->v2 ? "cpu.max" : "cpu.cfs_quota_us");
	/* the name of the period is a byte longer */
	bool fits = length > 0 && (size_t)length + 1 < sizeof(path);

	if (!fits || !(place->v2 ? read_max : read_cfs)(host, path, &quota, &period))
		return;
	milli = quota * 1000 / period;
	milli = milli == 0 ? 1 : milli;
	if (out->milli != 0 && out->milli <= milli)
		return;
	out->milli = milli;
	ri_text_copy(out->path, sizeof(out->path), path);
}

/* The cgroup, and each around it up to the mount. */
static void climb(struct ri_quota *out, struct ri_host *host, struct place *place)
{
	char *slash;

	take(out, host, place);
	while ((slash = strrchr(place->below, '/')) != NULL) {
		*slash = '\0';
		take(out, host, place);
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

static bool is_mount_of(const struct ri_mount *mount, bool v2)
{
	if (v2)
		return strcmp(mount->type, "cgroup2") == 0;
	return strcmp(mount->type, "cgroup") == 0 &&
		ri_cgroup_has_word(mount->options, strlen(mount->options), "cpu");
}

/* Where there is no mountinfo: the usual places. */
static void find_usual(struct ri_quota *out, struct ri_host *host,
	const struct ri_cgroup_member *member)
{
	static const char *const points[] = { "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct" };
	struct place place = { .v2 = member->controllers_length == 0, .point = "sys/fs/cgroup" };

	for (size_t i = 0; i < (place.v2 ? 1 : sizeof(points) / sizeof(points[0])); i++) {
		place.point = place.v2 ? place.point : points[i];
		find_below(&place, member, "/");
		climb(out, host, &place);
	}
}

/* The cgroups that may limit us: of version 2, of the hierarchy with the CPUs. */
struct membership {
	struct ri_cgroup_member list[2];
	size_t count;
};

static bool is_v2(const struct ri_cgroup_member *member)
{
	return member->controllers_length == 0;
}

/* Every mount counts: one may show what another one hides. */
static void find_mounted(struct ri_quota *out, const struct ri_node *node,
	const struct membership *ours, char *text)
{
	struct ri_mount mount;

	while (ri_mount_next(&text, &mount)) {
		for (size_t i = 0; i < ours->count; i++) {
			struct place place = { .v2 = is_v2(&ours->list[i]), .point = mount.point };

			if (!is_mount_of(&mount, place.v2))
				continue;
			find_below(&place, &ours->list[i], mount.root);
			climb(out, node->host, &place);
		}
	}
}

void ri_quota_find(struct ri_quota *out, const struct ri_node *node)
{
	char text[RI_CGROUP_FILE], *mounts;
	const char *rest = text;
	struct membership ours = { .count = 0 };
	struct ri_cgroup_member member;

	out->milli = 0;
	out->path[0] = '\0';
	if (ri_host_read(node->host, "proc/self/cgroup", text, sizeof(text)) < 0)
		return;
	while (ours.count < 2 && ri_cgroup_next(&rest, &member))
		if (is_v2(&member) || ri_cgroup_controls(&member, "cpu"))
			ours.list[ours.count++] = member;
	if (ours.count == 0)
		return;
	mounts = ri_arena_alloc(node->arena, RI_MAX_FILE);
	if (mounts != NULL &&
		ri_host_read(node->host, "proc/self/mountinfo", mounts, RI_MAX_FILE) >= 0)
		find_mounted(out, node, &ours, mounts);
	else
		for (size_t i = 0; i < ours.count; i++)
			find_usual(out, node->host, &ours.list[i]);
}
