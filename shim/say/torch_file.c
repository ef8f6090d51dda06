/* SPDX-License-Identifier: Apache-2.0 */
#include "say/torch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/culprit.h"
#include "system/apart.h"
#include "system/kept_fds.h"
#include "system/log.h"

enum {
	NAME_SIZE = 32,
	TMPDIR_MS = 5500,	/* a little longer than until that is said */
};

/* Some work in TMPDIR, which may be on a mount that does not answer: then there are no files. */
static int ask(struct ri_torch_files *files, bool stopped, int (*work)(void *argument),
	void *argument)
{
	const struct ri_apart asking = {
		.work = work, .argument = argument, .subject = "TMPDIR", .path = files->tmpdir,
		.most_ms = TMPDIR_MS, .deaf_ms = stopped ? TMPDIR_MS : 0,
	};
	int status = files->tmpdir == NULL ? work(argument) : ri_apart(&asking);

	if (status < 0 && errno == ETIMEDOUT) {
		ri_log(RI_LEVEL_WARNING, "TMPDIR: its file system does not answer, so rankinit "
			"continues without torch's error files [%s]",
			ri_code_name(RI_CODE_FILE_SLOW));
		files->folder = NULL;
	}
	return status;
}

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
	if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == getauxval(AT_EUID))
		return fd;
	if (fd < 0) {
		int saved = errno;

		unlinkat(spot->folder, name, AT_REMOVEDIR);
		errno = saved;
		return -1;
	}
	/* somebody else's, put there since */
	close(fd);
	errno = EPERM;
	return -1;
}

static bool make_below(struct ri_torch_files *files, const char *place, struct ri_arena *arena)
{
	/* with room for the name that it gets */
	char *path = ri_arena_format(arena, "%s/%*s", place, RI_SPOT_NEW, "");
	struct ri_held_path spot;
	int fd;

	if (path == NULL || ri_held_path_find(&spot, path, arena) < 0)
		return false;
	fd = spot.folder < 0 ? -1 : make_folder(&spot, strrchr(path, '/') + 1);
	if (fd < 0) {
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

struct making {
	struct ri_torch_files *files;
	struct ri_arena *arena;
};

static int make(void *argument)
{
	const struct making *making = argument;
	struct ri_torch_files *files = making->files;
	const char *stated = files->tmpdir;
	bool usable = stated != NULL && stated[0] == '/';

	/* memory is faster than a disk, where there is some */
	if (usable ? !make_below(files, stated, making->arena)
		   : !make_below(files, "/dev/shm", making->arena) &&
			!make_below(files, "/tmp", making->arena))
		ri_log(RI_LEVEL_NOTE, "no folder for torch's error files: %s", strerror(errno));
	else if (files->uid != -1U && fchown(files->fd, files->uid, files->gid) < 0)
		ri_log(RI_LEVEL_NOTE, "%s: %s", files->folder, strerror(errno));
	return 0;
}

int ri_torch_files_make(struct ri_torch_files *files, const struct ri_env *env,
	struct ri_arena *arena)
{
	struct making making = { files, arena };

	/* POSIX, "Environment Variables" */
	files->tmpdir = ri_env_get(env, "TMPDIR");
	if (ri_env_get(env, RI_TORCH_FILE) != NULL)
		return 0;
	return ask(files, false, make, &making) < 0 && ri_apart_stop() != 0 ? -1 : 0;
}

const char *ri_torch_files_path(const struct ri_torch_files *files, size_t local_rank,
	struct ri_arena *arena)
{
	if (files->folder == NULL)
		return NULL;
	return ri_arena_format(arena, "%s/%zu.json", files->folder, local_rank);
}

size_t ri_torch_file_take(int folder, const char *path, struct timespec ended, uid_t owner,
	char *out, size_t size)
{
	struct stat info;
	ssize_t length = 0;
	int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	/* with other names (links) it may be a file that is not the rank's to show */
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
		(owner == -1U || info.st_uid == owner) && info.st_size <= (off_t)size &&
		!ri_time_is_before(ended, info.st_mtim))
		length = read(fd, out, size);
	close(fd);
	return length < 0 ? 0 : (size_t)length;
}

struct reading {
	struct ri_torch_files *files;
	size_t local_rank;
	struct timespec ended;
};

static int read_file(void *argument)
{
	struct reading *reading = argument;
	const struct ri_torch_files *files = reading->files;
	struct ri_torch_read *read = &files->read[reading->local_rank];
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), "%zu.json", reading->local_rank);
	read->length = ri_torch_file_take(files->fd, name, reading->ended, -1U, read->bytes,
		sizeof(read->bytes));
	return 0;
}

bool ri_torch_files_read(struct ri_torch_files *files, size_t local_rank, struct timespec ended,
	bool stopped, struct ri_span *out)
{
	struct reading reading = { files, local_rank, ended };
	size_t length;

	if ((files->folder == NULL && files->read == NULL) || local_rank >= files->count)
		return false;
	if (files->read == NULL)
		files->read = ri_pages(files->count * sizeof(*files->read));
	if (files->read == NULL ||
		(files->folder != NULL && ask(files, stopped, read_file, &reading) < 0))
		return false;
	/* by a process that may have run wild */
	length = files->read[local_rank].length;
	*out = (struct ri_span){ files->read[local_rank].bytes, length };
	return length > 0 && length <= RI_TORCH_FILE_SIZE;
}

void ri_torch_files_keep(struct ri_torch_files *files)
{
	if (files->folder != NULL && files->read == NULL)
		files->read = ri_pages_shared(files->count * sizeof(*files->read));
}

/* Most of the time there is nothing in the folder. */
static int take_away(void *argument)
{
	struct ri_torch_files *files = argument;
	const struct ri_held_path *spot = &files->spot;
	bool removed = unlinkat(spot->folder, spot->name, AT_REMOVEDIR) == 0;
	char name[NAME_SIZE];

	for (size_t i = 0; !removed && i < files->count; i++) {
		snprintf(name, sizeof(name), "%zu.json", i);
		unlinkat(files->fd, name, 0);
	}
	if (!removed)
		unlinkat(spot->folder, spot->name, AT_REMOVEDIR);
	close(files->fd);
	ri_held_path_close(&files->spot);
	files->folder = NULL;
	return 0;
}

void ri_torch_files_remove(struct ri_torch_files *files, bool stopped)
{
	if (files->folder != NULL)
		ask(files, stopped, take_away, files);
	files->folder = NULL;
}
