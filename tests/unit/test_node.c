/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs: sets of them, mounts, quotas, and what a machine grants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/proc.h"
#include "node/place.h"
#include "tree.h"

static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_env env;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static const char *listed(const struct ri_cpus *cpus)
{
	static char bytes[16384];
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	ri_cpus_add(&text, cpus);
	assert_false(text.cut);
	return bytes;
}

static void same(const char *list, const char *expected, size_t count)
{
	struct ri_cpus cpus;

	assert_true(ri_cpus_read(list, &cpus));
	assert_int_equal(ri_cpus_size(&cpus), count);
	assert_string_equal(listed(&cpus), expected);
}

static void test_lists(void **state)
{
	(void)state;
	same("0", "0", 1);
	same("0-3,8-11\n", "0-3,8-11", 8);
	same("4095", "4095", 1);
	same("0-4095", "0-4095", 4096);
	same("8,1,2,0", "0-2,8", 4);
	same("63-64", "63-64", 2);
	same("1,1,1-1", "1", 1);
	same("0-1,2-3", "0-3", 4);
	same("", "", 0);
	same("\n", "", 0);
	same(" 5\t", "5", 1);
}

static void test_what_is_no_list(void **state)
{
	static const char *const wrong[] = { "4096", "0-4096", "3-1", "a", "0,", ",0", "0-", "-0",
		"-", "0--1", "0-1-2", "0 1", "0x1", "1;2", "0-3:1/2", "18446744073709551616",
		"+1" };
	struct ri_cpus cpus, before;

	(void)state;
	memset(&cpus, 0x5a, sizeof(cpus));
	before = cpus;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(ri_cpus_read(wrong[i], &cpus));
		assert_memory_equal(&cpus, &before, sizeof(cpus));
	}
}

static void test_sets(void **state)
{
	struct ri_cpus a, b;

	(void)state;
	assert_true(ri_cpus_read("1,64,4095", &a));
	assert_int_equal(ri_cpus_next(&a, 0), 1);
	assert_int_equal(ri_cpus_next(&a, 1), 1);
	assert_int_equal(ri_cpus_next(&a, 2), 64);
	assert_int_equal(ri_cpus_next(&a, 65), 4095);
	assert_int_equal(ri_cpus_next(&a, 4096), -1);
	assert_int_equal(ri_cpus_next(&(struct ri_cpus){ { 0 } }, 0), -1);
	assert_true(ri_cpus_has(&a, 64));
	assert_false(ri_cpus_has(&a, 63));
	assert_false(ri_cpus_has(&a, 4096));
	ri_cpus_set(&a, 4096);
	assert_int_equal(ri_cpus_size(&a), 3);
	assert_true(ri_cpus_read("0-64", &b));
	assert_false(ri_cpus_equal(&a, &b));
	assert_int_equal(ri_cpus_and(&b, &a), 2);
	assert_string_equal(listed(&b), "1,64");
	assert_int_equal(ri_cpus_and(&b, &(struct ri_cpus){ { 0 } }), 0);
}

static void next_mount(char **text, const char *root, const char *point, const char *type,
	const char *options)
{
	struct ri_mount mount;

	assert_true(ri_mount_next(text, &mount));
	assert_string_equal(mount.root, root);
	assert_string_equal(mount.point, point);
	assert_string_equal(mount.type, type);
	assert_string_equal(mount.options, options);
}

/* Those of the mount, which may be more than those of its file system. */
static void test_mount_flags(void **state)
{
	char line[] = "1 2 0:3 / /data ro,nosuid shared:1 - ext4 /dev/sda1 rw,data=ordered\n";
	char *text = line;
	struct ri_mount mount;

	(void)state;
	assert_true(ri_mount_next(&text, &mount));
	assert_string_equal(mount.flags, "ro,nosuid");
	assert_string_equal(mount.options, "rw,data=ordered");
}

static void test_mounts(void **state)
{
	char lines[] = "31 23 0:28 / /sys/fs/cgroup rw shared:1 master:2 - tmpfs t rw,mode=755\n"
		"garbage\n\n"
		"1 2 0:3 /a\\040b /c\\134\\011d ro - ext4 /dev/sda1 rw\n"
		"1 2 0:3 / /no-end rw - \n"
		"1 2 0:3 / /no-dash rw shared:1\n"
		"1 2 0:3 / /x\\04 rw - tmpfs none\n"
		"1 2 0:3 /\\777 /- rw - - - -";
	char *text = lines;
	struct ri_mount mount;

	(void)state;
	next_mount(&text, "/", "/sys/fs/cgroup", "tmpfs", "rw,mode=755");
	next_mount(&text, "/a b", "/c\\\td", "ext4", "rw");
	next_mount(&text, "/", "/x\\04", "tmpfs", "");
	next_mount(&text, "/\\777", "/-", "-", "-");
	assert_false(ri_mount_next(&text, &mount));
	assert_false(ri_mount_next(&text, &mount));
}

