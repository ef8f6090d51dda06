/* SPDX-License-Identifier: Apache-2.0 */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "output/pattern.h"
#include "sink.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

static int no_memory(const struct ri_word *option, struct ri_error *err)
{
	return ri_fail(err, RI_CODE_MEMORY, option->subject, "no memory left for the name");
}

static int read_values(struct ri_pattern_values *values, struct utsname *names,
	const struct ri_word *option, const struct ri_topology *topology, struct ri_error *err)
{
	struct ri_pattern_use use;
	char quoted[RI_QUOTE_SIZE];

	if (!ri_pattern_read(option->text, &use))
		return ri_fail(err, RI_CODE_OPTION_VALUE, option->subject,
			"%s: expected a file name in which %% stands before r, l, n, h or %% only",
			ri_quote(quoted, sizeof(quoted), option->text));
	*values = (struct ri_pattern_values){ .rank = 0 };
	ri_topology_get(topology, RI_FACT_RANK, &values->rank);
	ri_topology_get(topology, RI_FACT_LOCAL_RANK, &values->local_rank);
	if (!ri_topology_get(topology, RI_FACT_NODE_RANK, &values->node) && use.node) {
		ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
			"%%n is the rank of this node, and nothing tells it");
		return ri_fail_hint(err, "use %%h, or state --node-rank");
	}
	if (use.host && uname(names) < 0)
		return ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
			"the name of this host is unknown: %s", strerror(errno));
	values->host = use.host ? names->nodename : "";
	return 0;
}

static bool starts_with(const char *path, const char *start)
{
	return strncmp(path, start, strlen(start)) == 0;
}

/*
 * Names of what somebody else opened, which may well be a regular file. What
 * may be created in /dev is shared memory alone.
 */
static bool is_device(const char *path)
{
	struct stat info;

	if (starts_with(path, "/proc/") ||
		(starts_with(path, "/dev/") && !starts_with(path, "/dev/shm/")))
		return true;
	return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* The pattern filled in, from the root; NULL: the error says why. */
static const char *make_path(const struct ri_word *option, const struct ri_topology *topology,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_pattern_values values;
	struct utsname names;
	char folder[PATH_MAX];
	const char *path;

	if (read_values(&values, &names, option, topology, err) < 0)
		return NULL;
	path = ri_pattern_expand(option->text, &values, arena);
	if (path != NULL && path[0] != '/') {
		if (getcwd(folder, sizeof(folder)) == NULL) {
			ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject,
				"the present folder has no name: %s", strerror(errno));
			return NULL;
		}
		path = ri_arena_format(arena, "%s/%s", folder, path);
	}
	if (path == NULL)
		no_memory(option, err);
	return path;
}

int ri_whole_file_prepare(struct ri_whole_file *file, const struct ri_word *option,
	const struct ri_topology *topology, struct ri_arena *arena, struct ri_error *err)
{
	const char *path = make_path(option, topology, arena, err);
	char real[PATH_MAX];

	if (path == NULL)
		return -1;
	file->in_place = is_device(path);
	/* a link stays one: what it leads to is replaced */
	if (!file->in_place && realpath(path, real) != NULL)
		path = ri_arena_copy(arena, real, strlen(real));
	file->path = path;
	/* several of us may write the same file */
	file->new_path = path == NULL ? NULL
				      : ri_arena_format(arena, "%s.%d.new", path, (int)getpid());
	return file->new_path == NULL ? no_memory(option, err) : 0;
}

static int refuse(const struct ri_word *option, const char *path, int error, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];

	ri_fail(err, RI_CODE_REPORT_REFUSED, option->subject, "%s cannot be written: %s",
		ri_quote(quoted, sizeof(quoted), path), strerror(error));
	return ri_fail_errno(err, error);
}

int ri_whole_file_check(const struct ri_whole_file *file, const struct ri_word *option,
	struct ri_error *err)
{
	char folder[PATH_MAX];
	struct stat info;

	if (stat(file->path, &info) == 0 && S_ISDIR(info.st_mode))
		return refuse(option, file->path, EISDIR, err);
	if (file->in_place)
		return access(file->path, W_OK) == 0 ? 0
						     : refuse(option, file->path, errno, err);
	if (snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(file->path, '/') - file->path),
		    file->path) >= (int)sizeof(folder))
		return refuse(option, file->path, ENAMETOOLONG, err);
	if (access(folder[0] == '\0' ? "/" : folder, W_OK) == 0)
		return 0;
	refuse(option, file->path, errno, err);
	return ri_fail_hint(err, "its folder must be there and be writable");
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * One write that does not block. What poll calls writable takes PIPE_BUF bytes
 * at once; RWF_NOWAIT makes sure of it where it is known.
 */
static ssize_t write_some(int fd, const char *bytes, size_t length)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = length };
	ssize_t count;

	if (length > PIPE_BUF)
		part.iov_len = PIPE_BUF;
	count = syscall(SYS_pwritev2, fd, &part, 1, -1L, -1L, RWF_NOWAIT);
	if (count >= 0 || errno == EPIPE || errno == ENOSPC)
		return count;
	if (errno == EAGAIN && !ri_sink_is_file(fd))
		return count;
	return writev(fd, &part, 1);
}

int ri_write_patiently(int fd, const char *bytes, size_t length)
{
	int64_t end = now_ms() + RI_PATIENCE_MS, left;
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	ssize_t count;

	while (length > 0) {
		left = end - now_ms();
		if (left <= 0 || poll(&ready, 1, (int)left) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		count = write_some(fd, bytes, length);
		if (count < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		bytes += count < 0 ? 0 : count;
		length -= count < 0 ? 0 : (size_t)count;
	}
	return 0;
}

static int write_whole(int fd, const char *bytes, size_t length)
{
	ssize_t count;

	for (; length > 0; bytes += count, length -= (size_t)count) {
		count = write(fd, bytes, length);
		if (count < 0 && errno != EINTR)
			return -1;
		if (count < 0)
			count = 0;
	}
	return 0;
}

static int write_in_place(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), status, saved;

	if (fd < 0)
		return -1;
	status = ri_write_patiently(fd, bytes, length);
	saved = errno;
	close(fd);
	errno = saved;
	return status;
}

static int replace(const struct ri_whole_file *file, const char *bytes, size_t length)
{
	int fd = open(file->new_path,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	int saved;

	if (fd < 0)
		return -1;
	if (write_whole(fd, bytes, length) < 0) {
		saved = errno;
		close(fd);
	} else if (close(fd) < 0 && errno != EINTR) {
		saved = errno;
	} else if (rename(file->new_path, file->path) < 0) {
		saved = errno;
	} else {
		return 0;
	}
	unlink(file->new_path);
	errno = saved;
	return -1;
}

int ri_whole_file_write(const struct ri_whole_file *file, const char *bytes, size_t length)
{
	if (file->in_place)
		return write_in_place(file->path, bytes, length);
	return replace(file, bytes, length);
}
