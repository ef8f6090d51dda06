/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own stdout or stderr as a place to put bytes without ever waiting. Other processes share what
 * we were started with, so O_NONBLOCK there would break them, and one of them may fill a pipe
 * between poll(2) and our write. So:
 *
 * pipes, terminals  are opened again below /proc/self/fd: the same pipe, but with flags of our own
 *                   (proc_pid_fd(5)), so O_NONBLOCK
 * sockets           get MSG_DONTWAIT for each call
 * files             have no reader to wait for; a disk or a network file system that hangs holds
 *                   the write, as it holds that of any process
 * where /proc is not there, or not ours, or the user may not open it:
 *                   RWF_NOWAIT, which pipes know since Linux 6.4; before that poll and then no more
 *                   than is sure to be taken, which in a terminal is little. There another writer
 *                   can still come in between.
 */
#ifndef RI_SHIM_SYSTEM_SINK_H
#define RI_SHIM_SYSTEM_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ri_sink_kind {
	RI_SINK_NONE,		/* closed, or its reader has gone: all is lost */
	RI_SINK_OWN,		/* opened again, O_NONBLOCK */
	RI_SINK_SOCKET,
	RI_SINK_FILE,
	RI_SINK_PIPE,		/* shared */
	RI_SINK_TERMINAL,	/* shared */
};

struct ri_sink {
	enum ri_sink_kind kind;
	int fd;
	bool blocked;		/* something is pending: wait for POLLOUT */
	bool by_lines;		/* others write there, too: whole lines, each write a whole one */
	bool waits;		/* and a part of a line stays for its rest */
	char *bytes;		/* pending: [begin, end) */
	size_t begin, end;
	uint64_t lost;		/* bytes that no reader will get */
	int why;		/* errno of the last loss */
};

/* Find out how to write to it. buffer: for what is to be written, of the caller's. */
void ri_sink_open(struct ri_sink *sink, int fd, char *buffer);

/* Write what is pending, as much as goes through now; by lines at most PIPE_BUF at a time. */
void ri_sink_flush(struct ri_sink *sink);

/* Above it none is taken from the ranks; a reader that comes back finds a pipe's worth at once. */
enum { RI_SINK_PENDING = 65536 };

static inline bool ri_sink_is_full(const struct ri_sink *sink)
{
	return sink->blocked && sink->end - sink->begin > RI_SINK_PENDING;
}

/* Where bytes for a sink that is not full are put: what is pending moves to the front. */
char *ri_sink_room(struct ri_sink *sink);

/*
 * Is it a regular file? There RWF_NOWAIT may be refused with EAGAIN again and again, where the
 * write would change more than the bytes (XFS and btrfs, Linux fs/inode.c, file_modified_flags).
 */
bool ri_sink_is_file(int fd);

/* Nothing more goes there; what is pending, and what still comes, is lost. */
void ri_sink_end(struct ri_sink *sink, int why);

#endif
