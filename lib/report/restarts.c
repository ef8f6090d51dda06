/* SPDX-License-Identifier: Apache-2.0 */
#include "report/restarts.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "words/words.h"

enum {
	PAUSE_DOUBLED = 5,	/* from one second on, */
	PAUSE_MOST_MS = 30000,	/* to this */
	FEW = 20,		/* columns in which an exception says nothing */
};

const char ri_restarts_own[] = "rankinit";

void ri_restart_describe(struct ri_restart *restart, const struct ri_outcome *outcome)
{
	static struct ri_torch_error error;
	const struct ri_reason *reason = outcome->reason;
	const struct ri_rank_outcome *first;
	struct ri_text words;

	if (outcome->first < 0 || reason == NULL)
		return;
	first = &outcome->ranks[outcome->first];
	restart->known = true;
	restart->alone = ri_outcome_is_alone(outcome);
	restart->first = *first;
	words = ri_text_of(restart->words, sizeof(restart->words));
	if (reason->has_traceback)
		ri_text_add_bytes(&words, reason->traceback.last.at, reason->traceback.last.length);
	else if (first->evidence.ended_of_file &&
		ri_torch_error_read(first->wrote.torch_error, &error))
		ri_text_add(&words, error.message);
	/* it lasts longer than the text that these point into */
	restart->first.wrote = (struct ri_rank_wrote){ .log = NULL };
	restart->first.evidence.words = (struct ri_words){ .has_traceback = false };
}

void ri_restart_describe_job(struct ri_restart *restart, const struct ri_verdict *verdict,
	const char *text)
{
	struct ri_text words = ri_text_of(restart->words, sizeof(restart->words));

	restart->of_job = true;
	restart->verdict = *verdict;
	ri_text_add_bytes(&words, text, strcspn(text, "\n"));
}

/* "failed: exit status 1, after 0.595 s: ValueError: bad batch 17", in a line that began there. */
static void add_failure(struct ri_text *out, size_t begun, const struct ri_restart *restart)
{
	size_t used;

	ri_text_addf(out, "%s: ", ri_outcome_deed(restart->first.evidence.loss));
	ri_rank_add_end(out, &restart->first);
	ri_rank_add_life(out, &restart->first);
	used = out->length - begun + 2;
	if (restart->words[0] == '\0' || used + FEW > RI_VERDICT_COLUMNS)
		return;
	ri_text_add(out, ": ");
	ri_text_add_shown(out, restart->words, RI_VERDICT_COLUMNS - used);
}

void ri_restart_add_failure(struct ri_text *out, const struct ri_restart *restart)
{
	size_t begun = out->length;

	if (!restart->known) {
		ri_text_add(out, restart->of_job ? restart->words : "the ranks failed");
		return;
	}
	if (restart->alone)
		ri_text_addf(out, "the command (pid %d) ", (int)restart->first.pid);
	else
		ri_text_addf(out, "rank %llu (local rank %llu, pid %d) ",
			(unsigned long long)restart->first.rank,
			(unsigned long long)restart->first.local_rank, (int)restart->first.pid);
	add_failure(out, begun, restart);
}

static void add_launcher(struct ri_text *out, const struct ri_restarts *restarts)
{
	ri_text_add(out, restarts->launcher == NULL ? "the launcher" : restarts->launcher);
}

void ri_restart_add(struct ri_text *out, const struct ri_restarts *restarts,
	const struct ri_restart *restart)
{
	if (restart->known) {
		ri_restart_add_failure(out, restart);
		ri_text_add(out, "; ");
	}
	add_launcher(out, restarts);
	ri_text_addf(out, " starts its ranks again (restart %llu",
		(unsigned long long)restart->number);
	if (restart->most > 0)
		ri_text_addf(out, " of %llu", (unsigned long long)restart->most);
	ri_text_add(out, ")");
}