static void test_mount_source(void **state)
{
	char lines[] = "1 2 0:3 / /a rw - nfs4 10.0.0.4:/my\\040data rw,vers=4.1\n"
		"1 2 0:3 / /b rw - tmpfs none\n";
	char *text = lines;
	struct ri_mount mount;

	(void)state;
	assert_true(ri_mount_next(&text, &mount));
	assert_string_equal(mount.source, "10.0.0.4:/my data");
	assert_string_equal(mount.options, "rw,vers=4.1");
	assert_true(ri_mount_next(&text, &mount));
	assert_string_equal(mount.source, "none");
}

static void recorded(const char *name, const char *cpus, uint64_t milli, uint64_t usable)
{
	struct ri_host host = tree_recorded(name);
	const struct ri_node node = { .host = &host, .env = &env, .arena = &arena,
		.findings = &findings };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_budget budget;
	uint64_t count = 0;

	assert_int_equal(ri_budget_find(&budget, &node, &err), 0);
	assert_string_equal(listed(&budget.cpus), cpus);
	assert_int_equal(budget.count, ri_cpus_size(&budget.cpus));
	assert_int_equal(budget.quota.number, milli == 0 ? UINT64_MAX : milli);
	assert_int_equal(budget.usable, usable);
	assert_int_equal(ri_cpus_count(&node, &count, &err), 0);
	assert_int_equal(count, usable);
	assert_int_equal(findings.count, 0);
	close(host.root);
}

static void test_recorded_machines(void **state)
{
	(void)state;
	recorded("two-sockets-8-gpus", "0-31", 0, 32);
	recorded("pod-2-of-8-gpus", "2-5,18-21", 8000, 8);
	recorded("cpu-quota-v2", "0-63", 4000, 4);
	recorded("cpu-quota-v1", "0-7", 1500, 1);
	recorded("cpu-no-quota-v1", "0-3", 0, 4);
	recorded("mig-gpu", "0-15", 0, 16);
	recorded("offline-cpus", "0-5,8-13", 0, 12);
}

