/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step that all nodes take together, or none does. Each says whether it can, and node 0's helper
 * that they do, when all have said so and are connected; or, as soon as one cannot, that none does.
 *
 * A restart takes two. Behind a verdict with `again` a node can leave the attempt when its ranks
 * have ended: then all execute themselves again. In the next attempt, whose keys are others, it can
 * start its ranks when it is fit. So those of two attempts never run at once. It decides from
 * messages and times alone, as link/centre.h does.
 */
#ifndef RI_LINK_MUSTER_H
#define RI_LINK_MUSTER_H

#include "link/centre.h"

struct ri_muster {
	/* Given by the caller. */
	struct ri_centre *centre;
	enum ri_link_step step;
	int64_t wait_ms;	/* for a node that has not come, or was lost */
	int64_t end_ms;		/* to leave: more for one that is here, whose ranks end */
	/* The rest starts as zeroes. */
	int64_t since;		/* nodes wait; 0: none does */
	int64_t beat_at, line_ms;	/* when they hear that node 0 does, and whom it waits for */
	bool over;		/* it was said, as follows */
	struct ri_link_message said;
};

/*
 * The node of a session says whether it can: RI_LINK_GO of this step goes here and not to
 * ri_centre_hear. Who says it after all was said hears that again.
 */
void ri_muster_hear(struct ri_muster *muster, size_t node, size_t session,
	const struct ri_link_go *vote);

/* A node has come, by this session: what was said to all before, it hears now. */
void ri_muster_greet(const struct ri_muster *muster, size_t session);

/* Is it waited for? */
bool ri_muster_is_open(const struct ri_muster *muster);

/* When it ends at the latest, or INT64_MAX. */
int64_t ri_muster_due(const struct ri_muster *muster);

/* No node can take it: why, in words that say so of all. */
void ri_muster_refuse(struct ri_muster *muster, const char *why);

/*
 * Call this behind each thing that was heard, and when it is due. As long as nodes wait, each hears
 * of it by RI_LINK_NEWS, with the names of those they wait for, or empty; also behind the start,
 * until the ranks of all nodes run.
 */
void ri_muster_pass(struct ri_muster *muster, int64_t now);

/*
 * After a failure of the job: do the ranks of all nodes start again (--restarts)?
 * For struct ri_centre, which has just decided; its decision has a verdict, and gets whether they
 * do: not where no rank of the job has ended well, or on a node that is not
 * there any more, or that could not start it again. If node 0 was asked for restarts, and there is
 * none, the lines of the verdict get the reason; where there is one after a pause, they say that.
 */
void ri_link_restart_decide(struct ri_centre *centre, struct ri_text *lines);

#endif
