/* SPDX-License-Identifier: Apache-2.0 */
/* Images: ELF files, the loader, and what is installed there: CUDA, MPI, rdma-core, settings. */
#ifndef RI_IMAGE_IMAGE_H
#define RI_IMAGE_IMAGE_H

#include <stdbool.h>

#include "base/env.h"
#include "base/host.h"

/* Where it is looked for: on a machine or in an image of one, in an environment. */
struct ri_image {
	struct ri_host *host;
	const struct ri_env *env;
	struct ri_arena *arena;
};

/* Where there is no PATH: what Debian's and Alpine's login(1) start from. */
extern const char ri_default_path[];

struct ri_program {
	const char *path;	/* as it is found */
	const char *real;	/* without links */
};

/*
 * The next program of that name on PATH, as a shell finds it, in *rest of it, which is moved behind
 * it; NULL is all of it, for the first, which the second finds. Relative folders are passed over:
 * where we stand is no matter of the image. False when there is no more.
 */
bool ri_program_next(const struct ri_image *image, const char *name, const char **rest,
	struct ri_program *out);
bool ri_program_find(const struct ri_image *image, const char *name, struct ri_program *out);

/* The same of one path: a regular file with a bit that lets a user execute it. */
bool ri_program_at(const struct ri_image *image, const char *path, struct ri_program *out);

/*
 * The program that runs a script, as the kernel reads its #! line (execve(2), "Interpreter
 * scripts"; Linux fs/binfmt_script.c): the name ends at a blank or a newline,
 * and a carriage return before that is a part of it.
 */
enum { RI_SCRIPT_HEAD = 256 };	/* bytes of it that the kernel looks at (BINPRM_BUF_SIZE) */

struct ri_script {
	char interpreter[RI_SCRIPT_HEAD];	/* without the carriage return; never empty */
	bool has_return;	/* the name ends with one */
};

/* From the beginning of a file. False, and *out is left, where it names no program. */
bool ri_script_read(struct ri_script *out, const char *head, size_t length);

/*
 * What an ELF file says of itself (elf(5); System V gABI, "Object Files",
 * "Dynamic Linking"): read piece by piece, never mapped and never loaded, and
 * believed only where it stays within itself.
 */

enum ri_elf_fault {
	RI_ELF_OK,
	RI_ELF_MISSING,		/* cannot be opened: errno says why */
	RI_ELF_OTHER,		/* not an ELF file at all */
	RI_ELF_FOREIGN,		/* of another machine, class or byte order than ours */
	RI_ELF_BROKEN,		/* ends early, or points outside of itself */
};

enum {
	RI_ELF_SEGMENTS = 16,	/* PT_LOAD and PT_NOTE of one file; real ones have 4 and 3 */
	RI_ELF_NEEDED = 64,	/* libraries that one file needs; real ones need 20 */
	RI_ELF_NAME = 256,	/* bytes of a name in it, '\0' included */
	RI_ELF_HEAD = 1024,	/* bytes at its beginning; real headers end within them */
};

/* A part of the file and where it lies in memory. */
struct ri_elf_segment {
	uint64_t offset, address, size;
};

struct ri_elf {
	int fd;			/* -1: nothing is open */
	unsigned char head[RI_ELF_HEAD];	/* the beginning, for all that is asked of it */
	size_t head_size;
	uint64_t size;
	unsigned machine;	/* EM_X86_64 and so on; 0 where that could not be read */
	struct ri_elf_segment loads[RI_ELF_SEGMENTS];
	struct ri_elf_segment notes[RI_ELF_SEGMENTS];
	size_t load_count, note_count;
	/* of the dynamic section: offsets in the file, 0 where there is none */
	uint64_t strings, strings_size, symbols, gnu_hash, old_hash, versions, version_count;
	/* offsets among the strings; 0 where there is none */
	uint64_t soname, needed[RI_ELF_NEEDED];
	size_t needed_count;
};

