/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the output: what is in the pipes, and what is lost. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>

#include "init/parts.h"
#include "system/clock.h"
#include "system/log.h"
#include "system/mask.h"

enum {
	FINISH_MS = 10000,	/* for a reader that takes nothing at all, at the end */
	STOP_MS = 2000,		/* for everything, once a stop was asked for */
	SIGNALS_AT_ONCE = 64,
};

struct finish {
	struct ri_output *output;
	int64_t deadline;	/* CLOCK_MONOTONIC ms; moved on while something moves */
	bool stopped;
};

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
			size_t count = most == 0 ? 0 : ri_output_move(output, stream, most);

			stream->left -= (int)count;
			moved = moved || count > 0;
			if (count == 0 && stream->fd >= 0)
				ri_output_end_stream(output, stream);
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
		ri_output_flush(group, have_room);
		moved = moved || !group->sink.blocked || group->sink.begin > begin;
	}
	return moved;
}

static void take_stop(struct finish *finish)
{
	siginfo_t info;
	int number;

	/* those that are there, and not all that somebody may send without end */
	for (int i = 0; i < SIGNALS_AT_ONCE && (number = ri_mask_wait(&info, 0)) != 0; i++) {
		if (number != SIGTERM && number != SIGINT)
			continue;
		finish->deadline = ri_now_ms() + (finish->stopped ? 0 : STOP_MS);
		finish->stopped = true;
	}
}

static void move_to_end(struct finish *finish)
{
	struct ri_sink *out = &finish->output->groups[RI_GROUP_STDOUT].sink;
	struct ri_sink *err = &finish->output->groups[RI_GROUP_STDERR].sink;
	bool left, waited = false;

	for (;;) {
		bool moved = flush_sinks(finish->output, waited);

		moved = move_rest(finish->output, &left) || moved;
		if (!left && !out->blocked && !err->blocked)
			return;
		if (moved && !finish->stopped)
			finish->deadline = ri_now_ms() + FINISH_MS;
		waited = finish->deadline > ri_now_ms();
		if (waited && ri_output_wait_once(finish->output, finish->deadline - ri_now_ms(),
				false))
			take_stop(finish);
		/* the reader is gone: what is left goes to the files, and is counted as lost */
		if (!waited && out->blocked)
			ri_sink_end(out, ETIMEDOUT);
		if (!waited && err->blocked)
			ri_sink_end(err, ETIMEDOUT);
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
	char buffer[256];
	struct ri_text text;

	ri_text_init(&text, buffer, sizeof(buffer));
	add_loss(&text, "stdout", out->lost, out->why);
	add_loss(&text, "stderr", err->lost, err->why);
	add_loss(&text, "log files", output->files_lost, output->files_why);
	if (text.length > 0)
		ri_log(RI_LEVEL_WARNING, "output was lost: %s", buffer);
}

void ri_output_finish(struct ri_output *output, bool stopped)
{
	struct finish finish = {
		.output = output,
		.stopped = stopped,
	};

	if (!output->active)
		return;
	finish.deadline = ri_now_ms() + (stopped ? STOP_MS : FINISH_MS);
	for (size_t i = 0; i < 2 * output->count; i++)
		if (output->streams[i].fd >= 0 &&
			ioctl(output->streams[i].fd, FIONREAD, &output->streams[i].left) < 0)
			output->streams[i].left = RI_OUTPUT_READ;
	move_to_end(&finish);
	output->active = false;
	ri_log_through(NULL);
	say_losses(output);
}
