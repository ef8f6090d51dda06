/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the environment, and what would run. */
#include <inttypes.h>
#include <string.h>

#include "model/explain_changes.h"
#include "redact/redact.h"

enum {
	AT_NAME = 4,		/* columns where a variable and its value begin */
	AT_VALUE = 32,
	NAME_MAX_COLUMNS = 46,	/* of a variable, so that some of its value is seen */
	AT_NEXT = 6,		/* where the command goes on in another line */
	WORDS_MAX = 200,	/* words of the command that are shown */
	RANKS_MAX = 32,		/* ranks whose environment is shown */
};

/* What an edit does, where it does anything. */
enum change { NOTHING, SETS, CHANGES, REMOVES };

static enum change judge(const struct ri_env *env, const struct ri_env_edits *edits,
	const struct ri_env_edit *edit)
{
	bool there = ri_env_find(env, edit->name) != NULL;

	if (ri_env_edits_find(edits, edit->name) != edit)
		return NOTHING;
	if (edit->value == NULL)
		return there ? REMOVES : NOTHING;
	return there ? CHANGES : SETS;
}

/* A variable's value in so many columns, without secrets. */
static void show_value(struct ri_page *page, const char *name, const char *value, size_t columns)
{
	char bytes[4 * RI_PAGE_WIDTH + 1];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_redact_value(&text, name, value);
	ri_page_show_in(page, columns, bytes);
}

/* What stands in the environment now. */
static void show_old(struct ri_page *page, const char *name, const struct ri_env_entry *entry,
	size_t columns)
{
	const char *old = ri_env_entry_value(entry);

	ri_page_paint(page, RI_LOOK_DIM);
	if (old == NULL)
		old = "no value";
	else if (*old == '\0')
		old = "\"\"";
	show_value(page, name, old, columns);
	ri_page_paint(page, RI_LOOK_PLAIN);
}

static void say_edit(struct ri_page *page, const struct ri_env *env,
	const struct ri_env_edit *edit, enum change change)
{
	static const char *const signs[] = { "", "+", "~", "-" };
	static const enum ri_look looks[] = {
		RI_LOOK_PLAIN, RI_LOOK_GREEN, RI_LOOK_YELLOW, RI_LOOK_RED,
	};
	const struct ri_env_entry *entry = ri_env_find(env, edit->name);

	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_paint(page, looks[change]);
	ri_page_show(page, signs[change]);
	ri_page_go(page, AT_NAME);
	ri_page_show_in(page, NAME_MAX_COLUMNS, edit->name);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_go(page, AT_VALUE);
	if (change == REMOVES) {
		show_old(page, edit->name, entry, ri_page_room(page));
	} else if (change == CHANGES) {
		show_old(page, edit->name, entry, ri_page_room(page) / 2);
		ri_page_show(page, " -> ");
	}
	if (change != REMOVES)
		show_value(page, edit->name, edit->value, RI_PAGE_WIDTH);
	if (entry != NULL && entry->next != 0)
		ri_page_show(page, " (was set twice)");
	ri_page_end_line(page);
}

/* Is this not as on the first rank? */
static bool is_news(const struct ri_explain *explain, const struct ri_env_edits *edits,
	const struct ri_env_edit *edit)
{
	const struct ri_env_edits *first = explain->ranks[0].edits;
	const struct ri_env_edit *same = ri_env_edits_find(first, edit->name);

	if (edits == first || same == NULL)
		return true;
	if (same->value == NULL || edit->value == NULL)
		return same->value != edit->value;
	return strcmp(same->value, edit->value) != 0;
}

static void say_edits(struct ri_page *page, const struct ri_explain *explain,
	const struct ri_env_edits *edits)
{
	bool any = false;

	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];
		enum change change = judge(explain->env, edits, edit);

		if (change == NOTHING || !is_news(explain, edits, edit))
			continue;
		say_edit(page, explain->env, edit, change);
		any = true;
	}
	if (any)
		return;
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_show(page, explain->err->code == RI_CODE_NONE
			? "no changes"
			: "not determined, because the launch is refused");
	ri_page_end_line(page);
}

static void say_environment(struct ri_page *page, const struct ri_explain *explain)
{
	char bytes[64];
	struct ri_text text;

	ri_page_title(page, "Environment of the command");
	say_edits(page, explain, explain->ranks[0].edits);
	for (size_t i = 1; i < explain->rank_count && i < RANKS_MAX; i++) {
		ri_text_init(&text, bytes, sizeof(bytes));
		ri_text_addf(&text, "rank %" PRId64 " differs in", explain->ranks[i].rank);
		ri_page_go(page, RI_EXPLAIN_LABEL);
		ri_page_show(page, bytes);
		ri_page_end_line(page);
		say_edits(page, explain, explain->ranks[i].edits);
	}
	if (explain->rank_count > RANKS_MAX)
		ri_page_fold(page, "and so on for the other ranks", RI_EXPLAIN_LABEL);
}

