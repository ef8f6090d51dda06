/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the table of what a source reads: all that is said of one variable. */
#ifndef RI_FROM_ROW_H
#define RI_FROM_ROW_H

#include "model/topology.h"

/* What a variable's presence says of its source. */
enum ri_sign {
	RI_NO_SIGN = 0,
	RI_SEEN = 1,		/* each of these is set, as ri_source_sees has it */
	RI_ONE_SEEN = 2,	/* one of these is set at least */
	RI_TEXT = 4,		/* with one of those: and it is not blank */
};

/* How ri_claim_rows claims what a variable says: by the function of reading.h so named. */
enum ri_take {
	RI_TAKE_NOTHING,
	RI_TAKE_NUMBER,
	RI_TAKE_FILLED,
	RI_TAKE_ELSE,		/* as filled, if the row above claims nothing */
	RI_TAKE_LABEL,
	RI_TAKE_HOST,
	RI_TAKE_GPUS,
	RI_TAKE_COMMAS,		/* hosts with commas between, or one on each line */
	RI_TAKE_LINES,
};

/* A row's take and fact. */
#define RI_NUMBER(fact_) RI_TAKE_NUMBER, .fact = RI_FACT_##fact_
#define RI_FILLED(fact_) RI_TAKE_FILLED, .fact = RI_FACT_##fact_
#define RI_ELSE(fact_) RI_TAKE_ELSE, .fact = RI_FACT_##fact_
#define RI_JOB_NAME RI_TAKE_LABEL, .fact = RI_FACT_JOB_ID
#define RI_MASTER RI_TAKE_HOST, .fact = RI_FACT_MASTER_ADDR
#define RI_GPUS RI_TAKE_GPUS, .fact = RI_FACT_NPROC
#define RI_HOSTS(between_) RI_TAKE_##between_, .fact = RI_FACT_HOSTS

/*
 * One variable or file that a source reads. Most sources are rows alone:
 *
 *	{ "NODE", "index of this node", CITE, RI_SEEN, RI_NUMBER(NODE_RANK), "<node>" },
 *
 * A row without a take is read by the source's own functions.
 */
struct ri_source_row {
	const char *name;
	const char *meaning;	/* what it says, in one line */
	const char *cite;	/* where that was read: a document or a source file */
	unsigned char sign;	/* bits of enum ri_sign */
	enum ri_take take : 8;
	enum ri_fact_id fact : 8;
	const char *value;	/* what a simulated job has there (shape.h); NULL: not set in it */
};

#endif
