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

static struct {
	char all[512];	/* each path, with a mark behind it */
	int error;
} told;

static void tell(const struct ri_host *of, const struct ri_host_told *one)
{
	const char *mark = one->info == NULL ? "?" : one->flags != O_PATH ? "!"
		: S_ISLNK(one->info->st_mode) ? "@" : S_ISDIR(one->info->st_mode) ? "/" : "";
	size_t length = strlen(told.all);

	assert_ptr_equal(of, &host);
	snprintf(told.all + length, sizeof(told.all) - length, "%s%s%s%s ", one->path, mark,
		mark[0] == '@' ? "->" : "", mark[0] == '@' ? one->target : "");
	told.error = one->error;
	errno = EIO;	/* the function that looked keeps its own */
}

static const char *tellings(void)
{
	static char all[sizeof(told.all)];

	memcpy(all, told.all, sizeof(all));
	told.all[0] = '\0';
	return all;
}

/* What is looked at and opened, how, and what came of it; the caller's errno stays. */
static void test_tell(void **state)
{
	char bytes[64];

	(void)state;
	host.tell = tell;
	assert_true(ri_host_read(&host, "/opt/mpi/bin/orterun", bytes, sizeof(bytes)) > 0);
	assert_string_equal(tellings(), "opt/ opt/mpi/ opt/mpi/bin/ opt/mpi/bin/orterun "
		"opt/mpi/bin/orterun! ");
	assert_int_equal(told.error, 0);
	assert_int_equal(ri_host_read(&host, "nowhere", bytes, sizeof(bytes)), -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(tellings(), "nowhere? ");
	assert_int_equal(told.error, ENOENT);
	assert_int_equal(ri_host_list(&host, "usr", bytes, sizeof(bytes)), 1);
	assert_string_equal(tellings(), "usr/ usr! usr/ usr/bin@->../opt/mpi/bin ");
	assert_true(ri_host_has(&host, "usr/bin"));
	assert_string_equal(tellings(), "usr/ usr/bin@->../opt/mpi/bin opt/ opt/mpi/ "
		"opt/mpi/bin/ ");
	assert_string_equal(real_of("etc/loop"), strerror(ELOOP));
	assert_int_equal(strncmp(tellings(), "etc/ etc/loop@->pool etc/pool@->loop ", 37), 0);
	host.tell = NULL;
	assert_true(ri_host_has(&host, "opt"));
	assert_string_equal(tellings(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_tell),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
