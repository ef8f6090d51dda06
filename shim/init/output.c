/* SPDX-License-Identifier: Apache-2.0 */
#include "init/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/log.h"
#include "system/mask.h"

enum {
	BATCH = 16,		/* streams moved before signals are looked for again */
	MISLED_MS = 10,		/* before a sink is tried again that lied about its room */
	DENIED_MS = 20,		/* between looks where poll itself is refused */
	FINISH_MS = 10000,	/* for a reader that takes nothing at all, at the end */
	STOP_MS = 2000,		/* for everything, once a stop was asked for */
	SIGNALS_AT_ONCE = 64,
	READS_OF_LINES = 64,	/* of a rank that writes without end */
};

/* The sink that has our stderr, if the ranks' goes there through us, and its room. */
static struct ri_sink *stderr_sink;
static size_t stderr_room;

static bool take_own_line(const char *line, size_t length)
{
	struct ri_sink *sink = stderr_sink;

	if (!sink->blocked || sink->end + length > stderr_room)
		return false;
	memcpy(sink->bytes + sink->end, line, length);
	sink->end += length;
	return true;
}

void ri_output_guard_log(struct ri_output *output)
{
	bool own = output->groups[RI_GROUP_STDERR].open > 0;

	if (!own && !output->one_sink)
		return;
	stderr_sink = &output->groups[own ? RI_GROUP_STDERR : RI_GROUP_STDOUT].sink;
	stderr_room = output->room;
	ri_log_through(take_own_line);
}

/* A log file takes what it takes: the job does not wait for a disk. */
static void write_log(struct ri_output *output, struct ri_log_file *file, const char *bytes,
	size_t length)
{
	while (length > 0) {
		ssize_t count = write(file->fd, bytes, length);

		if (count > 0) {
			bytes += count;
			length -= (size_t)count;
		} else if (count == 0 || errno != EINTR) {
			break;
		}
	}
	if (length == 0)
		return;
	output->files_lost += length;
	output->files_why = errno;
	if (!file->said)
		ri_log(RI_LEVEL_WARNING, "%s: the log file cannot be written, output is lost "
			"there: %s",
			file->path, strerror(errno));
	file->said = true;
}

static void remember(struct ri_output *output, struct ri_memory *memory, size_t length)
{
	const char *bytes = output->in, *end = bytes + length;
	bool begins = false, found, leads;
	size_t part;

	if (output->awaits_ray && output->alarm != NULL) {
		ri_watch_add(&memory->ray, RI_RAY_BEGINS, bytes, length, &found);
		ri_watch_add(&memory->lightning, RI_LIGHTNING_BEGINS, bytes, length, &leads);
		if (found || leads)
			output->alarm(output->context, true);
	}
	for (; bytes < end; bytes += part) {
		part = ri_watch_add(&memory->watch, RI_TRACEBACK, bytes, (size_t)(end - bytes),
			&found);
		ri_tail_add(&memory->tail, bytes, part);
		if (found)
			ri_tail_mark(&memory->tail);
		begins = begins || found;
	}
	if (!begins)
		return;
	/* a rank that is dying now did so before it */
	if (output->alarm != NULL)
		output->alarm(output->context, false);
	output->rang = true;
	clock_gettime(CLOCK_REALTIME, &memory->traceback);
}

/*
 * Lines that were made go to the sink, where they are already, and to the file.
 * They count as the sink's first: what is said of the file goes behind them.
 */
static void put_lines(struct ri_output *output, struct ri_stream *stream, char *lines,
	size_t length)
{
	struct ri_sink *sink = &stream->group->sink;

	if (stream->printed == RI_FORM_LINES)
		sink->end += length;
	if (stream->logged == RI_FORM_LINES)
		write_log(output, stream->file, lines, length);
	if (stream->printed == RI_FORM_LINES)
		ri_sink_flush(sink);
}

/* Where lines are made: its sink is not full whenever a stream is read. */
static char *line_buffer(struct ri_output *output, const struct ri_stream *stream)
{
	if (stream->printed == RI_FORM_LINES)
		return ri_sink_room(&stream->group->sink);
	return output->rendered;
}

