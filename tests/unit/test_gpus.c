/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that a program would see on recorded machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/devices.h"
#include "tree.h"

#define UUID_0 "GPU-5a3b0000-7d6f-4c1e-8a42-90b1c2d3e400"
#define UUID_3 "GPU-5a3b0333-7d6f-4c1e-8a42-90b1c2d3e403"

static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_env env;
static struct ri_host host;
static struct ri_error err;
static struct ri_gpus gpus;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	if (host.root > 0)
		close(host.root);
	host.root = 0;
	return 0;
}

/* The machine, and an environment of one variable. */
static struct ri_node prepare(const char *machine, const char *variable)
{
	static char *strings[2];

	give_back(NULL);
	findings.count = 0;
	err = (struct ri_error)RI_ERROR_INIT;
	host = tree_recorded(machine);
	strings[0] = ri_arena_copy(&arena, variable, strlen(variable));
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	return (struct ri_node){ .host = &host, .env = &env, .arena = &arena,
		.findings = &findings };
}

/* The names, with blanks between; how many findings there are is checked too. */
static const char *seen_with(const char *machine, const char *variable, size_t warnings)
{
	const struct ri_node node = prepare(machine, variable);
	static char bytes[4096];
	struct ri_text text;
	uint64_t count = 99;

	text = ri_text_of(bytes, sizeof(bytes));
	if (ri_gpus_find(&gpus, &node, &err) < 0)
		fail_msg("%s: %s", err.subject, err.text);
	assert_int_equal(findings.count, warnings);
	for (size_t i = 0; i < warnings; i++) {
		assert_int_equal(findings.items[i].code, RI_CODE_GPU_VISIBLE);
		assert_int_equal(findings.items[i].severity, RI_SEVERITY_WARNING);
		assert_string_equal(findings.items[i].subject, "CUDA_VISIBLE_DEVICES");
	}
	for (size_t i = 0; i < gpus.count; i++)
		ri_text_addf(&text, "%s%s", i == 0 ? "" : " ", gpus.list[i].name);
	if (gpus.others == NULL) {
		assert_int_equal(ri_gpus_count(&node, &count, &err), 0);
		assert_int_equal(count, gpus.count);
	}
	return bytes;
}

static const char *seen(const char *machine, const char *variable)
{
	return seen_with(machine, variable == NULL ? "A=B" : variable, 0);
}

static const char *cut(const char *machine, const char *variable)
{
	return seen_with(machine, variable, 1);
}

static void refuse(const char *machine, const char *variable, const char *text)
{
	const struct ri_node node = prepare(machine, variable);
	uint64_t count = 99;

	assert_int_equal(ri_gpus_count(&node, &count, &err), -1);
	assert_int_equal(count, 99);
	assert_int_equal(err.code, RI_CODE_ENV_VALUE);
	assert_string_equal(err.subject, "CUDA_VISIBLE_DEVICES");
	if (strstr(err.text, text) == NULL)
		fail_msg("%s", err.text);
}

static void test_all(void **state)
{
	(void)state;
	assert_string_equal(seen("two-sockets-8-gpus", NULL), "0 1 2 3 4 5 6 7");
	assert_string_equal(gpus.list[0].address, "0000:07:00.0");
	assert_string_equal(gpus.list[7].address, "0000:bd:00.0");
	assert_false(gpus.instances);
	assert_false(gpus.hidden);
	assert_string_equal(seen("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=7,6,5,4,3,2,1,0"),
		"7 6 5 4 3 2 1 0");
	assert_false(gpus.hidden);
	assert_string_equal(seen("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=7,6"), "7 6");
	assert_true(gpus.hidden);
	/* the host shows all eight, two have nodes here */
	assert_string_equal(seen("pod-2-of-8-gpus", NULL), "0 1");
	assert_string_equal(gpus.list[0].address, "0000:4e:00.0");
	assert_string_equal(gpus.list[1].address, "0000:b7:00.0");
	assert_string_equal(seen("offline-cpus", NULL), "");
	assert_string_equal(seen("accounts", NULL), "");
	assert_string_equal(seen("vm-hidden-bus", NULL), "0 1 2 3");
}

