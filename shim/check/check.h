/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a check is, and how it says what it found.
 *
 * A check looks at one thing of this node: it opens files through the host
 * alone, changes nothing, does not wait on purpose, takes no more memory than
 * is said in limits.h, and is unknown about what it cannot see. It runs in a
 * child with a deadline, so that it may hang or crash; see runner.h.
 *
 * docs/hacking.md says how to add one.
 */
#ifndef RI_SHIM_CHECK_CHECK_H
#define RI_SHIM_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/host.h"
#include "check/wishes.h"
#include "model/topology.h"

struct ri_checking;

/* Where a check runs although neither its id, its topic nor --check asks for it. */
enum ri_check_runs {
	RI_CHECK_ASKED = 0,	/* nowhere */
	RI_CHECK_LAUNCH,	/* before a launch of a job, too; see `asked` below */
	RI_CHECK_DEEP,		/* the same, where "deep" is asked for: it runs a program */
	RI_CHECK_EXTRA,		/* not even by --check: by its id, or with "all" */
};

/* Within a check: demands that it looks after, and that each of its problems is against. */
#define RI_CHECK_HOLDS(topics_) .topics = (topics_), .holds = (topics_)

/* Within a check: demands for which its problems warn, and no more. */
#define RI_CHECK_WISHES(topics_) .topics = (topics_), .wished = (topics_)

/* Within a check: what it has rankinit-probe try, and how long that may take. */
#define RI_CHECK_PROBES(what, ms) .runs = RI_CHECK_DEEP, .probe = (what), .limit_ms = (ms)

/* What there must be to look at, and what is said where it is not. */
struct ri_check_need {
	const char *subject, *text;
	bool (*is_here)(struct ri_checking *checking);
};

/* ri_check_shm_size is "shm.size", which is interface and never changes. */
struct ri_check {
	const char *summary;	/* one line for --list */
	const char *reads;	/* what it looks at, and where the meaning of that was read */
	const char *fails;	/* when it says that something is wrong */
	const char *advice;	/* what to do then: the hint of a lack or a warning with no other */
	const char *in_slurm;	/* the same in a job of Slurm's, if it differs; or NULL */
	enum ri_check_runs runs;
	/*
	 * One run of rankinit-probe for all that try the same: "nvml". A skip without "deep" and of
	 * a recorded machine; unknown then where the check is asked for by its id.
	 */
	const char *probe;
	unsigned limit_ms;	/* how long it may take; 0: RI_CHECK_MS */
	const struct ri_check_need *needs;	/* without that it is a skip; NULL: nothing */
	unsigned topics;	/* RI_ABOUT(...) | ...: demands that it looks after */
	unsigned holds;		/* the same: those that each of its problems is against ... */
	bool holds_unknown;	/* ... and each of its unknowns */
	unsigned wished;	/* the same: its problems warn for these, and no more */
	const char *because;	/* id of the check whose problem makes for its own, or NULL */
	bool in_image;		/* the files of an image that runs nowhere answer it */
	void (*run)(struct ri_checking *checking);
	const void *how;	/* for a run that several checks share; or NULL */
};

/* The table in its order, which is that of running and of JSON; NULL past its end. */
const struct ri_check *ri_check_at(size_t index);

enum { RI_CHECK_MS = 500 };	/* which no check of files alone comes near */

enum ri_check_status {
	RI_CHECK_PASS,
	RI_CHECK_NOTE,
	RI_CHECK_WARN,
	RI_CHECK_FAIL,		/* only by a demand */
	RI_CHECK_UNKNOWN,
	RI_CHECK_SKIP,		/* there is nothing here to check */
	RI_CHECK_STATUS_COUNT,
};

enum { RI_CHECK_SUBJECT = 96 };	/* bytes of a subject */

struct ri_check_result {
	uint16_t check;		/* its number */
	uint8_t status;		/* enum ri_check_status */
	bool problem;		/* something is wrong, however little that matters here */
	bool unfit;		/* required, and not so, or unknown */
	uint16_t code;		/* enum ri_code */
	uint32_t us;		/* time that the check took */
	char subject[RI_CHECK_SUBJECT];	/* "/dev/shm", "mlx5_ib0" */
	char text[256];		/* what was found */
	char expected[128];	/* what was asked for, and by whom; may be empty */
	char hint[512];		/* what to do; may be empty */
};

enum { RI_CHECK_RESULTS = 16 };	/* of one check; what comes past them is not stored */

