/* SPDX-License-Identifier: Apache-2.0 */
#include "report/restarts.h"

#include <string.h>

#include "base/limits.h"
#include "words/words.h"

/* The same binary reads what it wrote, but in another process: no pointer in it means anything. */
struct written {
	char magic[24];
	struct ri_carried carried;
	unsigned lost[RI_RESTARTS];	/* by each first failure: enum ri_loss_kind */
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

size_t ri_carried_write(const struct ri_carried *carried, void *bytes)
{
	struct written *out = bytes;

	memset(out, 0, sizeof(*out));
	memcpy(out->magic, magic, sizeof(magic));
	out->carried = *carried;
	for (size_t i = 0; i < carried->restarts.count; i++) {
		const struct ri_loss *loss = carried->restarts.items[i].first.evidence.loss;

		out->lost[i] = loss == NULL ? RI_LOSS_OWN : loss->kind;
	}
	return sizeof(*out);
}

static bool is_flag(const bool *flag)
{
	return *(const unsigned char *)flag <= 1;
}

static bool is_time(struct timespec at)
{
	return at.tv_sec >= 0 && at.tv_nsec >= 0 && at.tv_nsec < NS;
}

/* It has an end. What prints it replaces control characters, which an exception may have. */
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

static bool is_failure(const struct ri_restart *in)
{
	const struct ri_rank_outcome *first = &in->first;

	return in->number >= 1 && in->number <= MOST_TIMES && in->most <= MOST_TIMES &&
		is_flag(&in->known) && is_flag(&in->alone) && is_time(in->at) &&
		is_flag(&in->of_job) && ri_verdict_is_sound(&in->verdict) &&
		first->rank < RI_MAX_RANKS && first->local_rank < RI_MAX_RANKS && first->pid >= 0 &&
		(unsigned)first->end <= RI_END_EXEC_FAILED &&
		first->exit_code >= 0 && first->exit_code <= 255 &&
		first->signal >= 0 && first->signal <= 64 &&
		is_flag(&first->core) && is_flag(&first->oom) &&
		(unsigned)first->evidence.class <= RI_CLASS_OWN &&
		is_time(first->started) && is_time(first->ended) &&
		is_text(in->words, sizeof(in->words));
}

static bool is_whole(const struct written *written)
{
	const struct ri_carried *in = &written->carried;
	const struct ri_restarts *restarts = &in->restarts;

	if (memcmp(written->magic, magic, sizeof(magic)) != 0 || in->pid < 1 || in->attempt < 1 ||
		in->attempt > MOST_TIMES || in->program < 0 || !is_time(in->began) ||
		!is_flag(&in->link.on) || in->link.place < 0 ||
		in->port.name < 0 || in->port.number > 65535 ||
		!ri_verdict_is_sound(&in->link.verdict) ||
		restarts->count > RI_RESTARTS || restarts->count > restarts->all ||
		restarts->all > in->attempt || !is_text(in->name, sizeof(in->name)) ||
		!is_text(in->signature, sizeof(in->signature)) ||
		!is_plain(in->failure, sizeof(in->failure)) ||
		!is_plain(in->last_line, sizeof(in->last_line)) ||
		!is_text(in->link.text, sizeof(in->link.text)))
		return false;
	for (size_t i = 0; i < restarts->count; i++)
		if (written->lost[i] >= LOSSES || !is_failure(&restarts->items[i]))
			return false;
	return true;
}

bool ri_carried_read(struct ri_carried *out, const void *bytes, size_t length)
{
	const struct written *in = bytes;

	if (length != sizeof(*in) || !is_whole(in))
		return false;
	*out = in->carried;
	out->restarts.launcher = ri_restarts_own;
	for (size_t i = 0; i < out->restarts.count; i++) {
		const struct ri_rank_outcome *first = &in->carried.restarts.items[i].first;
		unsigned lost = in->lost[i];

		out->restarts.items[i].first = (struct ri_rank_outcome){
			.rank = first->rank, .local_rank = first->local_rank, .pid = first->pid,
			.end = first->end, .exit_code = first->exit_code, .signal = first->signal,
			.core = first->core, .oom = first->oom,
			.started = first->started, .ended = first->ended,
			.evidence = { .class = first->evidence.class,
				.loss = lost == RI_LOSS_OWN ? NULL : &losses[lost] },
		};
	}
	return true;
}
