/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <stdio.h>
#include <string.h>

#include "base/proc.h"
#include "base/text.h"

enum { SCRIPT_SIZE = 32768 };

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

static const char *keep(const struct ri_loader *loader, const char *text)
{
	const char *copy = ri_arena_copy(loader->image->arena, text, strlen(text));

	return copy == NULL ? "" : copy;
}

static bool has_below(const struct ri_loader *loader, const char *folder, const char *name)
{
	char path[RI_PATH_SIZE];

	return ri_path_join(path, folder, name) && ri_host_has(loader->image->host, path);
}

/*
 * Intel MPI Developer Guide, "File Structure": I_MPI_ROOT; its library for
 * 64-bit integers, which no other MPI has.
 */
static bool is_intel(const struct ri_loader *loader, const char *prefix)
{
	const char *root = ri_env_get(loader->image->env, "I_MPI_ROOT");
	char real[RI_PATH_SIZE];

	return (root != NULL && root[0] == '/' &&
		       ri_host_real(loader->image->host, root, real) == 0 &&
		       ri_path_below(prefix, real)) ||
		strstr(prefix, "/intel/") != NULL || strstr(prefix, "/impi/") != NULL ||
		has_below(loader, prefix, "lib/libmpi_ilp64.so.4");
}

/* MVAPICH2 User Guide, "mpiname": the tool that tells how it was built. */
static bool is_mvapich(const struct ri_loader *loader, const char *prefix)
{
	return has_below(loader, prefix, "bin/mpiname") || strstr(prefix, "mvapich2") != NULL;
}

/* Digits and dots at the start of text. */
static void keep_version(char version[RI_MPI_VERSION], const char *text)
{
	size_t length = strspn(text, "0123456789.");

	while (length > 0 && text[length - 1] == '.')
		length--;
	if (length > 0 && length < RI_MPI_VERSION)
		snprintf(version, RI_MPI_VERSION, "%.*s", (int)length, text);
}

/*
 * Open MPI's VERSION files: libmpi.so.40 is 3.0 to 5.0, and the second number tells which. MPICH's
 * maint/version.m4, libmpi_so_version: libmpi.so.12 is 3.1 and later; its last number is not the
 * release's.
 */
static void version_by_name(struct ri_mpi_library *library)
{
	static const char *const openmpi[] = { "3.0", "3.1", "4.0", "4.1", "5.0" };
	static const char *const mpich[] = { "3.1", "3.2", "4.0", "4.1", "4.2", "4.3" };
	const char *at = strstr(ri_path_name(library->file.real), ".so.");
	uint64_t numbers[3];
	size_t digits;

	/* libmpi.so.40.30.4 */
	at = at == NULL ? "" : at + 3;
	for (int i = 0; i < 3; i++, at += digits) {
		digits = *at == '.' ? ri_digits_read(++at, &numbers[i]) : 0;
		if (digits == 0)
			return;
	}
	if (library->family != RI_MPI_OPENMPI && numbers[0] == 12 &&
		numbers[1] < RI_ARRAY_SIZE(mpich))
		keep_version(library->version, mpich[numbers[1]]);
	if (library->family == RI_MPI_OPENMPI && numbers[0] == 40 && numbers[1] % 10 == 0 &&
		numbers[1] / 10 < RI_ARRAY_SIZE(openmpi) && numbers[2] < 1000)
		snprintf(library->version, sizeof(library->version), "%s.%u",
			openmpi[numbers[1] / 10], (unsigned)numbers[2]);
}

/* "Version: 2.3.7" of a pkg-config file. */
static void version_by_package(const struct ri_loader *loader, const char *name,
	struct ri_mpi_library *library)
{
	char folder[RI_PATH_SIZE], path[RI_PATH_SIZE], text[4096];
	const char *line;

	ri_path_folder(library->file.real, folder);
	if (!ri_path_join(path, folder, name) ||
		ri_host_read(loader->image->host, path, text, sizeof(text)) < 0)
		return;
	line = ri_proc_field(text, "Version", ':');
	if (line != NULL)
		keep_version(library->version, line);
}

