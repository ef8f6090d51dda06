/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's settings: variables stand above the user's file, that above the system's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "image/image.h"
#include "tree.h"

static struct tree tree;
static char value[RI_NCCL_VALUE];

static void test_text(void **state)
{
	static const char text[] = "# NCCL_NET=none\n NCCL_NET=blank\nNCCL_NETWORK=x\nNCCL_NET=IB\n"
		"NCCL_NET=Socket\nNCCL_IB_HCA=mlx5_0,mlx5_1";

	(void)state;
	assert_true(ri_nccl_conf_find(text, "NCCL_NET", value));
	assert_string_equal(value, "IB");
	assert_true(ri_nccl_conf_find(text, "NCCL_IB_HCA", value));
	assert_string_equal(value, "mlx5_0,mlx5_1");
	assert_false(ri_nccl_conf_find(text, "NCCL_TOPO_FILE", value));
	assert_string_equal(value, "");
	assert_false(ri_nccl_conf_find("", "NCCL_NET", value));
}

static void test_long_line(void **state)
{
	static char text[2 * RI_NCCL_VALUE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "A=", 2);
	assert_false(ri_nccl_conf_find(text, "A", value));
	text[RI_NCCL_VALUE + 1] = '\0';
	assert_true(ri_nccl_conf_find(text, "A", value));
	assert_int_equal(strlen(value), RI_NCCL_VALUE - 1);
}

/* "value from origin" of a machine with both files, and with up to two variables. */
static const char *get(const char *name, char *first, char *second)
{
	static char shown[RI_NCCL_VALUE + 64];
	struct ri_arena arena = { .chunks = NULL };
	struct ri_host host = { .root = tree.fd };
	char *variables[] = { first, second, NULL };
	struct ri_error err = RI_ERROR_INIT;
	const char *origin;
	struct ri_env env;
	const struct ri_image image = { .host = &host, .env = &env, .arena = &arena };

	assert_int_equal(ri_env_init(&env, variables, &arena, &err), 0);
	origin = ri_nccl_conf_get(&image, name, value);
	snprintf(shown, sizeof(shown), "%s from %s", value, origin == NULL ? "nobody" : origin);
	ri_arena_release(&arena);
	return shown;
}

static void test_order(void **state)
{
	char home[] = "HOME=/user", net[] = "NCCL_NET=IB", own[] = "NCCL_CONF_FILE=/own";
	char nowhere[] = "NCCL_CONF_FILE=/nowhere";

	(void)state;
	assert_string_equal(get("NCCL_NET", net, home), "IB from NCCL_NET");
	assert_string_equal(get("NCCL_NET", home, NULL), "user from /user/.nccl.conf");
	assert_string_equal(get("NCCL_NET", own, home), "own from /own");
	assert_string_equal(get("NCCL_NET", nowhere, home), "system from /etc/nccl.conf");
	assert_string_equal(get("NCCL_NET", NULL, NULL), "system from /etc/nccl.conf");
	assert_string_equal(get("NCCL_ALGO", home, NULL), "Ring from /etc/nccl.conf");
	assert_string_equal(get("NCCL_IB_HCA", home, NULL), " from nobody");
}

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "etc");
	tree_folder(&tree, "user");
	tree_file(&tree, "etc/nccl.conf", "NCCL_NET=system\nNCCL_ALGO=Ring\n");
	tree_file(&tree, "user/.nccl.conf", "NCCL_NET=user\n");
	tree_file(&tree, "own", "NCCL_NET=own\n");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
