/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "base/text.h"

/* --- the loader's table -------------------------------------------------- */

/*
 * The first kind, by which no loader since glibc 2.2 goes alone: a name, a padding byte, a count,
 * entries. The second, for itself or behind the first at a multiple of eight: a name with a
 * version, a count, the bytes of strings, the byte order, entries {flags, name, path, a version
 * of the kernel, hardware}; names count from its start.
 */
static const char old_magic[] = "ld.so-1.7.0";
static const char new_magic[] = "glibc-ld.so.cache1.1";

enum { OLD_HEADER = 16, OLD_ENTRY = 12, HEADER = 48, ENTRY = 24 };
/* Of the byte in the second kind's header; 0 is an older ldconfig, which did not say. */
enum { AT_ORDER = 28, ORDER = 3, LITTLE = 2 };
/* FLAG_ELF_LIBC6 and the machine (dl-cache.h) */
#if defined(__aarch64__)
enum { FLAGS = 0x0a03 };
#else
enum { FLAGS = 0x0303 };
#endif

static uint32_t word_at(const struct ri_ldcache *cache, size_t offset)
{
	uint32_t word;

	memcpy(&word, cache->bytes + offset, sizeof(word));
	return word;
}

/* Is it a header of so many bytes that begins so? */
static bool begins(const struct ri_ldcache *cache, const char *magic, size_t header)
{
	return cache->start <= cache->size && cache->size - cache->start >= header &&
		memcmp(cache->bytes + cache->start, magic, strlen(magic)) == 0;
}

bool ri_ldcache_read(struct ri_ldcache *out, const char *bytes, size_t size)
{
	struct ri_ldcache cache = { .bytes = bytes, .size = size };
	unsigned order;

	if (begins(&cache, old_magic, OLD_HEADER))
		cache.start = (OLD_HEADER + 7 + OLD_ENTRY *
			(size_t)word_at(&cache, OLD_HEADER - sizeof(uint32_t))) / 8 * 8;
	if (!begins(&cache, new_magic, HEADER))
		return false;
	order = (unsigned char)bytes[cache.start + AT_ORDER] & ORDER;
	cache.count = word_at(&cache, cache.start + strlen(new_magic));
	if ((order != 0 && order != LITTLE) ||
		cache.count > (size - cache.start - HEADER) / ENTRY)
		return false;
	*out = cache;
	return true;
}

/*
 * A string that ends within the table, and soon: thousands of entries may
 * point to one that has no end.
 */
static const char *string_at(const struct ri_ldcache *cache, uint32_t offset)
{
	size_t at = cache->start + offset, room;

	if (at >= cache->size)
		return NULL;
	room = cache->size - at < PATH_MAX ? cache->size - at : PATH_MAX;
	return memchr(cache->bytes + at, '\0', room) == NULL ? NULL : cache->bytes + at;
}

const char *ri_ldcache_find(const struct ri_ldcache *cache, const char *name)
{
	const size_t size = strlen(name) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < cache->count; i++) {
		size_t entry = cache->start + HEADER + i * ENTRY;
		size_t at = cache->start + word_at(cache, entry + 4);
		uint64_t hardware;	/* not 0: only for some CPUs */
		const char *path;

		/* asked of every entry of the table: nothing is read that need not be */
		if (at > cache->size || size > cache->size - at ||
			memcmp(cache->bytes + at, name, size) != 0 ||
			word_at(cache, entry) != FLAGS)
			continue;
		path = string_at(cache, word_at(cache, entry + 8));
		memcpy(&hardware, cache->bytes + entry + 16, sizeof(hardware));
		if (path != NULL && hardware == 0)
			return path;
		found = found == NULL ? path : found;
	}
	return found;
}

/* --- the loader ----------------------------------------------------------- */

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
static const char glibc_folders[] =
	"/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib";
static const char apart_folders[] =
	"/usr/local/lib:/usr/local/lib64:/usr/local/cuda/lib64:/usr/local/nvidia/lib64:"
	"/usr/local/mpi/lib:/opt/openmpi/lib:/opt/hpcx/ompi/lib:/opt/amazon/openmpi/lib:"
	"/usr/lib/" TRIPLET "/openmpi/lib:/usr/lib64/openmpi/lib:/usr/lib64/mpich/lib:"
	"/opt/conda/lib:/opt/miniconda/lib";