/* The number of a folder: "compilers_and_libraries_2018.2.199", "2021.10.0", "mvapich2-2.3.7" */
static void version_by_path(const char *path, char version[RI_MPI_VERSION])
{
	while (*path != '\0') {
		const char *at = path + strcspn(path, "/");
		const char *digits = at;

		while (digits > path && strchr("0123456789.", digits[-1]) != NULL)
			digits--;
		if (memchr(digits, '.', (size_t)(at - digits)) != NULL && *at == '/')
			keep_version(version, digits);
		path = at + (*at == '/');
	}
}

/*
 * Built into the library (configure --with-ucx), or a component of its own in the folder of
 * components. make install has openmpi, Fedora openmpi, Debian openmpi/lib/openmpi3 and openmpi40;
 * the folders around them may hold thousands of names and are not listed.
 */
static bool can_use(const struct ri_loader *loader, const struct ri_mpi_library *library,
	const struct ri_elf *elf, const char *const words[2])
{
	static const char *const inner[] = { "openmpi", "openmpi40", "openmpi/lib/openmpi3",
		"openmpi/lib/openmpi40", "openmpi/lib/openmpi" };
	char folder[RI_PATH_SIZE], path[RI_PATH_SIZE];

	if (ri_elf_needs(elf, words[0]))
		return true;
	ri_path_folder(library->file.real, folder);
	for (size_t i = 0; i < RI_ARRAY_SIZE(inner); i++)
		if (ri_path_join(path, folder, inner[i]) && has_below(loader, path, words[1]))
			return true;
	return false;
}

static void judge_opened(const struct ri_loader *loader, const struct ri_elf *elf,
	struct ri_mpi_library *library)
{
	static const char *const ucx[] = { "libucp.so", "mca_pml_ucx.so" };
	static const char *const ofi[] = { "libfabric.so", "mca_mtl_ofi.so" };
	struct ri_elf_symbol symbol;
	char text[64], soname[RI_ELF_NAME];
	bool said;

	if (ri_elf_symbol(elf, "ompi_mpi_comm_world", &symbol)) {
		library->family = RI_MPI_OPENMPI;
		if (ri_elf_text(elf, "ompi_version_string", text, sizeof(text)))
			keep_version(library->version, text);
		if (library->version[0] == '\0')
			version_by_name(library);
		library->ucx = can_use(loader, library, elf, ucx);
		library->ofi = can_use(loader, library, elf, ofi);
	} else if (is_intel(loader, library->prefix)) {
		library->family = RI_MPI_INTEL;
		version_by_path(library->file.real, library->version);
	} else if (is_mvapich(loader, library->prefix)) {
		library->family = RI_MPI_MVAPICH2;
		version_by_path(library->file.real, library->version);
		version_by_package(loader, "pkgconfig/mvapich2.pc", library);
	} else {
		said = ri_elf_text(elf, "MPII_Version_string", text, sizeof(text));
		if (said)
			keep_version(library->version, text);
		else
			version_by_name(library);
		/* others have the same name: what lies around it must speak for it */
		if (said || library->version[0] != '\0' ||
			has_below(loader, library->prefix, "bin/mpichversion") ||
			(ri_elf_soname(elf, soname) && strncmp(soname, "libmpich", 8) == 0))
			library->family = RI_MPI_MPICH;
		if (!said)
			version_by_package(loader, "pkgconfig/mpich.pc", library);
	}
}

/*
 * Linked to Open MPI's own layers: 4's orterun to libopen-rte, 5's mpirun to
 * libopen-pal, and where that was linked in, as in Debian 13, to PMIx alone.
 * Whatever other launcher may be linked to that is called mpiexec.SOMETHING.
 */
static bool is_linked_to_openmpi(const struct ri_loader *loader, const char *path)
{
	bool found, dotted = strncmp(ri_path_name(path), "mpiexec.", 8) == 0;
	struct ri_elf elf;

	found = ri_elf_open(&elf, loader->image->host, path) == RI_ELF_OK &&
		(ri_elf_needs(&elf, "libopen-") || ri_elf_needs(&elf, "libprrte.") ||
			(!dotted && ri_elf_needs(&elf, "libpmix.")));
	ri_elf_close(&elf);
	return found;
}

