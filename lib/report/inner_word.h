/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two rankinits in one job, an image's ENTRYPOINT and a command: what the inner one leaves for the
 * outer one once it has told of a failure, so that the outer one need not. How it gets there says
 * shim/say/two_rankinits.h.
 */
#ifndef RI_REPORT_INNER_WORD_H
#define RI_REPORT_INNER_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/verdict.h"

/* What an outer rankinit tells an inner one of itself. The ranks of the inner one do not get it. */
#define RI_OUTER_VARIABLE "RANKINIT_OUTER"

struct ri_inner_word {
	struct ri_verdict verdict;
	int64_t of_rank;	/* it is about this rank of several alone; -1: about all below it */
	int exit_status;	/* with which the inner one ends, 1 to 255 */
};

/* Bytes of one: what it is, and of which version; the same binary reads the struct itself. */
enum { RI_INNER_WORD = 24 + sizeof(struct ri_inner_word) };

void ri_inner_word_write(const struct ri_inner_word *word, char bytes[RI_INNER_WORD]);

/*
 * Any process below the outer one may have written it. Returns false where it is none, is of
 * another version, or has a number that no word has.
 */
bool ri_inner_word_read(struct ri_inner_word *out, const char *bytes, size_t length);

#endif
