/* SPDX-License-Identifier: Apache-2.0 */
#include "check/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/text.h"
#include "demand/demand.h"

enum { STATUS_FILE = 8192, MOUNTS_FILE = 262144 };

_Static_assert(RLIM_INFINITY == RI_UNLIMITED, "the kernel's number for none is ours");

/* One that does not fit is full. */
static bool is_empty(struct ri_host *host, const char *folder)
{
	char names[64];
	long count = ri_host_list(host, folder, names, sizeof(names));

	return count == 0 || (count < 0 && errno == ENOENT);
}

bool ri_machine_is_image(struct ri_host *host)
{
	return is_empty(host, "proc") && is_empty(host, "sys") &&
		(ri_host_has_folder(host, "usr") || ri_host_has_folder(host, "bin"));
}

bool ri_machine_limit(struct ri_host *host, enum ri_limit_name name, struct ri_limit *out)
{
	static const int resources[RI_LIMIT_COUNT] = {
		[RI_LIMIT_CORE] = RLIMIT_CORE, [RI_LIMIT_MEMLOCK] = RLIMIT_MEMLOCK,
		[RI_LIMIT_NOFILE] = RLIMIT_NOFILE, [RI_LIMIT_NPROC] = RLIMIT_NPROC,
		[RI_LIMIT_STACK] = RLIMIT_STACK,
	};
	struct rlimit limit;

	if (!host->live)
		return ri_limit_read_file(host, name, out);
	if (getrlimit(resources[name], &limit) < 0)
		return false;
	*out = (struct ri_limit){ limit.rlim_cur, limit.rlim_max };
	return true;
}

char *ri_machine_mounts(struct ri_host *host)
{
	static char *text;

	if (text == NULL)
		text = ri_pages(MOUNTS_FILE);
	return text == NULL || ri_host_read(host, "proc/self/mountinfo", text, MOUNTS_FILE) < 0
		? NULL : text;
}

/* The last mount at a path hides those before it. */
static int find_mount(struct ri_host *host, const char *path, struct ri_space *out)
{
	static const char key[] = "size=";	/* tmpfs(5): "size=65536k" */
	const char *size;
	char *rest = ri_machine_mounts(host);
	struct ri_mount mount;
	int found = -1;

	if (rest == NULL)
		return -1;
	while (ri_mount_next(&rest, &mount)) {
		if (found < 0)
			found = 0;
		if (strcmp(mount.point, path) != 0)
			continue;
		found = 1;
		*out = (struct ri_space){ .size = 0 };
		ri_text_copy(out->type, sizeof(out->type), mount.type);
		size = strstr(mount.options, key);
		if (size != NULL)
			ri_size_read(size + strlen(key), strcspn(size + strlen(key), ","),
				&out->size);
	}
	return found;
}

int ri_machine_space(struct ri_host *host, const char *path, struct ri_space *out)
{
	int found = find_mount(host, path, out), fd;
	struct statvfs info;

	/* one that is not in memory may not answer */
	if (found <= 0 || !host->live || strcmp(out->type, "tmpfs") != 0)
		return found;
	fd = ri_host_open(host, path, O_PATH | O_DIRECTORY);
	if (fd >= 0 && fstatvfs(fd, &info) == 0) {
		out->size = (uint64_t)info.f_blocks * info.f_frsize;
		out->free = (uint64_t)info.f_bavail * info.f_frsize;
		out->knows_free = true;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

uint64_t ri_machine_shm_least(uint64_t ranks)
{
	const uint64_t each = (uint64_t)256 << 20, least = (uint64_t)1 << 30;

	return ranks * each < least ? least : ranks * each;
}

int ri_machine_writable(struct ri_host *host, const char *path)
{
	struct ri_mount mount;
	struct stat info;
	char *mounts;

	if (host->live)
		return access(path, W_OK) == 0 ? 0 : errno;
	if (ri_host_stat(host, path, &info) < 0)
		return errno;
	if ((info.st_mode & S_IWUSR) == 0)
		return EACCES;
	mounts = ri_machine_mounts(host);
	return mounts != NULL && ri_mount_of(mounts, path, &mount) &&
		(ri_list_has(mount.flags, strlen(mount.flags), "ro") ||
			ri_list_has(mount.options, strlen(mount.options), "ro")) ? EROFS : 0;
}

bool ri_machine_status(struct ri_host *host, struct ri_status *out)
{
	char text[STATUS_FILE];

	return ri_host_read(host, "proc/self/status", text, sizeof(text)) >= 0 &&
		ri_status_read(text, out);
}

bool ri_machine_user_map(struct ri_host *host, struct ri_user_map *out)
{
	char line[64];
	uint64_t numbers[3];
	const char *at = line;

	if (!ri_sysfile_line(host, "proc/self/uid_map", line, sizeof(line)))
		return false;
	for (int i = 0; i < 3; i++) {
		size_t digits;

		at += strspn(at, " \t");
		digits = ri_digits_read(at, &numbers[i]);
		if (digits == 0)
			return false;
		at += digits;
	}
	*out = (struct ri_user_map){ .inside = numbers[0], .outside = numbers[1],
		.is_whole = numbers[0] == 0 && numbers[1] == 0 && numbers[2] == UINT32_MAX };
	return true;
}
