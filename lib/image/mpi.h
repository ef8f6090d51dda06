/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI of an image: libraries, launchers, of which implementation and
 * version they are, told from files alone.
 */
#ifndef RI_IMAGE_MPI_H
#define RI_IMAGE_MPI_H

#include "image/library.h"

enum ri_mpi_family {
	RI_MPI_UNKNOWN,
	RI_MPI_OPENMPI,
	RI_MPI_MPICH,
	RI_MPI_INTEL,
	RI_MPI_MVAPICH2,
};

enum { RI_MPI_VERSION = 24, RI_MPI_MOST = 8 };

struct ri_mpi_library {
	struct ri_library file;
	const char *prefix;		/* of its installation: "/usr", "/opt/mpi" */
	enum ri_mpi_family family;
	char version[RI_MPI_VERSION];	/* "4.1.4", "4.2"; empty: unknown */
	bool ucx;			/* Open MPI: it can use UCX */
	bool ofi;			/* or libfabric */
};

struct ri_mpi_launcher {
	struct ri_program program;	/* the first of several names for it */
	const char *prefix;
	enum ri_mpi_family family;
	char version[RI_MPI_VERSION];	/* of the library beside it; empty: unknown */
	bool lacks_prterun;		/* Open MPI 5's runs that one, and it is not there */
};

struct ri_mpi {
	/* those that the loader finds, then those where it does not look */
	struct ri_mpi_library libraries[RI_MPI_MOST];
	size_t library_count;
	/* in the order of PATH: the first is the one that runs */
	struct ri_mpi_launcher launchers[RI_MPI_MOST];
	size_t launcher_count;
};

/*
 * The libraries that the loader finds; and, added to them, the others and the
 * launchers, which takes several times as long. Neither fails: what is not
 * found, or too much, is not there.
 */
void ri_mpi_find_loaded(struct ri_mpi *out, const struct ri_loader *loader);
void ri_mpi_find_rest(struct ri_mpi *out, const struct ri_loader *loader);

/* "Open MPI", "MPICH", "Intel MPI", "MVAPICH2", "an unknown MPI" */
const char *ri_mpi_family_name(enum ri_mpi_family family);

/*
 * Does a launcher of one speak to ranks of the other? Open MPI's ranks find
 * each other by PMIx, those of MPICH and its kin by PMI (Hydra); a rank that
 * no launcher speaks to takes itself for the only one. Unknown ones are believed.
 */
bool ri_mpi_fits(enum ri_mpi_family launcher, enum ri_mpi_family library);

/*
 * Of which implementation and version a library is by its answer to
 * MPI_Get_library_version; RI_MPI_UNKNOWN and "" where that does not tell.
 */
enum ri_mpi_family ri_mpi_read_answer(const char *text, char version[RI_MPI_VERSION]);

#endif
