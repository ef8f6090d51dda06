/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a job's end, and what happens in which at which event: the grid of the loop in
 * supervise.c, which has the signals, the clock and the children.
 */
#ifndef RI_SHIM_INIT_PHASES_H
#define RI_SHIM_INIT_PHASES_H

#include "init/judged.h"
#include "init/supervise.h"

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

struct ri_supervisor {
	const struct ri_options *options;
	const struct ri_terminal *terminal;
	struct ri_children *children;
	struct ri_output *output;
	enum ri_phase phase;
	/* of the first end that was no success; the judge may name an earlier one (run.c) */
	int status;
	struct ri_supervised *result;
	const struct ri_supervise *setting;
	bool groups;		/* each child leads one of its own */
	bool told_by_step;	/* a Slurm step's signals reach the children too */
	bool stopped_by_step;	/* and its SIGTERM has done so */
	bool asked_to_stop;	/* by a SIGTSTP that we passed on, and no SIGCONT since */
	bool silent;		/* the job had been, when a stop came */
	int presses;		/* of Ctrl-C in a row, of which the last came then: */
	int64_t pressed;	/* CLOCK_MONOTONIC ms */
	pid_t self;		/* 1: we are the init of a PID namespace */
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
	return sv->groups ? sv->children->items[0].pid : 0;
}

static inline bool ri_phase_to_groups(const struct ri_supervisor *sv)
{
	return sv->options->signal_group && sv->groups;
}

#endif
