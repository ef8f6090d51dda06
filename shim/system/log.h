/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rankinit's own lines, always on stderr: one line, one write, which never blocks (it is dropped
 * where the reader does not read), never kills (SIGPIPE is blocked, and the loop takes it off the
 * queue), and leaves errno as it was. Control characters and what is not UTF-8 are replaced, so
 * that nothing from an environment or a process name reaches a terminal as a command.
 */
#ifndef RI_SHIM_SYSTEM_LOG_H
#define RI_SHIM_SYSTEM_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum ri_level {
	RI_LEVEL_NOTE,		/* with -v */
	RI_LEVEL_WARNING,	/* unless --quiet */
	RI_LEVEL_ALWAYS,	/* an obituary */
	RI_LEVEL_PROGRAMS,	/* what programs read: always, and never coloured */
	RI_LEVEL_ERROR,
};

/* When to colour: whether stderr is a terminal is asked only for a line. */
enum ri_log_color { RI_LOG_PLAIN, RI_LOG_COLOR, RI_LOG_COLOR_ON_TERMINAL };

/* Until this is called: warnings and errors, no colour. */
void ri_log_init(bool quiet, bool verbose, enum ri_log_color color);

/* Is a line of this level shown? Ask before work that only serves the line. */
bool ri_log_shows(enum ri_level level);

void ri_log(enum ri_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Where we print for the ranks, too: the function may take a line, to write it behind theirs. */
void ri_log_through(bool (*take)(const char *line, size_t length));

/* Lines of ours that another process has made whole, each with its end: as they are. */
void ri_log_lines(char *bytes, size_t length);

/* There: did what went to our stderr last end no line? Then our next line ends that one first. */
void ri_log_follow(bool inside_line);

/* "rankinit: error: SUBJECT: TEXT; HINT [code]" */
void ri_log_error(const struct ri_error *err);

/* What refuses no launch: "rankinit: warning: SUBJECT: TEXT; SO; HINT [code]" */
void ri_log_without(const struct ri_error *err, const char *so);

void ri_log_findings(const struct ri_findings *findings);

/*
 * Has another rankinit of this PID namespace said this word? It counts as said from here on: an
 * empty file in /dev/shm, which a container has even where its root is read-only, keeps it in mind.
 * In doubt none has.
 */
bool ri_was_said(const char *word);

/* Process 1 ends, and its namespace: no other process would take that file away. */
void ri_said_forget(void);

#endif
