/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces, lists that choose among them, names and addresses, storage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/node.h"
#include "tree.h"

static struct ri_arena arena;

static void test_interfaces(void **state)
{
	struct ri_host host = tree_recorded("az-nd96asr-v4-1down");
	struct ri_interfaces all;

	(void)state;
	assert_true(ri_interfaces_find(&all, &host, &arena));
	assert_int_equal(all.count, 10);
	assert_string_equal(all.list[0].name, "eth0");
	assert_false(all.list[0].down || all.list[0].loopback);
	assert_string_equal(all.list[3].name, "ib2");
	assert_true(all.list[3].down);
	assert_string_equal(all.list[9].name, "lo");
	assert_true(all.list[9].loopback && !all.list[9].down);
	close(host.root);
	/* a plain file, and an interface without a type */
	host = tree_recorded("corrupt");
	assert_true(ri_interfaces_find(&all, &host, &arena));
	assert_int_equal(all.count, 9);
	assert_string_equal(all.list[0].name, "ib0");
	close(host.root);
	host = tree_recorded("accounts");
	assert_false(ri_interfaces_find(&all, &host, &arena));
	assert_int_equal(all.count, 0);
	close(host.root);
	ri_arena_release(&arena);
}

/* On a host's network, one for each pod. */
static void test_many_interfaces(void **state)
{
	struct ri_interfaces all;
	struct ri_host host;
	struct tree tree;
	char path[64];

	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "sys");
	tree_folder(&tree, "sys/class");
	tree_folder(&tree, "sys/class/net");
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "sys/class/net/veth%03d", i);
		tree_folder(&tree, path);
		snprintf(path, sizeof(path), "sys/class/net/veth%03d/type", i);
		tree_file(&tree, path, "1\n");
	}
	host = (struct ri_host){ .root = tree.fd };
	assert_true(ri_interfaces_find(&all, &host, &arena));
	assert_int_equal(all.count, 300);
	assert_string_equal(all.list[299].name, "veth299");
	ri_arena_release(&arena);
	tree_remove(&tree);
}