/* A file without a dynamic section is fine: it has neither a name nor needs. */
enum ri_elf_fault ri_elf_open(struct ri_elf *elf, struct ri_host *host, const char *path);

/* May be called whatever open returned. */
void ri_elf_close(struct ri_elf *elf);

/*
 * Names, into a buffer of RI_ELF_NAME bytes; the last: the first version of symbols that the file
 * defines and that begins so, "IBVERBS_PRIVATE_34". False, and the buffer an empty string, where
 * there is none.
 */
bool ri_elf_soname(const struct ri_elf *elf, char *name);
bool ri_elf_version(const struct ri_elf *elf, const char *beginning, char *name);

/* Does the file need a library whose name begins so? */
bool ri_elf_needs(const struct ri_elf *elf, const char *beginning);

/* Where a symbol lies that the file defines. */
struct ri_elf_symbol {
	uint64_t offset;	/* in the file; 0: it has no bytes there */
	uint64_t size;
};

/* By the hash table that the loader uses; without one nothing is found. */
bool ri_elf_symbol(const struct ri_elf *elf, const char *name, struct ri_elf_symbol *out);

/* The text that a symbol of the file holds, printable bytes alone. */
bool ri_elf_text(const struct ri_elf *elf, const char *symbol, char *text, size_t size);

/* The payload of the first note of this owner, ended by '\0'. */
bool ri_elf_note(const struct ri_elf *elf, const char *owner, char *text, size_t size);

/* The architecture by its name, "x86-64"; "another machine" where it has none here. Never NULL. */
const char *ri_elf_machine_name(unsigned machine);

/* e_machine of programs that run here. */
unsigned ri_elf_machine_here(void);

/* /etc/ld.so.cache, by which glibc's loader finds libraries (glibc sysdeps/generic/dl-cache.h). */
struct ri_ldcache {
	const char *bytes;	/* borrowed; NULL: an empty table */
	size_t size;
	size_t start;		/* of the table, from which the offsets of names count */
	size_t count;		/* entries */
};

/* False where bytes are no such table, or one that ends early. */
bool ri_ldcache_read(struct ri_ldcache *out, const char *bytes, size_t size);

/*
 * The path of the entry that the loader takes on a CPU of no special kind: the first of that name
 * for this machine's own programs. Where all are for some CPUs, the first of them. A path that
 * lies outside of the table is passed over. NULL: there is none.
 */
const char *ri_ldcache_find(const struct ri_ldcache *cache, const char *name);

/*
 * Libraries as the image's loader would find them for a program without a
 * path of its own (ld.so(8)): LD_LIBRARY_PATH, the loader's table, its own
 * folders. musl's loader has no table (musl ldso/dynlink.c).
 */
struct ri_loader {
	const struct ri_image *image;
	struct ri_ldcache cache;	/* /etc/ld.so.cache; empty where it is none, or broken */
	const char *folders;	/* of musl's loader, as a list; NULL: it is glibc's */
};

enum ri_library_place {
	RI_LIBRARY_BY_VARIABLE,	/* LD_LIBRARY_PATH */
	RI_LIBRARY_BY_TABLE,
	RI_LIBRARY_BY_FOLDER,	/* one that the loader looks into by itself */
	RI_LIBRARY_APART,	/* one into which it does not look */
};

struct ri_library {
	const char *path;	/* what is opened; NULL: nothing was found */
	const char *real;	/* without links; path, where that cannot be told */
	enum ri_library_place place;
	enum ri_elf_fault fault;	/* not OK: the loader gives up there */
	/* what was passed over on the way, NULL: nothing */
	const char *foreign;	/* for another machine */
	unsigned machine;	/* that one */
	const char *gone;	/* in the table, but not there */
};

/* Read the table. Never fails: without one, folders are left. */
void ri_loader_init(struct ri_loader *loader, const struct ri_image *image);

