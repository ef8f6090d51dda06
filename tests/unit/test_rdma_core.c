/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs and its providers: made ones, and this machine's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "image/image.h"
#include "library_of.h"
#include "tree.h"

static struct tree tree;
static struct ri_arena arena;
static struct ri_host host;
static struct ri_env env;
static const struct ri_image image = { .host = &host, .env = &env, .arena = &arena };
static struct ri_loader loader;
static struct ri_rdma_core core;

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	host = (struct ri_host){ .root = tree.fd };
	for (const char *const *folder = (const char *const[]){ "etc", "etc/libibverbs.d", "usr",
		     "usr/lib", "usr/lib/libibverbs", "opt", "opt/conda", "opt/conda/lib",
		     "opt/conda/etc", "opt/conda/etc/libibverbs.d", "opt/conda/lib/libibverbs",
		     NULL }; *folder != NULL; folder++)
		tree_folder(&tree, *folder);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	tree_remove(&tree);
	return 0;
}

/* What is found with these two variables; NULL: none. */
static void find(char *first, char *second)
{
	static char *strings[3];
	struct ri_error err = RI_ERROR_INIT;

	ri_arena_release(&arena);
	strings[0] = first;
	strings[1] = second;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	ri_loader_init(&loader, &image);
	ri_rdma_core_find(&core, &loader);
}

static void test_none(void **state)
{
	(void)state;
	find(NULL, NULL);
	assert_null(core.verbs.path);
	assert_null(core.manager.path);
	assert_null(ri_rdma_core_provider(&core, "mlx5"));
	assert_false(ri_rdma_core_mixed(&core));
}

static void put_verbs(const char *folder, unsigned abi)
{
	char options[512], path[256];

	snprintf(path, sizeof(path), "VERBS_1.0 { global: *; };\nIBVERBS_PRIVATE_%u { };\n", abi);
	tree_file(&tree, "map", path);
	snprintf(options, sizeof(options),
		"-Wl,-soname,libibverbs.so.1 -Wl,--version-script=%s/map", tree.path);
	snprintf(path, sizeof(path), "%s/libibverbs.so.1.14.44.0", folder);
	tree_library(&tree, path, options, "int ibv_open_device;\n");
	snprintf(path, sizeof(path), "%s/libibverbs.so.1", folder);
	tree_link(&tree, path, "libibverbs.so.1.14.44.0");
}

static void test_whole(void **state)
{
	(void)state;
	need_compiler();
	put_verbs("usr/lib", 34);
	tree_file(&tree, "usr/lib/libibverbs/libmlx5-rdmav34.so", "");
	tree_file(&tree, "usr/lib/libibverbs/libmlx4-rdmav34.so", "");
	tree_file(&tree, "usr/lib/libibverbs/README", "");
	tree_file(&tree, "etc/libibverbs.d/mlx5.driver", "driver mlx5\n");
	/* as libibverbs sees it, any file will do, but a name ends at a blank */
	tree_file(&tree, "etc/libibverbs.d/.efa.dpkg-new", "# driver bad\ndriver  efa x\n");
	tree_file(&tree, "etc/libibverbs.d/dos.driver", "driver mlx4\r\n");
	find(NULL, NULL);
	assert_string_equal(core.verbs.path, "/usr/lib/libibverbs.so.1");
	assert_int_equal(core.release, 44);
	assert_int_equal(core.abi, 34);
	assert_string_equal(core.folder, "/usr/lib/libibverbs");
	assert_int_equal(core.provider_count, 2);
	assert_int_equal(ri_rdma_core_provider(&core, "mlx5")->abi, 34);
	assert_null(ri_rdma_core_provider(&core, "efa"));
	assert_true(ri_rdma_core_configured(&core, "mlx5"));
	assert_false(ri_rdma_core_configured(&core, "mlx4"));
	assert_true(ri_rdma_core_configured(&core, "efa"));
	assert_false(ri_rdma_core_configured(&core, "bad"));
	assert_false(ri_rdma_core_mixed(&core));
}

static void test_variables(void **state)
{
	(void)state;
	need_compiler();
	find((char[]){ "IBV_DRIVERS=/usr/lib/libibverbs/libmlx4:mana" }, NULL);
	assert_true(ri_rdma_core_configured(&core, "mlx4"));
	assert_true(ri_rdma_core_configured(&core, "mana"));
	assert_true(ri_rdma_core_configured(&core, "mlx5"));
	find((char[]){ "IBV_DRIVERS=mana" }, (char[]){ "RDMAV_DRIVERS=irdma" });
	assert_true(ri_rdma_core_configured(&core, "irdma"));
	assert_false(ri_rdma_core_configured(&core, "mana"));
}