static void test_choices(void **state)
{
	static const struct {
		const char *list;
		enum ri_choice_kind kind;
		const char *name;
		bool taken;
	} cases[] = {
		{ "eth", RI_CHOICE_NCCL, "eth0", true },
		{ "eth0,ib", RI_CHOICE_NCCL, "ib7", true },
		{ "eth0, ib", RI_CHOICE_NCCL, "ib7", true },
		{ "eth1", RI_CHOICE_NCCL, "eth0", false },
		{ "eth1", RI_CHOICE_NCCL, "eth10", true },
		{ "=eth1", RI_CHOICE_NCCL, "eth10", false },
		{ "=eth1,eth10", RI_CHOICE_NCCL, "eth10", true },
		{ "^docker,lo", RI_CHOICE_NCCL, "docker0", false },
		{ "^docker,lo", RI_CHOICE_NCCL, "eth0", true },
		{ "^=eth1", RI_CHOICE_NCCL, "eth10", true },
		{ "^=eth1", RI_CHOICE_NCCL, "eth1", false },
		{ "mlx5_0:1,mlx5_1:1", RI_CHOICE_NCCL, "mlx5_1", true },
		{ "=mlx5_0:1", RI_CHOICE_NCCL, "mlx5_01", false },
		{ "=mlx5_0:1", RI_CHOICE_NCCL, "mlx5_0", true },
		{ "^=, a:1 ,:2,b", RI_CHOICE_NCCL, "a", false },
		{ "^=, a:1 ,:2,b", RI_CHOICE_NCCL, "b1", true },
		{ "^=, a:1 ,:2,b", RI_CHOICE_NCCL, "", false },
		{ "", RI_CHOICE_NCCL, "eth0", true },
		{ ",,", RI_CHOICE_NCCL, "eth0", true },
		{ "^", RI_CHOICE_NCCL, "eth0", false },
		{ "^=,", RI_CHOICE_NCCL, "eth0", false },
		{ "eth", RI_CHOICE_NAMES, "eth0", false },
		{ "eth0,eth1", RI_CHOICE_NAMES, "eth1", true },
		{ "^eth0", RI_CHOICE_NAMES, "eth1", false },
		{ "^eth0", RI_CHOICE_NAMES, "^eth0", true },
		{ "=eth0", RI_CHOICE_NAMES, "eth0", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (ri_choice_takes(cases[i].list, cases[i].kind, cases[i].name) != cases[i].taken)
			fail_msg("\"%s\" %s", cases[i].list, cases[i].name);
}

static void test_hosts(void **state)
{
	static const char text[] = "# 10.0.0.1 node-9\n"
		"127.0.0.1\tlocalhost\n"
		"   10.0.0.4 NODE-0.example.com node-0 # node-1\n"
		"127.0.1.1 node-0\n"
		"lonely\n"
		"fe80::1%eth0 node-2\n"
		"10.0.0.5\tnode-3";
	char address[16] = "untouched";

	(void)state;
	assert_true(ri_hosts_find(text, "node-0", address, sizeof(address)));
	assert_string_equal(address, "10.0.0.4");
	assert_true(ri_hosts_find(text, "node-0.EXAMPLE.com", address, sizeof(address)));
	assert_true(ri_hosts_find(text, "node-3", address, sizeof(address)));
	assert_string_equal(address, "10.0.0.5");
	assert_true(ri_hosts_find(text, "node-2", address, sizeof(address)));
	assert_string_equal(address, "fe80::1%eth0");
	assert_false(ri_hosts_find(text, "node-2", address, 12));
	assert_false(ri_hosts_find(text, "node-1", address, sizeof(address)));
	assert_false(ri_hosts_find(text, "node-9", address, sizeof(address)));
	assert_false(ri_hosts_find(text, "node", address, sizeof(address)));
	assert_false(ri_hosts_find(text, "", address, sizeof(address)));
	assert_false(ri_hosts_find(text, "10.0.0.5", address, sizeof(address)));
	assert_false(ri_hosts_find("", "node-0", address, sizeof(address)));
	assert_string_equal(address, "fe80::1%eth0");
}

static void test_loopback(void **state)
{
	static const char *const own[] = {
		"localhost", "LocalHost", "localhost.localdomain", "ip6-localhost",
		"ip6-loopback", "127.0.0.1", "127.0.1.1", "::1", "0:0:0:0:0:0:0:1", "0.0.0.0", "::",
	};
	static const char *const others[] = {
		"", "localhosts", "localhost.example", "local", "127", "127.host", "128.0.0.1",
		"10.0.0.4", "1.0.0.127", "::2", "::ffff:10.0.0.4", "fe80::1", "node-0",
		"1111111111111111111111111111111111111111111111111111111111111",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		assert_true(ri_loopback_is(own[i], strlen(own[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(ri_loopback_is(others[i], strlen(others[i])));
	assert_true(ri_loopback_is("localhosts", strlen("localhost")));
	assert_true(ri_loopback_is("127.0.0.1:80", strlen("127.0.0.1")));
}

static void test_hostname(void **state)
{
	struct ri_host host = tree_recorded("az-nd96isr-h100");
	char name[256];

	(void)state;
	assert_true(ri_hostname_read(&host, name, sizeof(name)));
	assert_string_equal(name, "node-0");
	assert_false(ri_hostname_read(&host, name, 6));
	assert_string_equal(name, "");
	close(host.root);
	host = tree_recorded("accounts");
	assert_false(ri_hostname_read(&host, name, sizeof(name)));
	assert_string_equal(name, "");
	close(host.root);
}

static void lies_on(const char *path, enum ri_storage storage, const char *point)
{
	struct ri_host host = tree_recorded("data-mounts");
	struct ri_mount mount;
	char text[8192];

	assert_true(ri_host_read(&host, "proc/self/mountinfo", text, sizeof(text)) > 0);
	close(host.root);
	assert_true(ri_mount_of(text, path, &mount));
	assert_string_equal(mount.point, point);
	assert_int_equal(ri_storage_of(&mount), storage);
	assert_true(strlen(ri_storage_name(storage)) > 0);
}

static void test_storage(void **state)
{
	char none[] = "", other[] = "1 2 0:1 / /mnt rw - nfs a:/b rw\n";
	struct ri_mount mount;

	(void)state;
	lies_on("/data", RI_STORAGE_LOCAL, "/");
	lies_on("/", RI_STORAGE_LOCAL, "/");
	lies_on("/mnt/data/imagenet", RI_STORAGE_LOCAL, "/mnt/data");
	lies_on("/mnt/database", RI_STORAGE_LOCAL, "/");
	lies_on("/mnt/blob", RI_STORAGE_BLOBFUSE, "/mnt/blob");
	lies_on("/mnt/blob/train/1", RI_STORAGE_BLOBFUSE, "/mnt/blob");
	lies_on("/mnt/blob/cache/x", RI_STORAGE_LOCAL, "/mnt/blob/cache");
	lies_on("/mnt/blob1/", RI_STORAGE_BLOBFUSE, "/mnt/blob1");
	lies_on("/mnt/files/a", RI_STORAGE_CIFS, "/mnt/files");
	lies_on("/mnt/my nfs/a", RI_STORAGE_NFS, "/mnt/my nfs");
	lies_on("/mnt/lustre/a", RI_STORAGE_PARALLEL, "/mnt/lustre");
	assert_false(ri_mount_of(none, "/", &mount));
	assert_false(ri_mount_of(other, "/data", &mount));
}

/* As the kernel writes what was mounted without a name, and no more. */
static void test_no_source(void **state)
{
	char text[] = "1 2 0:1 / /dev/shm rw - tmpfs  rw,size=64k\n"
		"1 2 0:1 / /mnt rw - tmpfs none rw\n1 2 0:1 / /cut rw - tmpfs \n";
	char *rest = text;
	struct ri_mount mount;

	(void)state;
	assert_true(ri_mount_next(&rest, &mount));
	assert_string_equal(mount.source, "");
	assert_string_equal(mount.options, "rw,size=64k");
	assert_true(ri_mount_next(&rest, &mount));
	assert_string_equal(mount.source, "none");
	assert_string_equal(mount.options, "rw");
	assert_false(ri_mount_next(&rest, &mount));
}

static void test_kinds(void **state)
{
	static const struct {
		const char *type, *source;
		enum ri_storage storage;
	} cases[] = {
		{ "fuse", "s3fs", RI_STORAGE_FUSE },
		{ "fuse.gcsfuse", "bucket", RI_STORAGE_FUSE },
		{ "fuse.blobfuse2", "x", RI_STORAGE_BLOBFUSE },
		{ "fuse", "blobfuse", RI_STORAGE_BLOBFUSE },
		{ "fuse", "/usr/bin/blobfuse2", RI_STORAGE_BLOBFUSE },
		{ "fuse.rslex-mount", "x", RI_STORAGE_BLOBFUSE },
		{ "cifs", "//blobfuse/a", RI_STORAGE_CIFS },
		{ "fuse.fuse-overlayfs", "fuse-overlayfs", RI_STORAGE_LOCAL },
		{ "fuseblk", "/dev/sdb1", RI_STORAGE_LOCAL },
		{ "smb3", "//a/b", RI_STORAGE_CIFS },
		{ "nfs", "a:/b", RI_STORAGE_NFS },
		{ "nfsd", "nfsd", RI_STORAGE_LOCAL },
		{ "beegfs", "beegfs_nodev", RI_STORAGE_PARALLEL },
		{ "xfs", "/dev/nvme0n1", RI_STORAGE_LOCAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ri_mount mount = { .type = cases[i].type, .source = cases[i].source };

		if (ri_storage_of(&mount) != cases[i].storage)
			fail_msg("%s of %s", cases[i].type, cases[i].source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interfaces),
		cmocka_unit_test(test_many_interfaces),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_hostname),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_no_source),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
