/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <stdio.h>
#include <string.h>

/* A file of sysfs is at most a page (kernel documentation, filesystems/sysfs.rst). */
enum { PAGE = 4096 };

bool ri_sysfile_rest(const char *text, char *line, size_t size)
{
	size_t length;

	line[0] = '\0';
	text += strspn(text, " \t");
	length = strcspn(text, "\n");
	while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL)
		length--;
	if (length == 0 || length >= size)
		return false;
	memcpy(line, text, length);
	line[length] = '\0';
	return true;
}

bool ri_sysfile_line(struct ri_host *host, const char *path, char *line, size_t size)
{
	char text[PAGE + 1];

	line[0] = '\0';
	return ri_host_read(host, path, text, sizeof(text)) >= 0 &&
		ri_sysfile_rest(text, line, size);
}

bool ri_sysfile_number(struct ri_host *host, const char *path, uint64_t *out)
{
	char line[64];

	return ri_sysfile_line(host, path, line, sizeof(line)) && ri_digits_read(line, out) > 0;
}

bool ri_status_read(const char *text, struct ri_status *out)
{
	struct ri_status status = { .seccomp = -1 };
	const char *capabilities = ri_proc_field(text, "CapEff", ':');
	const char *uid = ri_proc_field(text, "Uid", ':');
	const char *mode = ri_proc_field(text, "Seccomp", ':');
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

	text = ri_proc_field(text, names[name], ' ');
	if (text == NULL || !read_value(&text, &limit.soft) || *text != ' ' ||
		!read_value(&text, &limit.hard))
		return false;
	*out = limit;
	return true;
}

bool ri_limit_read_file(struct ri_host *host, enum ri_limit_name name, struct ri_limit *out)
{
	char text[PAGE];

	return ri_host_read(host, "proc/self/limits", text, sizeof(text)) >= 0 &&
		ri_limit_read(text, name, out);
}

/* --- cgroups ---------------------------------------------------------------- */

/* TABLE: the file of each in version 1 and in version 2 (scheduler/sched-bwc.rst for the CPU's). */
static const struct {
	const char *controller;
	const char *files[2];
} rows[] = {
	[RI_GROUP_CPU] = { "cpu", { "cpu.cfs_quota_us", "cpu.max" } },
	[RI_GROUP_MEMORY] = { "memory", { "memory.limit_in_bytes", "memory.max" } },
	[RI_GROUP_PIDS] = { "pids", { "pids.max", "pids.max" } },
};

/* What is looked for, and where it is found. */
struct search {
	struct ri_host *host;
	enum ri_group_kind kind;
	struct ri_group_limit *out;
	bool found;
};

/* Where one hierarchy is mounted, and what of our cgroup's path is below that. */
struct place {
	bool v2;
	const char *point;
	char below[RI_CGROUP_PATH];	/* "", or "/" and more */
};

/* "max", or a number; version 1 has one near the end of what 64 bits hold for none. */
static bool read_number(const char *text, uint64_t *out)
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

/*
 * "max 100000", or "200000 100000"; version 1 has the period in a file of its own. A quota of -1
 * or "max", which is no number for us, is none.
 */
static bool read_cpu(const struct search *search, const char *folder, bool v2, char *text,
	uint64_t *out)
{
	/* microseconds: of a quota up to RI_MAX_CPUS CPUs, and far more */
	const struct ri_range range = { 1, 1000000000000 };
	char path[RI_CGROUP_PATH], other[64], *period = v2 ? strchr(text, ' ') : other;
	uint64_t quota, us;

	if (period == NULL)
		return false;
	if (v2)
		*period++ = '\0';
	if (ri_number_read(text, range, &quota, NULL) != RI_NUMBER_OK)
		return false;
	if (!v2 && (snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder) >=
			(int)sizeof(path) ||
		ri_host_read(search->host, path, other, sizeof(other)) < 0))
		return false;
	if (ri_number_read(period, range, &us, NULL) != RI_NUMBER_OK)
		return false;
	*out = quota * 1000 / us;
	*out += *out == 0;
	return true;
}

/* That of one cgroup, if it is the smallest so far. */
static void take(struct search *search, const struct place *place)
{
	char folder[RI_CGROUP_PATH], path[RI_CGROUP_PATH], text[64];
	uint64_t number;

	if (snprintf(folder, sizeof(folder), "%s%s", place->point, place->below) >=
			(int)sizeof(folder) ||
		snprintf(path, sizeof(path), "%s/%s", folder,
			rows[search->kind].files[place->v2]) >= (int)sizeof(path) ||
		ri_host_read(search->host, path, text, sizeof(text)) < 0 ||
		!(search->kind == RI_GROUP_CPU ? read_cpu(search, folder, place->v2, text, &number)
			: read_number(text, &number)) ||
		(search->found && number >= search->out->number))
		return;
	search->found = true;
	search->out->number = number;
	ri_text_copy(search->out->path, sizeof(search->out->path), path);
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
	for (const char *dots = place->below; (dots = strstr(dots, "/..")) != NULL; dots++)
		if (dots[3] == '/' || dots[3] == '\0')
			place->below[0] = '\0';
}

static bool is_v2(const struct ri_cgroup_member *member)
{
	return member->controllers_length == 0;
}