static void test_nodes_alone(void **state)
{
	(void)state;
	assert_string_equal(seen("gpu-nodes-alone", NULL), "0 1 2");
	assert_null(gpus.list[0].address);
	assert_string_equal(seen("gpu-nodes-alone", "CUDA_VISIBLE_DEVICES=2,0"), "2 0");
	/* no identifier is known: it is believed */
	assert_string_equal(seen("gpu-nodes-alone", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2"),
		"GPU-1 GPU-2");
}

static void test_visible(void **state)
{
	static const char h[] = "two-sockets-8-gpus";

	(void)state;
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=6,1"), "6 1");
	assert_string_equal(gpus.list[0].address, "0000:b7:00.0");
	assert_string_equal(gpus.list[1].address, "0000:0f:00.0");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES= 3 , 4"), "3 4");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES="), "");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=-1"), "");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=0,2,-1,1"), "0 2");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=0,1,"), "0 1");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=" UUID_3 "," UUID_0),
		UUID_3 " " UUID_0);
	assert_string_equal(gpus.list[0].address, "0000:4e:00.0");
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=GPU-5a3b0333"), "GPU-5a3b0333");
	assert_string_equal(gpus.list[0].address, "0000:4e:00.0");
}

static void test_ends_early(void **state)
{
	(void)state;
	assert_string_equal(cut("pod-2-of-8-gpus", "CUDA_VISIBLE_DEVICES=0,1,2,3"), "0 1");
	assert_string_equal(findings.items[0].text, "\"2\" is not the index of a GPU here: CUDA "
		"ends the list there, so 2 of 2 GPUs are used");
	assert_string_equal(cut("pod-2-of-8-gpus", "CUDA_VISIBLE_DEVICES=1,7,0"), "1");
	assert_string_equal(cut("pod-2-of-8-gpus", "CUDA_VISIBLE_DEVICES=" UUID_3 "," UUID_0),
		UUID_3);
	assert_string_equal(cut("pod-2-of-8-gpus", "CUDA_VISIBLE_DEVICES=1,,0"), "1");
	assert_string_equal(cut("pod-2-of-8-gpus", "CUDA_VISIBLE_DEVICES=99999999999"), "");
	assert_string_equal(cut("offline-cpus", "CUDA_VISIBLE_DEVICES=0"), "");
	assert_string_equal(cut("offline-cpus", "CUDA_VISIBLE_DEVICES=" UUID_0), "");
}

static void test_cannot_be_used(void **state)
{
	static const char h[] = "two-sockets-8-gpus";

	(void)state;
	refuse(h, "CUDA_VISIBLE_DEVICES=0,1,0", "\"0\" is listed twice");
	refuse(h, "CUDA_VISIBLE_DEVICES=0," UUID_0, "is listed twice");
	refuse(h, "CUDA_VISIBLE_DEVICES=" UUID_0 "," UUID_0, "is listed twice");
	refuse(h, "CUDA_VISIBLE_DEVICES=all", "\"all\" is neither");
	refuse(h, "CUDA_VISIBLE_DEVICES=0;1", "\"0;1\" is neither");
	refuse(h, "CUDA_VISIBLE_DEVICES=1gpu", "\"1gpu\" is neither");
	refuse(h, "CUDA_VISIBLE_DEVICES=99999999999999999999", "neither");
	refuse(h, "CUDA_VISIBLE_DEVICES=GPU-5a3b", "prefix of several");
	refuse(h, "CUDA_VISIBLE_DEVICES=\033[2J", "\\x1b[2J");
}

static void test_what_the_runtime_says(void **state)
{
	static const char h[] = "two-sockets-8-gpus";

	(void)state;
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES=none"), "");
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES=void"), "0 1 2 3 4 5 6 7");
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES="), "0 1 2 3 4 5 6 7");
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES=all"), "0 1 2 3 4 5 6 7");
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES=0,1"), "0 1 2 3 4 5 6 7");
	assert_string_equal(seen(h, "NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices"),
		"0 1 2 3 4 5 6 7");
}

static void test_instances(void **state)
{
	static const char h[] = "mig-gpu";

	(void)state;
	assert_string_equal(seen_with(h, "A=B", 1), "0");
	assert_non_null(strstr(findings.items[0].text, "2 MIG instances are here"));
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b"), "MIG-a MIG-b");
	assert_true(gpus.instances);
	assert_false(gpus.hidden);
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=MIG-a"), "MIG-a");
	assert_true(gpus.hidden);
	assert_string_equal(seen_with(h, "CUDA_VISIBLE_DEVICES=0", 1), "0");
	assert_false(gpus.hidden);
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b"), "MIG-a MIG-b");
	/* the only GPU there is must be theirs */
	assert_string_equal(gpus.list[1].address, "0000:17:00.0");
	refuse(h, "CUDA_VISIBLE_DEVICES=MIG-a,MIG-a", "is listed twice");
	assert_string_equal(seen("two-sockets-8-gpus",
		"CUDA_VISIBLE_DEVICES=MIG-" UUID_3 "/3/0,MIG-" UUID_3 "/4/0,MIG-c"),
		"MIG-" UUID_3 "/3/0 MIG-" UUID_3 "/4/0 MIG-c");
	assert_string_equal(gpus.list[0].address, "0000:4e:00.0");
	assert_string_equal(gpus.list[1].address, "0000:4e:00.0");
	assert_null(gpus.list[2].address);
	assert_string_equal(seen(h, "CUDA_VISIBLE_DEVICES="), "");
	assert_string_equal(cut("offline-cpus", "CUDA_VISIBLE_DEVICES=MIG-a"), "");
}

