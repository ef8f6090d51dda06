/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The autopsy for people and for programs. Whatever the processes are called and however many
 * there are: at most RI_STUCK_LINES lines, no secrets, nothing that a terminal could take for a
 * command.
 */
#ifndef RI_STUCK_SAY_H
#define RI_STUCK_SAY_H

#include <jansson.h>

#include "base/text.h"
#include "model/json.h"
#include "stuck/stuck.h"

enum {
	RI_STUCK_LINES = 48,
	RI_STUCK_COLUMNS = 400,	/* of one line; a terminal breaks it */
	RI_STUCK_SHOWN = RI_STUCK_LINES * RI_STUCK_COLUMNS * 2,
};

/* What was judged, as lines that end in '\n'. */
void ri_stuck_say(struct ri_stuck *stuck, struct ri_text *out);

/* The same as an object; memory that runs out is noted in *json. */
json_t *ri_stuck_json(struct ri_json *json, struct ri_stuck *stuck);

/* "blocked", "collective": the name of a class for programs. */
const char *ri_stuck_class_name(enum ri_stuck_class class);

/* Append what a process does: "sleeps, train.py:55 in step". */
void ri_stuck_add_deed(struct ri_text *out, const struct ri_stuck_look *look, size_t i);

/* Append why there is no Python stack of it; nothing where there is one, or none is missed. */
void ri_stuck_add_lack(struct ri_text *out, const struct ri_stuck *stuck,
	const struct ri_stuck_process *process);

/* A file's name without its secrets, all of it: what is cut may lack the word that says so. */
const char *ri_stuck_redact(const char *file);

/* Why it cannot be known whether a process moves, as "rank 0 (sleep): it runs no Python". */
void ri_stuck_say_unseen(const struct ri_stuck *stuck, const struct ri_stuck_process *process,
	struct ri_text *out);

#endif
