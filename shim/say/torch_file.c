/* SPDX-License-Identifier: Apache-2.0 */
#include "say/torch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/class.h"
#include "system/log.h"
#include "system/kept_fds.h"

enum { NAME_SIZE = 32 };

/* Make a folder with an unused name, for us alone; -1 and errno. */
static int make_folder(struct ri_held_path *spot, char name[RI_SPOT_NEW])
{
	struct stat info;
	int fd, made = -1;

	for (int i = 0; i < RI_SPOT_ATTEMPTS && made < 0; i++) {
		ri_held_path_name_new(name, "rankinit", "");
		made = mkdirat(spot->folder, name, 0700);
		if (made < 0 && errno != EEXIST)
			return -1;
	}
	if (made < 0)
		return -1;
	spot->name = name;
	fd = ri_held_path_open(spot, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || (fstat(fd, &info) == 0 && info.st_uid == getauxval(AT_EUID)))
		return fd;
	/* somebody else's, put there since */
	close(fd);
	errno = EPERM;
	return -1;
}

static bool make_below(struct ri_torch_files *files, const char *place, struct ri_arena *arena)
{
	const char *path = ri_arena_format(arena, "%s/rankinit", place);
	char *name = ri_arena_alloc(arena, RI_SPOT_NEW);
	struct ri_held_path spot;
	int fd;

	if (path == NULL || name == NULL || ri_held_path_find(&spot, path, arena) < 0)
		return false;
	fd = spot.folder < 0 ? -1 : make_folder(&spot, name);
	path = fd < 0 ? NULL : ri_arena_format(arena, "%s/%s", place, name);
	if (path == NULL) {
		if (fd >= 0)
			close(fd);
		ri_held_path_close(&spot);
		return false;
	}
	files->folder = path;
	files->spot = spot;
	files->fd = fd;
	ri_kept_fds_add(fd);
	ri_kept_fds_add(spot.folder);
	return true;
}

void ri_torch_files_make(struct ri_torch_files *files, const struct ri_env *env, size_t count,
	struct ri_arena *arena)
{
	/* POSIX, "Environment Variables" */
	const char *stated = ri_env_get(env, "TMPDIR");
	bool usable = stated != NULL && stated[0] == '/';

	*files = (struct ri_torch_files){ .count = count };
	if (ri_env_get(env, RI_TORCH_FILE) != NULL)
		return;
	/* memory is faster than a disk, where there is some */
	if (usable ? make_below(files, stated, arena)
		   : make_below(files, "/dev/shm", arena) || make_below(files, "/tmp", arena))
		return;
	ri_log(RI_LEVEL_NOTE, "no folder for torch's error files: %s", strerror(errno));
}

void ri_torch_files_give(const struct ri_torch_files *files, uid_t uid, gid_t gid)
{
	if (files->folder != NULL && fchown(files->fd, uid, gid) < 0)
		ri_log(RI_LEVEL_NOTE, "%s: %s", files->folder, strerror(errno));
}

const char *ri_torch_files_path(const struct ri_torch_files *files, size_t local_rank,
	struct ri_arena *arena)
{
	if (files->folder == NULL)
		return NULL;
	return ri_arena_format(arena, "%s/%zu.json", files->folder, local_rank);
}

/* The number of bytes that were read; 0: nothing that can be used. */
static size_t read_file(int folder, size_t local_rank, struct timespec ended, char *bytes)
{
	char name[NAME_SIZE];
	struct stat info;
	ssize_t length = 0;
	int fd;

	snprintf(name, sizeof(name), "%zu.json", local_rank);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* with other names (links) it may be a file that is not the rank's to show */
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
		info.st_size <= RI_TORCH_FILE_SIZE && !ri_time_is_before(ended, info.st_mtim))
		length = read(fd, bytes, RI_TORCH_FILE_SIZE);
	close(fd);
	return length < 0 ? 0 : (size_t)length;
}

bool ri_torch_files_read(struct ri_torch_files *files, size_t local_rank, struct timespec ended,
	struct ri_span *out)
{
	size_t length = 0;

	if (files->folder == NULL)
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
		length = read_file(files->fd, local_rank, ended,
			files->bytes + local_rank * RI_TORCH_FILE_SIZE);
	}
	out->length = length;
	return length > 0;
}

/* Most of the time there is nothing in it. */
static void empty_and_remove(const struct ri_torch_files *files)
{
	const struct ri_held_path *spot = &files->spot;
	char name[NAME_SIZE];

	if (unlinkat(spot->folder, spot->name, AT_REMOVEDIR) == 0)
		return;
	for (size_t i = 0; i < files->count; i++) {
		snprintf(name, sizeof(name), "%zu.json", i);
		unlinkat(files->fd, name, 0);
	}
	unlinkat(spot->folder, spot->name, AT_REMOVEDIR);
}

void ri_torch_files_remove(struct ri_torch_files *files)
{
	if (files->folder != NULL) {
		empty_and_remove(files);
		close(files->fd);
		ri_held_path_close(&files->spot);
	}
	if (files->bytes != NULL)
		munmap(files->bytes, files->count * RI_TORCH_FILE_SIZE);
	*files = (struct ri_torch_files){ .folder = NULL };
}
