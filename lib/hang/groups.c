/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/together.h"

#include <stdlib.h>

#include "base/host.h"
#include "redact/redact.h"

enum {
	SHOWN = 60,		/* columns of a function or a file */
	ACTIVITY = 190,		/* and of what a rank does */
	LAST_LINE = 48,		/* bytes of the line that counts what is left out */
};

static const char *const states[] = {
	[RI_GROUP_ONCE] = "once", [RI_GROUP_MOVES] = "moves", [RI_GROUP_WAKES] = "wakes",
	[RI_GROUP_STILL] = "still",
};

static enum ri_group_state state_of(const struct ri_hang *hang,
	const struct ri_hang_process *process)
{
	const struct ri_hang_process *before = ri_hang_find_before(hang, process);
	bool steady = process->class == RI_HANG_COLLECTIVE ? ri_hang_waits_still(hang, process)
		: process->still || ri_hang_runs(process->class);

	if (before == NULL)
		return RI_GROUP_ONCE;
	if (!steady || process->class == RI_HANG_GONE || ri_hang_is_lost(hang, process) ||
		(before->class != process->class &&
		!(ri_hang_runs(before->class) && ri_hang_runs(process->class))))
		return RI_GROUP_MOVES;
	return process->naps > 0 ? RI_GROUP_WAKES : RI_GROUP_STILL;
}

/* The function that the rank waits in, by the name that the program has called. */
static const char *function_of(const struct ri_hang_process *process)
{
	const struct ri_hang_frame *frames = process->stacks[0].frames;
	const struct ri_hang_frame *place = ri_hang_find_place(process);
	uint32_t at = (uint32_t)process->waits_at;

	if (process->waits_at < 0 || process->stack_count == 0)
		return place == NULL ? "" : place->function;
	if (process->class == RI_HANG_COLLECTIVE)
		return ri_wait_name(frames[at].function);
	while (at + 1 < process->stacks[0].count &&
		strcmp(frames[at + 1].file, frames[at].file) == 0)
		at++;
	return frames[at].function;
}

static bool is_same_group(const struct ri_hang *hang, const struct ri_hang_process *a,
	const struct ri_hang_process *b)
{
	const struct ri_hang_frame *one = ri_hang_find_place(a), *other = ri_hang_find_place(b);

	if (a->class != b->class || state_of(hang, a) != state_of(hang, b) ||
		(one == NULL) != (other == NULL) || strcmp(function_of(a), function_of(b)) != 0)
		return false;
	return one == NULL || (one->line == other->line && strcmp(one->file, other->file) == 0);
}

/* Ranks of one look, in their order, and the process that stands for each group. */
struct told {
	struct told_rank { int64_t rank; size_t process, group; } ranks[RI_MAX_LOCAL];
	size_t rank_count;
	size_t leaders[RI_GROUPS_MOST];
	size_t count;
	uint64_t more;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct told_rank *one = a, *other = b;

	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	return (one->process > other->process) - (one->process < other->process);
}

static void find_ranks(struct told *told, const struct ri_hang_look *look)
{
	size_t kept = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct ri_hang_process *process = &look->processes[i];

		if (!process->is_rank)
			continue;
		if (process->rank < 0 || process->rank >= RI_MAX_RANKS ||
			told->rank_count == RI_MAX_LOCAL) {
			told->more++;
			continue;
		}
		told->ranks[told->rank_count].rank = process->rank;
		told->ranks[told->rank_count++].process = i;
	}
	qsort(told->ranks, told->rank_count, sizeof(told->ranks[0]), compare_ranks);
	for (size_t i = 0; i < told->rank_count; i++)
		if (kept == 0 || told->ranks[i].rank != told->ranks[kept - 1].rank)
			told->ranks[kept++] = told->ranks[i];
	told->rank_count = kept;
}

/* Words without secrets, and without what divides a line or has to be escaped in JSON. */
static void add_words(struct ri_text *out, const struct ri_text *words, size_t columns)
{
	RI_TEXT(clean, 2 * RI_HANG_COLUMNS * 4);

	ri_redact(&clean, (struct ri_span){ words->bytes, words->length });
	for (char *p = clean.bytes; *p != '\0'; p++)
		if (*p == '|' || *p == '\\' || *p == '"')
			*p = *p == '"' ? '\'' : '/';
	ri_text_add_shown(out, clean.bytes, columns);
}

static void add_place(struct ri_text *out, const struct ri_hang_process *process)
{
	const struct ri_hang_frame *place = ri_hang_find_place(process);
	RI_TEXT(text, RI_HANG_COLUMNS * 4);

	if (place == NULL)
		return;
	ri_text_add_shown(&text, function_of(process), SHOWN);
	ri_text_add(&text, " (");
	ri_text_add_shown(&text, ri_path_name(ri_hang_redact_file(place->file)), SHOWN);
	if (place->line > 0)
		ri_text_addf(&text, ":%u", place->line);
	ri_text_add(&text, ")");
	add_words(out, &text, ACTIVITY);
}

