/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI an image has: made ones, and this machine's own. */
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
static struct ri_mpi mpi;

static const char openmpi[] = "const char ompi_version_string[] = \"%s\";\n"
	"int ompi_mpi_comm_world;\n";

static int make(void **state)
{
	(void)state;
	tree_make(&tree);
	host = (struct ri_host){ .root = tree.fd };
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
	ri_mpi_find_loaded(&mpi, &loader);
	ri_mpi_find_rest(&mpi, &loader);
}

static void folders(const char *path)
{
	char part[512];

	for (const char *slash = strchr(path, '/'); ; slash = strchr(slash + 1, '/')) {
		size_t length = slash == NULL ? strlen(path) : (size_t)(slash - path);

		snprintf(part, sizeof(part), "%.*s", (int)length, path);
		if (mkdirat(tree.fd, part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
		if (slash == NULL)
			return;
	}
}

static void program(const char *path, const char *text)
{
	tree_file(&tree, path, text);
	assert_int_equal(fchmodat(tree.fd, path, 0755, 0), 0);
}

static void library(size_t index, const char *path, enum ri_mpi_family family, const char *version)
{
	assert_true(index < mpi.library_count);
	assert_string_equal(mpi.libraries[index].file.path, path);
	assert_int_equal(mpi.libraries[index].family, family);
	assert_string_equal(mpi.libraries[index].version, version);
}

static void launcher(size_t index, const char *path, enum ri_mpi_family family,
	const char *version)
{
	assert_true(index < mpi.launcher_count);
	assert_string_equal(mpi.launchers[index].program.path, path);
	assert_int_equal(mpi.launchers[index].family, family);
	assert_string_equal(mpi.launchers[index].version, version);
}

static void test_none(void **state)
{
	(void)state;
	find(NULL, NULL);
	assert_int_equal(mpi.library_count, 0);
	assert_int_equal(mpi.launcher_count, 0);
}

static void test_openmpi(void **state)
{
	char path[] = "PATH=/usr/local/bin", loads[] = "LD_LIBRARY_PATH=/usr/local/lib";
	char source[256];

	(void)state;
	need_compiler();
	folders("usr/local/lib/openmpi");
	folders("usr/local/bin");
	snprintf(source, sizeof(source), openmpi, "4.1.5");
	tree_library(&tree, "usr/local/lib/libmpi.so.40.30.5", "-Wl,-soname,libmpi.so.40", source);
	tree_link(&tree, "usr/local/lib/libmpi.so.40", "libmpi.so.40.30.5");
	program("usr/local/bin/orterun", "");
	tree_link(&tree, "usr/local/bin/mpirun", "orterun");
	tree_link(&tree, "usr/local/bin/mpiexec", "orterun");
	find(path, loads);
	assert_int_equal(mpi.library_count, 1);
	library(0, "/usr/local/lib/libmpi.so.40", RI_MPI_OPENMPI, "4.1.5");
	assert_string_equal(mpi.libraries[0].prefix, "/usr/local");
	assert_int_equal(mpi.libraries[0].file.place, RI_LIBRARY_BY_VARIABLE);
	assert_false(mpi.libraries[0].ucx);
	/* one program, whatever its names */
	assert_int_equal(mpi.launcher_count, 1);
	launcher(0, "/usr/local/bin/mpirun", RI_MPI_OPENMPI, "4.1.5");
	assert_false(mpi.launchers[0].lacks_prterun);
	tree_file(&tree, "usr/local/lib/openmpi/mca_pml_ucx.so", "");
	find(path, NULL);
	assert_int_equal(mpi.libraries[0].file.place, RI_LIBRARY_APART);
	assert_true(mpi.libraries[0].ucx);
	assert_false(mpi.libraries[0].ofi);
}

/* Where the library does not say its version, its name does. */
static void test_openmpi_by_name(void **state)
{
	static const struct {
		const char *name, *version;
	} cases[] = {
		{ "libmpi.so.40.0.7", "3.0.7" }, { "libmpi.so.40.10.1", "3.1.1" },
		{ "libmpi.so.40.20.3", "4.0.3" }, { "libmpi.so.40.30.4", "4.1.4" },
		{ "libmpi.so.40.40.6", "5.0.6" }, { "libmpi.so.40.50.1", "" },
		{ "libmpi.so.40", "" }, { "libmpi.so.40.30.99999999999999999999", "" },
	};
	char loads[] = "LD_LIBRARY_PATH=/opt/names";
	char path[128];

	(void)state;
	need_compiler();
	folders("opt/names");
	tree_library(&tree, "opt/plain.so", "-Wl,-soname,libmpi.so.40",
		"int ompi_mpi_comm_world;\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), "opt/names/%s", cases[i].name);
		tree_link(&tree, "opt/names/libmpi.so.40", cases[i].name);
		if (strcmp(cases[i].name, "libmpi.so.40") == 0)
			assert_int_equal(unlinkat(tree.fd, path, 0), 0);
		tree_cut(&tree, path, "opt/plain.so", tree_size(&tree, "opt/plain.so"));
		find(loads, NULL);
		library(0, "/opt/names/libmpi.so.40", RI_MPI_OPENMPI, cases[i].version);
		unlinkat(tree.fd, "opt/names/libmpi.so.40", 0);
		unlinkat(tree.fd, path, 0);
	}
}

static void test_openmpi_5(void **state)
{
	char path[] = "PATH=/opt/ompi5/bin", loads[] = "LD_LIBRARY_PATH=/opt/ompi5/lib";
	char source[256], options[512];

	(void)state;
	need_compiler();
	folders("opt/ompi5/lib");
	folders("opt/ompi5/bin");
	snprintf(source, sizeof(source), openmpi, "5.0.7");
	tree_library(&tree, "opt/ompi5/lib/libopen-pal.so.80", "-Wl,-soname,libopen-pal.so.80", "");
	tree_library(&tree, "opt/ompi5/lib/libucp.so.0", "-Wl,-soname,libucp.so.0", "");
	snprintf(options, sizeof(options), "-Wl,--no-as-needed %s/opt/ompi5/lib/libucp.so.0",
		tree.path);
	tree_library(&tree, "opt/ompi5/lib/libmpi.so.40", options, source);
	snprintf(options, sizeof(options), "-Wl,--no-as-needed %s/opt/ompi5/lib/libopen-pal.so.80",
		tree.path);
	tree_library(&tree, "opt/ompi5/bin/mpirun", options, "");
	find(path, loads);
	library(0, "/opt/ompi5/lib/libmpi.so.40", RI_MPI_OPENMPI, "5.0.7");
	assert_true(mpi.libraries[0].ucx);
	launcher(0, "/opt/ompi5/bin/mpirun", RI_MPI_OPENMPI, "5.0.7");
	assert_true(mpi.launchers[0].lacks_prterun);
	program("opt/ompi5/bin/prterun", "");
	find(path, loads);
	assert_false(mpi.launchers[0].lacks_prterun);
}

static void test_mpich(void **state)
{
	char path[] = "PATH=/opt/conda/bin:/usr/local/bin", none[] = "A=B";

	(void)state;
	need_compiler();
	folders("opt/conda/lib/pkgconfig");
	folders("opt/conda/bin");
	tree_library(&tree, "opt/conda/lib/libmpi.so.12.4.1", "-Wl,-soname,libmpi.so.12", "");
	tree_link(&tree, "opt/conda/lib/libmpi.so.12", "libmpi.so.12.4.1");
	program("opt/conda/bin/mpiexec.hydra", "");
	tree_link(&tree, "opt/conda/bin/mpirun", "mpiexec.hydra");
	find(path, none);
	launcher(0, "/opt/conda/bin/mpirun", RI_MPI_MPICH, "4.2");
	launcher(1, "/usr/local/bin/mpirun", RI_MPI_OPENMPI, "4.1.5");
	assert_false(ri_mpi_fits(mpi.launchers[0].family, RI_MPI_OPENMPI));
	assert_true(ri_mpi_fits(mpi.launchers[0].family, RI_MPI_INTEL));
	tree_file(&tree, "opt/conda/lib/pkgconfig/mpich.pc", "Name: mpich\nVersion: 4.2.1\n");
	find(path, none);
	launcher(0, "/opt/conda/bin/mpirun", RI_MPI_MPICH, "4.2.1");
	tree_library(&tree, "opt/conda/lib/libmpi.so.12.4.1", "-Wl,-soname,libmpi.so.12",
		"const char MPII_Version_string[] = \"4.2.2\";\n");
	find(path, none);
	launcher(0, "/opt/conda/bin/mpirun", RI_MPI_MPICH, "4.2.2");
}

static void test_intel(void **state)
{
	char path[] = "PATH=/opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/bin";
	char root[] = "I_MPI_ROOT=/apps/impi";

	(void)state;
	need_compiler();
	folders("opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/bin");
	folders("opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/lib/release_mt");
	tree_library(&tree, "opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/lib/"
		"release_mt/libmpi.so.12", "-Wl,-soname,libmpi.so.12", "");
	program("opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/bin/mpirun",
		"#!/bin/sh\n. \"${I_MPI_ROOT}/mpivars.sh\"\nmpiexec.hydra \"$@\"\n");
	find(path, NULL);
	launcher(0, "/opt/intel/compilers_and_libraries_2018.2.199/linux/mpi/intel64/bin/mpirun",
		RI_MPI_INTEL, "2018.2.199");
	folders("apps/impi/2021.10.0/lib/release");
	tree_library(&tree, "apps/impi/2021.10.0/lib/release/libmpi.so.12",
		"-Wl,-soname,libmpi.so.12", "");
	find(root, (char[]){ "LD_LIBRARY_PATH=/apps/impi/2021.10.0/lib/release" });
	library(0, "/apps/impi/2021.10.0/lib/release/libmpi.so.12", RI_MPI_INTEL, "2021.10.0");
	assert_string_equal(mpi.libraries[0].prefix, "/apps/impi/2021.10.0");
	/* elsewhere its name alone says nothing, and mpivars.sh may have put a link there */
	folders("data/2021.11/lib/release");
	tree_link(&tree, "data/latest", "2021.11");
	tree_library(&tree, "data/2021.11/lib/release/libmpi.so.12", "-Wl,-soname,libmpi.so.12",
		"");
	find((char[]){ "A=B" }, (char[]){ "LD_LIBRARY_PATH=/data/latest/lib/release" });
	library(0, "/data/latest/lib/release/libmpi.so.12", RI_MPI_UNKNOWN, "");
	find((char[]){ "I_MPI_ROOT=/data/latest/" },
		(char[]){ "LD_LIBRARY_PATH=/data/latest/lib/release" });
	library(0, "/data/latest/lib/release/libmpi.so.12", RI_MPI_INTEL, "2021.11");
}

static void test_others(void **state)
{
	char path[] = "PATH=/opt/mvapich2-2.3.7/bin";

	(void)state;
	need_compiler();
	folders("opt/mvapich2-2.3.7/bin");
	folders("opt/mvapich2-2.3.7/lib");
	folders("opt/cray/lib");
	tree_library(&tree, "opt/mvapich2-2.3.7/lib/libmpi.so.12", "-Wl,-soname,libmpi.so.12", "");
	program("opt/mvapich2-2.3.7/bin/mpirun_rsh", "");
	program("opt/mvapich2-2.3.7/bin/mpiname", "");
	find(path, NULL);
	launcher(0, "/opt/mvapich2-2.3.7/bin/mpirun_rsh", RI_MPI_MVAPICH2, "2.3.7");
	/* the name alone proves nothing */
	tree_library(&tree, "opt/cray/lib/libmpi.so.12", "-Wl,-soname,libmpi.so.12", "");
	find((char[]){ "LD_LIBRARY_PATH=/opt/cray/lib" }, NULL);
	library(0, "/opt/cray/lib/libmpi.so.12", RI_MPI_UNKNOWN, "");
	tree_file(&tree, "opt/cray/lib/libmpi.so.12", "not a library\n");
	find((char[]){ "LD_LIBRARY_PATH=/opt/cray/lib" }, NULL);
	library(0, "/opt/cray/lib/libmpi.so.12", RI_MPI_UNKNOWN, "");
	assert_int_equal(mpi.libraries[0].file.fault, RI_ELF_OTHER);
	program("opt/cray/lib/mpirun", "#!/bin/sh\nsrun \"$@\"\n");
	find((char[]){ "PATH=/opt/cray/lib" }, NULL);
	launcher(0, "/opt/cray/lib/mpirun", RI_MPI_UNKNOWN, "");
}

/* The packages of this machine, where there are any, as they call themselves. */
static void test_this_machine(void **state)
{
	static const struct {
		const char *name, *command;
		enum ri_mpi_family family;
	} known[] = {
		{ "libmpi.so.40", "ompi_info --version 2>/dev/null | sed -n 's/^Open MPI v//p'",
			RI_MPI_OPENMPI },
		{ "libmpich.so.12",
			"mpichversion 2>/dev/null | sed -n 's/^MPICH Version:[ \t]*//p'",
			RI_MPI_MPICH },
	};
	char path[] = "PATH=/usr/bin:/bin", line[64];
	size_t compared = 0;

	(void)state;
	host.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(host.root >= 0);
	find(path, NULL);
	close(host.root);
	host = (struct ri_host){ .root = tree.fd };
	for (size_t i = 0; i < mpi.library_count; i++)
		for (size_t n = 0; n < sizeof(known) / sizeof(known[0]); n++) {
			FILE *said;

			if (strstr(mpi.libraries[i].file.path, known[n].name) == NULL)
				continue;
			assert_int_equal(mpi.libraries[i].family, known[n].family);
			said = popen(known[n].command, "r");
			assert_non_null(said);
			if (fgets(line, sizeof(line), said) != NULL) {
				line[strcspn(line, "\n")] = '\0';
				assert_string_equal(mpi.libraries[i].version, line);
				compared++;
			}
			pclose(said);
		}
	if (compared == 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_openmpi),
		cmocka_unit_test(test_openmpi_by_name),
		cmocka_unit_test(test_openmpi_5),
		cmocka_unit_test(test_mpich),
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