void ri_restarts_add(struct ri_text *out, const struct ri_restarts *restarts)
{
	const struct ri_restart *first = &restarts->items[0];
	size_t begun = out->length;

	ri_text_add(out, "  ");
	add_launcher(out, restarts);
	ri_text_addf(out, " had started %s again", first->alone ? "the command"
		: restarts->launcher == ri_restarts_own ? "the ranks" : "its ranks");
	if (restarts->all == 1)
		ri_text_add(out, " once");
	else
		ri_text_addf(out, " %llu times", (unsigned long long)restarts->all);
	if (first->of_job) {
		ri_text_add(out, restarts->all > 1 ? ", at first: " : ": ");
		ri_text_add_shown(out, first->words,
			RI_VERDICT_COLUMNS - (out->length - begun));
	} else if (first->known) {
		ri_text_add(out, restarts->all > 1 ? ", at first because " : ", because ");
		if (first->alone)
			ri_text_add(out, "it ");
		else
			ri_text_addf(out, "rank %llu ", (unsigned long long)first->first.rank);
		add_failure(out, begun, first);
	}
	ri_text_add(out, "\n");
}

/* --- does rankinit start them again? ------------------------------------------ */

enum ri_again ri_again_decide(const struct ri_again_case *failed)
{
	if (failed->stopped)
		return RI_AGAIN_STOPPED;
	if (failed->ordered)
		return RI_AGAIN_ORDERED;
	if (failed->unstarted)
		return RI_AGAIN_NO_START;
	if (failed->why.retry == RI_RETRY_NEVER)
		return RI_AGAIN_NEVER;
	if (failed->attempt >= failed->restarts)
		return RI_AGAIN_USED_UP;
	/* nothing was gained by the last start, and nothing will be by another one */
	if (failed->attempt > 0 && failed->signature[0] != '\0' &&
		strcmp(failed->signature, failed->before) == 0 &&
		failed->lines <= failed->lines_before && failed->lasted_ms < RI_AGAIN_LONG_MS)
		return RI_AGAIN_SAME;
	if (failed->remains)
		return RI_AGAIN_REMAINS;
	return failed->error != 0 ? RI_AGAIN_REFUSED : RI_AGAIN_YES;
}

void ri_again_add(struct ri_text *out, enum ri_again why, const struct ri_again_case *failed)
{
	static const char *const reasons[] = {
		[RI_AGAIN_YES] = "",
		[RI_AGAIN_STOPPED] = "a stop came from outside",
		[RI_AGAIN_ORDERED] = "another node's failure stopped this one",
		[RI_AGAIN_NO_START] = "not all could be started",
		[RI_AGAIN_REMAINS] = "a process that was left is still there",
		[RI_AGAIN_SAME] = "the same failure came twice, and this attempt printed no "
			"more than the one before it",
	};

	if (why == RI_AGAIN_USED_UP)
		ri_text_addf(out, "--restarts=%llu is used up",
			(unsigned long long)failed->restarts);
	else if (why == RI_AGAIN_NEVER)
		ri_text_addf(out, "the next attempt would end the same way (cause=%s, "
			"retry=never)",
			ri_cause_word_name(failed->why.cause));
	else if (why == RI_AGAIN_REFUSED)
		ri_text_addf(out, "rankinit cannot execute itself: %s [%s]",
			strerror(failed->error), ri_code_name(RI_CODE_RESTARTS_REFUSED));
	else
		ri_text_add(out, reasons[why]);
}

uint64_t ri_again_quick(uint64_t before, int64_t lasted_ms)
{
	return lasted_ms < RI_AGAIN_LONG_MS ? before + 1 : 0;
}

/* Linux forgets a connection's port after a minute, TCP_TIMEWAIT_LEN in include/net/tcp.h. */
int64_t ri_again_pause_ms(uint64_t quick, enum ri_cause_word cause)
{
	uint64_t doubled = quick + (cause == RI_CAUSE_RENDEZVOUS ? 5 : 0);

	if (quick == 0 || doubled < 2)
		return 0;
	return doubled - 2 < PAUSE_DOUBLED ? (int64_t)1000 << (doubled - 2) : PAUSE_MOST_MS;
}

void ri_again_sign(struct ri_text *out, enum ri_cause_word cause,
	const struct ri_rank_outcome *first, const char *words)
{
	ri_text_addf(out, "%s %llu ", ri_cause_word_name(cause),
		(unsigned long long)first->rank);
	if (words[0] != '\0')
		ri_text_add_bytes(out, words, strcspn(words, "\n"));
	else
		ri_text_addf(out, "%d %d %d", (int)first->end, first->exit_code, first->signal);
}

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
		if (written->lost[i] >= RI_ARRAY_SIZE(losses) || !is_failure(&restarts->items[i]))
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
