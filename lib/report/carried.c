/* SPDX-License-Identifier: Apache-2.0 */
#include "report/carried.h"

#include <string.h>

#include "base/limits.h"
#include "report/restarts.h"
#include "words/loss.h"

/* The same binary reads what it wrote: numbers of one size, in its own byte order. */
struct written_failure {
	uint64_t number, most, known, alone;
	int64_t at_s, at_ns;
	uint64_t rank, local_rank, pid, end, exit_code, signal, core, oom, class;
	uint64_t loss;		/* its kind; 0: none */
	int64_t started_s, started_ns, ended_s, ended_ns;
	char words[RI_RESTART_WORDS];
};

struct written {
	char magic[24];
	uint64_t size, pid, attempt, mask, lines, program, linked, count, all;
	int64_t began_s, began_ns;
	char name[RI_CARRIED_NAME];
	char signature[RI_CARRIED_SIGNATURE];
	char failure[RI_CARRIED_FAILURE];
	char last_line[RI_BRIEF_SIZE];
	uint64_t mark, status, cause, retry, class;
	int64_t rank, node;
	unsigned char key[RI_CARRIED_KEY];
	char verdict[RI_CARRIED_VERDICT];
	struct written_failure failures[RI_RESTARTS];
};

_Static_assert(sizeof(struct written) <= RI_CARRIED_SIZE, "there is room for it");

static const char magic[24] = "rankinit-carried " RI_VERSION;

enum { MOST_TIMES = 1000000, NS = 1000000000 };

/* What is told of a loss is its kind alone. */
static const struct ri_loss losses[] = {
	[RI_LOSS_PEER] = { .kind = RI_LOSS_PEER },
	[RI_LOSS_STORE] = { .kind = RI_LOSS_STORE },
	[RI_LOSS_CLOCK] = { .kind = RI_LOSS_CLOCK },
	[RI_LOSS_MISMATCH] = { .kind = RI_LOSS_MISMATCH },
};

enum { LOSSES = sizeof(losses) / sizeof(losses[0]) };

/* As strncpy(3), which leaves no byte unwritten, but with an end. */
static void put_text(char *out, const char *text, size_t size)
{
	size_t length = strnlen(text, size - 1);

	memset(out, 0, size);
	memcpy(out, text, length);
}

static void write_failure(struct written_failure *out, const struct ri_restart *restart)
{
	const struct ri_rank_outcome *first = &restart->first;

	*out = (struct written_failure){
		.number = restart->number, .most = restart->most, .known = restart->known,
		.alone = restart->alone,
		.at_s = restart->at.tv_sec, .at_ns = restart->at.tv_nsec,
		.rank = first->rank, .local_rank = first->local_rank, .pid = (uint64_t)first->pid,
		.end = first->end, .exit_code = (uint64_t)first->exit_code,
		.signal = (uint64_t)first->signal, .core = first->core, .oom = first->oom,
		.class = first->evidence.class,
		.loss = first->evidence.loss == NULL ? 0 : first->evidence.loss->kind,
		.started_s = first->started.tv_sec, .started_ns = first->started.tv_nsec,
		.ended_s = first->ended.tv_sec, .ended_ns = first->ended.tv_nsec,
	};
	put_text(out->words, restart->words, sizeof(out->words));
}

size_t ri_carried_write(const struct ri_carried *carried, void *bytes)
{
	struct written *out = bytes;

	memset(out, 0, sizeof(*out));
	memcpy(out->magic, magic, sizeof(magic));
	out->size = sizeof(*out);
	out->pid = (uint64_t)carried->pid;
	out->attempt = carried->attempt;
	out->mask = carried->mask;
	out->lines = carried->lines;
	out->program = (uint64_t)carried->program;
	out->began_s = carried->began.tv_sec;
	out->began_ns = carried->began.tv_nsec;
	put_text(out->name, carried->name, sizeof(out->name));
	put_text(out->signature, carried->signature, sizeof(out->signature));
	put_text(out->failure, carried->failure, sizeof(out->failure));
	put_text(out->last_line, carried->last_line, sizeof(out->last_line));
	out->linked = carried->link.on;
	out->mark = carried->link.mark;
	out->status = (uint64_t)carried->link.status;
	out->node = carried->link.node;
	out->rank = carried->link.rank;
	out->cause = carried->link.why.cause;
	out->retry = carried->link.why.retry;
	out->class = carried->link.class;
	memcpy(out->key, carried->link.key, sizeof(out->key));
	put_text(out->verdict, carried->link.verdict, sizeof(out->verdict));
	out->count = carried->restarts.count;
	out->all = carried->restarts.all;
	for (size_t i = 0; i < carried->restarts.count; i++)
		write_failure(&out->failures[i], &carried->restarts.items[i]);
	return sizeof(*out);
}

