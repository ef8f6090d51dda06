/* SPDX-License-Identifier: Apache-2.0 */
#include "say/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "output/output.h"
#include "system/clock.h"
#include "system/kept_fds.h"
#include "system/sink.h"

const char *ri_whole_file_name(const struct ri_given *option, const struct ri_topology *topology,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_pattern_values values = { .host = "" };
	char folder[PATH_MAX];
	struct ri_pattern_use use;
	struct utsname names;
	const char *path;

	if (!ri_pattern_read(option->value, &use)) {
		ri_fail(err, RI_CODE_OPTION_VALUE, option->subject,
			"%s: expected a file name in which %% stands only before r, l, n, h or %%",
			RI_QUOTED(option->value));
		return NULL;
	}
	ri_topology_get(topology, RI_FACT_RANK, &values.rank);
	ri_topology_get(topology, RI_FACT_LOCAL_RANK, &values.local_rank);
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &values.node) && use.node) {
		ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
			"%%n is the rank of this node, which is unknown");
		ri_fail_hint(err, "use %%h, or state --node-rank");
		return NULL;
	}
	if (use.host && uname(&names) < 0) {
		ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
			"the name of this host is unknown: %s", strerror(errno));
		return NULL;
	}
	if (use.host)
		values.host = names.nodename;
	path = ri_pattern_expand(option->value, &values, arena);
	if (path != NULL && path[0] != '/') {
		if (getcwd(folder, sizeof(folder)) == NULL) {
			ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
				"the current folder has no path: %s", strerror(errno));
			return NULL;
		}
		path = ri_arena_format(arena, "%s/%s", folder, path);
	}
	if (path == NULL)
		ri_fail(err, RI_CODE_MEMORY, option->subject, "no memory left for the name");
	return path;
}

static int refuse(const char *subject, const char *path, int error, struct ri_error *err)
{
	ri_fail(err, RI_CODE_REPORT_REFUSED, subject, "%s cannot be written: %s",
		RI_QUOTED(path), ri_held_path_reason(error));
	ri_fail_errno(err, error);
	if (error == EISDIR)
		return ri_fail_hint(err, "give the path of a file");
	return ri_fail_hint(err, error == RI_SPOT_FOREIGN
			? "give the path of the folder that it leads to"
			: "its folder must exist and be writable");
}

/* Could it be written now, and is it one to replace? -1 and errno. */
static int look(struct ri_whole_file *file)
{
	const struct ri_held_path *spot = &file->spot;
	bool named = spot->folder < 0;
	struct stat info;
	int status = named ? stat(spot->name, &info)
			   : fstatat(spot->folder, spot->name, &info, AT_SYMLINK_NOFOLLOW);

	if (status == 0 && S_ISDIR(info.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	/* a link that was not followed is replaced */
	file->in_place = named ||
		(status == 0 && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode));
	if (!file->in_place)
		return faccessat(spot->folder, ".", W_OK, 0);
	if (status < 0)
		return -1;
	file->device = info.st_dev;
	file->inode = info.st_ino;
	return named ? access(spot->name, W_OK)
		     : faccessat(spot->folder, spot->name, W_OK, 0);
}

int ri_whole_file_find(struct ri_whole_file *file, const char *path, const char *subject,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_whole_file found = { .path = path };

	if (ri_held_path_find(&found.spot, path, arena) < 0)
		return refuse(subject, path, errno, err);
	if (look(&found) < 0) {
		ri_held_path_close(&found.spot);
		return refuse(subject, path, errno, err);
	}
	ri_kept_fds_add(found.spot.folder);
	*file = found;
	return 0;
}

void ri_whole_file_set_aside(const struct ri_whole_file *file, const char *suffix)
{
	const struct ri_held_path *spot = &file->spot;
	char name[NAME_MAX + 1];
	int length = snprintf(name, sizeof(name), "%s%s", spot->name, suffix);

	if (!file->in_place && length > 0 && (size_t)length < sizeof(name))
		renameat(spot->folder, spot->name, spot->folder, name);
}

int ri_write_patiently(int fd, const char *bytes, size_t length)
{
	struct ri_sink sink = {
		.kind = ri_sink_is_file(fd) ? RI_SINK_FILE : RI_SINK_PIPE, .fd = fd,
		.bytes = (char *)(uintptr_t)bytes, .end = length,
	};
	int64_t end = ri_now_ms() + RI_PATIENCE_MS, left;
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	do {
		left = end - ri_now_ms();
		if (left <= 0 || poll(&ready, 1, (int)left) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		ri_sink_flush(&sink);
	} while (sink.blocked);
	errno = sink.why;
	return sink.lost > 0 ? -1 : 0;
}

static int make_new(const struct ri_held_path *spot, char name[RI_SPOT_NEW])
{
	const struct ri_held_path new = { spot->folder, name };
	int fd = -1;

	for (int i = 0; i < RI_SPOT_ATTEMPTS && fd < 0; i++) {
		ri_held_path_name_new(name, ".rankinit", ".new");
		fd = ri_held_path_open(&new, O_WRONLY | O_CREAT | O_EXCL);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

static int replace(struct ri_whole_file *file, const char *bytes, size_t length)
{
	const struct ri_held_path *spot = &file->spot;
	char name[RI_SPOT_NEW];
	int fd = make_new(spot, name), status = -1, saved;

	/* programs empty their output folder by removing it */
	if (fd < 0 && errno == ENOENT && ri_held_path_renew(&file->spot, file->path) == 0)
		fd = make_new(spot, name);
	if (fd < 0)
		return -1;
	if (ri_write_patiently(fd, bytes, length) < 0 ||
		(file->mode != 0 && (fchmod(fd, file->mode) < 0 || fsync(fd) < 0)))
		ri_close_quietly(fd);
	else if (close(fd) == 0 || errno == EINTR)
		status = renameat(spot->folder, name, spot->folder, spot->name);
	if (status == 0)
		return 0;
	saved = errno;
	unlinkat(spot->folder, name, 0);
	errno = saved;
	return -1;
}

int ri_whole_file_write(struct ri_whole_file *file, const char *bytes, size_t length)
{
	int fd, status = -1;
	struct stat info;

	if (!file->in_place)
		return replace(file, bytes, length);
	fd = ri_held_path_open(&file->spot, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	/* what stands in its place since may be a way to write somewhere else */
	if (fstat(fd, &info) == 0 && info.st_dev == file->device && info.st_ino == file->inode)
		status = ri_write_patiently(fd, bytes, length);
	else
		errno = ESTALE;
	ri_close_quietly(fd);
	return status;
}