void ri_loader_init(struct ri_loader *loader, const struct ri_image *image)
{
	char text[FOLDERS_SIZE], *table = ri_arena_alloc(image->arena, RI_MAX_LDCACHE + 1);
	long length = table == NULL ? -1
		: ri_host_read(image->host, table_path, table, RI_MAX_LDCACHE + 1);

	*loader = (struct ri_loader){ .image = image };
	if (length >= 0)
		ri_ldcache_read(&loader->cache, table, (size_t)length);
	if (length >= 0 || ri_host_has(image->host, table_path) ||
		!ri_host_has(image->host, alpine))
		return;
	/* a file that cannot be read leaves musl's loader without folders */
	length = ri_host_read(image->host, musl_file, text, sizeof(text));
	loader->folders = length >= 0 ? ri_arena_copy(image->arena, text, (size_t)length)
		: errno == ENOENT ? "/lib:/usr/local/lib:/usr/lib" : "";
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

	while (list != NULL && ri_path_next(&list, ends, folder))
		if (try_folder(loader, folder, name, out))
			return true;
	return false;
}

bool ri_loader_find(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	const char *path;

	*out = (struct ri_library){ .place = RI_LIBRARY_BY_VARIABLE };
	if (try_text(loader, ri_env_get(loader->image->env, VARIABLE), name, out))
		return true;
	path = ri_ldcache_find(&loader->cache, name);
	if (path != NULL) {
		out->place = RI_LIBRARY_BY_TABLE;
		if (try_path(loader, path, out))
			return true;
		if (!ri_host_has(loader->image->host, path))
			out->gone = keep(loader->image, path);
	}
	out->place = RI_LIBRARY_BY_FOLDER;
	return try_text(loader, loader->folders != NULL ? loader->folders : glibc_folders, name,
		out);
}

bool ri_loader_find_apart(const struct ri_loader *loader, const char *name, struct ri_library *out)
{
	*out = (struct ri_library){ .place = RI_LIBRARY_APART };
	return try_text(loader, apart_folders, name, out);
}

bool ri_loader_look(const struct ri_loader *loader, const char *folder, const char *name,
	struct ri_library *out)
{
	*out = (struct ri_library){ .place = RI_LIBRARY_APART };
	return try_folder(loader, folder, name, out);
}

const char *ri_library_place_name(enum ri_library_place place)
{
	static const char *const places[] = {
		[RI_LIBRARY_BY_VARIABLE] = VARIABLE, [RI_LIBRARY_BY_TABLE] = table_path,
		[RI_LIBRARY_BY_FOLDER] = "the loader's own folders",
		[RI_LIBRARY_APART] = "a folder that the loader does not search",
	};

	return places[place];
}

/* --- programs --------------------------------------------------------------- */

const char ri_default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool ri_program_at(const struct ri_image *image, const char *path, struct ri_program *out)
{
	char real[RI_PATH_SIZE];
	struct stat info;

	if (ri_host_stat(image->host, path, &info) < 0 || !S_ISREG(info.st_mode) ||
		(info.st_mode & 0111) == 0 || ri_host_real(image->host, path, real) < 0)
		return false;
	*out = (struct ri_program){ .path = ri_arena_copy(image->arena, path, strlen(path)),
		.real = ri_arena_copy(image->arena, real, strlen(real)) };
	return out->path != NULL && out->real != NULL;
}

bool ri_program_next(const struct ri_image *image, const char *name, const char **rest,
	struct ri_program *out)
{
	const char *list = ri_env_get(image->env, "PATH");
	char folder[RI_PATH_SIZE], path[RI_PATH_SIZE];

	if (*rest == NULL)
		*rest = list == NULL ? ri_default_path : list;
	while (ri_path_next(rest, ":", folder))
		if (ri_path_join(path, folder, name) && ri_program_at(image, path, out))
			return true;
	return false;
}

bool ri_program_find(const struct ri_image *image, const char *name, struct ri_program *out)
{
	const char *rest = NULL;

	return ri_program_next(image, name, &rest, out);
}

bool ri_script_read(struct ri_script *out, const char *head, size_t length)
{
	size_t from = 2, end;
	bool has_return;

	if (length > RI_SCRIPT_HEAD)
		length = RI_SCRIPT_HEAD;
	if (length < 2 || head[0] != '#' || head[1] != '!')
		return false;
	while (from < length && ri_is_blank(head[from]))
		from++;
	for (end = from; end < length && !ri_is_blank(head[end]) && head[end] != '\n' &&
		head[end] != '\0';)
		end++;
	has_return = end > from && head[end - 1] == '\r';
	if (has_return)
		end--;
	if (end == from)
		return false;
	memcpy(out->interpreter, head + from, end - from);
	out->interpreter[end - from] = '\0';
	out->has_return = has_return;
	return true;
}
