/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a node: the grammar, who asks the firmest, sizes, VM sizes, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/wishes.h"
#include "demand/demand.h"
#include "node/node.h"
#include "tree.h"

static struct ri_check_wishes wishes;
static const struct ri_demands *const demands = &wishes.demands;

static int begin(void **state)
{
	(void)state;
	memset(&wishes, 0, sizeof(wishes));
	return 0;
}

static size_t number(const char *id)
{
	for (size_t i = 0; i < ri_check_count(); i++)
		if (strcmp(ri_check_ids()[i], id) == 0)
			return i;
	fail_msg("no check is called %s", id);
	return 0;
}

static void ask_by(enum ri_asker asker, const char *text, bool twin)
{
	const struct ri_given option = {
		.value = text, .twin = twin, .subject = asker == RI_ASKER_EXPECT ? "--expect"
			: twin ? "RANKINIT_REQUIRE" : "--require",
	};
	struct ri_error err = RI_ERROR_INIT;

	assert_int_equal(ri_check_read_demands(&wishes, asker, option, &err), 0);
	assert_int_equal(err.code, RI_CODE_NONE);
}

static void ask(enum ri_asker asker, const char *text)
{
	ask_by(asker, text, false);
}

static void test_join(void **state)
{
	static const char *const rows[][3] = {
		{ "gpu=8", "ib", "gpu=8,ib" }, { "gpu=8,ib", "gpu=2", "ib,gpu=2" },
		{ "gpu", "gpu=2", "gpu=2" }, { "gpu=8", "gpu", "gpu" },
		{ "shm=4k,lim.nofile,ib=8@400", "ib=1,lim.nofile", "shm=4k,ib=1,lim.nofile" },
		{ "ib.libs", "ib", "ib.libs,ib" }, { "ib", "ib.libs", "ib,ib.libs" },
		{ "none,gpu", "ib", "none,gpu,ib" }, { "azure=a,deep", "azure=b", "deep,azure=b" },
		{ "gpu", "none", "none" }, { "gpu", "none,ib", "none,ib" }, { "", "ib", "ib" },
		{ NULL, "ib", "ib" }, { "gpu", "nonesuch", "gpu,nonesuch" },
	};
	struct ri_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(ri_check_join_demands(rows[i][0], rows[i][1], &arena),
			rows[i][2]);
	ri_arena_release(&arena);
}

/* The variable adds to the command line, but for what that names itself or where it says none. */
static void test_two_lists(void **state)
{
	(void)state;
	ask(RI_ASKER_REQUIRE, "gpu=2,ib.libs");
	ask_by(RI_ASKER_REQUIRE, "gpu=8", true);
	assert_int_equal(ri_demands_find(demands, RI_TOPIC_GPU)->count, 2);
	assert_string_equal(wishes.require.subject, "--require");
	ask_by(RI_ASKER_REQUIRE, "gpu=8,ib=1,ib.rate", true);
	assert_int_equal(ri_demands_find(demands, RI_TOPIC_GPU)->count, 2);
	assert_string_equal(ri_demands_find(demands, RI_TOPIC_IB)->subject, "RANKINIT_REQUIRE");
	assert_non_null(ri_demands_check(demands, number("ib.libs"), false));
	assert_string_equal(ri_demands_check(demands, number("ib.rate"), false)->subject,
		"--require and RANKINIT_REQUIRE");
	assert_string_equal(wishes.require.subject, "--require and RANKINIT_REQUIRE");
	assert_false(wishes.require.twin);
	begin(NULL);
	ask(RI_ASKER_REQUIRE, "none,ib");
	ask_by(RI_ASKER_REQUIRE, "gpu=8", true);
	assert_null(ri_demands_find(demands, RI_TOPIC_GPU));
	assert_non_null(ri_demands_find(demands, RI_TOPIC_IB));
	ask(RI_ASKER_REQUIRE, "none");
	assert_null(wishes.require.value);
	assert_null(ri_demands_find(demands, RI_TOPIC_IB));
}

