/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "tree.h"

enum { UNTOUCHED = 987654321 };

static void recorded(const char *name, const char *path, uint64_t expected)
{
	struct ri_host host = tree_recorded(name);
	struct ri_cgroup_oom oom;
	uint64_t kills = UNTOUCHED;

	assert_int_equal(ri_cgroup_oom_find(&host, &oom, &kills), 0);
	assert_int_equal(kills, expected);
	assert_string_equal(oom.path, path);
	kills = UNTOUCHED;
	assert_int_equal(ri_cgroup_oom_read(&host, &oom, &kills), 0);
	assert_int_equal(kills, expected);
	close(host.root);
}

static void recorded_none(const char *name)
{
	struct ri_host host = tree_recorded(name);
	struct ri_cgroup_oom oom = { "something" };
	uint64_t kills = UNTOUCHED;

	assert_int_equal(ri_cgroup_oom_find(&host, &oom, &kills), -1);
	assert_string_equal(oom.path, "");
	assert_int_equal(ri_cgroup_oom_read(&host, &oom, &kills), -1);
	assert_int_equal(kills, UNTOUCHED);
	close(host.root);
}

static void test_v2(void **state)
{
	(void)state;
	recorded("cgroup-v2-docker", "sys/fs/cgroup/memory.events", 3);
	recorded("cgroup-v2-below", "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_0/"
		"user/task_0/memory.events", 1);
	recorded("cgroup-v2-own-part", "sys/fs/cgroup/memory.events", 5);
	recorded("cgroup-v2-dotdot", "sys/fs/cgroup/memory.events", 6);
}

static void test_v1(void **state)
{
	(void)state;
	recorded("cgroup-v1-docker", "sys/fs/cgroup/memory/memory.oom_control", 2);
	recorded("cgroup-hybrid",
		"sys/fs/cgroup/memory/docker/7f3cabe0c0ffee/memory.oom_control", 7);
}

/* A container in a container: thirteen hierarchies with paths of 400 bytes. */
static void test_v1_nested(void **state)
{
	(void)state;
	recorded("cgroup-v1-nested", "sys/fs/cgroup/memory/memory.oom_control", 4);
}

static void test_none(void **state)
{
	(void)state;
	recorded_none("cgroup-none");
	recorded_none("cgroup-v1-linux-4.4");
	recorded_none("accounts");
}

static struct tree tree;

static int make_tree(void **state)
{
	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "proc");
	tree_folder(&tree, "proc/self");
	tree_folder(&tree, "sys");
	tree_folder(&tree, "sys/fs");
	tree_folder(&tree, "sys/fs/cgroup");
	tree_folder(&tree, "sys/fs/cgroup/memory");
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

/* What is found with this /proc/self/cgroup and this memory.events; -1: nothing. */
static int64_t found(const char *cgroup, const char *events)
{
	struct ri_host host = { .root = tree.fd };
	struct ri_cgroup_oom oom;
	uint64_t kills = UNTOUCHED;

	tree_file(&tree, "proc/self/cgroup", cgroup);
	tree_file(&tree, "sys/fs/cgroup/memory.events", events);
	if (ri_cgroup_oom_find(&host, &oom, &kills) < 0) {
		assert_int_equal(kills, UNTOUCHED);
		assert_string_equal(oom.path, "");
		return -1;
	}
	return (int64_t)kills;
}

static void test_memberships(void **state)
{
	static const char events[] = "oom_kill 9\n";
	char line[4000] = "0::/";

	(void)state;
	assert_int_equal(found("0::/\n", events), 9);
	assert_int_equal(found("0::/", events), 9);
	assert_int_equal(found("0::", events), 9);
	assert_int_equal(found("0::/a:b:c\n", events), 9);
	assert_int_equal(found("0::/../..\n", events), 9);
	assert_int_equal(found("garbage\n\n:\n0::/\n", events), 9);
	assert_int_equal(found("1:name=systemd:/\n0::/\n", events), 9);
	assert_int_equal(found("", events), -1);
	assert_int_equal(found("\n\n", events), -1);
	assert_int_equal(found("0:", events), -1);
	assert_int_equal(found("0", events), -1);
	assert_int_equal(found("1:cpu:/\n", events), -1);
	/* not a controller of this name */
	assert_int_equal(found("1:memor:/\n2:memory2:/\n3:hugememory:/\n", events), -1);
	memset(line + 4, 'x', 3000);
	assert_int_equal(found(line, events), 9);
}