/* What a check is given. It writes by the functions below alone. */
struct ri_checking {
	struct ri_host *host;			/* live, or recorded */
	const struct ri_env *env;		/* as it was found */
	const struct ri_topology *topology;	/* may know nothing; never NULL */
	const struct ri_demands *demands;
	const struct ri_azure_size *azure_size;	/* NULL: not stated, or not known */
	struct ri_arena *arena;
	uint64_t ranks;		/* on this node, as far as that is known; else 1 */
	char *const *command;	/* its words, ended by NULL; or NULL */
	char *doing;		/* what it waits for, see ri_check_doing; or NULL */
	bool deep;		/* a program may be run */
	bool may_lack_gpus;	/* ranks that are more than the GPUs seen may be so by design */
	bool own_gpus;		/* --gpu-bind=single: each rank sees one of those listed, its own */
	bool has_peers;		/* ranks beside this one may be at work on the node */
	bool verbose;		/* notes are shown */

	/* of the functions below */
	size_t number;		/* of the check that runs */
	bool asked;		/* for this one: else it skips what the job may do without */
	struct ri_check_result *results;	/* RI_CHECK_RESULTS of them */
	size_t count;
};

/* Is this a job of Slurm's, whose options say what of the node it gets? */
bool ri_check_is_slurm(const struct ri_checking *checking);

/* Has the job several ranks, here or on other nodes? */
bool ri_check_is_shared(const struct ri_checking *checking);

/*
 * Results. Each names what it is about, in whose words it can be found on the
 * machine. A check says at least one; several where it looks at several
 * things. Without any it is a skip.
 *
 * Pass: all is well. Skip: there is nothing of the kind here. Note: it is good to know, whatever is
 * required. Unknown: it cannot be seen. The first two have no code.
 */
void ri_check_say(struct ri_checking *checking, enum ri_check_status status, enum ri_code code,
	const char *subject, const char *format, ...) __attribute__((format(printf, 5, 6)));

#define ri_check_pass(checking, ...) \
	ri_check_say(checking, RI_CHECK_PASS, RI_CODE_NONE, __VA_ARGS__)
#define ri_check_skip(checking, ...) \
	ri_check_say(checking, RI_CHECK_SKIP, RI_CODE_NONE, __VA_ARGS__)
#define ri_check_note(checking, ...) ri_check_say(checking, RI_CHECK_NOTE, __VA_ARGS__)
#define ri_check_unknown(checking, ...) ri_check_say(checking, RI_CHECK_UNKNOWN, __VA_ARGS__)

/*
 * Something is not there or not so: a lack, which is a note unless a demand is for it, or
 * what makes a launch fail or crawl, which warns whatever is required.
 */
void ri_check_problem(struct ri_checking *checking, bool warns, enum ri_code code,
	const char *subject, const char *format, ...) __attribute__((format(printf, 5, 6)));

#define ri_check_lack(checking, ...) ri_check_problem(checking, false, __VA_ARGS__)
#define ri_check_warn(checking, ...) ri_check_problem(checking, true, __VA_ARGS__)

/*
 * Before what may not answer: a check that hangs there is said to hang at
 * this. NULL: it has answered.
 */
void ri_check_doing(struct ri_checking *checking, const char *subject);

/* rankinit-probe is not asked: a skip, or unknown where the check is asked for by its id. */
void ri_check_unprobed(struct ri_checking *checking, const char *subject, const char *text);

/*
 * The last result is against this demand, NULL allowed: a lack becomes a
 * warning; where the demand is --require's, a lack or a warning a failure,
 * and an unknown unfit. Demands of the check by its id or family count by
 * themselves, and those that it holds. The second says what was expected, too: "8 (--require)".
 */
void ri_check_asked(struct ri_checking *checking, const struct ri_demand *demand);
void ri_check_asked_count(struct ri_checking *checking, const struct ri_demand *demand);

/* At the end: of a check that --require has by its id, to have nothing to look at is no pass. */
void ri_check_hold_skips(struct ri_checking *checking);

/* What was expected in the last result: "at least 16 GiB (--require)". */
void ri_check_expected(struct ri_checking *checking, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * What to do about the last result, where that is not the check's advice. Say
 * whether inside the image or outside, with the flag of docker, the field of
 * Kubernetes and of Azure ML where they differ, "node admin:" before what only
 * one can do.
 */
void ri_check_hint(struct ri_checking *checking, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The check's advice is the hint of the last result, too, which is no lack or warning. */
void ri_check_advise(struct ri_checking *checking);

/* Names in a row, for a result: "mlx5_ib0, mlx5_ib1 and 6 more". All zero: there are none. */
struct ri_row {
	char bytes[RI_CHECK_SUBJECT];
	size_t used;
	size_t count;	/* of all that were added */
	size_t shown;
};

void ri_row_add(struct ri_row *row, const char *name);

/* The row as text; say once, after the last one is added. */
const char *ri_row_end(struct ri_row *row);

#endif
