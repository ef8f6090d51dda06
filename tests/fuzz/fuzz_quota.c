/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: /proc/self/cgroup, a line "%%", the mounts, a line "%%", and the
 * quota of both versions. Beside the root lies a quota that no path may reach.
 */
#include "node/node.h"
#include "fuzz.h"

static struct ri_host host;
static int cgroup_fd, mounts_fd, max_fd, cfs_fd;

static void start(void)
{
	static const char *const folders[] = { "root", "root/proc", "root/proc/self", "root/sys",
		"root/sys/fs", "root/sys/fs/cgroup", "root/sys/fs/cgroup/cpu",
		"root/sys/fs/cgroup/a" };
	int folder = fuzz_folder_make(), fd = fuzz_file_make(folder, "cpu.max");

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(folder, folders[i], 0755) == 0);
	fuzz_fill(fd, "7 1000\n", "");
	close(fd);
	cgroup_fd = fuzz_file_make(folder, "root/proc/self/cgroup");
	mounts_fd = fuzz_file_make(folder, "root/proc/self/mountinfo");
	max_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/a/cpu.max");
	cfs_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
	fd = fuzz_file_make(folder, "root/sys/fs/cgroup/cpu/cpu.cfs_period_us");
	fuzz_fill(fd, "100000\n", "");
	close(fd);
	host.root = openat(folder, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(host.root >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_arena arena;
	char *text = fuzz_string(data, size), *mounts = fuzz_cut_part(text);
	char *number = fuzz_cut_part(mounts);
	struct ri_group_limit quota;
	size_t length;

	if (cgroup_fd == 0)
		start();
	fuzz_fill(cgroup_fd, text, "");
	fuzz_fill(mounts_fd, mounts, "");
	fuzz_fill(max_fd, number, "");
	fuzz_fill(cfs_fd, number, "");
	ri_group_limit_find(&quota, RI_GROUP_CPU, &host, &arena);
	length = strlen(quota.path);
	CHECK(length < sizeof(quota.path) && (quota.number == UINT64_MAX) == (length == 0));
	CHECK(quota.number != 7 || strtoull(number, NULL, 10) != 0);
	if (length > 0)
		CHECK(strstr(quota.path, "/cpu.max") != NULL ||
			strstr(quota.path, "/cpu.cfs_quota_us") != NULL);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
