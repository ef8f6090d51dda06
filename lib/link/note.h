/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 and its helper say to each other: phases and ends one way, "heard" and verdicts the
 * other, each as one packet of a fixed form. The helper speaks with the network, so PID 1 takes
 * nothing of a packet on trust, and needs no memory to read it.
 */
#ifndef RI_LINK_NOTE_H
#define RI_LINK_NOTE_H

#include "link/message.h"

struct ri_link_note {
	unsigned char kind;	/* enum ri_link_kind */
	unsigned char word;	/* a phase or a class */
	unsigned char flags;	/* 1: fatal, or an order; 2: the node is named, or the rank lives */
	unsigned char zero;
	uint32_t node;
	uint64_t at_us;		/* of an end */
	char text[RI_LINK_TEXT];
};

/* The message is a phase, an end, "heard", a verdict or "ask". */
void ri_link_note_make(struct ri_link_note *out, const struct ri_link_message *message);

/*
 * Read a packet of so many bytes. False where it is none. The text has no control characters
 * then, and ends.
 */
bool ri_link_note_read(struct ri_link_message *out, const struct ri_link_note *note,
	size_t length);

#endif
