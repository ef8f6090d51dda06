/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of PID 1: take signals off the queue, reap, forward, and bring a stop to its end. It
 * sleeps in one system call and wakes for a signal or a deadline, never to poll. It allocates no
 * memory, and ends only with the job. supervise.c has the signals, the clock and the children,
 * phases.c the phases of a job's end, and what happens in which at which event.
 */
#ifndef RI_SHIM_INIT_SUPERVISE_H
#define RI_SHIM_INIT_SUPERVISE_H

#include "check/machine.h"
#include "init/judged.h"
#include "init/output.h"
#include "init/terminal.h"
#include "launch/children.h"
#include "link/link.h"
#include "report/outcome.h"
#include "system/mask.h"

enum ri_phase {
	RI_PHASE_RUNNING,	/* neither a stop nor a failure came */
	RI_PHASE_SETTLING,	/* a rank failed here; did it only lose another one, and which? */
	RI_PHASE_SPARED,	/* another node's order came, and a rank here leaves by itself */
	RI_PHASE_LOOKING,	/* a stop came: what does a silent job, or one that failed, do? */
	/* the command has its SIGTERM, or every rank: for a stop, a failure or an order */
	RI_PHASE_TOLD,
	RI_PHASE_SWEEPING,	/* everything has its SIGTERM; wait until it is gone */
	RI_PHASE_KILLING,	/* everything has its SIGKILL */
	RI_PHASE_OVER,
	RI_PHASES,
};

enum ri_event {
	RI_EVENT_STOP,		/* the first SIGTERM from outside */
	RI_EVENT_INSISTED,	/* Ctrl-C was pressed three times in a row */
	RI_EVENT_RANK_FAILED,	/* and others run */
	RI_EVENT_ORDERED,	/* the job has failed on another node */
	RI_EVENT_LINGERED,	/* an exception has left a rank's program, and --linger is over */
	RI_EVENT_JUDGED,	/* the judge has answered: .judged */
	RI_EVENT_LOOKED,	/* the process that looked at a job or its ranks has ended */
	RI_EVENT_COMMAND_GONE,	/* with all its ranks; children are left */
	RI_EVENT_ALL_GONE,	/* there is no child any more */
	RI_EVENT_DEADLINE,
	RI_EVENT_TICK,		/* something to do before the deadline */
	RI_EVENTS,
};

/* What another part of rankinit has to do at its time, while the loop runs. */
struct ri_timetable {
	int64_t (*due)(void *context);	/* CLOCK_MONOTONIC ms; INT64_MAX: never */
	void (*act)(void *context);	/* it must not wait */
	void (*take)(void *context);	/* its helper may have ended; NULL: it has none */
	void *context;
	const struct ri_timetable *next;	/* another part's; NULL: there is none */
};

/* What became of all of them together. */
struct ri_supervised {
	struct ri_stop stop;	/* that came from outside */
	struct ri_stop interrupt;	/* that the first failure may have ended of */
	bool interrupted;	/* by SIGHUP, SIGINT or SIGQUIT, at any time */
	bool ordered;		/* the ranks were stopped for another node's failure */
	int64_t settle_ms;	/* how long the judge lets an exception end its rank */
	bool knows_shm;
	struct ri_space shm;	/* /dev/shm, when the first failure was a SIGBUS */
};

struct ri_supervisor {
	struct ri_children *children;	/* that were just started */
	const struct ri_launch *launch;
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	int64_t rank;		/* of the command, where the job has others elsewhere; else -1 */
	struct ri_output *output;	/* the loop looks after it as well, where it is active */
	struct ri_supervised *result;
	const struct ri_timetable *timetable;	/* NULL: there is none */
	const struct ri_link_job *job;	/* NULL: the link is off */
	bool has_others;	/* the command may start ranks of its own */
	bool may_be_ray;	/* it is a program of Python's, and may start some by Ray */
	bool words_alone;	/* stderr is kept for the words of its failure alone */
	bool goes_on;		/* where one child failed the others are not stopped */
	bool is_killed_soon;	/* a second after a SIGTERM: it leaves no time for a look */
	ri_sigset early;	/* signals that came before there was a command in our group */

	/* The rest is the loop's own, and starts as zeroes. */
	enum ri_phase phase;
	/* of the first end that was no success; the judge may name an earlier one */
	int status;
	bool group_has_stop;	/* the SIGTERM has reached the children too, as group_has() says */
	bool asked_to_stop;	/* by a SIGTSTP that we passed on, and no SIGCONT since */
	bool silent;		/* the job had been, when a stop came */
	int presses;		/* of Ctrl-C in a row, of which the last came then: */
	int64_t pressed;	/* CLOCK_MONOTONIC ms */
	bool has_more;		/* children may be left to reap */
	pid_t first_gone;	/* of those, by the last SIGCHLD; 0: not known */
	bool looked_again;	/* before a stop: its first time was not enough */
	const struct ri_judged *judged;	/* the last answer of a failure, while it lasts; or NULL */
	bool lost_peer;		/* and that some have lost another rank was acted on */
	int64_t begun;		/* the end of the job: CLOCK_MONOTONIC ms, as the next two */
	int64_t deadline;	/* 0: none */
	int64_t tick;
	int64_t limit;		/* how many ms the end may take, 0: as long as it likes */
};

/*
 * Watch over the children until they and all that they left behind are gone. Returns the exit
 * status of the first of them that ended with another one than 0, or 0. Where one fails on its own
 * the others are stopped, and so they are if children->refused says that some are missing: then
 * that is the status.
 */
int ri_supervise_run(struct ri_supervisor *sv);

/*
 * What the start needed, and watching over the job does not: files that were passed in keep pipes
 * and mounts busy, and the working directory keeps its file system mounted. It is "/" then.
 */
void ri_supervise_let_go(const struct ri_output *output);

/* Be ready for orphans. Not PID 1: become a subreaper (prctl(2)), or warn. */
void ri_orphans_adopt(pid_t self);

/*
 * Something happened: do what the grid says. An empty place: nothing is to be done in that phase,
 * or the caller does it (a SIGTERM to ranks that were told is passed on by take_stop).
 */
void ri_phase_happen(struct ri_supervisor *sv, enum ri_event event);

/* The end begins at that time (CLOCK_MONOTONIC ms), and may take so many ms; 0: as it likes. */
void ri_phase_begin_end(struct ri_supervisor *sv, int64_t at, uint64_t limit);

/* SIGKILL for all that is there. */
void ri_phase_kill(struct ri_supervisor *sv);

/*
 * What the other nodes of the job hear of this one while it runs. Of a rank that failed the judge
 * knows more; of a judge that died they hear what the kernel said. Without a link none is told.
 */

/* How this node has ended by now, or what stops it; again where more is known of it. */
void ri_nodes_tell(const struct ri_link_job *job);

/* Has a rank failed, or does one leave, and no judge has seen how? */
bool ri_nodes_have_news(const struct ri_link_job *job);

/* What the judge has found of that; NULL: it died. */
void ri_nodes_tell_judged(const struct ri_link_job *job, const struct ri_judged *answer);

/* All is over, with this status: the last word, for which it waits. */
void ri_nodes_tell_last(const struct ri_link_job *job, int status);

/* The group of a command that may have the terminal; ranks never do. */
static inline pid_t ri_phase_front_group(const struct ri_supervisor *sv)
{
	return sv->launch->new_group ? sv->children->items[0].pid : 0;
}

static inline bool ri_phase_to_groups(const struct ri_supervisor *sv)
{
	return sv->options->signal_group && sv->launch->new_group;
}

#endif