static void take(struct ri_output *output, struct ri_stream *stream, size_t length)
{
	/* those of a rank that hangs go on: what they write is no sign of life */
	static const char watchdogs[] = "ProcessGroupNCCL.cpp";
	const char *at = output->in, *end = at + length;
	struct ri_sink *sink = &stream->group->sink;
	char *lines;

	output->heard_ms = ri_now_ms();
	if (output->memories != NULL && !ri_span_has((struct ri_span){ at, length }, watchdogs))
		output->memories[(stream - output->streams) / 2].heard_ms = output->heard_ms;
	if (output->again && stream < output->streams + 2) {
		while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL && ++at <= end)
			output->lines++;
		if (output->seen != NULL)
			*output->seen = output->lines;
	}
	if (stream->memory != NULL)
		remember(output, stream->memory, length);
	if (stream->logged == RI_FORM_BYTES)
		write_log(output, stream->file, output->in, length);
	if (stream->printed == RI_FORM_LINES || stream->logged == RI_FORM_LINES) {
		lines = line_buffer(output, stream);
		put_lines(output, stream, lines,
			ri_lines_cut(&stream->lines, output->in, length, lines));
	}
	if (stream->printed == RI_FORM_BYTES) {
		memcpy(ri_sink_room(sink), output->in, length);
		sink->end += length;
		ri_sink_flush(sink);
		if (sink == stderr_sink)
			ri_log_follow(output->in[length - 1] != '\n');
	}
}

/* Give up our end of the pipe, and complete its last line. */
static void end_stream(struct ri_output *output, struct ri_stream *stream)
{
	char *lines = line_buffer(output, stream);

	close(stream->fd);
	stream->fd = -1;
	stream->left = 0;
	stream->group->open--;
	if (stream->printed == RI_FORM_LINES || stream->logged == RI_FORM_LINES)
		put_lines(output, stream, lines, ri_lines_finish(&stream->lines, lines));
}

/*
 * One read, and what follows from it; by lines more of them, while the rest of one may be there.
 * Returns the bytes that were there.
 */
static size_t move(struct ri_output *output, struct ri_stream *stream, size_t most)
{
	struct ri_sink *sink = &stream->group->sink;
	size_t moved = 0;
	ssize_t count;

	sink->waits = sink->by_lines;
	for (int reads = 0; reads < READS_OF_LINES; reads++) {
		count = read(stream->fd, output->in, most);
		if (count > 0)
			take(output, stream, (size_t)count);
		else if (count == 0)	/* an error ends nothing: the rank would get SIGPIPE */
			end_stream(output, stream);
		moved += count > 0 ? (size_t)count : 0;
		if (count <= 0 || !sink->waits || sink->blocked || sink->end == sink->begin)
			break;
	}
	if (sink->waits) {
		sink->waits = false;
		if (!sink->blocked)
			ri_sink_flush(sink);
	}
	/* alone it would have a SIGPIPE, too */
	if (sink->by_lines && sink->why == EPIPE && stream->fd >= 0)
		end_stream(output, stream);
	return moved;
}

void ri_output_move_last(struct ri_output *output, size_t index)
{
	for (size_t i = 2 * index; output->streams != NULL && i <= 2 * index + 1; i++)
		if (output->streams[i].fd >= 0 && !ri_sink_is_full(&output->streams[i].group->sink))
			move(output, &output->streams[i], RI_OUTPUT_READ);
}

bool ri_output_is_held(const struct ri_output *output, size_t index)
{
	struct pollfd pipe = { .fd = -1 };

	if (output->streams != NULL)
		pipe.fd = output->streams[2 * index + 1].fd;
	return pipe.fd >= 0 && poll(&pipe, 1, 0) >= 0 && pipe.revents != POLLHUP;
}

bool ri_output_catch_up(struct ri_output *output)
{
	bool all = true;

	for (size_t i = 1; output->streams != NULL && i < 2 * output->count; i += 2) {
		struct ri_stream *stream = &output->streams[i];
		size_t moved = RI_OUTPUT_READ;

		for (int reads = 0; reads < BATCH && moved == RI_OUTPUT_READ && stream->fd >= 0 &&
			!ri_sink_is_full(&stream->group->sink); reads++)
			moved = move(output, stream, RI_OUTPUT_READ);
		all = all && (stream->fd < 0 || moved < RI_OUTPUT_READ);
	}
	return all;
}

static void move_group(struct ri_output *output, struct ri_stream_group *group)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(group->epoll, events, BATCH, 0);

	for (int i = 0; i < count && !ri_sink_is_full(&group->sink); i++)
		move(output, events[i].data.ptr, RI_OUTPUT_READ);
	if (count >= 0)
		return;
	/* a profile denies epoll_pwait(2): which of them can be read is not known */
	for (size_t i = 0; i < 2 * output->count && !ri_sink_is_full(&group->sink); i++)
		if (output->streams[i].fd >= 0 && output->streams[i].group == group)
			move(output, &output->streams[i], RI_OUTPUT_READ);
}

