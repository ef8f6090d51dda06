/* SPDX-License-Identifier: Apache-2.0 */
/* Lists by which variables choose among interfaces or HCAs: "eth0,ib". */
#ifndef RI_NODE_CHOICE_H
#define RI_NODE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

enum ri_choice_kind {
	RI_CHOICE_NCCL,		/* beginnings of names; names where the list begins with "=" */
	RI_CHOICE_NAMES,	/* names alone: neither "^" nor "=" means anything */
};

struct ri_choice {
	const char *rest;	/* of the list */
	bool exact;		/* its words are whole names */
	bool excludes;		/* "^": all but these */
};

void ri_choice_init(struct ri_choice *choice, const char *list, enum ri_choice_kind kind);

/*
 * The next word, without the ":1" of a port. A longer one than word holds is
 * cut. False when there is none left.
 */
bool ri_choice_next(struct ri_choice *choice, char *word, size_t size);

bool ri_choice_matches(const struct ri_choice *choice, const char *word, const char *name);

/* Is the name chosen by the list? An empty list chooses all, a lone "^" none (NCCL). */
bool ri_choice_takes(const char *list, enum ri_choice_kind kind, const char *name);

#endif