/* One word: a function's name has letters, digits, '_' and '.'. */
static void add_function(struct ri_text *out, const struct ri_hang_process *process)
{
	const char *name = function_of(process);

	if (process->class != RI_HANG_COLLECTIVE) {
		ri_text_add(out, "-");
		return;
	}
	for (size_t i = 0; name[i] != '\0' && i < RI_GROUPS_FUNCTION; i++) {
		char letter = name[i] | 0x20;
		bool plain = (letter >= 'a' && letter <= 'z') ||
			strchr("0123456789_.", name[i]) != NULL;

		ri_text_add_bytes(out, plain ? &name[i] : "?", 1);
	}
	ri_text_add(out, name[0] == '\0' ? "?" : "");
}

/* Adds the whole line. One that does not fit is left out, and its ranks are counted. */
static void add_line(struct ri_text *out, struct told *told, const struct ri_text *line,
	size_t ranks)
{
	if (!line->cut && line->length + LAST_LINE < out->size - out->length) {
		ri_text_add_bytes(out, line->bytes, line->length);
		return;
	}
	told->more += ranks;
}

static void add_group(struct ri_text *out, struct told *told, const struct ri_hang *hang,
	const struct ri_hang_look *look, size_t group)
{
	const struct ri_hang_process *leader = &look->processes[told->leaders[group]];
	RI_TEXT(line, RI_GROUPS_MAX);
	RI_TEXT(activity, RI_HANG_COLUMNS * 4);
	struct ri_ranges ranges = { .out = &line, .between = "," };
	size_t ranks = 0;

	ri_text_addf(&line, "%s %s ", ri_hang_class_name(leader->class),
		states[state_of(hang, leader)]);
	add_function(&line, leader);
	ri_text_add(&line, " ");
	for (size_t i = 0; i < told->rank_count; i++)
		if (told->ranks[i].group == group) {
			ri_ranges_add(&ranges, told->ranks[i].rank);
			ranks++;
		}
	ri_ranges_end(&ranges);
	ri_text_add(&line, " ");
	add_place(&line, leader);
	ri_text_add(&line, "|");
	if (leader->class != RI_HANG_COLLECTIVE) {
		ri_hang_add_activity(&activity, look, told->leaders[group], false);
		add_words(&line, &activity, ACTIVITY);
	}
	ri_text_add(&line, "\n");
	add_line(out, told, &line, ranks);
}

/* Ranks that both looks missed; after a loss their ends are known, and no reason to wait. */
static void add_ended(struct ri_text *out, struct told *told, const struct ri_hang *hang,
	const struct ri_hang_look *look)
{
	RI_TEXT(line, RI_GROUPS_MAX);
	struct ri_ranges ranges = { .out = &line, .between = "," };

	if (look->ended_count == 0 || hang->after_loss ||
		look->ended[look->ended_count - 1] >= RI_MAX_RANKS ||
		look->ended_count + told->rank_count > RI_MAX_LOCAL)
		return;
	ri_text_addf(&line, "%s %s - ", ri_hang_class_name(RI_HANG_GONE), states[RI_GROUP_STILL]);
	for (size_t i = 0; i < look->ended_count; i++)
		ri_ranges_add(&ranges, look->ended[i]);
	ri_ranges_end(&ranges);
	ri_text_add(&line, " |has ended\n");
	add_line(out, told, &line, look->ended_count);
}

size_t ri_groups_write(struct ri_hang *hang, char text[RI_GROUPS_MAX])
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	struct told told = { .count = 0 };
	struct ri_text out = ri_text_of(text, RI_GROUPS_MAX);

	find_ranks(&told, look);
	for (size_t i = 0; i < told.rank_count; i++) {
		const struct ri_hang_process *process = &look->processes[told.ranks[i].process];
		size_t at = 0;

		while (at < told.count &&
			!is_same_group(hang, &look->processes[told.leaders[at]], process))
			at++;
		told.ranks[i].group = at;
		if (at == told.count && told.count < RI_GROUPS_MOST - 1)
			told.leaders[told.count++] = told.ranks[i].process;
		else if (at == told.count)
			told.more++;
	}
	for (size_t i = 0; i < told.count; i++)
		add_group(&out, &told, hang, look, i);
	add_ended(&out, &told, hang, look);
	if (told.more > 0)
		ri_text_addf(&out, "more %llu\n", (unsigned long long)told.more);
	return out.length;
}

