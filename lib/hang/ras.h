/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's RAS says of its communicators (NVIDIA/nccl src/ras/client.cc and client_support.cc;
 * NCCL's user guide, "RAS"): plain text for whoever connects to a port of the machine. Any program
 * may listen there: what is kept are numbers, and names of letters.
 */
#ifndef RI_HANG_RAS_H
#define RI_HANG_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/text.h"

enum {
	RI_RAS_TEXT = 65536,	/* bytes of the answer that are read */
	RI_RAS_GREETING = 64,	/* of its first line */
	RI_RAS_ADDRESS = 64,
	RI_RAS_RANKS = 16,	/* of one fact, by number */
	RI_RAS_FACTS = 4,
};

/* NCCL_RAS_ADDR where nobody set it (NCCL's user guide, "Environment Variables") */
#define RI_RAS_DEFAULT "localhost:28028"

/* Where it listens on this machine. */
struct ri_ras_place {
	unsigned char ipv4[4];	/* of 127.0.0.0/8 */
	bool has_ipv4, has_ipv6;	/* ::1; localhost may be either */
	uint16_t port;
};

/* Ranks are those of the communicator, which need not be those of the job. */
struct ri_ras_fact {
	bool missing;		/* they have not answered; false: they have begun less */
	uint64_t communicator;
	char operation[24];	/* "AllReduce"; "collective": of any */
	int64_t ranks[RI_RAS_RANKS];
	size_t listed;		/* of count */
	uint64_t count;
	uint64_t begun, others;	/* operations; others: of those that have begun the most */
};

enum ri_ras_answer {
	RI_RAS_NOT_ASKED,	/* or nobody answered */
	RI_RAS_FOREIGN,		/* another program did */
	RI_RAS_READ,
};

struct ri_ras {
	enum ri_ras_answer answer;
	char address[RI_RAS_ADDRESS];	/* that was asked */
	uint64_t dead, silent;	/* processes of the job */
	struct ri_ras_fact facts[RI_RAS_FACTS];
	size_t count, left_out;
};

/* An address as NCCL_RAS_ADDR has it. False, and *out untouched: it is not of this machine. */
bool ri_ras_place_read(const char *text, struct ri_ras_place *out);

/* Is this all that RAS says before it is asked? */
bool ri_ras_is_greeting(struct ri_span text);

/*
 * Read the status, whose last line may be cut. Sets all but the address. RI_RAS_FOREIGN where it is
 * no such text: another beginning, a control character, a line of 1,024 bytes.
 */
void ri_ras_read(struct ri_span text, struct ri_ras *out);

/* Append "rank 3 of communicator 0x27a079b828ff1a75 has not answered". */
void ri_ras_add_fact(struct ri_text *out, const struct ri_ras_fact *fact);

#endif
