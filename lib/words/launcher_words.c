/* SPDX-License-Identifier: Apache-2.0 */
#include "words/launcher_words.h"

#include <signal.h>
#include <string.h>

#include "base/number.h"

enum {
	RULE = 4,		/* bytes of a line of dashes */
	LONG_RULE = 70,		/* of one that stands alone */
	BOX = 24,		/* lines of a message between two of them */
};

/* Parts of launchers' messages. */
enum part { ANY, STAY, NONE, TABLE, ROOT, MPI, HYDRA, ACTOR };

enum {
	NEW = 1, FIRST = 2, WORDS = 4, MEMORY = 8, KILLER = 16, ENDS = 32, FRAMED = 64,
	RAISED = 128,
};

static const struct row {
	const char *launcher;
	enum part in, then;
	unsigned what;
	const char *shape;
} rows[] = {
#define RI_SAID(launcher_, in_, then_, what_, shape_, seen_, source_) \
	{ launcher_, in_, then_, what_, shape_ },
#include "words/launcher_words.def"
};

/* A launcher's text as it is read. */
struct scan {
	struct ri_span text;	/* what is left */
	enum ri_labels labels;
	enum part part;
	bool framed;		/* a frame of a launcher's own stands above this line */
	bool ends_own;		/* this line ends the launcher's own traceback */
	bool labelled;		/* it bears a label */
	int64_t label;		/* of the lines of this part */
	struct ri_rank_said *out, *now;	/* now: the record that is written, or NULL */
	size_t count, room, box;	/* box: lines that a message may still have */
};

static const struct row *find_row(const struct scan *scan, struct ri_span line,
	struct ri_rank_said *found)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].in == ANY || rows[i].in == scan->part) &&
			(scan->framed || (rows[i].what & FRAMED) == 0) &&
			ri_shape_fits(line, rows[i].shape, found))
			return &rows[i];
	return NULL;
}

static bool says_nothing(const struct ri_rank_said *said)
{
	return said->rank < 0 && said->local_rank < 0 && said->pid == 0 && said->exit_code < 0 &&
		said->signal < 0 && !said->out_of_memory;
}

static void begin(struct scan *scan, const char *launcher)
{
	if (scan->room == 0)
		return;
	if (scan->count == scan->room ||
		(scan->count > 0 && says_nothing(&scan->out[scan->count - 1])))
		scan->count--;
	scan->now = &scan->out[scan->count++];
	*scan->now = ri_rank_unsaid;
	scan->now->launcher = launcher;
	scan->now->owned = scan->labelled;
}

/* What is known already stays: a message that looks like a field of its table changes none. */
static void fill(struct ri_rank_said *said, const struct ri_rank_said *more)
{
	said->rank = said->rank < 0 ? more->rank : said->rank;
	said->local_rank = said->local_rank < 0 ? more->local_rank : said->local_rank;
	said->pid = said->pid == 0 ? more->pid : said->pid;
	if (said->signal < 0 && said->exit_code < 0) {
		said->signal = more->signal;
		said->exit_code = more->exit_code;
	}
	said->host = said->host.length == 0 ? more->host : said->host;
	said->error_file = said->error_file.length == 0 ? more->error_file : said->error_file;
	said->message = said->message.length == 0 ? more->message : said->message;
	said->actor = said->actor.length == 0 ? more->actor : said->actor;
	said->raised = said->raised || more->raised;
	said->first = said->first || more->first;
	said->out_of_memory = said->out_of_memory || more->out_of_memory;
}

/* "0-2,5": a record for each, while there is room. */
static void expand(struct scan *scan, const char *launcher, struct ri_rank_said *found)
{
	struct ri_span rest = found->ranks;
	uint64_t from, to;
	size_t length;

	while ((length = ri_digits_of(rest, &from)) > 0) {
		rest = ri_span_skip(rest, length);
		to = from;
		if (ri_span_starts(rest, "-"))
			rest = ri_span_skip(rest, ri_digits_of(ri_span_skip(rest, 1), &to) + 1);
		for (; from <= to && to <= INT32_MAX && scan->count < scan->room; from++) {
			begin(scan, launcher);
			found->rank = (int64_t)from;
			fill(scan->now, found);
		}
		rest = ri_span_skip(rest, 1);
	}
}

static void apply(struct scan *scan, const struct row *row, struct ri_rank_said *found)
{
	found->first = (row->what & FIRST) != 0;
	found->out_of_memory = (row->what & MEMORY) != 0;
	found->raised = (row->what & RAISED) != 0;
	if (found->ranks.length > 0) {
		expand(scan, row->launcher, found);
		return;
	}
	if ((row->what & NEW) != 0)
		begin(scan, row->launcher);
	if (scan->now == NULL || strcmp(scan->now->launcher, row->launcher) != 0)
		return;
	if ((row->what & KILLER) != 0) {
		scan->now->exit_code = -1;
		scan->now->pid = found->signal == SIGKILL ? 0 : scan->now->pid;
	}
	fill(scan->now, found);
}

static bool is_indented(struct ri_span line)
{
	return ri_span_starts(line, "  ");
}

static bool is_header(struct ri_span line)
{
	return ri_span_starts(line, "Traceback (most recent call last):");
}

static bool is_rule(struct ri_span line)
{
	size_t length = 0;

	if (line.length < RULE || strchr("-=*", line.at[0]) == NULL)
		return false;
	while (length < line.length && line.at[length] == line.at[0])
		length++;
	return length == line.length;
}