/* Write what is pending. has_room: poll says that something would be taken. */
static void flush(struct ri_stream_group *group, bool has_room)
{
	size_t before = group->sink.begin;

	ri_sink_flush(&group->sink);
	group->misled = has_room && group->sink.blocked && group->sink.begin == before;
}

/*
 * Wait once, at most so long (-1: for ever), for a signal, and for the streams and the sink of each
 * group; move what can be moved, if that is asked for. Output comes before signals: what a rank
 * said last is known before its end is. Returns whether to look for a signal.
 */
static bool wait_once(struct ri_output *output, int64_t timeout_ms, bool moves)
{
	struct pollfd fds[1 + 2 * RI_GROUPS] = { { .fd = output->signals, .events = POLLIN } };
	struct ri_stream_group *groups[1 + 2 * RI_GROUPS];
	nfds_t count = 1;
	int most = timeout_ms < 0 || timeout_ms > INT32_MAX ? -1 : (int)timeout_ms;
	bool refused;

	for (int i = 0; i < RI_GROUPS; i++) {
		struct ri_stream_group *group = &output->groups[i];

		if (group->misled && (most < 0 || most > MISLED_MS))
			most = MISLED_MS;
		if (group->sink.blocked) {
			groups[count] = group;
			fds[count++] = (struct pollfd){ .events = POLLOUT,
				.fd = group->misled ? -1 : group->sink.fd };
		}
		if (group->open > 0 && !ri_sink_is_full(&group->sink)) {
			groups[count] = group;
			fds[count++] = (struct pollfd){ .fd = group->epoll, .events = POLLIN };
		}
	}
	refused = poll(fds, count, most) < 0 && errno != EINTR;
	for (nfds_t i = 1; i < count && moves; i++) {
		if (!refused && fds[i].revents == 0 && fds[i].fd >= 0)
			continue;
		if (fds[i].events == POLLOUT)
			flush(groups[i], fds[i].revents != 0);
		else
			move_group(output, groups[i]);
	}
	if (refused)
		ri_mask_pause(DENIED_MS);
	return refused || fds[0].revents != 0;
}

int ri_output_wait(struct ri_output *output, siginfo_t *info, int64_t timeout_ms)
{
	int64_t end = timeout_ms < 0 ? -1 : ri_now_ms() + timeout_ms, left = timeout_ms;

	if (!output->active)
		return ri_mask_wait(info, timeout_ms);
	for (;;) {
		/* one that cannot be taken may stand for a child that ended: never wait on */
		if (wait_once(output, left, true))
			return ri_mask_wait(info, 0);
		if (output->rang) {
			output->rang = false;
			return 0;
		}
		if (end < 0)
			continue;
		left = end - ri_now_ms();
		if (left <= 0)
			return 0;
	}
}

/* --- the end: what is in the pipes, and what is lost ------------------------ */

/* Move what was there when the end began. Did anything move, is anything left? */
static bool move_rest(struct ri_output *output, bool *left)
{
	bool moved = false;

	*left = false;
	for (size_t i = 0; i < 2 * output->count; i++) {
		struct ri_stream *stream = &output->streams[i];

		while (stream->fd >= 0 && !ri_sink_is_full(&stream->group->sink)) {
			size_t most = stream->left < RI_OUTPUT_READ ? (size_t)stream->left
								    : RI_OUTPUT_READ;
			size_t count = most == 0 ? 0 : move(output, stream, most);

			stream->left -= stream->left < (int)count ? stream->left : (int)count;
			moved = moved || count > 0;
			if (count == 0 && stream->fd >= 0)
				end_stream(output, stream);
		}
		*left = *left || stream->fd >= 0;
	}
	return moved;
}

static bool flush_sinks(struct ri_output *output, bool have_room)
{
	bool moved = false;

	for (int i = 0; i < RI_GROUPS; i++) {
		struct ri_stream_group *group = &output->groups[i];
		size_t begin = group->sink.begin;

		if (!group->sink.blocked)
			continue;
		flush(group, have_room);
		moved = moved || !group->sink.blocked || group->sink.begin > begin;
	}
	return moved;
}

