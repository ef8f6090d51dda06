/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA devices, their nodes and their driver on recorded machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "node/devices.h"
#include "tree.h"

static struct ri_arena arena;
static struct ri_host host;
static struct ri_hcas hcas;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	if (host.root > 0)
		close(host.root);
	host.root = 0;
	return 0;
}

static void look(const char *machine)
{
	give_back(NULL);
	host = tree_recorded(machine);
	ri_hcas_find(&hcas, &host, &arena);
	ri_hcas_open(&hcas, &host);
}

static size_t count_link(enum ri_link link)
{
	size_t count = 0;

	for (size_t i = 0; i < hcas.count; i++)
		count += ri_hca_has(&hcas.list[i], link);
	return count;
}

static void test_eight_and_one(void **state)
{
	const struct ri_hca *hca;

	(void)state;
	look("az-nd96isr-h100");
	assert_int_equal(hcas.count, 9);
	assert_int_equal(hcas.error, 0);
	assert_false(hcas.exclusive);
	assert_int_equal(count_link(RI_LINK_INFINIBAND), 8);
	assert_int_equal(count_link(RI_LINK_ETHERNET), 1);
	hca = &hcas.list[0];
	assert_string_equal(hca->name, "mlx5_an0");
	hca = &hcas.list[4];
	assert_string_equal(hca->name, "mlx5_ib3");
	assert_string_equal(hca->driver, "mlx5_core");
	assert_int_equal(hca->count, 1);
	assert_int_equal(hca->ports[0].number, 1);
	assert_int_equal(hca->ports[0].link, RI_LINK_INFINIBAND);
	assert_int_equal(hca->ports[0].state, RI_PORT_ACTIVE);
	assert_int_equal(hca->ports[0].phys, RI_PHYS_UP);
	assert_int_equal(hca->ports[0].rate, 400000);
	assert_int_equal(hca->ports[0].manager, 1);
}

static void test_nodes(void **state)
{
	(void)state;
	look("az-nd96isr-h100");
	assert_string_equal(hcas.list[0].name, "mlx5_an0");
	assert_string_equal(hcas.list[0].node, "/dev/infiniband/uverbs8");
	assert_string_equal(hcas.list[8].node, "/dev/infiniband/uverbs7");
	for (size_t i = 0; i < hcas.count; i++) {
		assert_int_equal(hcas.list[i].error, 0);
		assert_false(hcas.list[i].stale);
	}
	look("docker-default");
	assert_int_equal(hcas.count, 9);
	for (size_t i = 0; i < hcas.count; i++)
		assert_int_equal(hcas.list[i].error, ENOENT);
	look("ib-denied");
	assert_int_equal(hcas.list[1].error, EPERM);
	assert_int_equal(hcas.list[2].error, EACCES);
	assert_int_equal(hcas.list[3].error, ENOENT);
	assert_int_equal(hcas.list[4].error, 0);
}

static void test_other_machines(void **state)
{
	(void)state;
	look("az-nd96is-h200");
	assert_int_equal(hcas.count, 1);
	assert_int_equal(count_link(RI_LINK_INFINIBAND), 0);
	look("az-nd96asr-v4-1down");
	assert_int_equal(hcas.list[3].ports[0].state, RI_PORT_DOWN);
	assert_int_equal(hcas.list[3].ports[0].phys, RI_PHYS_POLLING);
	assert_int_equal(hcas.list[4].ports[0].rate, 200000);
	look("az-nc24rs-v3");
	assert_int_equal(hcas.count, 1);
	assert_string_equal(hcas.list[0].driver, "mlx4_core");
	assert_int_equal(hcas.list[0].ports[0].rate, 56000);
	look("ib-init");
	assert_int_equal(hcas.list[1].ports[0].state, RI_PORT_INIT);
	assert_int_equal(hcas.list[1].ports[0].manager, 0);
	look("az-nc24r");
	assert_int_equal(hcas.count, 0);
	assert_int_equal(hcas.error, ENOENT);
	/* two of eight, by links that begin at the root */
	look("enroot");
	assert_int_equal(hcas.count, 2);
	assert_string_equal(hcas.list[1].driver, "mlx5_core");
	assert_int_equal(hcas.list[1].ports[0].state, RI_PORT_ACTIVE);
	assert_string_equal(hcas.list[1].node, "/dev/infiniband/uverbs1");
	assert_int_equal(hcas.list[1].error, 0);
}