/* Where there is no mountinfo. */
static const char usual_mounts[] =
	"1 0 0:1 / sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	"2 0 0:2 / sys/fs/cgroup/cpu rw - cgroup cgroup cpu\n"
	"3 0 0:2 / sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup cpu\n"
	"4 0 0:3 / sys/fs/cgroup/memory rw - cgroup cgroup memory\n"
	"5 0 0:4 / sys/fs/cgroup/pids rw - cgroup cgroup pids\n";

/* Every mount counts: one may show what another one hides. */
static void find_mounted(struct search *search, const struct ri_cgroup_member *ours, size_t count,
	char *text)
{
	struct ri_mount mount;
	char *slash;

	while (ri_mount_next(&text, &mount)) {
		for (size_t i = 0; i < count; i++) {
			struct place place = { .v2 = is_v2(&ours[i]), .point = mount.point };

			if (strcmp(mount.type, place.v2 ? "cgroup2" : "cgroup") != 0 ||
				(!place.v2 && !ri_list_has(mount.options,
					strlen(mount.options), rows[search->kind].controller)))
				continue;
			find_below(&place, &ours[i], mount.root);
			take(search, &place);
			/* and each cgroup around it, up to the mount */
			while ((slash = strrchr(place.below, '/')) != NULL) {
				*slash = '\0';
				take(search, &place);
			}
		}
	}
}

bool ri_group_limit_find(struct ri_group_limit *out, enum ri_group_kind kind,
	struct ri_host *host, struct ri_arena *arena)
{
	struct search search = { .host = host, .kind = kind, .out = out };
	char text[RI_CGROUP_FILE], *mounts;
	const char *rest = text;
	/* the cgroups that may limit us: of version 2, of the hierarchy with the controller */
	struct ri_cgroup_member ours[2], member;
	size_t count = 0;

	*out = (struct ri_group_limit){ .number = UINT64_MAX };
	if (ri_host_read(host, "proc/self/cgroup", text, sizeof(text)) < 0)
		return false;
	while (count < 2 && ri_cgroup_next(&rest, &member))
		if (is_v2(&member) || ri_cgroup_controls(&member, rows[kind].controller))
			ours[count++] = member;
	if (count == 0)
		return false;
	mounts = ri_arena_alloc(arena, RI_MAX_FILE);
	if (mounts == NULL)
		return false;
	if (ri_host_read(host, "proc/self/mountinfo", mounts, RI_MAX_FILE) < 0)
		memcpy(mounts, usual_mounts, sizeof(usual_mounts));
	find_mounted(&search, ours, count, mounts);
	return search.found;
}

/* TABLE: types of file systems that are behind a server, and those by FUSE that are none. */
static const struct {
	const char *type;
	enum ri_storage storage;
} types[] = {
	/* Samba's and the kernel's names of mount.cifs(8) and mount.smb3(8) */
	{ "cifs", RI_STORAGE_CIFS }, { "smb3", RI_STORAGE_CIFS }, { "smbfs", RI_STORAGE_CIFS },
	{ "nfs", RI_STORAGE_NFS }, { "nfs4", RI_STORAGE_NFS },
	{ "lustre", RI_STORAGE_PARALLEL }, { "gpfs", RI_STORAGE_PARALLEL },
	{ "beegfs", RI_STORAGE_PARALLEL }, { "wekafs", RI_STORAGE_PARALLEL },
	{ "ceph", RI_STORAGE_PARALLEL }, { "fuse.ceph", RI_STORAGE_PARALLEL },
	{ "fuse.ceph-fuse", RI_STORAGE_PARALLEL }, { "pvfs2", RI_STORAGE_PARALLEL },
	/* what rootless runtimes put an image together with */
	{ "fuse.fuse-overlayfs", RI_STORAGE_LOCAL }, { "fuse.squashfuse", RI_STORAGE_LOCAL },
	{ "fuse.squashfuse_ll", RI_STORAGE_LOCAL }, { "fuse.lxcfs", RI_STORAGE_LOCAL },
};

/* Azure/azure-storage-fuse: "blobfuse" and "blobfuse2"; Azure ML mounts by rslex. */
static bool is_blob(const char *name)
{
	return strstr(name, "blobfuse") != NULL || strstr(name, "rslex") != NULL;
}

enum ri_storage ri_storage_of(const struct ri_mount *mount)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(types); i++)
		if (strcmp(mount->type, types[i].type) == 0)
			return types[i].storage;
	if (strcmp(mount->type, "fuse") != 0 && strncmp(mount->type, "fuse.", 5) != 0)
		return RI_STORAGE_LOCAL;
	return is_blob(mount->type) || is_blob(mount->source) ? RI_STORAGE_BLOBFUSE
							      : RI_STORAGE_FUSE;
}

const char *ri_storage_name(enum ri_storage storage)
{
	static const char *const names[] = {
		[RI_STORAGE_LOCAL] = "local storage",
		[RI_STORAGE_BLOBFUSE] = "a mount of Azure Blob Storage",
		[RI_STORAGE_CIFS] = "an SMB share, such as Azure Files",
		[RI_STORAGE_NFS] = "an NFS share",
		[RI_STORAGE_FUSE] = "a FUSE file system",
		[RI_STORAGE_PARALLEL] = "a parallel file system",
	};

	return names[storage];
}