/* Those that are there, and not all that somebody may send without end. */
static void take_stop(int64_t *deadline, bool *stopped)
{
	siginfo_t info;
	int number;

	for (int i = 0; i < SIGNALS_AT_ONCE && (number = ri_mask_wait(&info, 0)) != 0; i++) {
		if (number != SIGTERM && number != SIGINT)
			continue;
		*deadline = ri_now_ms() + (*stopped ? 0 : STOP_MS);
		*stopped = true;
	}
}

static void add_loss(struct ri_text *out, const char *what, uint64_t bytes, int why)
{
	if (bytes == 0)
		return;
	ri_text_addf(out, "%s%" PRIu64 " bytes of %s (%s)", out->length == 0 ? "" : ", ", bytes,
		what, why == ETIMEDOUT ? "no process read them" : strerror(why));
}

static void say_losses(const struct ri_output *output)
{
	const struct ri_sink *out = &output->groups[RI_GROUP_STDOUT].sink;
	const struct ri_sink *err = &output->groups[RI_GROUP_STDERR].sink;
	RI_TEXT(text, 256);

	add_loss(&text, "stdout", out->lost, out->why);
	add_loss(&text, "stderr", err->lost, err->why);
	add_loss(&text, "log files", output->files_lost, output->files_why);
	if (text.length > 0)
		ri_log(RI_LEVEL_WARNING, "output was lost: %s", text.bytes);
}

void ri_output_finish(struct ri_output *output, bool stopped)
{
	struct ri_sink *out = &output->groups[RI_GROUP_STDOUT].sink;
	struct ri_sink *err = &output->groups[RI_GROUP_STDERR].sink;
	int64_t deadline = ri_now_ms() + (stopped ? STOP_MS : FINISH_MS);
	bool moved, left = true, waited = false;

	if (!output->active)
		return;
	for (size_t i = 0; i < 2 * output->count; i++)
		if (output->streams[i].fd >= 0 &&
			ioctl(output->streams[i].fd, FIONREAD, &output->streams[i].left) < 0)
			output->streams[i].left = RI_OUTPUT_READ;
	for (;;) {
		moved = flush_sinks(output, waited);
		moved = move_rest(output, &left) || moved;
		if (!left && !out->blocked && !err->blocked)
			break;
		/* a rank alone would wait for its reader as well: its launcher has a time for it */
		if ((moved && !stopped) || err->by_lines)
			deadline = ri_now_ms() + FINISH_MS;
		waited = deadline > ri_now_ms();
		if (waited && wait_once(output, deadline - ri_now_ms(), false))
			take_stop(&deadline, &stopped);
		/* the reader is gone: what is left goes to the files, and is counted as lost */
		if (!waited && out->blocked)
			ri_sink_end(out, ETIMEDOUT);
		if (!waited && err->blocked)
			ri_sink_end(err, ETIMEDOUT);
	}
	output->active = false;
	ri_log_through(NULL);
	say_losses(output);
}

/* --- what others ask -------------------------------------------------------- */

static void lower(int *best, int fd, int from)
{
	if (fd >= from && (*best < 0 || fd < *best))
		*best = fd;
}

int ri_output_next_fd(const struct ri_output *output, int from)
{
	int best = -1;

	if (output->active)
		lower(&best, output->signals, from);
	for (int i = 0; i < RI_GROUPS && output->active; i++) {
		lower(&best, output->groups[i].epoll, from);
		lower(&best, output->groups[i].sink.fd, from);
	}
	for (size_t i = 0; i < 2 * output->count; i++)
		lower(&best, output->streams[i].fd, from);
	for (size_t i = 0; i < output->file_count; i++)
		lower(&best, output->files[i].fd, from);
	return best;
}

struct ri_tail_text ri_output_tail(struct ri_output *output, size_t index)
{
	if (index >= output->count || output->memories[index].tail.bytes == NULL)
		return (struct ri_tail_text){ .bytes = NULL };
	return ri_tail_read(&output->memories[index].tail);
}

bool ri_output_is_heard(const struct ri_output *output, size_t index, int64_t since_ms)
{
	return output->memories != NULL && index < output->count &&
		output->memories[index].heard_ms > 0 &&
		output->memories[index].heard_ms >= since_ms;
}

struct timespec ri_output_traceback(const struct ri_output *output, size_t index)
{
	return index < output->count ? output->memories[index].traceback : (struct timespec){ 0 };
}

const char *ri_output_path(const struct ri_output *output, size_t index)
{
	return index < output->count && output->streams[2 * index].file != NULL
		? output->streams[2 * index].file->path
		: NULL;
}
