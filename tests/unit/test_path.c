/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/host.h"
#include "tree.h"

static struct tree tree;
static struct ri_host host;
static char real[RI_PATH_SIZE];

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "opt");
	tree_folder(&tree, "opt/mpi");
	tree_folder(&tree, "opt/mpi/bin");
	tree_file(&tree, "opt/mpi/bin/orterun", "x");
	tree_link(&tree, "opt/mpi/bin/mpirun", "orterun");
	tree_folder(&tree, "usr");
	tree_link(&tree, "usr/bin", "../opt/mpi/bin");
	tree_folder(&tree, "etc");
	tree_link(&tree, "etc/mpirun", "/usr/bin/mpirun");
	tree_link(&tree, "etc/out", "../../../../../../opt");
	tree_link(&tree, "etc/loop", "pool");
	tree_link(&tree, "etc/pool", "loop");
	tree_link(&tree, "etc/dangling", "nowhere");
	host = (struct ri_host){ .root = tree.fd };
	return 0;
}

static int drop(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static const char *real_of(const char *path)
{
	if (ri_host_real(&host, path, real) < 0)
		return strerror(errno);
	return real;
}

static void check_all(void)
{
	assert_string_equal(real_of("/opt/mpi/bin/orterun"), "/opt/mpi/bin/orterun");
	assert_string_equal(real_of("opt//mpi/./bin/../bin/mpirun"), "/opt/mpi/bin/orterun");
	assert_string_equal(real_of("/etc/mpirun"), "/opt/mpi/bin/orterun");
	assert_string_equal(real_of("/usr/bin"), "/opt/mpi/bin");
	assert_string_equal(real_of("/etc/out/mpi/"), "/opt/mpi");
	assert_string_equal(real_of("/../.."), "/");
	assert_string_equal(real_of("/etc/loop"), strerror(ELOOP));
	assert_string_equal(real_of("/etc/dangling"), strerror(ENOENT));
	assert_string_equal(real_of("/opt/mpi/bin/orterun/x"), strerror(ENOTDIR));
	assert_string_equal(real_of(""), strerror(ENOENT));
}

static void test_real(void **state)
{
	(void)state;
	check_all();
	/* and where the kernel has no openat2 */
	host.walk = true;
	check_all();
	host.walk = false;
}

static void test_long(void **state)
{
	char path[2 * RI_PATH_SIZE];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_string_equal(real_of(path), strerror(ENAMETOOLONG));
	path[RI_PATH_SIZE - 1] = '\0';
	assert_string_equal(real_of(path), strerror(ENAMETOOLONG));
	path[200] = '\0';
	assert_string_equal(real_of(path), strerror(ENOENT));
}

static void test_parts(void **state)
{
	char folder[RI_PATH_SIZE];

	(void)state;
	assert_string_equal(ri_path_name("/opt/lib/libmpi.so"), "libmpi.so");
	assert_string_equal(ri_path_name("libmpi.so"), "libmpi.so");
	ri_path_folder("/opt/mpi/bin/mpirun", folder);
	assert_string_equal(folder, "/opt/mpi/bin");
	ri_path_folder(folder, folder);
	assert_string_equal(folder, "/opt/mpi");
	ri_path_folder("/", folder);
	assert_string_equal(folder, "");
	ri_path_folder("name", folder);
	assert_string_equal(folder, "");
	assert_true(ri_path_join(folder, "/opt", "mpi"));
	assert_string_equal(folder, "/opt/mpi");
	assert_true(ri_path_below("/opt/mpi/lib", "/opt/mpi"));
	assert_true(ri_path_below("/opt/mpi", "/opt/mpi"));
	assert_false(ri_path_below("/opt/mpi2", "/opt/mpi"));
	assert_false(ri_path_below("/opt", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
