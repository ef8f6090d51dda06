/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/signals.h"

static const struct {
	int number;
	const char *word;
} signals[] = {
#define RI_SIGNAL_WORD(number_, word_) { number_, word_ },
#include "words/launcher_words.def"
};

static const struct ri_rank_said unsaid = {
	.rank = -1, .local_rank = -1, .exit_code = -1, .signal = -1,
};

/* "SIGKILL", "Segmentation fault (core dumped)". */
static int signal_of(struct ri_span name)
{
	static const char core[] = " (core dumped)";
	char text[32];

	if (ri_span_ends(name, core))
		name.length -= sizeof(core) - 1;
	if (name.length >= sizeof(text))
		return -1;
	snprintf(text, sizeof(text), "%.*s", (int)name.length, name.at);
	for (size_t i = 0; i < RI_ARRAY_SIZE(signals); i++)
		if (strcmp(text, signals[i].word) == 0)
			return signals[i].number;
	return strncmp(text, "SIG", 3) == 0 ? ri_signal_read(text) : -1;
}

static bool take_text(char what, struct ri_span *rest, struct ri_rank_said *out)
{
	const char *stops = what == 'a' ? "(" : what == 'h' ? ":),": ":)";
	struct ri_span word = *rest;
	size_t length = 0;

	while (length < word.length && !ri_is_space(word.at[length]) &&
		strchr(stops, word.at[length]) == NULL)
		length++;
	if (strchr("htwa", what) != NULL)
		word.length = length;
	*rest = ri_span_skip(*rest, word.length);
	if (what == 'n')
		out->signal = signal_of(word);
	else if (what == 'm')
		out->message = word;
	else if (what == 'a')
		out->actor = word;
	else if (what != 'w')
		*(what == 'h' ? &out->host : what == 't' ? &out->ranks : &out->error_file) = word;
	return what == 'n' ? out->signal > 0 : what == 'm' || word.length > 0;
}

/* A field of the shapes in launcher_words.def. */
static bool take(char what, struct ri_span *rest, void *of)
{
	struct ri_rank_said *out = of;
	bool negative = what == 'e' && ri_span_starts(*rest, "-");
	bool is_signal = what == 's' || negative, is_code = what == 'x' || what == 'e';
	/* no job has a greater rank, and no message to the other nodes could name it */
	int64_t most = is_signal ? RI_SIGNAL_MAX : is_code ? UINT8_MAX
		: what == 'r' || what == 'l' ? RI_MAX_RANKS - 1 : INT32_MAX;
	uint64_t number;
	size_t length;

	if (what == 'c')
		*rest = ri_span_skip_colours(*rest);
	if (strchr("rlpexsd", what) == NULL)
		return what == 'c' || take_text(what, rest, out);
	*rest = ri_span_trim_start(ri_span_skip(*rest, negative));
	length = ri_digits_of(*rest, &number);
	if (length == 0 || number > (uint64_t)most)
		return false;
	*rest = ri_span_skip(*rest, length);
	if (is_signal || is_code)
		*(is_signal ? &out->signal : &out->exit_code) = (int)number;
	else if (what != 'd')
		*(what == 'r' ? &out->rank : what == 'l' ? &out->local_rank : &out->pid) =
			(int64_t)number;
	return true;
}

/* Does the whole line fit? Where it does, *out is what it says. */
static bool read_said(struct ri_span line, const char *shape, struct ri_rank_said *out)
{
	*out = unsaid;
	return ri_shape_read(line, shape, take, out);
}

/* Who writes a label: each may start the next. */
enum level {
	LEVEL_NONE,
	LEVEL_STEP,			/* srun, Hydra */
	LEVEL_MPI,
	LEVEL_WORKER,			/* torchrun's, Ray's */
	LEVEL_PROGRAM,
};

static const struct label {
	enum level level;
	enum ri_labels labels;
	const char *shape;
} marks[] = {
#define RI_LABEL(level_, labels_, shape_, source_) { LEVEL_##level_, RI_LABELS_##labels_, shape_ },
#include "words/launcher_words.def"
};

/*
 * The first label of a line, if its writer may stand behind that of the last one. A bar of progress
 * may stand in front of it.
 */