/*
 * What the loader takes for this name; what lies in a folder where libraries of this field often
 * lie, but no loader looks; in this folder. True where there is something, be it broken.
 */
bool ri_loader_find(const struct ri_loader *loader, const char *name, struct ri_library *out);
bool ri_loader_find_apart(const struct ri_loader *loader, const char *name,
	struct ri_library *out);
bool ri_loader_look(const struct ri_loader *loader, const char *folder, const char *name,
	struct ri_library *out);

/* "LD_LIBRARY_PATH", "/etc/ld.so.cache", and so on: how it was found. */
const char *ri_library_place_name(enum ri_library_place place);

/*
 * The user's side of NVIDIA's driver: libcuda and libnvidia-ml, which come
 * into a container with the GPUs and have to be of the kernel's version, the
 * libraries for older drivers that an image may bring (cuda-compat), and the
 * CUDA that the image is made for.
 */

enum { RI_CUDA_VERSION = 32, RI_CUDA_DRIVERS = 64 };

/* The JSON that libcuda of cuda-compat holds of itself, as a note. */
struct ri_cuda_note {
	uint64_t drivers[RI_CUDA_DRIVERS];	/* majors of drivers that it is made for */
	size_t count;			/* 0: it does not say */
};

/* One of the driver's libraries. */
struct ri_cuda_library {
	struct ri_library file;		/* path NULL: no program finds it */
	char version[RI_CUDA_VERSION];	/* by its file's name: "580.95.05"; "": unknown */
};

struct ri_cuda {
	struct ri_cuda_library driver;		/* libcuda.so.1 */
	struct ri_cuda_library management;	/* libnvidia-ml.so.1 */
	const char *stub;	/* the toolkit's empty libcuda, where that is all there is */
	bool compat_used;	/* driver is that of cuda-compat */
	struct ri_cuda_library compat;	/* that one, be it used or not */
	struct ri_cuda_note note;	/* of compat */
	char toolkit[RI_CUDA_VERSION];	/* the image's CUDA: "12.8.1"; "": nothing tells */
	const char *toolkit_origin;	/* the variable or the file that does */
};

/* kernel: the version of the driver that runs; "": unknown. */
void ri_cuda_find(struct ri_cuda *out, const struct ri_loader *loader, const char *kernel);

/* The oldest driver on which programs of this CUDA run; NULL: not known here. */
const char *ri_cuda_least_driver(const char *cuda);

/* Is cuda-compat of this version, with this note, for that driver? */
bool ri_cuda_compat_fits(const char *compat, const struct ri_cuda_note *note, const char *driver);

/* Of the note's text, and of /usr/local/cuda/version.json. False: it is no such text. */
bool ri_cuda_note_read(const char *text, struct ri_cuda_note *out);
bool ri_cuda_toolkit_read(const char *text, char out[RI_CUDA_VERSION]);

/*
 * The MPI of an image: libraries, launchers, of which implementation and
 * version they are, told from files alone.
 */

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

/*
 * Is this mpirun, by its path or by PATH, that of Open MPI 5 or later: one beside which
 * installations have prterun, and no orterun of Open MPI 4?
 */
bool ri_mpi_is_prrte(const struct ri_image *image, const char *name);

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

/*
 * The user's side of RDMA: libibverbs, and for each kind of device a provider
 * that it loads by name (rdma-core libibverbs/dynamic_driver.c). Both come
 * from rdma-core, or from the packages of MLNX_OFED, and must be of one
 * release: their private interface has a number.
 */

enum { RI_MAX_PROVIDERS = 64, RI_MAX_CONFIGURED = 64, RI_PROVIDER_NAME = 24 };

/* A file libNAME-rdmavNUMBER.so in a folder beside libibverbs, or where the loader looks. */
struct ri_provider {
	char name[RI_PROVIDER_NAME];
	uint64_t abi;
};

