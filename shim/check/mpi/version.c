/* SPDX-License-Identifier: Apache-2.0 */
/* What a library of MPI says of itself when it is loaded: the fact "mpi" has only read its file. */
#include <stdio.h>

#include "check/software.h"
#include "probe/prober.h"
#include "system/clock.h"

static void ask_mpi(struct ri_checking *checking)
{
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_MPI));
}

/* The file has the marks of one, and the library is another: one that passes calls on. */
static void judge_version(struct ri_checking *checking, const struct ri_mpi_library *library,
	const char *text)
{
	char version[RI_MPI_VERSION];
	enum ri_mpi_family family = ri_mpi_read_answer(text, version);
	const char *path = library->file.path;

	if (family == RI_MPI_UNKNOWN)
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, path,
			"reports itself as \"%.100s\", which rankinit does not know", text);
	else if (library->family != RI_MPI_UNKNOWN && library->family != family)
		ri_check_note(checking, RI_CODE_MPI_VERSION_OTHER, path,
			"has the marks of %s, but reports itself as %s %s",
			ri_mpi_family_name(library->family), ri_mpi_family_name(family), version);
	else
		ri_check_pass(checking, path, "%s %s, as it reports itself",
			ri_mpi_family_name(family), version);
}

static void try_library(struct ri_checking *checking, const struct ri_mpi_library *library,
	int64_t until)
{
	static const struct ri_prober_codes codes = { RI_CODE_MPI_VERSION_CRASHED,
		RI_CODE_MPI_VERSION_HUNG };
	static struct ri_prober prober;
	const struct ri_prober_order order = { .what = "mpi", .library = library->file.path,
		.until_us = until };

	ri_prober_run(&prober, checking, &order);
	if (!ri_prober_judge(checking, &prober, &library->file, codes)) {
		ask_mpi(checking);
	} else if (!prober.said.load.ok) {
		ri_check_lack(checking, RI_CODE_MPI_VERSION_UNLOADED, library->file.path,
			"cannot be loaded: %.200s", prober.said.text);
		ask_mpi(checking);
	} else if (!prober.said.version.ok) {
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, library->file.path,
			"does not report its version: error %llu",
			(unsigned long long)prober.said.version.error);
	} else {
		judge_version(checking, library, prober.said.text);
	}
}

static void say_missing(struct ri_checking *checking)
{
	struct ri_library file;
	char what[200];

	ri_loader_find(ri_check_loader(checking), "libmpi.so.40", &file);
	if (ri_prober_says_lost(what, sizeof(what), &file))
		ri_check_lack(checking, RI_CODE_MPI_VERSION_MISSING, "libmpi.so.40", "%s", what);
	else
		ri_check_unprobed(checking, "libmpi", what);
}

static void check_version(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi_loaded(checking);
	int64_t until = ri_now_us() + RI_PROBER_MS * 1000;

	for (size_t i = 0; i < mpi->library_count; i++)
		try_library(checking, &mpi->libraries[i], until);
	if (checking->count == 0)
		say_missing(checking);
}

const struct ri_check ri_check_mpi_version = {
	.id = "mpi.version",
	.summary = "the MPI library can be loaded and reports its version",
	.reads = "MPI_Get_library_version of each library that programs find (MPI 3.1, 8.1.1), in "
		"a separate process that gets two seconds",
	.fails = "a library cannot be loaded, ends that process or does not return; unknown "
		"without rankinit-probe",
	.advice = "inside the image: install it again, with all libraries that it needs; \"ldd\" "
		"shows which one is missing",
	.runs = RI_CHECK_DEEP,
	.probe = "mpi",
	.limit_ms = RI_PROBER_CHECK_MS,
	.topics = RI_ABOUT(MPI),
	.run = check_version,
};