/* A line that fits no row: does it belong to the message that is read? */
static bool read_rest(struct scan *scan, struct ri_span line)
{
	struct ri_span *message = scan->now == NULL ? NULL : &scan->now->message;
	bool goes_on = line.length == 0 || (scan->part == MPI ? scan->box > 0 : is_indented(line));

	if (is_rule(line)) {
		goes_on = scan->part != NONE;
		scan->part = scan->part == TABLE ? TABLE : NONE;
		return goes_on || line.length >= LONG_RULE;
	}
	if (scan->part != NONE && goes_on && !is_header(line)) {
		scan->box -= scan->part == MPI && scan->box > 0;
		if (message != NULL && message->length > 0 && !scan->now->owned)
			message->length = (size_t)(line.at + line.length - message->at);
		return true;
	}
	scan->part = NONE;
	scan->now = NULL;
	return false;
}

/* torchrun, and launchers that run it, end with a traceback of their own where a rank failed. */
static bool is_frame(struct ri_span line)
{
	static const char *const frames[] = {
		"/torch/distributed/launch", "/torch/distributed/run.py",
		"/accelerate/commands/launch.py", "/horovod/runner/",
	};

	return ri_span_has_any(line, frames, sizeof(frames) / sizeof(frames[0]));
}

/* Reads the next line. *owner is whose it is; *launchers, whether it is a launcher's. */
static bool read_next(struct scan *scan, struct ri_owner *owner, bool *launchers)
{
	const struct row *row;
	struct ri_rank_said found;
	struct ri_span line;

	if (!ri_span_line(&scan->text, &line))
		return false;
	scan->labelled = ri_owner_find(line, scan->labels, owner);
	*launchers = false;
	scan->ends_own = false;
	if (owner->is_rank)
		return true;
	if (owner->rank != scan->label) {
		scan->label = owner->rank;
		scan->part = NONE;
		scan->now = NULL;
	}
	row = find_row(scan, owner->rest, &found);
	scan->framed = is_indented(owner->rest) && (scan->framed || is_frame(owner->rest));
	if (row == NULL) {
		*launchers = read_rest(scan, owner->rest);
		return true;
	}
	apply(scan, row, &found);
	if (row->then != STAY) {
		scan->part = row->then;
		scan->box = BOX;
	}
	scan->ends_own = (row->what & ENDS) != 0;
	*launchers = (row->what & WORDS) == 0;
	return true;
}

static bool is_same(const struct ri_rank_said *one, const struct ri_rank_said *other)
{
	if (one->pid > 0 && other->pid > 0)
		return one->pid == other->pid;
	return one->rank >= 0 && one->rank == other->rank &&
		strcmp(one->launcher, other->launcher) == 0;
}

/* One record for each rank; blocks of which the text has the head alone say nothing. */
static size_t merge(struct ri_rank_said *out, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		if (says_nothing(&out[i]))
			continue;
		while (at < kept && !is_same(&out[at], &out[i]))
			at++;
		if (at < kept)
			fill(&out[at], &out[i]);
		else
			out[kept++] = out[i];
	}
	return kept;
}

enum ri_labels ri_labels_find(struct ri_span text)
{
	struct scan scan = { .text = text, .part = NONE, .label = -1 };
	size_t lines = 0, srun = 0, hydra = 0;
	struct ri_rank_said said;
	struct ri_owner owner;
	bool launchers;

	while (read_next(&scan, &owner, &launchers)) {
		lines += !launchers && owner.rest.length > 0;
		srun += ri_shape_fits(owner.rest, "%r: *", &said) != NULL;
		hydra += ri_shape_fits(owner.rest, "[%r] *", &said) != NULL;
	}
	if (srun > 0 && srun * 4 >= lines * 3)
		return RI_LABELS_SRUN;
	return hydra > 0 && hydra * 4 >= lines * 3 ? RI_LABELS_HYDRA : RI_LABELS_NAMED;
}

size_t ri_launcher_words_read(struct ri_span text, struct ri_rank_said *out, size_t room)
{
	struct scan scan = {
		.text = text, .labels = ri_labels_find(text), .part = NONE, .label = -1,
		.out = out, .room = room,
	};
	struct ri_owner owner;
	bool launchers;

	while (read_next(&scan, &owner, &launchers))
		continue;
	return merge(out, scan.count);
}

bool ri_line_is_launchers(struct ri_span line)
{
	struct scan scan = { .text = line, .part = NONE, .label = -1 };
	struct ri_owner owner;
	bool launchers;

	return read_next(&scan, &owner, &launchers) && launchers;
}

size_t ri_lines_of(struct ri_span text, const struct ri_owner *rank, char *room, size_t size)
{
	struct scan scan = {
		.text = text, .labels = ri_labels_find(text), .part = NONE, .label = -1,
	};
	struct ri_owner owner;
	size_t used = 0, header = 0;
	bool launchers, owned;

	while (read_next(&scan, &owner, &launchers)) {
		owned = owner.rank >= 0 || owner.local_rank >= 0 || owner.pid > 0;
		if (scan.ends_own && !owned && rank == NULL)
			used = header;
		if (launchers || (rank == NULL ? owned : !ri_owner_is(&owner, rank)) ||
			owner.rest.length >= size - used)
			continue;
		memcpy(room + used, owner.rest.at, owner.rest.length);
		used += owner.rest.length;
		room[used++] = '\n';
		/* a launcher's own traceback, whose end tells that it is one, is taken back */
		if (is_header(owner.rest))
			header = used - owner.rest.length - 1;
		else if (!is_indented(owner.rest))
			header = used;
	}
	return used;
}
