/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 and its helper say to each other: phases, ends and groups one way, "heard", verdicts
 * and what was found the other, looks and steps both, each as one packet of a fixed form. The
 * helper speaks with the network, so PID 1 takes nothing of a packet on trust, and needs no memory
 * to read it.
 */
#ifndef RI_LINK_NOTE_H
#define RI_LINK_NOTE_H

#include "link/message.h"
#include "link/seal.h"

struct ri_link_note {
	unsigned char kind;	/* enum ri_link_kind */
	unsigned char word;	/* a phase, a class or a step */
	/* 1: fatal, an order, soon, go; 2: named, or the rank lives; 4: again */
	unsigned char flags;
	unsigned char cause;	/* enum ri_cause_word */
	unsigned char retry;	/* enum ri_retry */
	uint32_t node;
	uint64_t at_us;		/* of an end */
	uint64_t mark;		/* of that, or of the verdict */
	int64_t rank;		/* of an end, of the verdict, or of what was found */
	char host[RI_LINK_WORD];	/* of the verdict */
	unsigned char key[RI_SEAL_KEY];	/* of the helper's, to leave: the job's; else zeroes */
	char text[RI_LINK_GROUPS_TEXT];	/* groups; of the others at most RI_LINK_TEXT */
};

/* The message is of any kind but a hello and news. */
void ri_link_note_make(struct ri_link_note *out, const struct ri_link_message *message);

/*
 * Read a packet of so many bytes. False where it is none. The text has no control characters
 * then, and ends.
 */
bool ri_link_note_read(struct ri_link_message *out, const struct ri_link_note *note,
	size_t length);

#endif
