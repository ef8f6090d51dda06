/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks run on recorded machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "node/place.h"
#include "tree.h"

static struct ri_arena arena;
static struct ri_findings findings;
static struct ri_env env;
static struct ri_host host;
static struct ri_error err;
static struct ri_node node;
static struct ri_placement placement;
static struct ri_place_wish wish;
static struct ri_cpus mask;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	if (host.root > 0)
		close(host.root);
	host.root = 0;
	return 0;
}

/* The machine, and an environment of one variable; nothing is wished for. */
static void prepare(const char *machine, const char *variable)
{
	static char *strings[2];

	give_back(NULL);
	findings.count = 0;
	err = (struct ri_error)RI_ERROR_INIT;
	host = tree_recorded(machine);
	strings[0] = ri_arena_copy(&arena, variable, strlen(variable));
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	node = (struct ri_node){ .host = &host, .env = &env, .arena = &arena,
		.findings = &findings };
	wish = (struct ri_place_wish){ .bind_subject = "--bind-to", .gpu_subject = "--gpu-bind",
		.omp_subject = "--omp-threads", .omp = RI_OMP_KEEP };
}

static int find(size_t count, bool ours)
{
	const struct ri_place_ranks ranks = { .count = count, .ours = ours };

	memset(&placement, 0x55, sizeof(placement));
	return ri_placement_find(&placement, &wish, &ranks, &node, &err);
}

static void placed(size_t count, bool ours)
{
	if (find(count, ours) < 0)
		fail_msg("%s: %s", err.subject, err.text);
	assert_int_equal(placement.count, count);
}

static void refused(size_t count, bool ours, enum ri_code code, const char *subject)
{
	assert_int_equal(find(count, ours), -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.subject, subject);
}

/* What a rank is bound to; NULL: nothing. */
static void on(size_t rank, const char *cpus)
{
	const struct ri_place *place = ri_placement_of(&placement, rank);
	char bytes[4096];
	struct ri_text text;

	assert_non_null(place);
	assert_int_equal(place->bound, cpus != NULL);
	if (cpus == NULL)
		return;
	text = ri_text_of(bytes, sizeof(bytes));
	ri_cpus_add(&text, &place->cpus);
	assert_string_equal(bytes, cpus);
}

static void sees(size_t rank, const char *gpu)
{
	const struct ri_place *place = ri_placement_of(&placement, rank);

	if (gpu == NULL)
		assert_null(place->gpu);
	else
		assert_string_equal(place->gpu, gpu);
}

static void said(size_t index, enum ri_severity severity, enum ri_code code, const char *text)
{
	assert_true(findings.count > index);
	assert_int_equal(findings.items[index].severity, severity);
	assert_int_equal(findings.items[index].code, code);
	if (strstr(findings.items[index].text, text) == NULL)
		fail_msg("%s", findings.items[index].text);
}

static void test_nothing_wished(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	placed(1, false);
	assert_null(placement.list);
	assert_null(placement.threads);
	assert_null(ri_placement_of(&placement, 0));
	placed(8, true);
	assert_null(placement.list);
	assert_int_equal(findings.count, 0);
}

static void test_numa_of_gpus(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(8, true);
	for (size_t i = 0; i < 8; i++) {
		on(i, i < 4 ? "0-7,16-23" : "8-15,24-31");
		sees(i, NULL);
	}
	assert_int_equal(findings.count, 0);
	/* the ranks that are left have none, and take turns */
	placed(11, true);
	on(7, "8-15,24-31");
	on(8, "0-7,16-23");
	on(9, "8-15,24-31");
	on(10, "0-7,16-23");
	/* the list turns them round */
	prepare("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=7,0");
	wish.bind = RI_BIND_NUMA;
	placed(2, true);
	on(0, "8-15,24-31");
	on(1, "0-7,16-23");
}