static bool is_time(int64_t seconds, int64_t ns)
{
	return seconds >= 0 && ns >= 0 && ns < NS;
}

/* It has an end. Whoever prints it replaces control characters, which an exception may have. */
static bool is_text(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

/* What log files get as it is. */
static bool is_plain(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return length < size;
}

static bool is_failure(const struct written_failure *in)
{
	return in->number >= 1 && in->number <= MOST_TIMES && in->most <= MOST_TIMES &&
		in->known <= 1 && in->alone <= 1 && is_time(in->at_s, in->at_ns) &&
		in->rank < RI_MAX_RANKS &&
		in->local_rank < RI_MAX_RANKS && in->pid <= INT32_MAX &&
		in->end <= RI_END_EXEC_FAILED && in->exit_code <= 255 && in->signal <= 64 &&
		in->core <= 1 && in->oom <= 1 && in->class <= RI_CLASS_OWN &&
		in->loss < LOSSES &&
		is_time(in->started_s, in->started_ns) && is_time(in->ended_s, in->ended_ns) &&
		is_text(in->words, sizeof(in->words));
}

static void read_failure(struct ri_restart *out, const struct written_failure *in)
{
	struct ri_rank_outcome *first = &out->first;

	*out = (struct ri_restart){
		.number = in->number, .most = in->most, .known = in->known != 0,
		.alone = in->alone != 0,
		.at = { .tv_sec = in->at_s, .tv_nsec = in->at_ns },
	};
	first->rank = in->rank;
	first->local_rank = in->local_rank;
	first->pid = (pid_t)in->pid;
	first->end = (enum ri_rank_end)in->end;
	first->exit_code = (int)in->exit_code;
	first->signal = (int)in->signal;
	first->core = in->core != 0;
	first->oom = in->oom != 0;
	first->evidence.class = (enum ri_class)in->class;
	first->evidence.loss = in->loss == 0 ? NULL : &losses[in->loss];
	first->started = (struct timespec){ .tv_sec = in->started_s, .tv_nsec = in->started_ns };
	first->ended = (struct timespec){ .tv_sec = in->ended_s, .tv_nsec = in->ended_ns };
	memcpy(out->words, in->words, sizeof(out->words));
}

static bool is_whole(const struct written *in)
{
	if (memcmp(in->magic, magic, sizeof(magic)) != 0 || in->size != sizeof(*in) ||
		in->pid < 1 || in->pid > INT32_MAX || in->attempt < 1 ||
		in->attempt > MOST_TIMES || in->program > INT32_MAX ||
		!is_time(in->began_s, in->began_ns) ||
		in->linked > 1 || in->status > 255 || in->node < -1 ||
		in->node >= RI_MAX_RANKS || in->rank < -1 || in->rank >= RI_MAX_RANKS ||
		in->cause >= RI_CAUSE_COUNT || in->retry >= RI_RETRY_COUNT ||
		in->class > RI_CLASS_OWN ||
		in->count > RI_RESTARTS ||
		in->count > in->all || in->all > in->attempt ||
		!is_text(in->name, sizeof(in->name)) ||
		!is_text(in->signature, sizeof(in->signature)) ||
		!is_plain(in->failure, sizeof(in->failure)) ||
		!is_plain(in->last_line, sizeof(in->last_line)) ||
		!is_text(in->verdict, sizeof(in->verdict)))
		return false;
	for (size_t i = 0; i < in->count; i++)
		if (!is_failure(&in->failures[i]))
			return false;
	return true;
}

bool ri_carried_read(struct ri_carried *out, const void *bytes, size_t length)
{
	const struct written *in = bytes;

	if (length != sizeof(*in) || !is_whole(in))
		return false;
	*out = (struct ri_carried){
		.pid = (pid_t)in->pid, .attempt = in->attempt, .mask = in->mask,
		.lines = in->lines, .program = (int)in->program,
		.began = { .tv_sec = in->began_s, .tv_nsec = in->began_ns },
		.link = { .on = in->linked != 0, .mark = in->mark, .status = (int)in->status,
			.node = in->node, .rank = in->rank,
			.why = { (enum ri_cause_word)in->cause, (enum ri_retry)in->retry },
			.class = (enum ri_class)in->class },
		.restarts = { .launcher = ri_restarts_own, .count = in->count, .all = in->all },
	};
	memcpy(out->name, in->name, sizeof(out->name));
	memcpy(out->signature, in->signature, sizeof(out->signature));
	memcpy(out->failure, in->failure, sizeof(out->failure));
	memcpy(out->last_line, in->last_line, sizeof(out->last_line));
	memcpy(out->link.key, in->key, sizeof(out->link.key));
	memcpy(out->link.verdict, in->verdict, sizeof(out->link.verdict));
	for (size_t i = 0; i < in->count; i++)
		read_failure(&out->restarts.items[i], &in->failures[i]);
	return true;
}
