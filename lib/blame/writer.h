/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an answer is written to, piece by piece: there may be a thousand nodes in it. And JSON,
 * whose strings are foreign.
 */
#ifndef RI_BLAME_WRITER_H
#define RI_BLAME_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "blame/reports.h"

enum {
	RI_WRITER_SIZE = 65536,
	RI_WRITER_PLACES = 8,
	RI_WRITER_PLACE = 2048,	/* of 512 columns, and some words */
	RI_TIME_SHOWN = 64,
	RI_NODE_SHOWN = 512,
};

struct ri_writer {
	/* Returns -1 where it cannot be written; then no more is. */
	int (*write)(void *context, const char *bytes, size_t length);
	void *context;
	/* The rest starts as zeroes. */
	bool failed;
	bool follows;		/* the next member or element needs a comma before it */
	size_t length;
	size_t place;		/* that is given next */
	char bytes[RI_WRITER_SIZE];
	char places[RI_WRITER_PLACES][RI_WRITER_PLACE];
};

/*
 * Words of ours: the compiler refuses a format that is no literal. A newline at its end ends the
 * line. In what the arguments say a newline, as any control character, becomes an escape: the
 * text of a report can neither begin a line nor reach the terminal.
 */
void ri_writer_addf(struct ri_writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A text's place, which lasts until seven more were taken: longer than a line is made. */
char *ri_writer_place(struct ri_writer *writer);

/* A foreign value in so many columns, 512 at most, as ri_text_add_shown has it, in a place. */
const char *ri_writer_show(struct ri_writer *writer, const char *value, size_t columns);

/* Write what is left. Returns 0, or -1 where not all could be written. */
int ri_writer_end(struct ri_writer *writer);

/*
 * JSON: begin with '{' or '[', end with the other one; a name is NULL in an array. A string of
 * NULL is null, and so are a number below 0 and a time that is not after 1970.
 */
void ri_writer_open(struct ri_writer *writer, const char *name, char bracket);
void ri_writer_close(struct ri_writer *writer, char bracket);
void ri_writer_string(struct ri_writer *writer, const char *name, const char *value);
void ri_writer_number(struct ri_writer *writer, const char *name, int64_t value);
void ri_writer_bool(struct ri_writer *writer, const char *name, bool value);
void ri_writer_time(struct ri_writer *writer, const char *name, int64_t at);

/* "2026-01-31T12:00:00.123Z" of microseconds, or "an unknown time". Returns out. */
const char *ri_time_show(char out[RI_TIME_SHOWN], int64_t at);

/* "node 3 (gpu-0514)", "gpu-0514", or the name of the file. Returns out. */
const char *ri_node_report_name(char out[RI_NODE_SHOWN], const struct ri_node_report *report);

/* The answers: one page, "rankinit-blame-1", Chrome's trace events. */
void ri_reports_write_page(const struct ri_reports *job, struct ri_writer *writer);
void ri_reports_write_json(const struct ri_reports *job, const char *version,
	struct ri_writer *writer);
void ri_reports_write_trace(const struct ri_reports *job, struct ri_writer *writer);

/* "first", "left" and the like, as rankinit-blame-1 has them. */
const char *ri_conclusion_name(enum ri_conclusion conclusion);

#endif