static void test_corrupt(void **state)
{
	(void)state;
	look("corrupt");
	assert_int_equal(hcas.count, 9);
	assert_string_equal(hcas.list[1].name, "mlx5_ib0");
	assert_int_equal(hcas.list[1].count, 1);
	assert_int_equal(hcas.list[1].ports[0].link, RI_LINK_UNKNOWN);
	assert_int_equal(hcas.list[1].ports[0].state, 0);
	assert_int_equal(hcas.list[1].ports[0].rate, 0);
	assert_int_equal(hcas.list[1].error, 0);
	assert_false(hcas.list[1].stale);
	assert_string_equal(hcas.list[2].node, "");
	assert_int_equal(hcas.list[2].error, ENODEV);
	assert_int_equal(hcas.list[3].error, ENODEV);
}

/* A number, and nothing else, in files that have one in hexadecimal. */
static void test_hexadecimal(void **state)
{
	static const char file[] = "sys/class/infiniband/mlx5_0/ports/1/sm_lid";
	static const struct {
		const char *text;
		unsigned number;
	} cases[] = {
		{ "0x800b\n", 0x800b }, { "0x7FFF\n", 0x7fff }, { "0x0000\n", 0 }, { "0x\n", 0 },
		{ "800b\n", 0 }, { "0x800b!\n", 0 }, { "0x\x11\n", 0 },
		/* that of an extended fabric is longer than 16 bits */
		{ "0x12345\n", 0x12345 },
	};
	struct tree tree;

	(void)state;
	tree_make(&tree);
	for (const char *const *folder = (const char *const[]){ "sys", "sys/class",
		     "sys/class/infiniband", "sys/class/infiniband/mlx5_0",
		     "sys/class/infiniband/mlx5_0/ports", "sys/class/infiniband/mlx5_0/ports/1",
		     NULL }; *folder != NULL; folder++)
		tree_folder(&tree, *folder);
	host = (struct ri_host){ .root = tree.fd };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_file(&tree, file, cases[i].text);
		ri_hcas_find(&hcas, &host, &arena);
		if (hcas.list[0].ports[0].manager != cases[i].number)
			fail_msg("%s", cases[i].text);
	}
	host.root = 0;
	tree_remove(&tree);
}

static void test_exclusive(void **state)
{
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "sys");
	tree_folder(&tree, "sys/module");
	tree_folder(&tree, "sys/module/ib_core");
	tree_folder(&tree, "sys/module/ib_core/parameters");
	tree_file(&tree, "sys/module/ib_core/parameters/netns_mode", "N\n");
	host = (struct ri_host){ .root = tree.fd };
	ri_hcas_find(&hcas, &host, &arena);
	assert_true(hcas.exclusive);
	assert_int_equal(hcas.count, 0);
	host.root = 0;
	tree_remove(&tree);
}

/* More devices, and other numbers, than there are. */
static void test_many(void **state)
{
	struct tree tree;
	char path[64];

	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "sys");
	tree_folder(&tree, "sys/class");
	tree_folder(&tree, "sys/class/infiniband");
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "sys/class/infiniband/mlx5_%d", i);
		tree_folder(&tree, path);
		snprintf(path, sizeof(path), "sys/class/infiniband/mlx5_%d/ports", i);
		tree_folder(&tree, path);
	}
	for (int i = 1; i < 12; i++) {
		snprintf(path, sizeof(path), "sys/class/infiniband/mlx5_0/ports/%d", 12 - i);
		tree_folder(&tree, path);
	}
	tree_folder(&tree, "sys/class/infiniband/mlx5_1/ports/1");
	tree_folder(&tree, "sys/class/infiniband/mlx5_1/ports/01");
	tree_folder(&tree, "sys/class/infiniband/mlx5_1/ports/0");
	host = (struct ri_host){ .root = tree.fd };
	ri_hcas_find(&hcas, &host, &arena);
	assert_int_equal(hcas.count, RI_MAX_HCAS);
	assert_int_equal(hcas.list[1].count, 1);
	assert_true(hcas.count >= 9 * 16);
	for (size_t i = 1; i < hcas.count; i++)
		assert_true(atoi(hcas.list[i - 1].name + 5) < atoi(hcas.list[i].name + 5));
	assert_string_equal(hcas.list[0].name, "mlx5_0");
	assert_int_equal(hcas.list[0].count, RI_MAX_HCA_PORTS);
	for (size_t j = 1; j < RI_MAX_HCA_PORTS; j++)
		assert_true(hcas.list[0].ports[j - 1].number < hcas.list[0].ports[j].number);
	host.root = 0;
	tree_remove(&tree);
}