static void test_by_loader(void **state)
{
	(void)state;
	need_compiler();
	tree_library(&tree, "usr/lib/libmana-rdmav34.so", "", "");
	tree_library(&tree, "usr/lib/libirdma-rdmav22.so", "", "");
	find((char[]){ "IBV_DRIVERS=mana:irdma:mlx5" }, NULL);
	assert_int_equal(core.provider_count, 3);
	assert_int_equal(ri_rdma_core_provider(&core, "mana")->abi, 34);
	assert_null(ri_rdma_core_provider(&core, "irdma"));
	/* nobody asks for it */
	find(NULL, NULL);
	assert_int_equal(core.provider_count, 2);
}

/* Before rdma-core there was neither a folder nor a number in libibverbs. */
static void test_before(void **state)
{
	char front[] = "LD_LIBRARY_PATH=/opt/old";

	(void)state;
	need_compiler();
	tree_folder(&tree, "opt/old");
	tree_library(&tree, "opt/old/libibverbs.so.1", "-Wl,-soname,libibverbs.so.1", "");
	tree_library(&tree, "opt/old/libmlx5-rdmav2.so", "", "");
	find(front, NULL);
	assert_int_equal(core.abi, 0);
	assert_int_equal(core.provider_count, 1);
	assert_int_equal(ri_rdma_core_provider(&core, "mlx5")->abi, 2);
}

static void test_mixed(void **state)
{
	(void)state;
	need_compiler();
	tree_file(&tree, "usr/lib/libibverbs/libmlx5-rdmav25.so", "");
	find(NULL, NULL);
	assert_true(ri_rdma_core_mixed(&core));
	/* the one that can be loaded */
	assert_int_equal(ri_rdma_core_provider(&core, "mlx5")->abi, 34);
	assert_int_equal(unlinkat(tree.fd, "usr/lib/libibverbs/libmlx5-rdmav34.so", 0), 0);
	find(NULL, NULL);
	assert_int_equal(ri_rdma_core_provider(&core, "mlx5")->abi, 25);
}

/* Another copy in front has its own providers and its own list of them. */
static void test_in_front(void **state)
{
	char front[] = "LD_LIBRARY_PATH=/opt/conda/lib";

	(void)state;
	need_compiler();
	put_verbs("opt/conda/lib", 59);
	tree_file(&tree, "opt/conda/lib/libibverbs/libmlx5-rdmav59.so", "");
	tree_file(&tree, "opt/conda/etc/libibverbs.d/mana.driver", "driver mana\n");
	find(front, NULL);
	assert_string_equal(core.verbs.path, "/opt/conda/lib/libibverbs.so.1");
	assert_int_equal(core.abi, 59);
	assert_string_equal(core.config, "/opt/conda/etc/libibverbs.d");
	assert_true(ri_rdma_core_configured(&core, "mana"));
	assert_false(ri_rdma_core_configured(&core, "mlx5"));
	tree_file(&tree, "opt/conda/lib/libibverbs.so.1.14.44.0", "");
	find(front, NULL);
	assert_int_equal(core.verbs.fault, RI_ELF_BROKEN);
	assert_int_equal(core.abi, 0);
}

static void test_names(void **state)
{
	struct ri_provider provider;

	(void)state;
	assert_string_equal(ri_provider_for("mlx5_core"), "mlx5");
	assert_string_equal(ri_provider_for("mlx4_core"), "mlx4");
	assert_string_equal(ri_provider_for("efa"), "efa");
	assert_string_equal(ri_provider_for("mana"), "mana");
	assert_string_equal(ri_provider_for("mana_ib"), "mana");
	assert_string_equal(ri_provider_for("ice"), "irdma");
	assert_string_equal(ri_provider_for("new_driver"), "new_driver");
	assert_true(ri_provider_read("libhfi1verbs-rdmav34.so", &provider));
	assert_string_equal(provider.name, "hfi1verbs");
	assert_false(ri_provider_read("libmlx5.so", &provider));
	assert_false(ri_provider_read("libmlx5-rdmav34.so.1", &provider));
	assert_false(ri_provider_read("libmlx5-rdmav.so", &provider));
	assert_false(ri_provider_read("lib-rdmav34.so", &provider));
	assert_false(ri_provider_read("libaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-rdmav34.so", &provider));
}

/* Debian's packages fit together. */
static void test_this_machine(void **state)
{
	(void)state;
	if (access("/etc/libibverbs.d/mlx5.driver", F_OK) < 0)
		skip();
	host.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(host.root >= 0);
	find(NULL, NULL);
	close(host.root);
	host = (struct ri_host){ .root = tree.fd };
	assert_non_null(core.verbs.path);
	assert_int_equal(core.verbs.fault, RI_ELF_OK);
	assert_true(core.release > 16);
	assert_false(ri_rdma_core_mixed(&core));
	assert_true(ri_rdma_core_configured(&core, "mlx5"));
	assert_int_equal(ri_rdma_core_provider(&core, "mlx5")->abi, core.abi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_by_loader),
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_in_front),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
