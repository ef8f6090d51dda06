/* SPDX-License-Identifier: Apache-2.0 */
/* What MPI_Get_library_version says (MPI 3.1, 8.1.1): a text of no common form. */
#include <stdio.h>
#include <string.h>

#include "image/mpi.h"

/*
 * Open MPI ompi/mpi/c/get_library_version.c; MPICH src/binding and its
 * descendants, as their texts are; Cray's is MPICH with words of its own.
 */
static const struct {
	const char *beginning;
	enum ri_mpi_family family;
} answers[] = {
	{ "Open MPI v", RI_MPI_OPENMPI }, { "MPICH Version:", RI_MPI_MPICH },
	{ "MPI VERSION    : CRAY MPICH version", RI_MPI_MPICH },
	{ "Intel(R) MPI Library", RI_MPI_INTEL }, { "MVAPICH2 Version", RI_MPI_MVAPICH2 },
	{ "MVAPICH Version", RI_MPI_MVAPICH2 },
};

/* "4.1.4" past blanks and a colon; nothing where something else stands there. */
static void read_version(char version[RI_MPI_VERSION], const char *text)
{
	size_t length;

	text += strspn(text, " \t:");
	length = strspn(text, "0123456789.");
	while (length > 0 && text[length - 1] == '.')
		length--;
	if (length < RI_MPI_VERSION)
		snprintf(version, RI_MPI_VERSION, "%.*s", (int)length, text);
}

enum ri_mpi_family ri_mpi_read_answer(const char *text, char version[RI_MPI_VERSION])
{
	version[0] = '\0';
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		size_t length = strlen(answers[i].beginning);

		if (strncmp(text, answers[i].beginning, length) != 0)
			continue;
		read_version(version, text + length);
		return answers[i].family;
	}
	return RI_MPI_UNKNOWN;
}
