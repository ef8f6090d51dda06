/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump of torch's Flight Recorder: which collectives a rank has entered at last, in each of its
 * groups (torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp, read in
 * 2.13; versions 2.x of the format). A dump is foreign, as a report is.
 */
#ifndef RI_BLAME_FLIGHT_H
#define RI_BLAME_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "blame/pickle.h"
#include "words/watchdog.h"

enum { RI_FLIGHT_GROUPS = 32 };	/* of one rank that are kept; those of more are left out */

struct ri_flight_dump {
	const char *file;
	int64_t rank;		/* the digits at the end of the file's name */
	int64_t last;		/* when the last was recorded, in microseconds since 1970 */
	/*
	 * Of each group, in the order in which they occur: the first collective that had not ended,
	 * or, where all had, no op and the last number. Gloo's dumps do not say what ended: theirs
	 * is the last one that was entered.
	 */
	struct ri_work *works;
	size_t count;
	bool ends;		/* it says which of them ended */
	bool waits_for_one;	/* a send or a receive has not ended */
	size_t latest;		/* the index of the group of the last collective */
};

/*
 * Read a dump, whose file's name ends with its rank. pickle is room to work in. What is kept lives
 * in the arena, at most 8 kB. Returns 0, or -1 and in *why a sentence that says what it is not.
 */
int ri_flight_read(struct ri_flight_dump *out, const char *file, const char *bytes, size_t length,
	struct ri_pickle *pickle, struct ri_arena *arena, const char **why);

#endif
