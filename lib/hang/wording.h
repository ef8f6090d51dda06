/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The autopsy for people and for programs. Names of processes and files are foreign: secrets are
 * hidden, bytes that a terminal could take for a command are quoted, and there are RI_HANG_LINES
 * lines at most.
 */
#ifndef RI_HANG_WORDING_H
#define RI_HANG_WORDING_H

#include <jansson.h>

#include "base/span.h"
#include "base/text.h"
#include "model/json.h"
#include "hang/hang.h"

enum {
	RI_HANG_LINES = 48,
	RI_HANG_COLUMNS = 400,	/* of one line; a terminal breaks it */
	RI_HANG_SHOWN = RI_HANG_LINES * RI_HANG_COLUMNS * 2,
};

/* What was judged, as lines that end in '\n'. */
void ri_hang_say(struct ri_hang *hang, struct ri_text *out);

/* The same as an object; memory that runs out is noted in *json. */
json_t *ri_hang_json(struct ri_json *json, struct ri_hang *hang);

/* "blocked", "collective": the name of a class for programs. */
const char *ri_hang_class_name(enum ri_hang_class class);

/* The class of that name. False, and *out untouched: there is none. */
bool ri_hang_class_read(struct ri_span name, enum ri_hang_class *out);

/* The frame of the main thread in the program itself, or its innermost one; NULL: no stack. */
const struct ri_hang_frame *ri_hang_find_place(const struct ri_hang_process *process);

/*
 * Append what a process does: "sleeps, train.py:55 in step"; or, without the process's own place,
 * "sleeps".
 */
void ri_hang_add_activity(struct ri_text *out, const struct ri_hang_look *look, size_t i,
	bool placed);

/* Append why there is no Python stack of it, unless there is one, or it runs no Python. */
void ri_hang_add_no_stack(struct ri_text *out, const struct ri_hang *hang,
	const struct ri_hang_process *process);

/* A file's name without its secrets, all of it: a part may lack the word that marks a secret. */
const char *ri_hang_redact_file(const char *file);

/*
 * The same, without where a library lies, which says little: the path below site-packages, or below
 * lib/python3.11.
 */
const char *ri_hang_short_file(const char *path);

/* Why it cannot be known whether a process moves, as "rank 0 (sleep): it runs no Python". */
void ri_hang_say_unreadable(const struct ri_hang *hang, const struct ri_hang_process *process,
	struct ri_text *out);

#endif