static void test_the_file_of_the_quota(void **state)
{
	struct ri_host host = tree_recorded("cpu-quota-v2");
	struct ri_group_limit quota;

	(void)state;
	ri_group_limit_find(&quota, RI_GROUP_CPU, &host, &arena);
	assert_string_equal(quota.path,
		"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/cpu.max");
	close(host.root);
	host = tree_recorded("cpu-quota-v1");
	ri_group_limit_find(&quota, RI_GROUP_CPU, &host, &arena);
	assert_string_equal(quota.path, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us");
	close(host.root);
	host = tree_recorded("accounts");
	ri_group_limit_find(&quota, RI_GROUP_CPU, &host, &arena);
	assert_int_equal(quota.number, UINT64_MAX);
	assert_string_equal(quota.path, "");
	close(host.root);
}

/* What the caller asked the kernel counts, and no file. */
static void test_affinity_of_this_machine(void **state)
{
	struct ri_host host = tree_recorded("cpu-quota-v2");
	struct ri_cpus cpus;
	struct ri_node node = { .host = &host, .env = &env, .arena = &arena,
		.findings = &findings, .affinity = &cpus };
	struct ri_error err = RI_ERROR_INIT;
	uint64_t count = 99;

	(void)state;
	assert_true(ri_cpus_read("7,9,11", &cpus));
	assert_int_equal(ri_cpus_count(&node, &count, &err), 0);
	assert_int_equal(count, 3);
	assert_true(ri_cpus_read("7-20", &cpus));
	assert_int_equal(ri_cpus_count(&node, &count, &err), 0);
	assert_int_equal(count, 4);
	assert_true(ri_cpus_read("", &cpus));
	assert_int_equal(ri_cpus_count(&node, &count, &err), -1);
	assert_int_equal(err.code, RI_CODE_CPU_UNKNOWN);
	assert_int_equal(count, 4);
	/* the files of this machine are about another question */
	host.live = true;
	node.affinity = NULL;
	err = (struct ri_error)RI_ERROR_INIT;
	assert_int_equal(ri_cpus_count(&node, &count, &err), -1);
	assert_int_equal(err.code, RI_CODE_CPU_UNKNOWN);
	close(host.root);
}

static void test_unknown(void **state)
{
	struct ri_host host = tree_recorded("accounts");
	const struct ri_node node = { .host = &host, .env = &env, .arena = &arena,
		.findings = &findings };
	struct ri_error err = RI_ERROR_INIT;
	uint64_t count = 99;

	(void)state;
	assert_int_equal(ri_cpus_count(&node, &count, &err), -1);
	assert_int_equal(err.code, RI_CODE_CPU_UNKNOWN);
	assert_int_equal(count, 99);
	close(host.root);
}

static struct tree tree;

static int make_tree(void **state)
{
	static const char *const folders[] = { "proc", "proc/self", "sys", "sys/fs",
		"sys/fs/cgroup", "sys/fs/cgroup/a", "sys/fs/cgroup/a/b", "sys/fs/cgroup/cpu",
		"sys/fs/cgroup/unified" };

	(void)state;
	tree_make(&tree);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		tree_folder(&tree, folders[i]);
	return 0;
}

static int remove_tree(void **state)
{
	tree_remove(&tree);
	return give_back(state);
}

/* The quota with this /proc/self/cgroup and this mountinfo. */
static uint64_t found(const char *cgroup, const char *mountinfo)
{
	struct ri_host host = { .root = tree.fd };
	struct ri_group_limit quota;

	tree_file(&tree, "proc/self/cgroup", cgroup);
	tree_file(&tree, "proc/self/mountinfo", mountinfo);
	ri_group_limit_find(&quota, RI_GROUP_CPU, &host, &arena);
	assert_int_equal(quota.number == UINT64_MAX, quota.path[0] == '\0');
	ri_arena_release(&arena);
	return quota.number == UINT64_MAX ? 0 : quota.number;
}

#define V2 "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

static void test_where_the_quota_is(void **state)
{
	(void)state;
	tree_file(&tree, "sys/fs/cgroup/cpu.max", "800000 100000\n");
	tree_file(&tree, "sys/fs/cgroup/a/cpu.max", "600000 100000\n");
	tree_file(&tree, "sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
	tree_file(&tree, "sys/fs/cgroup/unified/cpu.max", "200000 100000\n");
	assert_int_equal(found("0::/\n", V2), 8000);
	assert_int_equal(found("0::/a\n", V2), 6000);
	assert_int_equal(found("0::/a/b\n", V2), 3000);
	/* a folder that is not there: those around it are */
	assert_int_equal(found("0::/a/c\n", V2), 6000);
	assert_int_equal(found("0::/gone/c\n", V2), 8000);
	/* the mount shows a part, and the path counts from the whole */
	assert_int_equal(found("0::/x/a\n", "1 2 0:3 /x /sys/fs/cgroup rw - cgroup2 c rw\n"), 6000);
	assert_int_equal(found("0::/x\n", "1 2 0:3 /x /sys/fs/cgroup rw - cgroup2 c rw\n"), 8000);
	assert_int_equal(found("0::/xa\n", "1 2 0:3 /x /sys/fs/cgroup rw - cgroup2 c rw\n"), 8000);
	assert_int_equal(found("0::/y/a\n", "1 2 0:3 /x /sys/fs/cgroup rw - cgroup2 c rw\n"), 8000);
	/* another namespace's */
	assert_int_equal(found("0::/../a\n", V2), 8000);
	assert_int_equal(found("0::/a/..b\n", V2), 6000);
	/* mounted elsewhere, as on a hybrid machine */
	assert_int_equal(found("0::/\n",
		"1 2 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"), 2000);
	assert_int_equal(found("0::/\n", "1 2 0:3 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"), 0);
	assert_int_equal(found("", V2), 0);
	assert_int_equal(found("4:memory:/\n", V2), 0);
}

static void test_version_1(void **state)
{
	static const char v1[] = "1 2 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";

	(void)state;
	tree_file(&tree, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
	tree_file(&tree, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
	assert_int_equal(found("4:cpu:/\n", v1), 5000);
	assert_int_equal(found("4:cpuacct,cpu:/\n", v1), 5000);
	assert_int_equal(found("4:cpuset:/\n", v1), 0);
	assert_int_equal(found("4:cpu:/\n",
		"1 2 0:3 / /sys/fs/cgroup/cpu rw - cgroup c rw,cpuset\n"), 0);
	/* both: the smaller one holds */
	tree_file(&tree, "sys/fs/cgroup/unified/cpu.max", "200000 100000\n");
	assert_int_equal(found("4:cpu:/\n0::/\n", "1 2 0:3 / /sys/fs/cgroup/cpu rw - cgroup c cpu\n"
		"1 2 0:3 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n"), 2000);
	tree_file(&tree, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "0\n");
	assert_int_equal(found("4:cpu:/\n", v1), 0);
	tree_file(&tree, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
	tree_file(&tree, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	assert_int_equal(found("4:cpu:/\n", v1), 0);
}

static uint64_t maximum(const char *text)
{
	tree_file(&tree, "sys/fs/cgroup/cpu.max", text);
	return found("0::/\n", V2);
}

static void test_maxima(void **state)
{
	(void)state;
	assert_int_equal(maximum("150000 100000\n"), 1500);
	assert_int_equal(maximum("1 1000000\n"), 1);
	assert_int_equal(maximum("1000000000000 1\n"), 1000000000000000);
	assert_int_equal(maximum("max 100000\n"), 0);
	assert_int_equal(maximum("max\n"), 0);
	assert_int_equal(maximum("100000\n"), 0);
	assert_int_equal(maximum("100000 0\n"), 0);
	assert_int_equal(maximum("0 100000\n"), 0);
	assert_int_equal(maximum("100000 100000 1\n"), 0);
	assert_int_equal(maximum("99999999999999999999 1\n"), 0);
	assert_int_equal(maximum("-1 100000\n"), 0);
	assert_int_equal(maximum(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_what_is_no_list),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_mount_flags),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_mount_source),
		cmocka_unit_test(test_recorded_machines),
		cmocka_unit_test(test_the_file_of_the_quota),
		cmocka_unit_test(test_affinity_of_this_machine),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_where_the_quota_is),
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_maxima),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
