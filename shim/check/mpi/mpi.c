/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI of the image: is there one, which, and do the launcher and the
 * library that programs load belong together? A rank whose launcher speaks
 * another language takes itself for rank 0 of 1, and no message says so.
 */
#include <stdio.h>
#include <string.h>

#include "check/software.h"
#include "from/sources.h"
#include "probe/prober.h"
#include "system/clock.h"

/* Has the loader a way to it? Broken ones count: that is where it ends. */
static bool is_found(const struct ri_mpi_library *library)
{
	return library->file.place != RI_LIBRARY_APART;
}

static const char *describe(char *out, size_t size, enum ri_mpi_family family, const char *version)
{
	snprintf(out, size, "%s%s%s", ri_mpi_family_name(family), version[0] == '\0' ? "" : " ",
		version);
	return out;
}

static void ask_mpi(struct ri_checking *checking)
{
	ri_check_asked(checking, ri_demands_find(checking->demands, RI_TOPIC_MPI));
}

static void say_apart(struct ri_checking *checking, const struct ri_mpi_library *library)
{
	const struct ri_demand *demand = ri_demands_find(checking->demands, RI_TOPIC_MPI);
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	/* its launcher and its compiler wrappers, first on PATH, tell programs where it is */
	bool launched = mpi->launcher_count > 0 &&
		strcmp(mpi->launchers[0].prefix, library->prefix) == 0;

	ri_check_lack(checking, RI_CODE_MPI_PRESENT_APART, library->file.path,
		"is in a folder that the loader does not search");
	if (demand != NULL && (demand->asker != RI_ASKER_SOURCE || !launched))
		ri_check_asked(checking, demand);
	ri_check_hint(checking, "inside the image: ENV LD_LIBRARY_PATH=%.*s, or add its folder to "
		"/etc/ld.so.conf.d and run ldconfig; a program linked with -rpath finds it "
		"anyway", (int)(strrchr(library->file.path, '/') - library->file.path),
		library->file.path);
}

/* The first that the loader finds, or passes over, and that is whole or not. */
static const struct ri_mpi_library *find_first(const struct ri_mpi *mpi, bool found, bool whole)
{
	for (size_t i = 0; i < mpi->library_count; i++)
		if (is_found(&mpi->libraries[i]) == found &&
			(mpi->libraries[i].file.fault == RI_ELF_OK) == whole)
			return &mpi->libraries[i];
	return NULL;
}

static void check_present(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi_loaded(checking);
	const struct ri_mpi_library *library = find_first(mpi, true, true), *broken, *apart;
	struct ri_library file;
	char what[64];

	if (library != NULL) {
		ri_check_pass(checking, library->file.path, "%s",
			describe(what, sizeof(what), library->family, library->version));
		return;
	}
	broken = find_first(mpi, true, false);
	apart = find_first(ri_check_mpi(checking), false, true);
	/* a library for another machine, or a table that names what is gone, is a likely cause */
	ri_loader_find(ri_check_loader(checking), "libmpi.so.40", &file);
	if (broken != NULL) {
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_BROKEN, broken->file.path,
			"%s, and the loader uses it, from %s",
			ri_check_library_fault(&broken->file),
			ri_library_place_name(broken->file.place));
		ask_mpi(checking);
		ri_check_hint(checking, "inside the image: install it again, or take its folder "
			"off LD_LIBRARY_PATH");
		return;
	}
	if (apart != NULL) {
		say_apart(checking, apart);
		return;
	}
	if (file.foreign != NULL)
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_FOREIGN, file.foreign,
			"is for %s, and there is no other", ri_elf_machine_name(file.machine));
	else if (file.gone != NULL)
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_MISSING, file.gone,
			"is listed in /etc/ld.so.cache, but missing");
	else
		ri_check_lack(checking, RI_CODE_MPI_PRESENT_MISSING, "libmpi",
			"this image has no MPI library");
	ask_mpi(checking);
}

const struct ri_check ri_check_mpi_present = {
	.summary = "programs find an MPI library",
	.reads = "LD_LIBRARY_PATH, /etc/ld.so.cache and the loader's folders (ld.so(8)) for the "
		"names of Open MPI, MPICH, Intel MPI and MVAPICH2",
	.fails = "it is missing, damaged, for another processor, or in a folder that the loader "
		"does not search; a warning in an MPI job, unless the library's own mpirun is "
		"first on PATH",
	.advice = "inside the image: a base image with MPI, or apt-get install openmpi-bin "
		"libopenmpi-dev (or mpich)",
	.topics = RI_ABOUT(MPI),
	.in_image = true,
	.run = check_present,
};

