/* SPDX-License-Identifier: Apache-2.0 */
#include "system/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "system/held_path.h"
#include "system/own_proc.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

enum { TERMINAL_ROOM = 128 };	/* half of a pty's buffer */

/* The same pipe or terminal with flags of its own, or -1. */
static int open_again(int fd, const struct stat *info)
{
	char path[32];
	struct stat other;
	int opened;

	if (!ri_proc_is_ours(getpid()))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = ri_fd_move_up(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	if (opened >= 0 && fstat(opened, &other) == 0 && other.st_dev == info->st_dev &&
		other.st_ino == info->st_ino)
		return opened;
	if (opened >= 0)
		close(opened);
	return -1;
}

bool ri_sink_is_file(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

void ri_sink_open(struct ri_sink *sink, int fd, char *buffer)
{
	bool terminal, pipe;
	struct stat info;
	int own;

	*sink = (struct ri_sink){ .kind = RI_SINK_FILE, .fd = fd, .bytes = buffer };
	if (fstat(fd, &info) < 0) {
		/* it is closed, or could be anything */
		sink->kind = errno == EBADF ? RI_SINK_NONE : RI_SINK_PIPE;
		return;
	}
	pipe = S_ISFIFO(info.st_mode);
	terminal = S_ISCHR(info.st_mode) && isatty(fd);
	if (S_ISSOCK(info.st_mode))
		sink->kind = RI_SINK_SOCKET;
	if (!pipe && !terminal)
		return;
	own = open_again(fd, &info);
	if (own >= 0)
		sink->fd = own;
	sink->kind = own >= 0 ? RI_SINK_OWN : pipe ? RI_SINK_PIPE : RI_SINK_TERMINAL;
}

/*
 * Without RWF_NOWAIT only as many bytes as poll's promise holds of. In a pipe PIPE_BUF (pipe(7)). A
 * pty says that it has room while it can allocate one more buffer of 256 bytes, and has none when
 * that is begun (drivers/tty/tty_buffer.c); what the line discipline hands on in one go is a run
 * without the bytes that it treats on their own (n_tty.c, process_output_block), and a single one
 * of those.
 */
static ssize_t write_shared(const struct ri_sink *sink)
{
	char *bytes = sink->bytes + sink->begin;
	size_t length = sink->end - sink->begin, safe = PIPE_BUF, run = 0;
	struct iovec part = { .iov_base = bytes, .iov_len = length };
	struct pollfd ready = { .fd = sink->fd, .events = POLLOUT };
	ssize_t count = syscall(SYS_pwritev2, sink->fd, &part, 1, -1L, -1L, RWF_NOWAIT);

	if (count >= 0 || errno == EAGAIN || errno == EPIPE)
		return count;
	errno = EAGAIN;
	if (poll(&ready, 1, 0) != 1)
		return -1;
	if (sink->kind == RI_SINK_TERMINAL) {
		while (run < TERMINAL_ROOM && run < length &&
			strchr("\n\r\t\b", bytes[run]) == NULL)
			run++;
		safe = run == 0 ? 1 : run;
	}
	return write(sink->fd, bytes, length < safe ? length : safe);
}

static void drop(struct ri_sink *sink)
{
	/* what was closed from the start is no loss */
	if (sink->kind != RI_SINK_NONE || sink->why != 0)
		sink->lost += sink->end - sink->begin;
	sink->begin = sink->end = 0;
	sink->blocked = false;
}

void ri_sink_end(struct ri_sink *sink, int why)
{
	sink->why = why;
	sink->kind = RI_SINK_NONE;
	drop(sink);
}

char *ri_sink_room(struct ri_sink *sink)
{
	if (sink->begin > 0) {
		memmove(sink->bytes, sink->bytes + sink->begin, sink->end - sink->begin);
		sink->end -= sink->begin;
		sink->begin = 0;
	}
	return sink->bytes + sink->end;
}

/* A pipe takes up to PIPE_BUF bytes whole (pipe(7)). */
static size_t whole_lines(const struct ri_sink *sink)
{
	const char *bytes = sink->bytes + sink->begin;
	size_t rest = sink->end - sink->begin, most = rest < PIPE_BUF ? rest : PIPE_BUF;
	const char *last = memrchr(bytes, '\n', most);

	if (last != NULL)
		return (size_t)(last - bytes) + 1;
	return most == rest && sink->waits ? 0 : most;
}

void ri_sink_flush(struct ri_sink *sink)
{
	sink->blocked = false;
	while (sink->begin < sink->end && sink->kind != RI_SINK_NONE) {
		const char *bytes = sink->bytes + sink->begin;
		size_t length = sink->by_lines ? whole_lines(sink) : sink->end - sink->begin;
		ssize_t count;

		if (length == 0)
			return;
		if (sink->kind == RI_SINK_SOCKET)
			count = send(sink->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		else if (sink->kind == RI_SINK_PIPE || sink->kind == RI_SINK_TERMINAL)
			count = write_shared(sink);
		else
			count = write(sink->fd, bytes, length);

		if (count > 0) {
			sink->begin += (size_t)count;
		} else if (count < 0 && errno == EAGAIN) {
			sink->blocked = true;
			return;
		} else if (count == 0 || errno != EINTR) {
			int why = sink->why = count == 0 ? EIO : errno;

			/* will it ever take bytes again? a full disk may, no reader comes back */
			if (why == EPIPE || why == EBADF || why == EIO || why == ENXIO ||
				why == ECONNRESET || why == ENOTCONN || why == ECONNREFUSED)
				ri_sink_end(sink, why);
			break;
		}
	}
	drop(sink);
}