/* The next word of what is left, up to the byte that ends it. */
static struct ri_span take(struct ri_span *rest, char end)
{
	struct ri_span word = *rest;
	const char *space = memchr(word.at, end, word.length);

	if (space != NULL)
		word.length = (size_t)(space - word.at);
	*rest = ri_span_skip(*rest, word.length + 1);
	return word;
}

static bool is_word(struct ri_span span, const char *word)
{
	return span.length == strlen(word) && ri_span_starts(span, word);
}

/* A rank's number at the start of *rest. */
static bool read_rank(struct ri_span *rest, uint64_t *out)
{
	size_t digits = ri_digits_of(*rest, out);

	*rest = ri_span_skip(*rest, digits);
	return digits > 0 && *out < RI_MAX_RANKS;
}

/* "0-3,7". Returns, as what follows does, a fault or NULL. */
static const char *read_ranks(struct ri_groups *groups, struct ri_span rest)
{
	uint64_t first = 0, last, before = 0;

	for (bool begun = false; !begun || rest.length > 0; begun = true) {
		bool good = !begun || rest.at[0] == ',';

		rest = ri_span_skip(rest, begun);
		good = good && read_rank(&rest, &first);
		last = first;
		if (good && rest.length > 0 && rest.at[0] == '-') {
			rest = ri_span_skip(rest, 1);
			good = read_rank(&rest, &last) && last > first;
		}
		if (!good)
			return "its ranks are no ranges";
		if (begun && first <= before)
			return "its ranks are not in their order";
		if (last - first >= RI_MAX_LOCAL - groups->rank_count)
			return "it has too many ranks";
		before = last;
		groups->items[groups->count].ranks += last - first + 1;
		for (; first <= last; first++)
			groups->ranks[groups->rank_count++] = (struct ri_groups_rank){
				.rank = (uint32_t)first, .group = (uint32_t)groups->count,
			};
	}
	return NULL;
}

static const char *read_group(struct ri_groups *groups, struct ri_span class, struct ri_span line)
{
	struct ri_group *group = &groups->items[groups->count];
	struct ri_span word = take(&line, ' ');
	size_t state = 0;
	const char *fault;

	if (groups->count == RI_GROUPS_MOST)
		return "it has too many groups";
	*group = (struct ri_group){ .ranks = 0 };
	while (state < RI_ARRAY_SIZE(states) && !is_word(word, states[state]))
		state++;
	if (!ri_hang_class_read(class, &group->class) || state == RI_ARRAY_SIZE(states))
		return "it has a state that is not known";
	group->state = (enum ri_group_state)state;
	word = take(&line, ' ');
	if (word.length == 0 || word.length > RI_GROUPS_FUNCTION ||
		is_word(word, "-") == (group->class == RI_HANG_COLLECTIVE))
		return "it has no function where there must be one";
	if (group->class == RI_HANG_COLLECTIVE)
		group->function = word;
	fault = read_ranks(groups, take(&line, ' '));
	if (fault != NULL)
		return fault;
	group->place = take(&line, '|');
	group->activity = line;
	if (group->place.length > RI_GROUPS_WORDS || group->activity.length > RI_GROUPS_WORDS)
		return "it has words that are too long";
	groups->count++;
	return NULL;
}

static int compare_told(const void *a, const void *b)
{
	uint32_t one = ((const struct ri_groups_rank *)a)->rank;
	uint32_t other = ((const struct ri_groups_rank *)b)->rank;

	return (one > other) - (one < other);
}

const char *ri_groups_read(struct ri_groups *groups, const char *text, size_t size)
{
	struct ri_span rest = { text, size }, line, word;
	const char *fault;

	groups->count = groups->rank_count = 0;
	groups->more = 0;
	if (rest.length >= RI_GROUPS_MAX)
		return "it is too long";
	if (rest.length > 0 && (rest.at[rest.length - 1] != '\n' ||
		!ri_text_is_clean(rest.at, rest.length, true)))
		return "it is no text";
	while (ri_span_line(&rest, &line)) {
		word = take(&line, ' ');
		if (!is_word(word, "more")) {
			fault = read_group(groups, word, line);
			if (fault != NULL)
				return fault;
			continue;
		}
		if (rest.length > 0)
			return "it goes on behind its last line";
		if (line.length == 0 || ri_digits_of(line, &groups->more) != line.length ||
			groups->more > RI_HANG_PROCESSES)
			return "it leaves out more than a node has";
	}
	qsort(groups->ranks, groups->rank_count, sizeof(groups->ranks[0]), compare_told);
	for (size_t i = 1; i < groups->rank_count; i++)
		if (groups->ranks[i].rank == groups->ranks[i - 1].rank)
			return "it tells of a rank twice";
	return NULL;
}
