/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine that a rankinit of a simulated job plays: the text that says which, files in
 * front of the machine's own, and addresses of 127.0.0.0/8 as those of machines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/host.h"
#include "base/limits.h"
#include "from/hosts.h"
#include "reading_of.h"
#include "tree.h"

static struct ri_arena arena;

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static const struct ri_host_file files[] = {
	{ "/proc/net/if_inet6", "", 0 },
	{ "/opt/ml/config.json", "{\"a\":\"b\"}\n\t\\ \303\244", 15 },
	{ .path = NULL },
};

static void test_what_is_written_reads_the_same(void **state)
{
	const struct ri_overlay overlay = { .name = "node0", .files = files, .from_ms = 86400000,
		.job = "17 of process 42", .unfit = 2 };
	char *text = ri_overlay_write(&overlay, &arena);
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay read;

	(void)state;
	assert_non_null(text);
	assert_int_equal(ri_overlay_read(&read, text, &arena, &err), 0);
	assert_string_equal(read.name, "node0");
	assert_int_equal(read.from_ms, 86400000);
	assert_string_equal(read.job, "17 of process 42");
	assert_int_equal(read.unfit, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(read.files[i].path, files[i].path);
		assert_int_equal(read.files[i].length, files[i].length);
		assert_memory_equal(read.files[i].text, files[i].text, files[i].length);
	}
	assert_null(read.files[2].path);
}

static void test_what_else_is_in_it_is_left_alone(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay read;

	(void)state;
	assert_int_equal(ri_overlay_read(&read,
		" {\"files\": {}, \"later\": [1, {}], \"name\": \"a\"} ", &arena, &err), 0);
	assert_string_equal(read.name, "a");
	assert_int_equal(read.from_ms, 0);
	assert_null(read.job);
	assert_null(read.files[0].path);
}

static void assert_refused(const char *text)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay read;

	print_message("%.60s\n", text);
	assert_int_equal(ri_overlay_read(&read, text, &arena, &err), -1);
	assert_string_equal(ri_code_name(err.code), "option.value");
	assert_string_equal(err.subject, "RANKINIT_SIMULATED");
	assert_non_null(strstr(err.hint, "env -u RANKINIT_SIMULATED"));
}

static void test_what_is_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"", " ", "yes", "azureml_mpi:2x4", "[]", "{}", "null",
		"{\"name\":\"a\",\"files\":{}",
		"{\"name\":\"a\",\"files\":{}}x",
		"{\"name\":\"a\"}",
		"{\"files\":{}}",
		"{\"name\":\"\",\"files\":{}}",
		"{\"name\":1,\"files\":{}}",
		"{\"name\":\"a\\u0000\",\"files\":{}}",
		"{\"name\":\"a\",\"name\":\"a\",\"files\":{}}",
		"{\"name\":\"a\",\"files\":[]}",
		"{\"name\":\"a\",\"files\":{\"a\":\"\"}}",
		"{\"name\":\"a\",\"files\":{\"\":\"\"}}",
		"{\"name\":\"a\",\"files\":{\"/a\":1}}",
		"{\"name\":\"a\",\"files\":{\"/a\":\"\",\"/a\":\"\"}}",
		"{\"name\":\"a\",\"files\":{},\"from\":-1}",
		"{\"name\":\"a\",\"files\":{},\"from\":9223372036854775808}",
		"{\"name\":\"a\",\"files\":{},\"from\":1.5}",
		"{\"name\":\"a\",\"files\":{},\"from\":\"1\"}",
		"{\"name\":\"a\",\"files\":{},\"from\":null}",
		"{\"name\":\"\xff\",\"files\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_refused(texts[i]);
}

static void test_the_longest_name(void **state)
{
	char text[RI_MAX_NAME + 64], *at = text + strlen("{\"name\":\"");
	struct ri_error err = RI_ERROR_INIT;
	struct ri_overlay read;

	(void)state;
	strcpy(text, "{\"name\":\"");
	memset(at, 'a', RI_MAX_NAME);
	strcpy(at + RI_MAX_NAME, "\",\"files\":{}}");
	assert_int_equal(ri_overlay_read(&read, text, &arena, &err), 0);
	assert_int_equal(strlen(read.name), RI_MAX_NAME);
	strcpy(at + RI_MAX_NAME, "a\",\"files\":{}}");
	assert_refused(text);
}