static void test_room(void **state)
{
	static const char oom_of_v2[] = "sys/fs/cgroup/memory.events";
	static const char oom_of_v1[] = "sys/fs/cgroup/memory/memory.oom_control";
	struct ri_host host = { .root = tree.fd };
	struct ri_cgroup_oom oom;
	uint64_t room = UNTOUCHED;

	(void)state;
	strcpy(oom.path, oom_of_v2);
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), -1);
	assert_int_equal(room, UNTOUCHED);
	tree_file(&tree, "sys/fs/cgroup/memory.max", "max\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_true(room == UINT64_MAX);
	tree_file(&tree, "sys/fs/cgroup/memory.max", "1000\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), -1);
	tree_file(&tree, "sys/fs/cgroup/memory.current", "900\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_int_equal(room, 100);
	/* the page cache is given up first */
	tree_file(&tree, "sys/fs/cgroup/memory.stat",
		"anon 1\nactive_file 30\ninactive_file 4\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_int_equal(room, 134);
	tree_file(&tree, "sys/fs/cgroup/memory.stat", "active_file 700\ninactive_file 600\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_int_equal(room, 1000);
	tree_file(&tree, "sys/fs/cgroup/memory.stat", "anon 1\n");
	tree_file(&tree, "sys/fs/cgroup/memory.current", "1900\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_int_equal(room, 0);
	strcpy(oom.path, oom_of_v1);
	tree_file(&tree, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_true(room == UINT64_MAX);
	tree_file(&tree, "sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n");
	tree_file(&tree, "sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n");
	tree_file(&tree, "sys/fs/cgroup/memory/memory.stat",
		"active_file 9\ntotal_active_file 7\n");
	assert_int_equal(ri_cgroup_room(&host, &oom, &room), 0);
	assert_int_equal(room, 7);
}

static void test_v1_controller_words(void **state)
{
	static const char v2[] = "oom_kill 9\n";

	(void)state;
	tree_file(&tree, "sys/fs/cgroup/memory/memory.oom_control", "oom_kill 5\n");
	assert_int_equal(found("1:memory:/\n0::/\n", v2), 5);
	assert_int_equal(found("1:cpu,memory:/\n", v2), 5);
	assert_int_equal(found("1:memory,cpu:/\n", v2), 5);
	assert_int_equal(found("1:cpu,memory,io:/\n", v2), 5);
	assert_int_equal(found("1:,memory:/\n", v2), 5);
	assert_int_equal(found("1:xmemory,memoryx:/\n0::/\n", v2), 9);
	assert_int_equal(unlinkat(tree.fd, "sys/fs/cgroup/memory/memory.oom_control", 0), 0);
}

static void test_counts(void **state)
{
	static const char v2[] = "0::/\n";

	(void)state;
	assert_int_equal(found(v2, "oom_kill 0\n"), 0);
	assert_int_equal(found(v2, "oom_kill 12"), 12);
	assert_int_equal(found(v2, "low 1\noom 2\noom_kill 3\noom_group_kill 4\n"), 3);
	assert_int_equal(found(v2, "oom_group_kill 4\noom 2\n"), -1);
	assert_int_equal(found(v2, "oom_kill_disable 1\nunder_oom 1\n"), -1);
	assert_int_equal(found(v2, "xoom_kill 1\n"), -1);
	assert_int_equal(found(v2, ""), -1);
	assert_int_equal(found(v2, "oom_kill"), -1);
	assert_int_equal(found(v2, "oom_kill \n"), -1);
	assert_int_equal(found(v2, "oom_kill -1\n"), -1);
	assert_int_equal(found(v2, "oom_kill 1x\n"), -1);
	assert_int_equal(found(v2, "oom_kill 99999999999999999999\n"), -1);
	assert_int_equal(found(v2, "oom_kill 9223372036854775807\n"), INT64_MAX);
	/* never a part of a number: cut after 23 digits this would be none */
	assert_int_not_equal(found(v2, "oom_kill 000000000000000000000000000012\n"), 0);
}

static void test_file_that_vanishes(void **state)
{
	struct ri_host host = { .root = tree.fd };
	const struct ri_cgroup_oom none = { "" };
	struct ri_cgroup_oom oom;
	uint64_t kills = UNTOUCHED;

	(void)state;
	tree_file(&tree, "proc/self/cgroup", "0::/\n");
	tree_file(&tree, "sys/fs/cgroup/memory.events", "oom_kill 1\n");
	assert_int_equal(ri_cgroup_oom_find(&host, &oom, &kills), 0);
	tree_file(&tree, "sys/fs/cgroup/memory.events", "oom_kill 2\n");
	assert_int_equal(ri_cgroup_oom_read(&host, &oom, &kills), 0);
	assert_int_equal(kills, 2);
	assert_int_equal(unlinkat(tree.fd, "sys/fs/cgroup/memory.events", 0), 0);
	assert_int_equal(ri_cgroup_oom_read(&host, &oom, &kills), -1);
	assert_int_equal(ri_cgroup_oom_read(&host, &none, &kills), -1);
	assert_int_equal(kills, 2);
}

/* Whatever this machine has: the answer and the path belong together. */
static void test_live(void **state)
{
	struct ri_host host = { .root = open("/", O_RDONLY | O_DIRECTORY), .live = true };
	struct ri_cgroup_oom oom;
	uint64_t kills = UNTOUCHED, again = UNTOUCHED;
	int found_one;

	(void)state;
	assert_true(host.root >= 0);
	found_one = ri_cgroup_oom_find(&host, &oom, &kills);
	assert_int_equal(found_one, oom.path[0] == '\0' ? -1 : 0);
	assert_int_equal(ri_cgroup_oom_read(&host, &oom, &again), found_one);
	if (found_one == 0)
		assert_true(again >= kills);
	else
		assert_int_equal(again, UNTOUCHED);
	close(host.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v1_nested),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_memberships),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_v1_controller_words),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_file_that_vanishes),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
