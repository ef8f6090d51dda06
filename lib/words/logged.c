/* SPDX-License-Identifier: Apache-2.0 */
#include "words/logged.h"

#include <string.h>

#include "words/launcher_words.h"
#include "words/line.h"

enum {
	NEAR = 40,	/* lines that say something, between the log's and the message */
	LINES = 1024,	/* all in all */
};

/* Which log tells more than a message of these words; what a dead actor of Ray said itself. */
static const char actor[] = "";
static const struct {
	const char *words, *log;
} logs[] = {
	{ "=ray.exceptions.ActorDiedError", actor }, { "=ray.exceptions.RayActorError", actor },
	/* NCCL src/init.cc, ncclGetErrorString; src/debug.cc, ncclDebugLog */
	{ "unhandled system error", "* NCCL WARN *" },
	{ "remote process exited or there was a network error", "* NCCL WARN *" },
	{ "ncclRemoteError", "* NCCL WARN *" },
	/* torch/csrc/distributed/c10d/socket.cpp, SocketConnectOp: a warning for each attempt */
	{ "The client socket has timed out after ", "[W*.cpp:~*] *" },
	{ "The client socket has failed to connect to ", "[W*.cpp:~*] *" },
	{ "The connection to the C10d store has failed", "[W*.cpp:~*] *" },
};

static const char *log_of(const struct ri_loss *loss)
{
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		if (strcmp(loss->words, logs[i].words) == 0)
			return logs[i].log;
	return NULL;
}

/*
 * A driver of Ray writes what its actors write, each line with who wrote it (python/ray/_private/
 * worker.py, print_worker_logs). Is it the last that the actor could say?
 */
static bool is_of_actor(struct ri_span line, int64_t pid)
{
	struct ri_owner owner;

	return ri_owner_find(line, RI_LABELS_NAMED, &owner) && owner.pid > 0 &&
		(pid == 0 || owner.pid == pid) &&
		ri_decisive_find(owner.rest) == RI_DECISIVE_LAST;
}

static bool find_of_actor(struct ri_span text, struct ri_span message, struct ri_span *own)
{
	struct ri_rank_said said;
	int64_t pid = ri_launcher_words_read(message, &said, 1) > 0 ? said.pid : 0;
	struct ri_span line;

	while (ri_span_last_line(&text, &line))
		if (is_of_actor(line, pid))
			*own = ri_line_trim(line);
	return own->length > 0;
}

/*
 * Of the log's lines near the end of the text the first that tells of trouble: is it this process's
 * own? What follows may follow from it.
 */
static bool find_own(struct ri_span text, const char *log, struct ri_span *own)
{
	struct ri_span line;
	int telling = 0;

	for (int i = 0; i < LINES && telling < NEAR && ri_span_last_line(&text, &line); i++) {
		telling += !ri_noise_is(line);
		line = ri_line_trim(line);
		if (!ri_glob_fits(line, log))
			continue;
		if (ri_loss_is_own(line))
			*own = line;
		else if (ri_loss_of_message(line) != NULL)
			own->length = 0;
	}
	return own->length > 0;
}

/* All of its message, up to what a library's log says behind it. */
static struct ri_span message_of(const struct ri_traceback *traceback)
{
	struct ri_span more = traceback->more, message = traceback->last, line;

	while (ri_span_line(&more, &line)) {
		if (ri_decisive_find(line) == RI_DECISIVE_LOG ||
			ri_decisive_find(line) == RI_DECISIVE_LAST)
			break;
		message.length = (size_t)(line.at + line.length - message.at);
	}
	return message;
}

const struct ri_loss *ri_logged_loss(struct ri_span text, const struct ri_traceback *traceback,
	struct ri_span *own)
{
	const struct ri_loss *loss = traceback == NULL ? ri_loss_of_lines(text)
		: ri_loss_of_exception(traceback->cause.length > 0 ? traceback->cause
			: message_of(traceback));
	const char *log = loss == NULL ? NULL : log_of(loss);
	struct ri_span after = { NULL, 0 };

	*own = (struct ri_span){ text.at, 0 };
	if (log == NULL || (log == actor && traceback == NULL))
		return loss;
	if (traceback != NULL) {
		struct ri_span last = traceback->last.length > 0 ? traceback->last
			: traceback->whole;
		/* a log's line behind it may look like one more of its message */
		const char *end = last.at + last.length;

		after = ri_span_skip(text, (size_t)(end - text.at));
		text.length = (size_t)(traceback->whole.at - text.at);
	}
	if (log == actor)
		return find_of_actor(text, message_of(traceback), own) ? NULL : loss;
	return find_own(text, log, own) || find_own(after, log, own) ? NULL : loss;
}