static void check_launcher(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi(checking);
	const struct ri_mpi_launcher *launcher = mpi->launchers;
	char what[64];

	if (mpi->launcher_count + mpi->library_count == 0 &&
		ri_demands_check(checking->demands, checking->number, false) == NULL) {
		ri_check_skip(checking, "mpirun", "no MPI is installed");
	} else if (mpi->launcher_count == 0) {
		ri_check_lack(checking, RI_CODE_MPI_LAUNCHER_MISSING, "mpirun",
			"neither mpirun nor mpiexec is on PATH");
	} else if (launcher->lacks_prterun) {
		ri_check_lack(checking, RI_CODE_MPI_LAUNCHER_PRTERUN, launcher->program.path,
			"belongs to Open MPI 5 and executes prterun, which is missing");
		ri_check_hint(checking, "inside the image: copy the whole installation, or install "
			"PRRTE");
	} else {
		ri_check_pass(checking, launcher->program.path, "%s",
			describe(what, sizeof(what), launcher->family, launcher->version));
	}
}

const struct ri_check ri_check_mpi_launcher = {
	.summary = "mpirun is on PATH, together with the programs that it runs",
	.reads = "PATH for mpirun, mpiexec and similar, prterun for Open MPI 5 (its "
		"ompi/tools/mpirun)",
	.fails = "mpirun is missing, or that of Open MPI 5 has no prterun",
	.advice = "inside the image: only needed if ranks are started from inside; apt-get "
		"install openmpi-bin, or put its folder on PATH",
	.in_image = true,
	.run = check_launcher,
};

/*
 * Who has started this rank, or would start ranks from here: *launcher, which
 * is NULL for the first.
 */
static enum ri_mpi_family find_starter(const struct ri_checking *checking,
	const struct ri_mpi_launcher **launcher)
{
	static const enum ri_mpi_family families[] = {
		[RI_SOURCE_OPENMPI] = RI_MPI_OPENMPI, [RI_SOURCE_MPICH] = RI_MPI_MPICH,
		[RI_SOURCE_MVAPICH2] = RI_MPI_MVAPICH2,
	};
	enum ri_source_mpi source = ri_source_mpi(checking->topology->identity);
	const struct ri_mpi *mpi;

	*launcher = NULL;
	if (source != RI_SOURCE_NO_MPI)
		return families[source];
	mpi = ri_check_mpi(checking);
	if (mpi->launcher_count == 0)
		return RI_MPI_UNKNOWN;
	*launcher = mpi->launchers;
	return mpi->launchers[0].family;
}

/* The library a program would load that the starter speaks to, else the first one. */
static const struct ri_mpi_library *find_partner(const struct ri_mpi *mpi,
	enum ri_mpi_family starter)
{
	for (size_t i = 0; i < mpi->library_count; i++) {
		const struct ri_mpi_library *library = &mpi->libraries[i];

		if (is_found(library) && library->file.fault == RI_ELF_OK &&
			ri_mpi_fits(starter, library->family))
			return library;
	}
	return find_first(mpi, true, true);
}

static void check_match(struct ri_checking *checking)
{
	const struct ri_mpi_launcher *launcher;
	enum ri_mpi_family starter = find_starter(checking, &launcher);
	const struct ri_mpi_library *library = find_partner(ri_check_mpi_loaded(checking), starter);
	const char *subject = launcher == NULL ? checking->topology->identity
					       : launcher->program.path;
	const char *version = launcher == NULL ? "" : launcher->version;
	size_t series = strcspn(version, ".");
	char what[64];

	if (launcher == NULL && starter == RI_MPI_UNKNOWN) {
		ri_check_skip(checking, "mpirun", "no launcher is here to compare");
	} else if (library == NULL) {
		ri_check_skip(checking, subject, "no MPI library that programs find is here");
	} else if (!ri_mpi_fits(starter, library->family)) {
		ri_check_lack(checking, RI_CODE_MPI_MATCH_MIXED, subject,
			"%s starts the ranks, but the library that they load is %s (%s): each "
			"would be rank 0 of 1", ri_mpi_family_name(starter),
			describe(what, sizeof(what), library->family, library->version),
			library->file.path);
		ask_mpi(checking);
	} else if (starter == library->family && version[0] != '\0' &&
		library->version[0] != '\0' &&
		(series != strcspn(library->version, ".") ||
			strncmp(version, library->version, series) != 0)) {
		/* versions mostly understand each other, those of a series surely */
		ri_check_lack(checking, RI_CODE_MPI_MATCH_SERIES, subject,
			"is version %s, but the library that programs load is version %s (%s)",
			version, library->version, library->file.path);
		ri_check_hint(checking, "inside the image: keep one of them");
	} else {
		ri_check_pass(checking, subject, "matches %s", library->file.path);
	}
}

