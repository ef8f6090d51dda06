/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: /proc/self/cgroup, a line "%%", and the counters of both versions.
 * Beside the root lies a file of counters that no path may reach.
 */
#include <inttypes.h>

#include "base/proc.h"
#include "fuzz.h"

static const char outside[] = "4242424242";

static struct ri_host host;
static int cgroup_fd, events_fd, control_fd, max_fd, stat_fd;

static void start(void)
{
	static const char *const folders[] = { "root", "root/proc", "root/proc/self", "root/sys",
		"root/sys/fs", "root/sys/fs/cgroup", "root/sys/fs/cgroup/memory",
		"root/sys/fs/cgroup/a" };
	int folder = fuzz_folder_make(), trap = fuzz_file_make(folder, "memory.events");

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(folder, folders[i], 0755) == 0);
	fuzz_fill(trap, "oom_kill ", outside);
	close(trap);
	cgroup_fd = fuzz_file_make(folder, "root/proc/self/cgroup");
	events_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/memory.events");
	control_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/memory/memory.oom_control");
	max_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/memory.max");
	stat_fd = fuzz_file_make(folder, "root/sys/fs/cgroup/memory.stat");
	trap = fuzz_file_make(folder, "root/sys/fs/cgroup/memory.current");
	fuzz_fill(trap, "1000000\n", "");
	close(trap);
	trap = fuzz_file_make(folder, "root/sys/fs/cgroup/a/memory.events");
	fuzz_fill(trap, "oom_kill 77\n", "");
	close(trap);
	host.root = openat(folder, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(host.root >= 0);
}

/* Is there a line "oom_kill NUMBER" of this number? */
static bool has_count(const char *text, uint64_t kills)
{
	static const char key[] = "oom_kill ";
	char *end;

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, sizeof(key) - 1) == 0 &&
			strtoull(line + sizeof(key) - 1, &end, 10) == kills)
			return true;
	}
	return false;
}

static void check_found(const struct ri_cgroup_oom *oom, uint64_t kills, const char *counters)
{
	const char *name = strrchr(oom->path, '/');
	uint64_t again = 0;

	CHECK(strncmp(oom->path, "sys/fs/cgroup", 13) == 0);
	CHECK(strlen(oom->path) < sizeof(oom->path) && name != NULL);
	CHECK(strcmp(name, "/memory.events") == 0 || strcmp(name, "/memory.oom_control") == 0);
	CHECK(ri_cgroup_oom_read(&host, oom, &again) == 0 && again == kills);
	CHECK(has_count(counters, kills) || kills == 77);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *counters = fuzz_cut_part(text);
	struct ri_cgroup_oom oom = { "unset" };
	uint64_t kills = 987654321;

	if (cgroup_fd == 0)
		start();
	fuzz_fill(cgroup_fd, text, "");
	fuzz_fill(events_fd, counters, "");
	fuzz_fill(control_fd, counters, "");
	fuzz_fill(max_fd, counters, "");
	fuzz_fill(stat_fd, counters, "");
	if (ri_cgroup_oom_find(&host, &oom, &kills) == 0) {
		check_found(&oom, kills, counters);
		ri_cgroup_room(&host, &oom, &kills);
	} else {
		CHECK(oom.path[0] == '\0' && kills == 987654321);
		CHECK(ri_cgroup_oom_read(&host, &oom, &kills) == -1 && kills == 987654321);
	}
	free(text);
	return 0;
}