/* A size asks for what no word asks for itself; one that is unknown for nothing. */
static void test_a_size(void **state)
{
	struct ri_demands all;

	(void)state;
	ask(RI_ASKER_EXPECT, "azure=Standard_ND96asr_v4,gpu=4");
	all = *demands;
	ri_demands_add_size(&all.of[RI_ASKER_EXPECT], RI_ASKER_EXPECT);
	assert_int_equal(ri_demands_find(&all, RI_TOPIC_GPU)->count, 4);
	assert_int_equal(ri_demands_find(&all, RI_TOPIC_IB)->rate, 200);
	assert_string_equal(ri_demands_find(&all, RI_TOPIC_IB)->subject, "azure=nd96asr_v4");
	assert_false(ri_demand_is_firm(ri_demands_find(&all, RI_TOPIC_IB)));
	ask(RI_ASKER_REQUIRE, "azure=nc24r");
	all = *demands;
	ri_demands_add_size(&all.of[RI_ASKER_REQUIRE], RI_ASKER_REQUIRE);
	assert_true(ri_demand_is_firm(ri_demands_find(&all, RI_TOPIC_GPU)));
	assert_null(ri_demands_find(&all, RI_TOPIC_IB));
	begin(NULL);
	ask_by(RI_ASKER_REQUIRE, "azure=nd97", true);
	assert_null(demands->of[RI_ASKER_REQUIRE].size);
	assert_string_equal(wishes.unknown_size, "nd97");
	assert_string_equal(wishes.unknown_asker, "RANKINIT_REQUIRE");
}

static void pick(const char *text, enum ri_check_pick expected)
{
	struct ri_error err = RI_ERROR_INIT;

	assert_int_equal(ri_check_read_pick(&wishes,
		(struct ri_given){ .subject = "--checks", .value = text }, &err), 0);
	assert_int_equal(wishes.pick, expected);
}

