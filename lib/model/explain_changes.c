/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the environment, and what would run. */
#include <inttypes.h>
#include <stdio.h>
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

/* A variable's value in so many columns, without secrets. */
static void show_value(struct ri_page *page, const char *name, const char *value, size_t columns)
{
	char bytes[4 * RI_PAGE_WIDTH + 1];
	struct ri_text text;

	ri_text_init(&text, bytes, sizeof(bytes));
	ri_redact_value(&text, name, value);
	ri_page_show_in(page, columns, bytes);
}

/* A line for what the edit does, where it does anything: + sets, ~ changes, - removes. */
static bool say_edit(struct ri_page *page, const struct ri_env *env,
	const struct ri_env_edits *edits, const struct ri_env_edit *edit)
{
	const struct ri_env_entry *entry = ri_env_find(env, edit->name);
	bool sets = edit->value != NULL, there = entry != NULL;
	const char *old = there ? ri_env_entry_value(entry) : NULL;

	if (ri_env_edits_find(edits, edit->name) != edit || (!sets && !there))
		return false;
	ri_page_go(page, RI_EXPLAIN_LABEL);
	ri_page_paint(page, !sets ? RI_LOOK_RED : there ? RI_LOOK_YELLOW : RI_LOOK_GREEN);
	ri_page_show(page, !sets ? "-" : there ? "~" : "+");
	ri_page_go(page, AT_NAME);
	ri_page_show_in(page, NAME_MAX_COLUMNS, edit->name);
	ri_page_paint(page, RI_LOOK_PLAIN);
	ri_page_go(page, AT_VALUE);
	if (there) {
		ri_page_paint(page, RI_LOOK_DIM);
		show_value(page, edit->name, old == NULL ? "no value" : *old == '\0' ? "\"\"" : old,
			ri_page_room(page) / (sets ? 2 : 1));
		ri_page_paint(page, RI_LOOK_PLAIN);
	}
	if (there && sets)
		ri_page_show(page, " -> ");
	if (sets)
		show_value(page, edit->name, edit->value, RI_PAGE_WIDTH);
	if (there && entry->next != 0)
		ri_page_show(page, " (was set twice)");
	ri_page_end_line(page);
	return true;
}

/* All of the first rank; of another one, which has edits of its own, what differs from these. */
static void say_edits(struct ri_page *page, const struct ri_explain *explain,
	const struct ri_env_edits *edits)
{
	const struct ri_env_edits *first = explain->ranks[0].edits;
	bool any = false;

	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];
		const struct ri_env_edit *same = edits == first ? NULL
			: ri_env_edits_find(first, edit->name);

		if (same == NULL || (same->value == NULL || edit->value == NULL
			? same->value != edit->value : strcmp(same->value, edit->value) != 0))
			any |= say_edit(page, explain->env, edits, edit);
	}
	if (!any)
		ri_page_fold(page, explain->err->code == RI_CODE_NONE ? "no changes"
			: "not determined, because the launch is refused", RI_EXPLAIN_LABEL);
}

/* Below what was said of so many ranks. */
static void say_others(struct ri_page *page, const struct ri_explain *explain)
{
	if (explain->rank_count > RANKS_MAX)
		ri_page_fold(page, "and so on for the other ranks", RI_EXPLAIN_LABEL);
}

static void say_environment(struct ri_page *page, const struct ri_explain *explain)
{
	ri_page_title(page, "Environment of the command");
	say_edits(page, explain, explain->ranks[0].edits);
	for (size_t i = 1; i < explain->rank_count && i < RANKS_MAX; i++) {
		ri_page_go(page, RI_EXPLAIN_LABEL);
		ri_page_showf(page, "rank %" PRId64 " differs in", explain->ranks[i].rank);
		ri_page_end_line(page);
		say_edits(page, explain, explain->ranks[i].edits);
	}
	say_others(page, explain);
}

/* "rank 3, GPU 3, CPUs 8-15"; nothing, where no rank has a place of its own. */
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
		ri_page_go(page, RI_EXPLAIN_LABEL);
		ri_page_show(page, "rank");
		if (rank->rank >= 0)
			ri_page_showf(page, " %" PRId64, rank->rank);
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
	if (any)
		say_others(page, explain);
}

/* A word of the command, quoted as for a shell where it needs to be. */
static void say_word(struct ri_page *page, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_@%+=:,./-";
	bool is_plain = *word != '\0' && word[strspn(word, plain)] == '\0';
	const char *quote = is_plain ? "" : strchr(word, '\'') == NULL ? "'" : "\"";
	char bytes[4 * RI_PAGE_WIDTH];
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

static void say_command(struct ri_page *page, const struct ri_explain *explain)
{
	char *const *first = explain->ranks[0].argv;
	char title[64];

	snprintf(title, sizeof(title), "Command (launch mode %s)", explain->launch);
	ri_page_title(page, title);
	if (first == NULL) {
		ri_page_go(page, RI_EXPLAIN_LABEL);
		ri_page_show_as(page, RI_LOOK_YELLOW, "no command was given, and a launch needs "
			"one");
		ri_page_end_line(page);
		return;
	}
	/* once where it is the same for all */
	for (size_t rank = 0; rank < explain->rank_count && rank < RANKS_MAX; rank++) {
		char *const *argv = explain->ranks[rank].argv;
		size_t same = 0;

		while (argv != NULL && argv[same] != NULL && first[same] != NULL &&
			strcmp(argv[same], first[same]) == 0)
			same++;
		if (argv == NULL || (rank > 0 && argv[same] == first[same]))
			continue;
		ri_page_go(page, RI_EXPLAIN_LABEL);
		for (size_t i = 0; argv[i] != NULL && i <= WORDS_MAX; i++)
			say_word(page, i < WORDS_MAX ? argv[i] : "...");
		ri_page_end_line(page);
	}
	say_others(page, explain);
}

void ri_explain_changes(struct ri_page *page, const struct ri_explain *explain)
{
	say_environment(page, explain);
	say_placement(page, explain);
	say_command(page, explain);
}
