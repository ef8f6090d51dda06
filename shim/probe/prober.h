/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running rankinit-probe, for the checks that need "deep": in a process group of its
 * own, which is killed when its time is over, with /dev/null for stdin and
 * stderr, no descriptor of ours, a file in memory for its answers, which cannot
 * grow, and of the environment what the loader and the libraries read. See
 * lib/node/probe_answer.h for what it tells.
 */
#ifndef RI_SHIM_PROBE_PROBER_H
#define RI_SHIM_PROBE_PROBER_H

#include "check/check.h"
#include "image/image.h"
#include "node/probe_answer.h"

enum {
	RI_PROBER_MS = 2000,	/* for all runs of a check: devices take milliseconds each */
	/* the check must not be late on a busy machine, or its result could not say what hung */
	RI_PROBER_CHECK_MS = RI_PROBER_MS + 3000,
};

enum ri_prober_end {
	RI_PROBER_DONE,		/* it said all that there is to say */
	RI_PROBER_MISSING,	/* there is no rankinit-probe */
	RI_PROBER_REFUSED,	/* no process, or not this program: error */
	RI_PROBER_GARBLED,	/* what it told is none of its own */
	RI_PROBER_CRASHED,	/* a signal, or an exit that it does not make */
	RI_PROBER_HUNG,
};

struct ri_prober {
	const char *what;
	enum ri_prober_end end;
	const char *path;	/* of the program; NULL where it is missing */
	int error;		/* errno */
	int status;		/* as wait(2) gives it */
	struct ri_probe said;	/* zeroes where it is missing, refused or garbled */
};

/*
 * Try "verbs", "mpi" or "nvml" with the library of this path, verbs with so many bytes to be
 * registered, until ri_now_us() says so. Never fails: *out tells, which is large.
 */
void ri_prober_run(struct ri_prober *out, const struct ri_checking *checking, const char *what,
	const char *library, uint64_t bytes, int64_t until_us);

/* What became of a library that the loader does not find. True where there is a trace of it. */
bool ri_prober_says_lost(char *out, size_t size, const struct ri_library *library);

/*
 * True where it is done. Else says what became of it: a result about the library, with these codes
 * where it ends the process, or does not come back.
 */
bool ri_prober_judge(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, enum ri_code crashed, enum ri_code hung);

#endif