static void refuse_pick(const char *text, const char *says)
{
	struct ri_error err = RI_ERROR_INIT;

	assert_int_equal(ri_check_read_pick(&wishes,
		(struct ri_given){ .subject = "--checks", .value = text }, &err), -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_non_null(strstr(err.text, says));
}

static void test_which_run(void **state)
{
	(void)state;
	pick("default", RI_CHECK_PICK_DEFAULT);
	pick("none", RI_CHECK_PICK_NONE);
	pick("shm.*,lim.nofile", RI_CHECK_PICK_LIST);
	assert_true(ri_check_set_has(&wishes.picked, number("shm.free")));
	assert_true(ri_check_set_has(&wishes.picked, number("lim.nofile")));
	assert_false(ri_check_set_has(&wishes.picked, number("lim.nproc")));
	pick("all,^shm.*,^lim.nofile", RI_CHECK_PICK_ALL);
	assert_true(ri_check_set_has(&wishes.off, number("shm.free")));
	assert_true(ri_check_set_has(&wishes.off, number("lim.nofile")));
	assert_false(ri_check_set_has(&wishes.picked, number("lim.nofile")));
	pick("^ib.rate", RI_CHECK_PICK_DEFAULT);
	assert_true(ri_check_set_has(&wishes.off, number("ib.rate")));
	assert_false(ri_check_set_has(&wishes.off, number("lim.nofile")));
	pick("shm.*,^shm.free", RI_CHECK_PICK_LIST);
	pick("default,net.master", RI_CHECK_PICK_DEFAULT);
	assert_true(ri_check_set_has(&wishes.picked, number("net.master")));
	refuse_pick("shm.size,all", "\"all\": expected alone, or first");
	refuse_pick("none,shm.size", "expected nothing behind none");
	refuse_pick("none,^shm.size", "expected nothing behind none");
	refuse_pick("^all", "\"^all\": expected the id of a check");
	refuse_pick("^", "\"^\": expected the id");
	refuse_pick("shm.size=1", "\"shm.size=1\": expected the id");
	refuse_pick("", "\"\": expected the id");
}

static void refuse(const char *text, const char *says, const char *hint)
{
	const struct ri_given option = { .subject = "--require", .value = text };
	struct ri_error err = RI_ERROR_INIT;

	begin(NULL);
	assert_int_equal(ri_check_read_demands(&wishes, RI_ASKER_REQUIRE, option, &err), -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_string_equal(err.subject, "--require");
	assert_non_null(strstr(err.text, says));
	assert_non_null(strstr(err.hint, hint));
}

static void test_list(void **state)
{
	const struct ri_demand *demand;

	(void)state;
	ask(RI_ASKER_REQUIRE, "mpi,ofed,gpu=8,ib=8@400,shm=16G,ib.libs");
	demand = ri_demands_find(demands, RI_TOPIC_GPU);
	assert_int_equal(demand->count, 8);
	assert_string_equal(demand->subject, "--require");
	demand = ri_demands_find(demands, RI_TOPIC_IB);
	assert_int_equal(demand->count, 8);
	assert_int_equal(demand->rate, 400);
	assert_int_equal(ri_demands_find(demands, RI_TOPIC_SHM)->size, (uint64_t)16 << 30);
	assert_non_null(ri_demands_find(demands, RI_TOPIC_MPI));
	assert_non_null(ri_demands_find(demands, RI_TOPIC_OFED));
	assert_null(ri_demands_check(demands, number("shm.size"), false));
	assert_int_equal(ri_demands_check(demands, number("ib.libs"), false)->asker,
		RI_ASKER_REQUIRE);
	assert_null(ri_demands_check(demands, number("ib.rate"), false));
}

static void test_without_numbers(void **state)
{
	(void)state;
	ask(RI_ASKER_EXPECT, "gpu,ib");
	assert_int_equal(ri_demands_find(demands, RI_TOPIC_GPU)->count, 0);
	assert_non_null(ri_demands_unmet(demands, RI_TOPIC_GPU, RI_DEMAND_COUNT, 0));
	assert_null(ri_demands_unmet(demands, RI_TOPIC_GPU, RI_DEMAND_COUNT, 1));
	assert_null(ri_demands_unmet(demands, RI_TOPIC_IB, RI_DEMAND_RATE, 0));
	assert_null(ri_demands_find(demands, RI_TOPIC_SHM));
	assert_null(ri_demands_unmet(demands, RI_TOPIC_SHM, RI_DEMAND_SIZE, 0));
}

static void test_who_asks_the_firmest(void **state)
{
	(void)state;
	ask(RI_ASKER_REQUIRE, "ib=1,shm=1G,shm.size");
	ask(RI_ASKER_EXPECT, "ib=8@400,shm=2G");
	assert_int_equal(ri_demands_find(demands, RI_TOPIC_IB)->asker, RI_ASKER_REQUIRE);
	/* four are enough for the one, not for the other */
	assert_int_equal(ri_demands_unmet(demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 4)->asker,
		RI_ASKER_EXPECT);
	assert_int_equal(ri_demands_unmet(demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 0)->asker,
		RI_ASKER_REQUIRE);
	assert_null(ri_demands_unmet(demands, RI_TOPIC_IB, RI_DEMAND_COUNT, 8));
	assert_int_equal(ri_demands_unmet(demands, RI_TOPIC_IB, RI_DEMAND_RATE, 200)->asker,
		RI_ASKER_EXPECT);
	assert_int_equal(ri_demands_unmet(demands, RI_TOPIC_SHM, RI_DEMAND_SIZE,
		(uint64_t)1 << 30)->asker, RI_ASKER_EXPECT);
}

/* By an id before a family; what is lacked is unfit by --require alone. */
static void test_who_is_firm(void **state)
{
	(void)state;
	ask(RI_ASKER_REQUIRE, "shm.size,lim.*,gpu.health");
	ask(RI_ASKER_EXPECT, "ib.rate,ib.libs,shm.size,shm.*,lim.nofile");
	assert_string_equal(ri_demands_check(demands, number("shm.size"), false)->subject,
		"--require");
	assert_true(ri_demand_is_firm(ri_demands_check(demands, number("shm.size"), false)));
	assert_false(ri_demand_is_firm(ri_demands_check(demands, number("ib.rate"), false)));
	assert_false(ri_demand_is_firm(ri_demands_check(demands, number("lim.nofile"), false)));
	assert_true(ri_demand_is_firm(ri_demands_check(demands, number("lim.nofile"), true)));
	assert_null(ri_demands_check(demands, number("lim.nproc"), false));
	assert_false(ri_demand_is_firm(ri_demands_check(demands, number("shm.free"), true)));
	assert_null(ri_demands_check(demands, number("ib.rate"), true));
	assert_true(ri_demand_is_firm(ri_demands_check(demands, number("gpu.remap"), false)));
	assert_false(ri_demand_is_firm(NULL));
}

static void test_refused(void **state)
{
	(void)state;
	refuse("", "expected mpi, ofed, gpu, ib, shm, azure=SIZE, deep or the id of a check",
		"--list=checks");
	refuse("mpi,", "\"\": expected", "--list=checks");
	refuse("mpii", "\"mpii\": expected mpi,", "did you mean mpi?");
	refuse("MPI", "\"MPI\": expected mpi,", "did you mean mpi?");
	refuse("gpu,OFED", "\"OFED\": expected mpi,", "did you mean ofed?");
	refuse("GPU=8", "\"GPU=8\": expected mpi,", "did you mean gpu?");
	refuse("IB.libs", "the id of a check", "did you mean ib.libs?");
	refuse("ib.lib", "the id of a check", "did you mean ib.libs?");
	refuse("ib.libs=1", "\"ib.libs=1\": expected", "did you mean ib.libs?");
	/* of few letters */
	refuse("sh=64M", "\"sh=64M\": expected mpi,", "did you mean shm?");
	refuse("pu", "\"pu\": expected mpi,", "did you mean gpu?");
	refuse("zz", "\"zz\": expected mpi,", "--list=checks");
	refuse("mpi=openmpi", "\"mpi=openmpi\": expected mpi", "");
	refuse("gpu=0", "\"gpu=0\": expected gpu or gpu=N", "");
	refuse("gpu=", "expected gpu or gpu=N", "");
	refuse("gpu=-1", "expected gpu or gpu=N", "");
	refuse("gpu=1025", "expected gpu or gpu=N", "");
	refuse("ib=8@", "\"ib=8@\": expected ib, ib=N", "");
	refuse("ib=@400", "\"ib=@400\": expected ib, ib=N", "");
	refuse("ib=8@4@4", "\"ib=8@4@4\": expected ib, ib=N", "");
	refuse("ib=8@0", "\"ib=8@0\": expected ib, ib=N", "");
	refuse("shm", "\"shm\": expected a size with a unit, as shm=16G", "");
	refuse("shm=16", "\"shm=16\": expected a size with a unit, as shm=16G", "");
	refuse("shm=0", "\"shm=0\": expected a size with a unit", "");
	refuse("shm=0G", "expected a size with a unit", "");
	refuse("shm=16X", "expected a size with a unit", "");
	refuse("azure", "\"azure\": expected azure=SIZE", "");
	refuse("azure=Standard_ND96irs_H100_v5", "expected an Azure VM size",
		"did you mean azure=Standard_nd96isr_h100_v5?");
	refuse("azure=Standard_D4s_v5", "expected an Azure VM size", "as gpu=8,ib=8@400");
	refuse("deep=1", "\"deep=1\": expected mpi,", "did you mean deep?");
	refuse("lim", "\"lim\": expected mpi,", "lim.* stands for the whole family");
	refuse("^shm.size", "\"^shm.size\": expected mpi,", "");
	/* 18 is cut off behind its 1 */
	refuse("gpu=0000000000000000000000000000000000000000000000000000000000" "18",
		"the id of a check", "");
	refuse("gpu,mpi,gpu=8", "\"gpu=8\": expected each of them only once", "");
	refuse("ib.libs,mpi,ib.libs", "\"ib.libs\": expected each of them only once", "");
}

static void size_is(const char *text, uint64_t expected)
{
	uint64_t bytes = 1;

	assert_true(ri_size_read(text, strlen(text), &bytes));
	assert_int_equal(bytes, expected);
}

static void test_sizes(void **state)
{
	static const char *const bad[] = {
		"", "G", "-1", "1.5G", "16GG", "16Gix", "0x10", " 1", "1 ", "1P",
		"99999999999T", "99999999999999999999", "16777216T",
	};
	char text[RI_SIZE_TEXT];
	uint64_t bytes = 7;

	(void)state;
	size_is("0", 0);
	size_is("65536", 65536);
	size_is("64k", 65536);
	size_is("64KiB", 65536);
	size_is("2Gi", (uint64_t)2 << 30);
	size_is("16g", (uint64_t)16 << 30);
	size_is("16GB", (uint64_t)16 << 30);
	size_is("16777215T", (uint64_t)16777215 << 40);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(ri_size_read(bad[i], strlen(bad[i]), &bytes));
	assert_int_equal(bytes, 7);
	assert_string_equal(ri_size_show(text, 0), "0 bytes");
	assert_string_equal(ri_size_show(text, 65536), "64 KiB");
	assert_string_equal(ri_size_show(text, (uint64_t)3 << 29), "1.5 GiB");
	assert_string_equal(ri_size_show(text, UINT64_MAX), "unlimited");
	assert_string_equal(ri_size_show(text, UINT64_MAX - 1), "16.0 EiB");
}

static void test_azure_sizes(void **state)
{
	static const char *const names[] = {
#define RI_AZURE_SIZE(name, ...) name,
#include "demand/azure_sizes.def"
	};
	const struct ri_azure_size *size;

	(void)state;
	size = ri_azure_size_find("Standard_ND96isr_H100_v5");
	assert_int_equal(size->gpus, 8);
	assert_int_equal(size->ports, 8);
	assert_int_equal(size->rate, 400);
	assert_int_equal(size->network, RI_AZURE_INFINIBAND);
	assert_ptr_equal(ri_azure_size_find("nd96isr_h100_v5"), size);
	assert_string_equal(ri_azure_size_find("HB120-16rs_v3")->name, "hb120rs_v3");
	assert_int_equal(ri_azure_size_find("STANDARD_NC24r")->network, RI_AZURE_NETWORK_DIRECT);
	assert_int_equal(ri_azure_size_find("nd96is_h200_v5")->ports, 0);
	assert_null(ri_azure_size_find(""));
	assert_null(ri_azure_size_find("standard_"));
	assert_null(ri_azure_size_find("hb120-rs_v3"));
	assert_null(ri_azure_size_find("a name that is longer than any size of a VM will ever be, "
		"as far as anybody knows"));
	assert_string_equal(ri_azure_size_nearest("Standard_ND96irs_H100_v5"), "nd96isr_h100_v5");
	assert_null(ri_azure_size_nearest("Standard_D4s_v5"));
	assert_null(ri_azure_size_nearest(""));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size = ri_azure_size_find(names[i]);
		assert_string_equal(size->name, names[i]);
		assert_int_equal(size->ports > 0, size->network == RI_AZURE_INFINIBAND);
		assert_int_equal(size->ports > 0, size->rate > 0);
	}
}

static void test_limits(void **state)
{
	static const char text[] =
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max stack size            8388608              unlimited            bytes\n"
		"Max locked memory         65536                65536                bytes\n"
		"Max open files            1024                 many                 files\n"
		"Max processes             99999999999999999999 1                    x\n"
		"Max core file size        0";
	struct ri_limit limit = { 1, 2 };

	(void)state;
	assert_false(ri_limit_read(text, RI_LIMIT_NOFILE, &limit));
	assert_false(ri_limit_read(text, RI_LIMIT_NPROC, &limit));
	assert_false(ri_limit_read(text, RI_LIMIT_CORE, &limit));
	assert_false(ri_limit_read("", RI_LIMIT_CORE, &limit));
	assert_int_equal(limit.soft, 1);
	assert_true(ri_limit_read(text, RI_LIMIT_STACK, &limit));
	assert_int_equal(limit.soft, 8388608);
	assert_true(limit.hard == RI_UNLIMITED);
	assert_true(ri_limit_read(text, RI_LIMIT_MEMLOCK, &limit));
	assert_int_equal(limit.soft, 65536);
}

static void test_status(void **state)
{
	static const char text[] =
		"Name:\tx\nUid:\t0\t1000\t0\t0\nCapEff:\t00000000a80465fb\n"
		"CapBnd:\t000001ffffffffff\nSeccomp:\t2\n";
	struct ri_status status = { .uid = 7 };

	(void)state;
	assert_false(ri_status_read("", &status));
	assert_false(ri_status_read("Uid:\t0\t0\nCapEff:\tx\n", &status));
	assert_false(ri_status_read("Uid:\t0\nCapEff:\t0\nCapBnd:\t0\n", &status));
	assert_false(ri_status_read("Uid:\t0\t0\nCapEff:\t10000000000000000\nCapBnd:\t0\n",
		&status));
	assert_int_equal(status.uid, 7);
	assert_true(ri_status_read(text, &status));
	assert_int_equal(status.uid, 1000);
	assert_int_equal(status.seccomp, 2);
	assert_true(ri_status_has(&status, RI_CAP_IPC_LOCK));
	assert_false(ri_status_has(&status, RI_CAP_SYS_PTRACE));
	assert_true(ri_status_read("Uid:\t0\t0\nCapEff:\t0\nCapBnd:\t0\n", &status));
	assert_int_equal(status.seccomp, -1);
}

static void test_groups(void **state)
{
	static struct ri_arena arena;
	struct ri_host host = tree_recorded("limits-fit");
	struct ri_group_limit limit;

	(void)state;
	assert_true(ri_group_limit_find(&limit, RI_GROUP_MEMORY, &host, &arena));
	assert_true(limit.number == 1932735283200);
	assert_string_equal(limit.path, "/sys/fs/cgroup/memory.max");
	assert_true(ri_group_limit_find(&limit, RI_GROUP_PIDS, &host, &arena));
	assert_true(limit.number == UINT64_MAX);
	close(host.root);
	host = tree_recorded("cgroup-none");
	assert_false(ri_group_limit_find(&limit, RI_GROUP_MEMORY, &host, &arena));
	assert_false(ri_group_limit_find(&limit, RI_GROUP_PIDS, &host, &arena));
	close(host.root);
	ri_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_list, begin),
		cmocka_unit_test_setup(test_without_numbers, begin),
		cmocka_unit_test_setup(test_who_asks_the_firmest, begin),
		cmocka_unit_test_setup(test_who_is_firm, begin),
		cmocka_unit_test_setup(test_two_lists, begin),
		cmocka_unit_test_setup(test_a_size, begin),
		cmocka_unit_test_setup(test_which_run, begin),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_azure_sizes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
