/* SPDX-License-Identifier: Apache-2.0 */
#include "torch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum { NAME_SIZE = 32 };

/* POSIX, "Environment Variables"; memory is faster than a disk, where there is some. */
static char *make_folder(const struct ri_env *env, struct ri_arena *arena)
{
	const char *stated = ri_env_get(env, "TMPDIR");
	bool usable = stated != NULL && stated[0] == '/';
	const char *const places[] = { usable ? stated : "/dev/shm", "/tmp" };

	for (size_t i = 0; i < (usable ? 1 : 2); i++) {
		char *folder = ri_arena_format(arena, "%s/rankinit-XXXXXX", places[i]);

		if (folder != NULL && mkdtemp(folder) != NULL)
			return folder;
	}
	return NULL;
}

void ri_torch_files_make(struct ri_torch_files *files, const struct ri_env *env, size_t count,
	struct ri_arena *arena)
{
	*files = (struct ri_torch_files){ .count = count };
	if (ri_env_get(env, RI_TORCH_FILE) != NULL)
		return;
	files->folder = make_folder(env, arena);
	if (files->folder == NULL)
		ri_log(RI_LEVEL_NOTE, "no place for torch's error files: %s", strerror(errno));
}

void ri_torch_files_give(const struct ri_torch_files *files, uid_t uid, gid_t gid)
{
	if (files->folder != NULL && chown(files->folder, uid, gid) < 0)
		ri_log(RI_LEVEL_NOTE, "%s: %s", files->folder, strerror(errno));
}

const char *ri_torch_files_path(const struct ri_torch_files *files, size_t local_rank,
	struct ri_arena *arena)
{
	if (files->folder == NULL)
		return NULL;
	return ri_arena_format(arena, "%s/%zu.json", files->folder, local_rank);
}

static int open_folder(const struct ri_torch_files *files)
{
	if (files->folder == NULL)
		return -1;
	return open(files->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The number of bytes that were read; 0: nothing that can be used. */
static size_t read_file(int folder, size_t local_rank, char *bytes)
{
	char name[NAME_SIZE];
	struct stat info;
	ssize_t length = 0;
	int fd;

	snprintf(name, sizeof(name), "%zu.json", local_rank);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= RI_TORCH_FILE_SIZE)
		length = read(fd, bytes, RI_TORCH_FILE_SIZE);
	close(fd);
	return length < 0 ? 0 : (size_t)length;
}

bool ri_torch_files_read(struct ri_torch_files *files, size_t local_rank, struct ri_span *out)
{
	int folder = open_folder(files);
	size_t length = 0;

	if (folder < 0)
		return false;
	if (files->bytes == NULL) {
		files->bytes = mmap(NULL, files->count * RI_TORCH_FILE_SIZE,
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (files->bytes == MAP_FAILED)
			files->bytes = NULL;
	}
	out->at = files->bytes;
	if (files->bytes != NULL && local_rank < files->count) {
		out->at += local_rank * RI_TORCH_FILE_SIZE;
		length = read_file(folder, local_rank, files->bytes +
			local_rank * RI_TORCH_FILE_SIZE);
	}
	close(folder);
	out->length = length;
	return length > 0;
}

/* Most of the time there is nothing in it. */
static void empty_and_remove(const struct ri_torch_files *files)
{
	int folder = rmdir(files->folder) == 0 ? -1 : open_folder(files);
	char name[NAME_SIZE];

	if (folder < 0)
		return;
	for (size_t i = 0; i < files->count; i++) {
		snprintf(name, sizeof(name), "%zu.json", i);
		unlinkat(folder, name, 0);
	}
	close(folder);
	rmdir(files->folder);
}

void ri_torch_files_remove(struct ri_torch_files *files)
{
	if (files->folder != NULL)
		empty_and_remove(files);
	if (files->bytes != NULL)
		munmap(files->bytes, files->count * RI_TORCH_FILE_SIZE);
	*files = (struct ri_torch_files){ .folder = NULL };
}
