/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver and peer memory on recorded machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "node/devices.h"
#include "tree.h"

static const char *way;	/* to the memory of GPUs */

static struct ri_nvidia look(const char *machine)
{
	struct ri_host host = tree_recorded(machine);
	struct ri_nvidia nvidia;

	ri_nvidia_read(&nvidia, &host);
	way = ri_peer_memory_find(&nvidia, &host);
	close(host.root);
	return nvidia;
}

/* Open modules can do without a module for it, on a kernel that is new enough. */
static void test_dma_buf(void **state)
{
	static const struct {
		const char *release;
		bool open, found;
	} cases[] = {
		{ "5.12.0-rc1\n", true, true }, { "6.1.0-18-amd64\n", true, true },
		{ "5.11.22\n", true, false }, { "4.18.0\n", true, false }, { "5\n", true, false },
		{ "6.1.0-18-amd64\n", false, false },
	};
	struct tree tree;

	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "proc");
	tree_folder(&tree, "proc/sys");
	tree_folder(&tree, "proc/sys/kernel");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ri_host host = { .root = tree.fd };
		struct ri_nvidia nvidia = { .open = cases[i].open };

		tree_file(&tree, "proc/sys/kernel/osrelease", cases[i].release);
		way = ri_peer_memory_find(&nvidia, &host);
		assert_int_equal(way != NULL && strcmp(way, "dma-buf") == 0, cases[i].found);
	}
	tree_remove(&tree);
}

static void test_machines(void **state)
{
	struct ri_nvidia nvidia = look("az-nd96isr-h100");

	(void)state;
	assert_true(nvidia.driver && nvidia.open && nvidia.memory);
	assert_string_equal(nvidia.version, "580.95.05");
	assert_int_equal(nvidia.control, 0);
	assert_string_equal(way, "/sys/module/nvidia_peermem/version");

	nvidia = look("no-peermem");
	assert_string_equal(nvidia.version, "535.161.08");
	assert_false(nvidia.open);
	assert_null(way);

	nvidia = look("gpu-denied");
	assert_int_equal(nvidia.control, EPERM);

	nvidia = look("accounts");
	assert_false(nvidia.driver || nvidia.open || nvidia.memory);
	assert_string_equal(nvidia.version, "");
	assert_int_equal(nvidia.control, ENOENT);

	nvidia = look("corrupt");
	assert_true(nvidia.driver);
	assert_string_equal(nvidia.version, "");
}

static void test_versions(void **state)
{
	static const struct {
		const char *text, *version;
		bool open;
	} cases[] = {
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 "
			"UTC 2024\nGCC version:  12.3.0\n", "535.161.08", false },
		{ "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.124.06  Release\n",
			"570.124.06", true },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.51", "450.51", false },
		{ "NVRM version: NVIDIA UNIX Kernel Module  450.51\nOpen ", "450.51", false },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module\nGCC version: 12.3.0 \n", NULL,
			false },
		{ "NVRM version: Kernel Module 5. .5 5..\n", NULL, false },
		{ "NVRM version: Kernel Module 1111111111.2222222222.3333333333 \n", NULL, false },
		{ "GCC version:  Kernel Module 12.3.0 \n", NULL, false },
		{ "", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ri_nvidia nvidia = { .version = "old" };
		bool found = ri_nvidia_version(cases[i].text, &nvidia);

		assert_int_equal(found, cases[i].version != NULL);
		assert_string_equal(nvidia.version, found ? cases[i].version : "old");
		assert_int_equal(nvidia.open, cases[i].open);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dma_buf),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