static const struct label *find_label(struct ri_span line, enum level last, enum ri_labels labels,
	struct ri_rank_said *said)
{
	for (; line.length > 0; line = ri_line_past_bar(line))
		for (size_t i = 0; i < RI_ARRAY_SIZE(marks); i++)
			if (marks[i].level > last && (marks[i].labels == RI_LABELS_NAMED ||
				marks[i].labels == labels) &&
				read_said(line, marks[i].shape, said))
				return &marks[i];
	return NULL;
}

bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out)
{
	const struct label *row;
	struct ri_rank_said said;
	enum level last = LEVEL_NONE;

	*out = (struct ri_owner){ .rank = -1, .local_rank = -1, .outer = -1, .rest = line };
	while ((row = find_label(out->rest, last, labels, &said)) != NULL) {
		last = row->level;
		/* what a label before torchrun's tells is a node */
		if (said.rank >= 0 || said.local_rank >= 0)
			out->rank = said.rank;
		out->outer = last < LEVEL_WORKER ? said.rank : out->outer;
		if (said.local_rank >= 0)
			out->local_rank = said.local_rank;
		if (said.pid > 0) {
			out->pid = said.pid;
			out->host = said.host;
		}
		out->rest = said.message;
		/* Python indents by even numbers: an odd one has the blank in it that PMIx puts
		 * behind a label */
		if (last == LEVEL_MPI)
			out->rest = ri_span_skip(said.message, (said.message.length -
				ri_span_trim_start(said.message).length) % 2);
	}
	out->is_rank = last >= LEVEL_WORKER;
	out->of_program = last == LEVEL_PROGRAM;
	return last != LEVEL_NONE;
}

/* Is it the same rank, by the first of rank, pid and local rank that both tell? */
static bool is_of(const struct ri_owner *owner, const struct ri_owner *other)
{
	if (owner->rank >= 0 && other->rank >= 0)
		return owner->rank == other->rank;
	if (owner->pid > 0 && other->pid > 0)
		return owner->pid == other->pid && owner->host.length == 0;
	return owner->local_rank >= 0 && owner->local_rank == other->local_rank;
}

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
#define RI_SAID(launcher_, in_, then_, what_, shape_, source_) \
	{ launcher_, in_, then_, what_, shape_ },
#include "words/launcher_words.def"
};

/* A launcher's text as it is read. */
struct scan {
	struct ri_span text;	/* what is left */
	struct ri_span prefix;	/* of its lines, which no table has */
	enum ri_labels labels;
	bool has_agents;	/* numbers of srun's and mpirun's are those of nodes */
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
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++)
		if ((rows[i].in == ANY || rows[i].in == scan->part) &&
			(scan->framed || (rows[i].what & FRAMED) == 0) &&
			read_said(line, rows[i].shape, found))
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
	*scan->now = unsaid;
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

