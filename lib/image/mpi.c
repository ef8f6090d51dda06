/* SPDX-License-Identifier: Apache-2.0 */
#include "image/mpi.h"

#include <string.h>

#include "base/path.h"

/*
 * Names of libraries that programs are linked to: Open MPI 3 to 5, 2; MPICH,
 * Intel MPI, MVAPICH2 and Open MPI 1.10; Debian's MPICH; the standard's ABI.
 */
static const char *const names[] = { "libmpi.so.40", "libmpi.so.20", "libmpi.so.12",
	"libmpich.so.12", "libmpi_abi.so.0", NULL };
static const char *const launchers[] = { "mpirun", "mpiexec", "mpiexec.hydra", "orterun",
	"prterun", "mpirun_rsh", NULL };
/* Below the prefix of a launcher: as make install, Intel MPI 2018, 2019 and later have it. */
static const char *const folders[] = { "lib", "lib64", "lib/release", "lib/release_mt",
	"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", NULL };

/* The library of this file, perhaps one that is known by another path; NULL: one too many. */
static const struct ri_mpi_library *add_library(struct ri_mpi *out,
	const struct ri_loader *loader, const struct ri_library *file)
{
	struct ri_mpi_library *library = &out->libraries[out->library_count];

	for (size_t i = 0; i < out->library_count; i++)
		if (strcmp(out->libraries[i].file.real, file->real) == 0)
			return &out->libraries[i];
	if (out->library_count == RI_MPI_MOST)
		return NULL;
	*library = (struct ri_mpi_library){ .file = *file };
	ri_mpi_judge_library(loader, library);
	out->library_count++;
	return library;
}

static void add_launcher(struct ri_mpi *out, const struct ri_loader *loader,
	const struct ri_program *program)
{
	struct ri_mpi_launcher *launcher = &out->launchers[out->launcher_count];

	for (size_t i = 0; i < out->launcher_count; i++)
		if (strcmp(out->launchers[i].program.real, program->real) == 0)
			return;
	if (out->launcher_count == RI_MPI_MOST)
		return;
	*launcher = (struct ri_mpi_launcher){ .program = *program };
	ri_mpi_judge_launcher(loader, launcher);
	out->launcher_count++;
}

static void find_launchers(struct ri_mpi *out, const struct ri_loader *loader)
{
	struct ri_program program;

	for (size_t i = 0; launchers[i] != NULL; i++)
		for (size_t at = 0; ri_program_next(loader->image, launchers[i], &at, &program);)
			add_launcher(out, loader, &program);
}

/* What was installed together has one version. */
static void take_version(struct ri_mpi_launcher *launcher, const struct ri_mpi_library *library)
{
	if (library != NULL && library->family == launcher->family &&
		launcher->family != RI_MPI_UNKNOWN && launcher->version[0] == '\0')
		memcpy(launcher->version, library->version, sizeof(launcher->version));
}

static void find_beside(struct ri_mpi *out, const struct ri_loader *loader,
	struct ri_mpi_launcher *launcher)
{
	char folder[RI_PATH_SIZE];
	struct ri_library file;

	for (size_t i = 0; folders[i] != NULL; i++) {
		if (!ri_path_join(folder, launcher->prefix, folders[i]) ||
			!ri_host_has(loader->image->host, folder))
			continue;
		for (size_t n = 0; names[n] != NULL; n++)
			if (ri_loader_look(loader, folder, names[n], &file))
				take_version(launcher, add_library(out, loader, &file));
	}
}

void ri_mpi_find_loaded(struct ri_mpi *out, const struct ri_loader *loader)
{
	struct ri_library file;

	out->library_count = out->launcher_count = 0;
	for (size_t n = 0; names[n] != NULL; n++)
		if (ri_loader_find(loader, names[n], &file))
			add_library(out, loader, &file);
}

void ri_mpi_find_rest(struct ri_mpi *out, const struct ri_loader *loader)
{
	struct ri_library file;

	find_launchers(out, loader);
	for (size_t i = 0; i < out->launcher_count; i++)
		find_beside(out, loader, &out->launchers[i]);
	for (size_t n = 0; names[n] != NULL; n++)
		if (ri_loader_find_apart(loader, names[n], &file))
			add_library(out, loader, &file);
}

const char *ri_mpi_family_name(enum ri_mpi_family family)
{
	switch (family) {
	case RI_MPI_OPENMPI:
		return "Open MPI";
	case RI_MPI_MPICH:
		return "MPICH";
	case RI_MPI_INTEL:
		return "Intel MPI";
	case RI_MPI_MVAPICH2:
		return "MVAPICH2";
	default:
		return "an unknown MPI";
	}
}

bool ri_mpi_fits(enum ri_mpi_family launcher, enum ri_mpi_family library)
{
	if (launcher == RI_MPI_UNKNOWN || library == RI_MPI_UNKNOWN)
		return true;
	return (launcher == RI_MPI_OPENMPI) == (library == RI_MPI_OPENMPI);
}
