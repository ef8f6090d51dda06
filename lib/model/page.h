/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in columns for a terminal: no line is wider than RI_PAGE_WIDTH, and
 * foreign text is shown so that none of it is a command to the terminal.
 */
#ifndef RI_MODEL_PAGE_H
#define RI_MODEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

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

#endif