static void apply(struct scan *scan, const struct row *row, struct ri_rank_said *found)
{
	struct ri_span rest = found->ranks;
	uint64_t from, to;
	size_t length;

	found->first = (row->what & FIRST) != 0;
	found->out_of_memory = (row->what & MEMORY) != 0;
	found->raised = (row->what & RAISED) != 0;
	/* "0-2,5": a record for each, while there is room */
	while ((length = ri_digits_of(rest, &from)) > 0) {
		rest = ri_span_skip(rest, length);
		to = from;
		if (ri_span_starts(rest, "-"))
			rest = ri_span_skip(rest, ri_digits_of(ri_span_skip(rest, 1), &to) + 1);
		for (; from <= to && from < RI_MAX_RANKS && to <= INT32_MAX &&
			scan->count < scan->room; from++) {
			begin(scan, row->launcher);
			found->rank = (int64_t)from;
			fill(scan->now, found);
		}
		rest = ri_span_skip(rest, 1);
	}
	if (found->ranks.length > 0)
		return;
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

/*
 * torchrun has its ranks write unbuffered, so print() writes a line in pieces, and on a stream of
 * stdout and stderr the header of torch's exception hook may stand behind one of them. It is the
 * hook's where the next line has its label.
 */
static bool find_torn_header(const struct scan *scan, struct ri_span line, struct ri_owner *out)
{
	struct ri_span rest = scan->text, next;
	struct ri_rank_said said, below;

	if (!read_said(line, "*[rank%r]: %m", &said) || !is_header(said.message) ||
		!ri_span_line(&rest, &next) || !read_said(next, "[rank%r]: *", &below) ||
		below.rank != said.rank)
		return false;
	out->rank = said.rank;
	out->rest = said.message;
	out->is_rank = out->of_program = true;
	return true;
}

/*
 * What somebody between a launcher and us put before each line of a stream, in a form that no table
 * has: nemo-run's "nemo.collections.llm.api.finetune/0 " (github.com/NVIDIA-NeMo/Run/issues/16).
 */

enum { LEAST = 8, PLACES = 12 };	/* lines; places where the prefix may end */

static const char ends[] = " \t]:|>)";	/* the last byte of a label */

/*
 * How many bytes of a, and of b, both begin with, up to the last that may end a label. A number in
 * one is any in the other.
 */
static size_t share(struct ri_span a, struct ri_span b, size_t *of_b)
{
	size_t i = 0, j = 0, of_a = 0;
	uint64_t number;

	while (i < a.length && j < b.length) {
		size_t more_a = ri_digits_of(ri_span_skip(a, i), &number);
		size_t more_b = ri_digits_of(ri_span_skip(b, j), &number);

		if ((more_a > 0) != (more_b > 0) || (more_a == 0 && a.at[i] != b.at[j]))
			break;
		i += more_a > 0 ? more_a : 1;
		j += more_b > 0 ? more_b : 1;
		if (strchr(ends, a.at[i - 1]) == NULL)
			continue;
		of_a = i;
		*of_b = j;
	}
	return of_a;
}

static struct ri_span skip_prefix(struct ri_span line, struct ri_span prefix)
{
	size_t length = 0;

	return prefix.length > 0 && share(prefix, line, &length) == prefix.length
		? ri_span_skip(line, length) : line;
}

/* Reads the next line. *owner is whose it is; *launchers, whether it is a launcher's. */
static bool read_next(struct scan *scan, struct ri_owner *owner, bool *launchers)
{
	/* torchrun, and launchers that run it, end with a traceback of their own where a rank
	 * failed */
	static const char *const frames[] = {
		"/torch/distributed/launch", "/torch/distributed/run.py",
		"/accelerate/commands/launch.py", "/horovod/runner/",
	};
	const struct row *row;
	struct ri_rank_said found;
	struct ri_span line;

	if (!ri_span_line(&scan->text, &line))
		return false;
	line = skip_prefix(line, scan->prefix);
	scan->labelled = ri_owner_find(line, scan->labels, owner) ||
		find_torn_header(scan, line, owner);
	*launchers = false;
	scan->ends_own = false;
	if (owner->is_rank)
		return true;
	if (owner->rank != scan->label) {
		scan->label = owner->rank;
		scan->part = NONE;
		scan->now = NULL;
	}
	if (scan->has_agents && owner->outer >= 0) {
		owner->rank = -1;
		scan->labelled = false;
	}
	row = find_row(scan, owner->rest, &found);
	scan->framed = is_indented(owner->rest) && (scan->framed || ri_span_has_any(owner->rest,
		frames, RI_ARRAY_SIZE(frames)));
	if (row == NULL) {
		*launchers = read_rest(scan, owner->rest);
		return true;
	}
	if (!scan->has_agents || (strcmp(row->launcher, "srun") != 0 &&
		strcmp(row->launcher, "mpirun") != 0 && strcmp(row->launcher, "mpiexec") != 0))
		apply(scan, row, &found);
	if (row->then != STAY) {
		scan->part = row->then;
		scan->box = BOX;
	}
	scan->ends_own = (row->what & ENDS) != 0;
	scan->has_agents = scan->has_agents || (scan->ends_own && !scan->labelled);
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

/* Which labels a text bears. */
static enum ri_labels find_labels(struct scan scan)
{
	size_t lines = 0, srun = 0, hydra = 0;
	struct ri_rank_said said;
	struct ri_owner owner;
	bool launchers;

	while (read_next(&scan, &owner, &launchers)) {
		lines += !launchers && owner.rest.length > 0;
		srun += read_said(owner.rest, "%r: *", &said);
		hydra += read_said(owner.rest, "[%r] *", &said);
	}
	if (srun > 0 && srun * 4 >= lines * 3)
		return RI_LABELS_SRUN;
	return hydra > 0 && hydra * 4 >= lines * 3 ? RI_LABELS_HYDRA : RI_LABELS_NAMED;
}

static bool starts_line(struct ri_span line)
{
	const struct scan scan = { .part = NONE };
	struct ri_rank_said said;
	struct ri_owner owner;
	const struct row *row = find_row(&scan, line, &said);

	return is_header(line) || (row != NULL && row->shape[0] != '*') ||
		ri_owner_find(line, RI_LABELS_NAMED, &owner);
}

/*
 * The bytes, numbers in them aside, that lines begin with up to a header, a label or a launcher's
 * line, as one of them has them. Empty where fewer than eight lines have them, or fewer than three
 * in four.
 */
static struct ri_span find_prefix(struct ri_span text)
{
	struct ri_span rest = text, line, prefix = { text.at, 0 };
	size_t with = 0, without = 0, most = 0, tried = 0, length, unused;

	while (ri_span_line(&rest, &line)) {
		bool other = line.length == 0 || line.at[0] == ' ' || starts_line(line);

		prefix.length = most;
		length = other ? 0 : share(prefix, line, &unused);
		if (length > 0) {
			most = length;
			with++;
		} else if (other || with >= LEAST) {
			without += line.length > 0;
		} else {	/* a run of them may begin here */
			without += with;
			prefix.at = line.at;
			most = line.length;
			with = 1;
		}
	}
	most = with >= LEAST && without * 3 <= with ? most : 0;
	for (prefix.length = 0; prefix.length < most && tried < PLACES; tried++) {
		while (prefix.length < most && strchr(ends, prefix.at[prefix.length++]) == NULL)
			continue;
		for (rest = text; ri_span_line(&rest, &line);)
			if (starts_line(skip_prefix(line, prefix)))
				return prefix;
	}
	return (struct ri_span){ text.at, 0 };
}

/*
 * Where srun or mpirun starts torchrun, its number is a node's: torchrun's agent ends behind it, or
 * ranks have other numbers, and none but the first the same.
 */
static bool finds_agents(struct scan scan)
{
	bool launchers, agents = false, same = false;
	struct ri_owner owner;

	while (read_next(&scan, &owner, &launchers)) {
		bool both = owner.is_rank && owner.rank >= 0;

		agents = agents || (owner.outer >= 0 &&
			(both ? owner.rank != owner.outer : scan.ends_own));
		same = same || (both && owner.rank > 0 && owner.rank == owner.outer);
	}
	return agents && !same;
}

static struct scan begin_scan(struct ri_span text)
{
	struct scan scan = { .text = text, .part = NONE, .label = -1 };

	scan.labels = find_labels(scan);
	if (scan.labels == RI_LABELS_NAMED)
		scan.prefix = find_prefix(text);
	if (scan.prefix.length > 0)
		scan.labels = find_labels(scan);
	scan.has_agents = finds_agents(scan);
	return scan;
}

size_t ri_launcher_words_read(struct ri_span text, struct ri_rank_said *out, size_t room)
{
	struct scan scan = begin_scan(text);
	struct ri_owner owner;
	bool launchers;
	size_t kept = 0;

	scan.out = out;
	scan.room = room;
	while (read_next(&scan, &owner, &launchers))
		continue;
	/* one record for each rank; blocks of which the text has the head alone say nothing */
	for (size_t i = 0; i < scan.count; i++) {
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

/* Is that line one of the lines of this rank, or with NULL one without a label? */
static bool is_one_of(const struct ri_owner *owner, const struct ri_owner *rank)
{
	return rank != NULL ? is_of(owner, rank)
		: owner->rank < 0 && owner->local_rank < 0 && owner->pid <= 0;
}

static void note_place(struct ri_words_place *place, const struct ri_owner *owner, size_t at)
{
	const struct ri_loss *loss = ri_loss_row(ri_line_trim(owner->rest));

	if (loss != NULL && loss->kind != RI_LOSS_OWN && place->loss == 0)
		place->loss = at;
	if (is_header(owner->rest)) {
		place->traceback = at;
		place->hooked = owner->of_program;
	}
}

size_t ri_lines_of(struct ri_span text, const struct ri_owner *rank, char *room, size_t size,
	struct ri_words_place *place)
{
	struct scan scan = begin_scan(text);
	struct ri_owner owner;
	size_t used = 0, header = 0;
	bool launchers;

	if (place != NULL)
		*place = (struct ri_words_place){ .loss = 0 };
	while (read_next(&scan, &owner, &launchers)) {
		if (scan.ends_own && rank == NULL && is_one_of(&owner, NULL))
			used = header;
		if (launchers || !is_one_of(&owner, rank))
			continue;
		if (place != NULL)
			note_place(place, &owner, (size_t)(owner.rest.at - text.at) + 1);
		if (owner.rest.length >= size - used)
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