static void test_others(void **state)
{
	struct ri_node node;
	uint64_t count = 99;

	(void)state;
	assert_string_equal(seen("amd-gpus", NULL), "");
	assert_string_equal(gpus.others, "/dev/kfd");
	node = prepare("amd-gpus", "A=B");
	assert_int_equal(ri_gpus_count(&node, &count, &err), -1);
	assert_int_equal(count, 99);
	assert_int_equal(err.code, RI_CODE_GPU_UNKNOWN);
	assert_string_equal(err.subject, "/dev/kfd");
}

static void next_to(size_t index, const char *list)
{
	char bytes[256] = "";
	struct ri_cpus cpus;
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	assert_int_equal(ri_gpu_cpus(&host, &gpus.list[index], &cpus), list != NULL);
	if (list != NULL) {
		ri_cpus_add(&text, &cpus);
		assert_string_equal(bytes, list);
	}
}

static void test_next_to(void **state)
{
	(void)state;
	seen("two-sockets-8-gpus", NULL);
	next_to(0, "0-7,16-23");
	next_to(7, "8-15,24-31");
	seen("vm-hidden-bus", NULL);
	next_to(0, NULL);
	seen("gpu-nodes-alone", NULL);
	next_to(0, NULL);
	seen("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=MIG-a");
	next_to(0, NULL);
	seen("mig-gpu", "CUDA_VISIBLE_DEVICES=MIG-a");
	next_to(0, "0-7");
}

static struct tree tree;

static int make_tree(void **state)
{
	static const char *const folders[] = { "proc", "proc/driver", "proc/driver/nvidia",
		"proc/driver/nvidia/gpus", "dev" };
	char path[96];

	(void)state;
	tree_make(&tree);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		tree_folder(&tree, folders[i]);
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "dev/nvidia%d", i);
		tree_file(&tree, path, "");
	}
	return 0;
}

static int remove_tree(void **state)
{
	tree_remove(&tree);
	return give_back(state);
}

static void add(const char *address, const char *information)
{
	char path[128];

	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s", address);
	tree_folder(&tree, path);
	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", address);
	tree_file(&tree, path, information);
}

/* Order of the bus, what is no GPU's folder, and files that say too little. */
static void test_folders(void **state)
{
	static const char *const order[] = { "0000:00:00.0", "0000:07:00.0", "0000:07:00.1",
		"ffff:00:00.0", "10000:00:00.0" };
	struct ri_node node = prepare("accounts", "A=B");

	(void)state;
	close(host.root);
	host.root = dup(tree.fd);
	add("10000:00:00.0", "Device Minor: \t 0\n");
	add("0000:07:00.1", "Model: \t\t X\nDevice Minor: \t 1\nGPU UUID: \t GPU-?""?""?-?\n");
	add("ffff:00:00.0", "Device Minor:2");
	add("0000:07:00.0", "GPU Excluded:\t No\nDevice Minor: 3\r\n");
	add("0000:00:00.0", "Device Minor: 4\nDevice Minor: 9\n");
	add("0000:01:00.0", "Device Minor: 5\nGPU Excluded:\t Yes\n");
	add("0000:02:00.0", "Device Minor: 77\n");
	add("0000:03:00.0", "Device Minor: x\n");
	add("0000:04:00.0", "");
	add("0000:05:00.0", "Device Minor: 99999999999999999999999999999999999999999999999999\n");
	add("000:06:00.0", "Device Minor: 6\n");
	add("0000:6:00.0", "Device Minor: 6\n");
	add("0000:06:00", "Device Minor: 6\n");
	add("0000:06:00.00", "Device Minor: 6\n");
	add("0000:06:0g.0", "Device Minor: 6\n");
	add("0000:06:00.0x", "Device Minor: 6\n");
	assert_int_equal(ri_gpus_find(&gpus, &node, &err), 0);
	assert_int_equal(gpus.count, sizeof(order) / sizeof(order[0]));
	for (size_t i = 0; i < gpus.count; i++)
		assert_string_equal(gpus.list[i].address, order[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_nodes_alone),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_ends_early),
		cmocka_unit_test(test_cannot_be_used),
		cmocka_unit_test(test_what_the_runtime_says),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_next_to),
		cmocka_unit_test(test_folders),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