const struct ri_check ri_check_mpi_match = {
	.summary = "the launcher and the library match",
	.reads = "what the fact `mpi` and mpi.launcher read; in an MPI job, the launcher whose "
		"variables are set",
	.fails = "no library that programs find can talk to the launcher: PMIx with Open MPI, PMI "
		"with MPICH and its relatives; or they are of different series. A warning in an "
		"MPI job",
	.advice = "inside the image: put the folder of one MPI first on both PATH and "
		"LD_LIBRARY_PATH; with conda, remove its MPI or use it for both",
	.topics = RI_ABOUT(MPI),
	.in_image = true,
	.run = check_match,
};

static void try_library(struct ri_checking *checking, const struct ri_mpi_library *library,
	int64_t until)
{
	static struct ri_prober prober;
	const char *path = library->file.path, *text = prober.said.text;
	const struct ri_prober_order order = { .what = "mpi", .library = path, .until_us = until };
	char version[RI_MPI_VERSION];
	enum ri_mpi_family family;

	ri_prober_run(&prober, checking, &order);
	family = ri_mpi_read_answer(text, version);
	if (!ri_prober_judge(checking, &prober, &library->file, RI_CODE_MPI_VERSION_CRASHED,
		RI_CODE_MPI_VERSION_HUNG)) {
		ask_mpi(checking);
	} else if (!prober.said.load.ok) {
		ri_check_lack(checking, RI_CODE_MPI_VERSION_UNLOADED, path,
			"cannot be loaded: %.200s", text);
		ask_mpi(checking);
	} else if (!prober.said.version.ok) {
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, path,
			"does not report its version: error %u", prober.said.version.error);
	} else if (family == RI_MPI_UNKNOWN) {
		ri_check_unknown(checking, RI_CODE_MPI_VERSION_UNKNOWN, path,
			"reports itself as \"%.100s\", which rankinit does not know", text);
	} else if (library->family != RI_MPI_UNKNOWN && library->family != family) {
		/* the file has the marks of one, and passes calls on to another */
		ri_check_note(checking, RI_CODE_MPI_VERSION_OTHER, path,
			"has the marks of %s, but reports itself as %s %s",
			ri_mpi_family_name(library->family), ri_mpi_family_name(family), version);
	} else {
		ri_check_pass(checking, path, "%s %s, as it reports itself",
			ri_mpi_family_name(family), version);
	}
}

static void check_version(struct ri_checking *checking)
{
	const struct ri_mpi *mpi = ri_check_mpi_loaded(checking);
	int64_t until = ri_now_us() + RI_PROBER_MS * 1000;
	struct ri_library file;
	char what[200];

	for (size_t i = 0; i < mpi->library_count; i++)
		try_library(checking, &mpi->libraries[i], until);
	if (checking->count > 0)
		return;
	ri_loader_find(ri_check_loader(checking), "libmpi.so.40", &file);
	if (ri_prober_says_lost(what, sizeof(what), &file))
		ri_check_lack(checking, RI_CODE_MPI_VERSION_MISSING, "libmpi.so.40", "%s", what);
	else
		ri_check_unprobed(checking, "libmpi", what);
}

const struct ri_check ri_check_mpi_version = {
	.summary = "the MPI library can be loaded and reports its version",
	.reads = "MPI_Get_library_version of each library that programs find (MPI 3.1, 8.1.1), in "
		"a separate process that gets two seconds",
	.fails = "a library cannot be loaded, ends that process or does not return; unknown "
		"without rankinit-probe",
	.advice = "inside the image: install it again, with all libraries that it needs; \"ldd\" "
		"shows which one is missing",
	RI_CHECK_PROBES("mpi", RI_PROBER_CHECK_MS),
	.topics = RI_ABOUT(MPI),
	.run = check_version,
};
