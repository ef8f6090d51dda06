/* SPDX-License-Identifier: Apache-2.0 */
/* Four ranks whose ends and words a test makes up, and who is named for that. */
#ifndef RI_TESTS_CULPRIT_OF_H
#define RI_TESTS_CULPRIT_OF_H

#include <signal.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "topology_of.h"

enum { RANKS = 4 };

#define HEAD "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n"
#define OWN HEAD "ValueError: bad batch 17\n"
#define LOST HEAD "RuntimeError: [/gloo/transport/tcp/pair.cc:1] Connection closed by peer " \
	"[10.0.0.5]:4711\n"

static struct ri_rank_outcome ranks[RANKS];
static struct ri_outcome outcome;

/* Four ranks of one node that ran from second 100 to 200, in this order, and exited with 0. */
static inline int begin(void **state)
{
	give_back(state);
	for (unsigned i = 0; i < RANKS; i++)
		ranks[i] = (struct ri_rank_outcome){
			.rank = i, .local_rank = i, .pid = (pid_t)(10 + i), .end = RI_END_EXITED,
			.order = i + 1, .started = { .tv_sec = 100 }, .wrote.tail.at = "",
			.ended = { .tv_sec = 200, .tv_nsec = (long)i * 1000 },
		};
	outcome = (struct ri_outcome){
		.topology = &topology, .ranks = ranks, .count = RANKS, .first = -1,
	};
	return 0;
}

static inline int finish(void **state)
{
	give_back(state);
	return 0;
}

static inline void of_two_nodes(void)
{
	take(LIST("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=8",
		"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=4"));
}

/* Ended with this status, of these words, which appeared at that second; 0: no traceback. */
static inline void exits(int index, int code, const char *words, time_t second)
{
	ranks[index].exit_code = code;
	ranks[index].wrote.tail.at = words;
	ranks[index].wrote.tail.length = strlen(words);
	ranks[index].traceback_at.tv_sec = second;
}

static inline void is_killed(int index, int number)
{
	ranks[index].end = RI_END_SIGNALED;
	ranks[index].signal = number;
}

/* By us, after the first failure. */
static inline void is_stopped(int index)
{
	is_killed(index, SIGTERM);
	ranks[index].told_to_stop = true;
}

static inline void judge(void)
{
	for (int i = 0; i < RANKS; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
}

static inline void expect(int first, enum ri_culprit culprit)
{
	judge();
	assert_int_equal(outcome.first, first);
	assert_int_equal(outcome.culprit, culprit);

#endif
