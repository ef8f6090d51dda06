/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --explain shows: every fact with its origin and what it beat, what
 * would be done to the environment, what would run, and what is wrong.
 */
#ifndef RI_MODEL_EXPLAIN_H
#define RI_MODEL_EXPLAIN_H

#include "base/env.h"
#include "model/topology.h"

/*
 * Text in columns for a terminal: no line is wider than RI_PAGE_WIDTH, and
 * foreign text is shown so that none of it is a command to the terminal.
 */
enum { RI_PAGE_WIDTH = 79 };	/* one less than 80: some terminals wrap at the last */

enum ri_look {
	RI_LOOK_PLAIN,
	RI_LOOK_BOLD,
	RI_LOOK_DIM,
	RI_LOOK_RED,
	RI_LOOK_GREEN,
	RI_LOOK_YELLOW,
};

struct ri_page {
	struct ri_text *out;
	bool color;	/* escape sequences of ECMA-48, or none at all */
	bool whole;	/* ri_page_fold cuts no word: it may be a path to be copied */
	size_t column;	/* of the line so far */
};

/* How what follows looks; it takes no column. */
void ri_page_paint(struct ri_page *page, enum ri_look look);
void ri_page_end_line(struct ri_page *page);

/* Blanks up to a column; one at least where the line is there already. */
void ri_page_go(struct ri_page *page, size_t column);

/* Columns left in the line. */
size_t ri_page_room(const struct ri_page *page);

/* Text in what is left of the line, cut with "...". */
void ri_page_show(struct ri_page *page, const char *text);
void ri_page_showf(struct ri_page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ri_page_show_in(struct ri_page *page, size_t columns, const char *text);
void ri_page_show_as(struct ri_page *page, enum ri_look look, const char *text);

/* Words in lines between this column and the end, and the end of the last. */
void ri_page_fold(struct ri_page *page, const char *words, size_t indent);

/* An empty line, and the name of what follows. */
void ri_page_title(struct ri_page *page, const char *text);

/* One process that would be started. */
struct ri_explained_rank {
	int64_t rank;		/* -1: unknown, as the next one */
	int64_t local_rank;
	const struct ri_env_edits *edits;
	char *const *argv;	/* NULL: no command was given */
	const char *cpus;	/* list of those it is bound to; NULL: to none */
	const char *gpu;	/* the only one it is shown; NULL: as it is */
};

/* All of it is borrowed. */
struct ri_explain {
	const char *version;
	const struct ri_topology *topology;
	const struct ri_env *env;	/* what the edits start from */
	const struct ri_findings *findings;
	const struct ri_error *err;	/* that refuses the launch; no code: none does */
	const struct ri_explained_rank *ranks;
	size_t rank_count;		/* at least 1 */
	const char *launch;		/* "process", "node" or "none" */
	const char *off;		/* why nothing was read, or NULL */
	const char *looked_for;		/* names of all sources, with ", " between */
	bool color;			/* text: with escape sequences of ECMA-48 */
};

/* For people. What does not fit the buffer is cut (out->cut). */
void ri_explain_text(const struct ri_explain *explain, struct ri_text *out);

/*
 * A JSON document, "rankinit-explain-1", ended as ri_json_end() does. Strings that are not UTF-8
 * are as model/json.h says; a finding RI_CODE_OUTPUT_ESCAPED names the first. jansson's hash must
 * have been seeded (json_object_seed).
 */
int ri_explain_json(const struct ri_explain *explain, struct ri_text *out);

#endif
