/* SPDX-License-Identifier: Apache-2.0 */
#include "image/library.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/path.h"

#define VARIABLE "LD_LIBRARY_PATH"
enum { FOLDERS_SIZE = 8192 };	/* of a text of folders; a real one has a few */
static const char table_path[] = "/etc/ld.so.cache";
/* The distribution of images whose C library is musl. */
static const char alpine[] = "/etc/alpine-release";

#if defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "x86_64"
#endif
#define TRIPLET MACHINE "-linux-gnu"

/* musl ldso/dynlink.c: what stands in it takes the place of the usual folders. */
static const char musl_file[] = "/etc/ld-musl-" MACHINE ".path";

/* Debian's and Fedora's glibc; in an image there are those of one of them. */
static const char *const glibc_folders[] = {
	"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64", "/usr/lib64", "/lib", "/usr/lib", NULL,
};
static const char *const apart_folders[] = {
	"/usr/local/lib", "/usr/local/lib64", "/usr/local/cuda/lib64", "/usr/local/nvidia/lib64",
	"/usr/local/mpi/lib", "/opt/openmpi/lib", "/opt/hpcx/ompi/lib", "/opt/amazon/openmpi/lib",
	"/usr/lib/" TRIPLET "/openmpi/lib", "/usr/lib64/openmpi/lib", "/usr/lib64/mpich/lib",
	"/opt/conda/lib", "/opt/miniconda/lib", NULL,
};

static bool read_table(struct ri_loader *loader, int fd)
{
	struct stat info;
	size_t size, done = 0;
	ssize_t count;
	char *bytes;

	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > RI_MAX_LDCACHE)
		return false;
	size = (size_t)info.st_size;
	bytes = ri_arena_alloc(loader->image->arena, size + 1);
	while (bytes != NULL && done < size) {
		count = read(fd, bytes + done, size - done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		done += (size_t)count;
	}
	return bytes != NULL && ri_ldcache_read(&loader->cache, bytes, done);
}

/* A file that cannot be read leaves musl's loader without folders. */
static const char *read_folders(const struct ri_image *image)
{
	char text[FOLDERS_SIZE];
	long length = ri_host_read(image->host, musl_file, text, sizeof(text));

	if (length < 0 && errno == ENOENT)
		return "/lib:/usr/local/lib:/usr/lib";
	return length < 0 ? "" : ri_arena_copy(image->arena, text, (size_t)length);
}

void ri_loader_init(struct ri_loader *loader, const struct ri_image *image)
{
	int fd = ri_host_open(image->host, table_path, O_RDONLY | O_NOCTTY | O_NONBLOCK);

	*loader = (struct ri_loader){ .image = image };
	if (fd >= 0) {
		loader->table = read_table(loader, fd) ? RI_TABLE_READ : RI_TABLE_BROKEN;
		close(fd);
	}
	if (loader->table == RI_TABLE_NONE && ri_host_has(image->host, alpine))
		loader->folders = read_folders(image);
}

static const char *keep(const struct ri_image *image, const char *text)
{
	return ri_arena_copy(image->arena, text, strlen(text));
}

/* True where the loader's search ends at this file. */
static bool try_path(const struct ri_loader *loader, const char *path, struct ri_library *out)
{
	const struct ri_image *image = loader->image;
	char real[RI_PATH_SIZE];
	struct ri_elf elf;
	enum ri_elf_fault fault = ri_elf_open(&elf, image->host, path);

	ri_elf_close(&elf);
	if (fault == RI_ELF_MISSING)
		return false;
	if (fault == RI_ELF_FOREIGN) {
		if (out->foreign == NULL)
			out->machine = elf.machine;
		out->foreign = out->foreign == NULL ? keep(image, path) : out->foreign;
		return false;
	}
	out->fault = fault;
	out->path = keep(image, path);
	out->real = ri_host_real(image->host, path, real) < 0 ? out->path : keep(image, real);
	return out->path != NULL && out->real != NULL;
}

static bool try_folder(const struct ri_loader *loader, const char *folder, const char *name,
	struct ri_library *out)
{
	char path[RI_PATH_SIZE];

	return ri_path_join(path, folder, name) && try_path(loader, path, out);
}

/* Empty and relative folders count from where the program will stand: not known here. */
static bool try_text(const struct ri_loader *loader, const char *list, const char *name,
	struct ri_library *out)
{
	const char *ends = loader->folders == NULL ? ":;" : ":\n";
	char folder[RI_PATH_SIZE];

	while (list != NULL && *list != '\0') {
		size_t length = strcspn(list, ends);

		if (list[0] == '/' && length < sizeof(folder)) {
			memcpy(folder, list, length);
			folder[length] = '\0';
			if (try_folder(loader, folder, name, out))
				return true;
		}
		list += length + (list[length] != '\0');
	}
	return false;
}

static bool try_variable(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	out->place = RI_LIBRARY_BY_VARIABLE;
	return try_text(loader, ri_env_get(loader->image->env, VARIABLE), name, out);
}

static bool try_table(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	struct ri_ldcache_entry entry;

	out->place = RI_LIBRARY_BY_TABLE;
	if (!ri_ldcache_find(&loader->cache, name, &entry))
		return false;
	if (try_path(loader, entry.path, out))
		return true;
	if (!ri_host_has(loader->image->host, entry.path))
		out->gone = keep(loader->image, entry.path);
	return false;
}

static bool try_list(const struct ri_loader *loader, const char *const *folders, const char *name,
	struct ri_library *out)
{
	for (size_t i = 0; folders[i] != NULL; i++)
		if (try_folder(loader, folders[i], name, out))
			return true;
	return false;
}

bool ri_loader_find(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	*out = (struct ri_library){ .path = NULL };
	if (try_variable(loader, name, out) || try_table(loader, name, out))
		return true;
	out->place = RI_LIBRARY_BY_FOLDER;
	if (loader->folders != NULL)
		return try_text(loader, loader->folders, name, out);
	return try_list(loader, glibc_folders, name, out);
}

bool ri_loader_find_apart(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	*out = (struct ri_library){ .place = RI_LIBRARY_APART };
	return try_list(loader, apart_folders, name, out);
}

bool ri_loader_look(const struct ri_loader *loader, const char *folder, const char *name,
	struct ri_library *out)
{
	*out = (struct ri_library){ .place = RI_LIBRARY_APART };
	return try_folder(loader, folder, name, out);
}

const char *ri_library_place_name(enum ri_library_place place)
{
	switch (place) {
	case RI_LIBRARY_BY_VARIABLE:
		return VARIABLE;
	case RI_LIBRARY_BY_TABLE:
		return table_path;
	case RI_LIBRARY_BY_FOLDER:
		return "the loader's own folders";
	default:
		return "a folder that the loader does not search";
	}
}