static void test_files_stand_in_front_of_the_machines(void **state)
{
	struct tree tree;
	char buffer[64];
	struct ri_host host;

	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "etc");
	tree_file(&tree, "etc/own", "own\n");
	tree_file(&tree, "etc/shadowed", "own\n");
	host = (struct ri_host){ .root = tree.fd, .name = "node0" };
	host.files = (const struct ri_host_file[]){
		{ "/etc/shadowed", "given", 5 }, { "/etc/empty", "", 0 }, { .path = NULL },
	};
	assert_int_equal(ri_host_read(&host, "/etc/shadowed", buffer, sizeof(buffer)), 5);
	assert_string_equal(buffer, "given");
	assert_int_equal(ri_host_read(&host, "/etc/empty", buffer, sizeof(buffer)), 0);
	assert_string_equal(buffer, "");
	assert_int_equal(ri_host_read(&host, "/etc/own", buffer, sizeof(buffer)), 4);
	assert_string_equal(buffer, "own\n");
	/* as of any file, there has to be room for the end */
	assert_int_equal(ri_host_read(&host, "/etc/shadowed", buffer, 6), 5);
	errno = 0;
	assert_int_equal(ri_host_read(&host, "/etc/shadowed", buffer, 5), -1);
	assert_int_equal(errno, EFBIG);
	assert_true(ri_host_has(&host, "/etc/empty"));
	assert_true(ri_host_has(&host, "/etc/own"));
	assert_false(ri_host_has(&host, "/etc/none"));
	assert_int_equal(ri_host_read(&host, "/etc/none", buffer, sizeof(buffer)), -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(ri_host_name(&host, &arena), "node0");
	/* the control: without them the machine's own are read */
	host.files = NULL;
	assert_int_equal(ri_host_read(&host, "/etc/shadowed", buffer, sizeof(buffer)), 4);
	assert_string_equal(buffer, "own\n");
	assert_false(ri_host_has(&host, "/etc/empty"));
	tree_remove(&tree);
}

static enum ri_is_own ask_own(const char *address)
{
	struct ri_own_machine own;

	assert_true(ri_own_parse(&own, "|-- 127.0.0.3\n/32 host LOCAL\n", "",
		reading_of(&arena)));
	return ri_own_is(&own, address);
}

static bool is_loopback(const char *host)
{
	return ri_loopback_is(host, strlen(host));
}

/* What has not to do with machines of 127.0.0.0/8 is the same before and after. */
static void check_the_rest(void)
{
	assert_true(is_loopback("127.0.0.1"));
	assert_true(is_loopback("127.0.0.0"));
	assert_true(is_loopback("0.0.0.0"));
	assert_true(is_loopback("::1"));
	assert_true(is_loopback("localhost"));
	assert_false(is_loopback("10.0.0.2"));
	assert_false(is_loopback("node0"));
	assert_int_equal(ask_own("127.0.0.1"), RI_OWN_UNKNOWN);
	assert_int_equal(ask_own("10.0.0.2"), RI_OWN_NO);
}

/* The switch is for the whole process: this comes before whatever plays. */
static void test_who_plays_nothing_has_them_all(void **state)
{
	(void)state;
	check_the_rest();
	assert_true(is_loopback("127.0.0.2"));
	assert_true(is_loopback("127.0.1.1"));
	assert_true(is_loopback("127.255.255.255"));
	assert_true(ri_loopback_has((const unsigned char[]){ 127, 0, 0, 2 }));
	assert_int_equal(ask_own("127.0.0.3"), RI_OWN_UNKNOWN);
}

/* Also that to read it does not play it. */
static void test_who_plays_a_machine_has_the_one(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_host host = { .root = -1 };
	struct ri_overlay overlay = { .from_ms = 7 };
	char buffer[8];

	(void)state;
	assert_int_equal(ri_overlay_read(&overlay, "{}", &arena, &err), -1);
	assert_int_equal(overlay.from_ms, 7);
	err = (struct ri_error)RI_ERROR_INIT;
	assert_int_equal(ri_overlay_read(&overlay,
		"{\"name\":\"node1\",\"files\":{\"/a\":\"b\"},\"from\":1500}", &arena, &err), 0);
	assert_int_equal(overlay.from_ms, 1500);
	assert_true(is_loopback("127.0.0.2"));
	ri_overlay_play(&host, &overlay);
	assert_string_equal(ri_host_name(&host, &arena), "node1");
	assert_int_equal(ri_host_read(&host, "/a", buffer, sizeof(buffer)), 1);
	check_the_rest();
	assert_false(is_loopback("127.0.0.2"));
	assert_false(is_loopback("127.0.1.1"));
	assert_false(is_loopback("127.255.255.255"));
	assert_false(ri_loopback_has((const unsigned char[]){ 127, 0, 0, 2 }));
	assert_true(ri_loopback_has((const unsigned char[]){ 127, 0, 0, 1 }));
	assert_false(ri_loopback_has((const unsigned char[]){ 10, 0, 0, 1 }));
	assert_int_equal(ask_own("127.0.0.3"), RI_OWN_YES);
	assert_int_equal(ask_own("127.0.0.2"), RI_OWN_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_what_is_written_reads_the_same, give_back),
		cmocka_unit_test_teardown(test_what_else_is_in_it_is_left_alone, give_back),
		cmocka_unit_test_teardown(test_what_is_none_is_refused, give_back),
		cmocka_unit_test_teardown(test_the_longest_name, give_back),
		cmocka_unit_test_teardown(test_files_stand_in_front_of_the_machines, give_back),
		cmocka_unit_test_teardown(test_who_plays_nothing_has_them_all, give_back),
		cmocka_unit_test_teardown(test_who_plays_a_machine_has_the_one, give_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