static enum ri_mpi_family family_of(const struct ri_loader *loader, const char *prefix,
	const char *real)
{
	const char *name = ri_path_name(real);
	char text[SCRIPT_SIZE];
	bool script, openmpi, mpich;

	if (strcmp(name, "orterun") == 0 || strcmp(name, "prterun") == 0 ||
		strcmp(name, "prte") == 0 || is_linked_to_openmpi(loader, real))
		return RI_MPI_OPENMPI;
	if (strncmp(name, "mpirun_rsh", 10) == 0)
		return RI_MPI_MVAPICH2;
	if (strncmp(name, "mpiexec.", 8) == 0)
		return is_intel(loader, prefix) ? RI_MPI_INTEL
			: is_mvapich(loader, prefix) ? RI_MPI_MVAPICH2 : RI_MPI_MPICH;
	/* Intel's mpirun is a script around mpiexec.hydra; MPICH's may be one, too */
	script = ri_host_read(loader->image->host, real, text, sizeof(text)) >= 2 &&
		strncmp(text, "#!", 2) == 0;
	if (script && strstr(text, "I_MPI_") != NULL)
		return RI_MPI_INTEL;
	if (script && strstr(text, "hydra") != NULL)
		return RI_MPI_MPICH;
	/*
	 * What make install puts beside the launcher (ompi_info(1); MPICH src/env/mpichversion.c):
	 * PyPI's Open MPI 5 has a small program of its own as mpirun, its MPICH a Hydra of that
	 * name. Where both lie there, as in /usr/bin, neither tells.
	 */
	openmpi = has_below(loader, prefix, "bin/ompi_info");
	mpich = has_below(loader, prefix, "bin/mpichversion") && !is_mvapich(loader, prefix);
	if (openmpi == mpich)
		return RI_MPI_UNKNOWN;
	return openmpi ? RI_MPI_OPENMPI : RI_MPI_MPICH;
}

/* Open MPI 5.0: mpirun is a small program that executes prterun, the launcher of PRRTE. */
static bool lacks_prterun(const struct ri_loader *loader, const struct ri_mpi_launcher *launcher)
{
	struct ri_program program;
	char path[RI_PATH_SIZE];
	const char *name = ri_path_name(launcher->program.real);

	if (strcmp(name, "orterun") == 0 || strcmp(name, "prterun") == 0)
		return false;
	return !(ri_path_join(path, launcher->prefix, "bin/prterun") &&
		       ri_program_at(loader->image, path, &program)) &&
		!ri_program_find(loader->image, "prterun", &program);
}

bool ri_mpi_is_prrte(const struct ri_image *image, const char *name)
{
	struct ri_program program, other;
	char folder[RI_PATH_SIZE], path[RI_PATH_SIZE];

	if (!(strchr(name, '/') == NULL ? ri_program_find(image, name, &program)
			: ri_program_at(image, name, &program)))
		return false;
	ri_path_folder(program.path, folder);
	return ri_path_join(path, folder, "prterun") && ri_program_at(image, path, &other) &&
		ri_path_join(path, folder, "orterun") && !ri_program_at(image, path, &other);
}

/* The library of this file, perhaps one that is known by another path; NULL: one too many. */
static const struct ri_mpi_library *add_library(struct ri_mpi *out,
	const struct ri_loader *loader, const struct ri_library *file)
{
	struct ri_mpi_library *library = &out->libraries[out->library_count];
	struct ri_elf elf;
	char folder[RI_PATH_SIZE];

	for (size_t i = 0; i < out->library_count; i++)
		if (strcmp(out->libraries[i].file.real, file->real) == 0)
			return &out->libraries[i];
	if (out->library_count == RI_MPI_MOST)
		return NULL;
	*library = (struct ri_mpi_library){ .file = *file };
	/* Of ".../lib", ".../lib64", ".../lib/x86_64-linux-gnu", Intel's ".../lib/release_mt". */
	ri_path_folder(file->real, folder);
	if (strncmp(ri_path_name(folder), "release", 7) == 0 ||
		strncmp(ri_path_name(folder), "debug", 5) == 0 ||
		strstr(ri_path_name(folder), "-linux-") != NULL)
		ri_path_folder(folder, folder);
	if (strncmp(ri_path_name(folder), "lib", 3) == 0)
		ri_path_folder(folder, folder);
	library->prefix = keep(loader, folder);
	if (ri_elf_open(&elf, loader->image->host, file->real) == RI_ELF_OK)
		judge_opened(loader, &elf, library);
	ri_elf_close(&elf);
	out->library_count++;
	return library;
}