static void test_numa_within_the_mask(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	wish.bind = RI_BIND_NUMA;
	assert_true(ri_cpus_read("6-9,30", &mask));
	node.affinity = &mask;
	placed(8, true);
	on(0, "6-7");
	on(7, "8-9,30");
	/* half of them are far from every CPU of ours */
	assert_true(ri_cpus_read("6-7", &mask));
	placed(8, true);
	for (size_t i = 0; i < 8; i++)
		on(i, NULL);
	said(0, RI_SEVERITY_NOTE, RI_CODE_PLACEMENT_KEPT, "one NUMA node");
	said(1, RI_SEVERITY_WARNING, RI_CODE_PLACEMENT_KEPT,
		"4 of 8 ranks are not bound, the first is local rank 4");
	assert_int_equal(findings.count, 2);
}

static void test_numa_without_gpus(void **state)
{
	(void)state;
	prepare("offline-cpus", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(3, true);
	on(0, "0-3,8-11");
	on(1, "4-5,12-13");
	on(2, "0-3,8-11");
	assert_int_equal(findings.count, 0);
	prepare("cpu-quota-v2", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(2, true);
	on(1, NULL);
	said(0, RI_SEVERITY_NOTE, RI_CODE_PLACEMENT_KEPT, "one NUMA node");
	prepare("amd-gpus", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(2, true);
	on(1, NULL);
	said(0, RI_SEVERITY_WARNING, RI_CODE_PLACEMENT_KEPT, "what NUMA nodes the machine has");
	assert_int_equal(findings.count, 1);
}

static void test_numa_hidden(void **state)
{
	(void)state;
	prepare("vm-hidden-bus", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(4, true);
	for (size_t i = 0; i < 4; i++)
		on(i, NULL);
	said(0, RI_SEVERITY_WARNING, RI_CODE_PLACEMENT_KEPT, "4 of 4 ranks are not bound");
	assert_int_equal(findings.count, 1);
}

static void test_gpus(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	placed(8, true);
	sees(0, "0");
	sees(7, "7");
	on(0, NULL);
	placed(2, false);
	sees(1, "1");
	refused(9, true, RI_CODE_PLACEMENT_REFUSED, "--gpu-bind");
	prepare("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=GPU-5a3b0333,5");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	placed(2, true);
	sees(0, "GPU-5a3b0333");
	sees(1, "5");
	prepare("mig-gpu", "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	wish.bind = RI_BIND_NUMA;
	placed(2, true);
	sees(1, "MIG-b");
	on(1, "0-7");
	prepare("mig-gpu", "A=B");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	refused(2, true, RI_CODE_PLACEMENT_REFUSED, "--gpu-bind");
	prepare("offline-cpus", "A=B");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	refused(1, true, RI_CODE_PLACEMENT_REFUSED, "--gpu-bind");
	prepare("amd-gpus", "A=B");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	refused(1, true, RI_CODE_GPU_UNKNOWN, "/dev/kfd");
	prepare("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=0,0");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	refused(1, true, RI_CODE_ENV_VALUE, "CUDA_VISIBLE_DEVICES");
}

/* A launcher may have given each rank its own GPU: it stays. */
static void test_gpus_of_a_launcher(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=6");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	wish.bind = RI_BIND_NUMA;
	placed(8, false);
	sees(3, "6");
	on(3, "8-15,24-31");
	refused(2, true, RI_CODE_PLACEMENT_REFUSED, "--gpu-bind");
	prepare("two-sockets-8-gpus", "CUDA_VISIBLE_DEVICES=6,7");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	refused(3, false, RI_CODE_PLACEMENT_REFUSED, "--gpu-bind");
}

static void threads(const char *machine, const char *variable, size_t ranks, const char *expected)
{
	enum ri_bind bind = wish.bind;

	prepare(machine, variable);
	wish.bind = bind;
	wish.omp = RI_OMP_AUTO;
	placed(ranks, true);
	if (expected == NULL)
		assert_null(placement.threads);
	else
		assert_string_equal(placement.threads, expected);
	assert_int_equal(findings.count, expected == NULL ? 0 : 1);
}

static void test_threads(void **state)
{
	(void)state;
	wish.bind = RI_BIND_NONE;
	threads("two-sockets-8-gpus", "A=B", 8, "4");
	said(0, RI_SEVERITY_NOTE, RI_CODE_OMP_THREADS, "is set to 4: 32 CPUs for 8 ranks");
	threads("two-sockets-8-gpus", "A=B", 5, "6");
	threads("two-sockets-8-gpus", "A=B", 64, "1");
	threads("two-sockets-8-gpus", "A=B", 1, NULL);
	threads("two-sockets-8-gpus", "OMP_NUM_THREADS=9", 8, NULL);
	threads("two-sockets-8-gpus", "OMP_NUM_THREADS=", 8, "4");
	threads("pod-2-of-8-gpus", "A=B", 2, "4");
	threads("cpu-quota-v2", "A=B", 2, "2");
	said(0, RI_SEVERITY_NOTE, RI_CODE_OMP_THREADS, "4 CPUs of time, as granted by /sys/fs/");
	threads("cpu-quota-v2", "A=B", 8, "1");
	threads("cpu-quota-v1", "A=B", 2, "1");
	/* nobody knows the CPUs: it stays unset, and nothing is refused */
	threads("accounts", "A=B", 2, NULL);
	/* five GPUs, four of them next to one half of the CPUs */
	wish.bind = RI_BIND_NUMA;
	threads("two-sockets-8-gpus", "A=B", 5, "4");
	wish.bind = RI_BIND_NONE;
}

static void test_threads_stated(void **state)
{
	struct ri_env_edits edits = { .count = 0 };

	(void)state;
	prepare("accounts", "OMP_NUM_THREADS=9");
	wish.omp = RI_OMP_STATED;
	wish.threads = 3;
	placed(1, false);
	assert_string_equal(placement.threads, "3");
	assert_null(placement.list);
	assert_int_equal(ri_placement_write(&placement, 0, &edits, &arena, &err), 0);
	assert_int_equal(edits.count, 1);
	assert_string_equal(edits.items[0].name, "OMP_NUM_THREADS");
	assert_string_equal(edits.items[0].value, "3");
	assert_int_equal(findings.count, 0);
}

static void test_what_is_written(void **state)
{
	struct ri_env_edits edits = { .count = 0 };

	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	wish.gpu_bind = RI_GPU_BIND_SINGLE;
	wish.omp = RI_OMP_AUTO;
	placed(8, true);
	assert_int_equal(ri_placement_write(&placement, 5, &edits, &arena, &err), 0);
	assert_int_equal(edits.count, 2);
	assert_string_equal(ri_env_edits_find(&edits, "CUDA_VISIBLE_DEVICES")->value, "5");
	assert_string_equal(ri_env_edits_find(&edits, "OMP_NUM_THREADS")->value, "4");
	assert_null(ri_placement_of(&placement, 8));
}

static void test_bounds(void **state)
{
	(void)state;
	prepare("two-sockets-8-gpus", "A=B");
	wish.bind = RI_BIND_NUMA;
	placed(RI_MAX_CPUS, false);
	refused(RI_MAX_CPUS + 1, false, RI_CODE_PLACEMENT_REFUSED, "CPUs");
	/* nobody knows where we may run */
	prepare("accounts", "A=B");
	wish.bind = RI_BIND_NUMA;
	refused(1, true, RI_CODE_CPU_UNKNOWN, "CPUs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_wished),
		cmocka_unit_test(test_numa_of_gpus),
		cmocka_unit_test(test_numa_within_the_mask),
		cmocka_unit_test(test_numa_without_gpus),
		cmocka_unit_test(test_numa_hidden),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_gpus_of_a_launcher),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_threads_stated),
		cmocka_unit_test(test_what_is_written),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, give_back);
}