/* "rank 3, GPU 3, CPUs 8-15" */
static void say_place(struct ri_page *page, const struct ri_explained_rank *rank)
{
	char bytes[64];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_add(&text, "rank");
	if (rank->rank >= 0)
		ri_text_addf(&text, " %" PRId64, rank->rank);
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_show(page, bytes);
	if (rank->gpu != NULL) {
		ri_page_show(page, ", GPU ");
		ri_page_show_as(page, RI_LOOK_BOLD, rank->gpu);
	}
	if (rank->cpus != NULL) {
		ri_page_show(page, ", CPUs ");
		ri_page_show_as(page, RI_LOOK_BOLD, rank->cpus);
	}
	ri_page_end_line(page);
}

/* Nothing, where no rank has a place of its own. */
static void say_placement(struct ri_page *page, const struct ri_explain *explain)
{
	bool any = false;

	for (size_t i = 0; i < explain->rank_count && i < RANKS_MAX; i++) {
		const struct ri_explained_rank *rank = &explain->ranks[i];

		if (rank->cpus == NULL && rank->gpu == NULL)
			continue;
		if (!any)
			ri_page_title(page, "Placement");
		any = true;
		say_place(page, rank);
	}
	if (any && explain->rank_count > RANKS_MAX)
		ri_page_fold(page, "and so on for the other ranks", RI_EXPLAIN_LABEL);
}

static bool is_plain(const char *word)
{
	return *word != '\0' &&
		word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789_@%+=:,./-")] == '\0';
}

/* A word of the command, quoted as for a shell where it needs to be. */
static void say_word(struct ri_page *page, const char *word)
{
	char bytes[4 * RI_PAGE_WIDTH];
	const char *quote = is_plain(word) ? "" : strchr(word, '\'') == NULL ? "'" : "\"";
	struct ri_text text;
	size_t columns;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_add(&text, quote);
	/* the quotes, and a blank and a backslash at the end of the line */
	columns = ri_text_add_shown(&text, word, RI_PAGE_WIDTH - AT_NEXT - 4);
	columns += 2 * strlen(quote);
	ri_text_add(&text, quote);
	if (page->column > RI_EXPLAIN_LABEL && columns + 3 > ri_page_room(page)) {
		ri_text_add(page->out, " \\");
		ri_page_end_line(page);
		ri_page_go(page, AT_NEXT);
	} else if (page->column > RI_EXPLAIN_LABEL) {
		ri_page_go(page, 0);
	}
	ri_text_add(page->out, bytes);
	page->column += columns;
}

static void say_words(struct ri_page *page, char *const *argv)
{
	ri_page_go(page, RI_EXPLAIN_LABEL);
	for (size_t i = 0; argv[i] != NULL && i <= WORDS_MAX; i++)
		say_word(page, i < WORDS_MAX ? argv[i] : "...");
	ri_page_end_line(page);
}

static bool is_same(char *const *words, char *const *others)
{
	while (*words != NULL && *others != NULL && strcmp(*words, *others) == 0) {
		words++;
		others++;
	}
	return *words == *others;
}

static void say_command(struct ri_page *page, const struct ri_explain *explain)
{
	char *const *argv = explain->ranks[0].argv;
	char bytes[64];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_text_addf(&text, "Command (launch mode %s)", explain->launch);
	ri_page_title(page, bytes);
	if (argv == NULL) {
		ri_page_go(page, RI_EXPLAIN_LABEL);
		ri_page_show_as(page, RI_LOOK_YELLOW, "no command was given, and a launch needs "
			"one");
		ri_page_end_line(page);
		return;
	}
	say_words(page, argv);
	for (size_t i = 1; i < explain->rank_count && i < RANKS_MAX; i++)
		if (explain->ranks[i].argv != NULL && !is_same(argv, explain->ranks[i].argv))
			say_words(page, explain->ranks[i].argv);
	if (explain->rank_count > RANKS_MAX)
		ri_page_fold(page, "and so on for the other ranks", RI_EXPLAIN_LABEL);
}

void ri_explain_changes(struct ri_page *page, const struct ri_explain *explain)
{
	say_environment(page, explain);
	say_placement(page, explain);
	say_command(page, explain);
}