struct ri_rdma_core {
	struct ri_library verbs;	/* libibverbs.so.1; path NULL: none */
	struct ri_library manager;	/* librdmacm.so.1 */
	uint64_t release;		/* of rdma-core, by the name of the file; 0: unknown */
	uint64_t abi;			/* that libibverbs asks of its providers; 0: unknown */
	const char *folder;		/* of the providers */
	struct ri_provider providers[RI_MAX_PROVIDERS];
	size_t provider_count;
	/* what is to be loaded, by the files of a folder and by IBV_DRIVERS */
	char configured[RI_MAX_CONFIGURED][RI_PROVIDER_NAME];
	size_t configured_count;
	const char *config;		/* that folder */
};

void ri_rdma_core_find(struct ri_rdma_core *out, const struct ri_loader *loader);

/* The provider of this name that libibverbs can load, or one of another number, or NULL. */
const struct ri_provider *ri_rdma_core_provider(const struct ri_rdma_core *core, const char *name);

/* Will libibverbs try it? */
bool ri_rdma_core_configured(const struct ri_rdma_core *core, const char *name);

/* Are there providers of several numbers: parts of two releases in one folder? */
bool ri_rdma_core_mixed(const struct ri_rdma_core *core);

/* The provider for devices of this kernel driver: "mlx5" for "mlx5_core". Never NULL. */
const char *ri_provider_for(const char *driver);

/* Read "libmlx5-rdmav34.so". False where the name is no provider's. */
bool ri_provider_read(const char *file, struct ri_provider *out);

/*
 * NCCL's settings: variables, and files that set those which are not there
 * (NCCL src/misc/param.cc; NCCL documentation, "Environment Variables").
 */
enum { RI_NCCL_VALUE = 1024, RI_NCCL_FILE = 65536 };

/*
 * What a name is set to by its variable, the user's file, or /etc/nccl.conf: value has
 * RI_NCCL_VALUE bytes. A file that is absent, cannot be read or is longer than RI_NCCL_FILE sets
 * nothing. Returns which of them says so, the variable or the file; NULL, and value "", where
 * none does or it does not fit.
 */
const char *ri_nccl_conf_get(const struct ri_image *image, const char *name, char *value);

/* The same of the text of one file: the first line that sets the name counts. */
bool ri_nccl_conf_find(const char *text, const char *name, char *value);

/*
 * MCA parameters, by which Open MPI is told what to use (Open MPI
 * opal/mca/base/mca_base_var.c, opal/util/keyval/keyval_lex.l).
 */

struct ri_mca_value {
	const char *name, *value;
	const char *origin;	/* the variable, or the file */
	size_t line;		/* of the file, from 1 on; 0: a variable */
};

/* How far a text is read; comments may go over several lines. */
struct ri_mca_text {
	char *rest;
	char *line;		/* what is left of one with several; NULL: nothing */
	size_t number;		/* of the line last taken */
	bool comment;
};

/*
 * Take the next line "NAME = VALUE", or "-mca NAME VALUE" of which a line may
 * have several, off the text, which is cut into strings: all but the origin of *out.
 * Comments, and lines that are neither, are passed over. False when there is no more.
 */
bool ri_mca_next(struct ri_mca_text *text, struct ri_mca_value *out);

/*
 * What a parameter is set to for the installation below prefix ("/usr/local"): by its file that
 * stands above the environment, by the variable, by the first of the files that
 * OMPI_MCA_mca_base_param_files names, else by the one below HOME, by the installation's own.
 * OPAL_PREFIX stands for prefix where it is set. What is below /usr but not /usr/local is a
 * distribution's, whose files are in /etc. False, and value NULL, where no source sets it.
 */
bool ri_mca_get(const struct ri_image *image, const char *prefix, const char *name,
	struct ri_mca_value *out);

/* Would a list "ucx,ob1" or "^ucx" have this component taken? An empty one takes all. */
bool ri_mca_takes(const char *list, const char *component);

#endif