static void test_rates(void **state)
{
	(void)state;
	assert_int_equal(ri_rate_read("400 Gb/sec (4X NDR)"), 400000);
	assert_int_equal(ri_rate_read("2.5 Gb/sec (1X SDR)"), 2500);
	assert_int_equal(ri_rate_read("800 Gb/sec (4X XDR)"), 800000);
	assert_int_equal(ri_rate_read("100 Gb/sec"), 100000);
	assert_int_equal(ri_rate_read(""), 0);
	assert_int_equal(ri_rate_read("100"), 0);
	assert_int_equal(ri_rate_read("100 Mb/sec"), 0);
	assert_int_equal(ri_rate_read("fast Gb/sec"), 0);
	assert_int_equal(ri_rate_read("2.55 Gb/sec"), 0);
	assert_int_equal(ri_rate_read("1000001 Gb/sec"), 0);
	assert_int_equal(ri_rate_read("99999999999999999999 Gb/sec"), 0);
	assert_string_equal(ri_port_state_name(RI_PORT_ARMED), "ARMED");
	assert_string_equal(ri_port_state_name(0), "unknown");
	assert_string_equal(ri_port_state_name(6), "unknown");
	assert_string_equal(ri_port_state_name(UINT64_MAX), "unknown");
}

static struct ri_ofed ofed_of(const char *machine)
{
	struct ri_ofed ofed;

	give_back(NULL);
	host = tree_recorded(machine);
	ri_ofed_read(&ofed, &host);
	return ofed;
}

static void test_drivers(void **state)
{
	static const struct {
		const char *machine;
		enum ri_ofed_kind kind;
		const char *version, *name;
	} cases[] = {
		{ "inbox-6.8", RI_OFED_INBOX, "", NULL },
		{ "inbox-5.4", RI_OFED_INBOX, "5.0-0", NULL },
		{ "inbox-distro", RI_OFED_INBOX, "4.18.0-553.22.1.el8_10.x86_64", NULL },
		{ "mofed-5.4", RI_OFED_MELLANOX, "5.4-3.1.0", "MLNX_OFED" },
		{ "ofed-23.10", RI_OFED_MELLANOX, "23.10-1.1.9", "MLNX_OFED" },
		{ "doca-25.10", RI_OFED_MELLANOX, "25.10-1.2.8", "DOCA-OFED" },
		{ "az-nc24rs-v3", RI_OFED_MELLANOX, "4.9-0.1.7", "MLNX_OFED" },
		{ "corrupt", RI_OFED_MELLANOX, "99999999999999999999.-",
			"MLNX_OFED or DOCA-OFED" },
		{ "az-nc24r", RI_OFED_NONE, "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ri_ofed ofed = ofed_of(cases[i].machine);

		assert_int_equal(ofed.kind, cases[i].kind);
		assert_string_equal(ofed.version, cases[i].version);
		if (cases[i].name != NULL)
			assert_string_equal(ri_ofed_name(&ofed), cases[i].name);
	}
	assert_null(ofed_of("az-nc24r").module);
	assert_string_equal(ofed_of("az-nc24rs-v3").module, "mlx4_core");
}

static void test_versions(void **state)
{
	static const char *const inbox[] = { "", "5.0-0", "3.0-1", "4.0-0", "2.2-1", "5", "5.",
		"5.4", "x", "-", "5.4.0-1103.2", "v5.4-3.1", "6.8-3.1-release" };
	static const char *const ours[] = { "5.4-3.1.0", "4.9-0.1.7", "23.10-1.1.9",
		"24.10-0.7.0", "26.01-OFED.26.01.0.1" };

	(void)state;
	for (size_t i = 0; i < sizeof(inbox) / sizeof(inbox[0]); i++)
		if (ri_ofed_judge(inbox[i], "6.8-3.1-release") != RI_OFED_INBOX)
			fail_msg("%s", inbox[i]);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		assert_int_equal(ri_ofed_judge(ours[i], ""), RI_OFED_MELLANOX);
	assert_string_equal(ri_ofed_name(&(struct ri_ofed){ .version = "24.10-0.7.0" }),
		"MLNX_OFED or DOCA-OFED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eight_and_one),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_hexadecimal),
		cmocka_unit_test(test_exclusive),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, give_back);
}