static void add_launcher(struct ri_mpi *out, const struct ri_loader *loader,
	const struct ri_program *program)
{
	struct ri_mpi_launcher *launcher = &out->launchers[out->launcher_count];
	char folder[RI_PATH_SIZE];

	for (size_t i = 0; i < out->launcher_count; i++)
		if (strcmp(out->launchers[i].program.real, program->real) == 0)
			return;
	if (out->launcher_count == RI_MPI_MOST)
		return;
	ri_path_folder(program->real, folder);
	ri_path_folder(folder, folder);
	*launcher = (struct ri_mpi_launcher){ .program = *program };
	launcher->prefix = keep(loader, folder);
	launcher->family = family_of(loader, launcher->prefix, program->real);
	launcher->lacks_prterun = launcher->family == RI_MPI_OPENMPI &&
		lacks_prterun(loader, launcher);
	out->launcher_count++;
}

/* What was installed together has one version. */
static void find_beside(struct ri_mpi *out, const struct ri_loader *loader,
	struct ri_mpi_launcher *launcher)
{
	char folder[RI_PATH_SIZE];
	const struct ri_mpi_library *library;
	struct ri_library file;

	for (size_t i = 0; folders[i] != NULL; i++) {
		if (!ri_path_join(folder, launcher->prefix, folders[i]) ||
			!ri_host_has(loader->image->host, folder))
			continue;
		for (size_t n = 0; names[n] != NULL; n++) {
			if (!ri_loader_look(loader, folder, names[n], &file))
				continue;
			library = add_library(out, loader, &file);
			if (library != NULL && library->family == launcher->family &&
				library->family != RI_MPI_UNKNOWN && launcher->version[0] == '\0')
				memcpy(launcher->version, library->version, RI_MPI_VERSION);
		}
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
	struct ri_program program;
	struct ri_library file;

	for (size_t i = 0; launchers[i] != NULL; i++)
		for (const char *rest = NULL;
			ri_program_next(loader->image, launchers[i], &rest, &program);)
			add_launcher(out, loader, &program);
	for (size_t i = 0; i < out->launcher_count; i++)
		find_beside(out, loader, &out->launchers[i]);
	for (size_t n = 0; names[n] != NULL; n++)
		if (ri_loader_find_apart(loader, names[n], &file))
			add_library(out, loader, &file);
}

const char *ri_mpi_family_name(enum ri_mpi_family family)
{
	static const char *const all[] = {
		[RI_MPI_UNKNOWN] = "an unknown MPI", [RI_MPI_OPENMPI] = "Open MPI",
		[RI_MPI_MPICH] = "MPICH", [RI_MPI_INTEL] = "Intel MPI",
		[RI_MPI_MVAPICH2] = "MVAPICH2",
	};

	return all[family];
}

bool ri_mpi_fits(enum ri_mpi_family launcher, enum ri_mpi_family library)
{
	if (launcher == RI_MPI_UNKNOWN || library == RI_MPI_UNKNOWN)
		return true;
	return (launcher == RI_MPI_OPENMPI) == (library == RI_MPI_OPENMPI);
}

/*
 * What MPI_Get_library_version says (MPI 3.1, 8.1.1), a text of no common form:
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

enum ri_mpi_family ri_mpi_read_answer(const char *text, char version[RI_MPI_VERSION])
{
	version[0] = '\0';
	for (size_t i = 0; i < RI_ARRAY_SIZE(answers); i++) {
		size_t length = strlen(answers[i].beginning);

		if (strncmp(text, answers[i].beginning, length) != 0)
			continue;
		text += length;
		keep_version(version, text + strspn(text, " \t:"));
		return answers[i].family;
	}
	return RI_MPI_UNKNOWN;
}
