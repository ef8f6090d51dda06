/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank holds up the others. */
#include <string.h>

#include "hang/judge.h"

enum {
	FEW = 4,		/* one in so many ranks may differ from the others */
	LEAST = 3,		/* with fewer ranks none is suspected */
	HARDLY = 100,		/* a rank is still that was on a CPU for one in so many, or less */
};

/* Do two ranks wait in the same function? What called it may differ. */
static bool same_wait(const struct ri_hang_process *a, const struct ri_hang_process *b)
{
	return a->wait != NULL && b->wait != NULL && a->waits_at >= 0 && b->waits_at >= 0 &&
		strcmp(ri_wait_name(a->stacks[0].frames[a->waits_at].function),
			ri_wait_name(b->stacks[0].frames[b->waits_at].function)) == 0;
}

bool ri_hang_waits_still(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	uint64_t since = process->since_us;

	if (process->class != RI_HANG_COLLECTIVE)
		return false;
	return hang->looks_taken < 2 || (process->still && (!process->has_cpu ||
		process->main_us <= since / HARDLY ||
		process->main_us >= since - since / HARDLY));
}

bool ri_hang_woke(const struct ri_hang_process *process)
{
	return process->has_switches && process->naps > 0;
}

/* The first of the largest set of ranks that wait in one function; *members: how many they are. */
static int find_crowd(const struct ri_hang *hang, const struct ri_hang_look *look,
	size_t *members)
{
	int best = -1;

	*members = 0;
	for (size_t i = 0; i < look->count; i++) {
		const struct ri_hang_process *one = &look->processes[i];
		size_t count = 0;

		if (!one->is_rank || !ri_hang_waits_still(hang, one) || (best >= 0 &&
			same_wait(&look->processes[best], one)))
			continue;
		for (size_t j = 0; j < look->count; j++)
			count += look->processes[j].is_rank &&
				ri_hang_waits_still(hang, &look->processes[j]) &&
				same_wait(one, &look->processes[j]);
		if (count > *members) {
			*members = count;
			best = (int)i;
		}
	}
	return best;
}

static bool is_of_crowd(const struct ri_hang *hang, const struct ri_hang_look *look, int crowd,
	size_t i)
{
	return ri_hang_waits_still(hang, &look->processes[i]) &&
		same_wait(&look->processes[crowd], &look->processes[i]);
}

/* Did most of the ranks that wait begin to wait anew? Then they get on, or they poll. */
static bool crowd_wakes(const struct ri_hang *hang, const struct ri_hang_look *look, int crowd,
	size_t members)
{
	size_t awake = 0;

	for (size_t i = 0; i < look->count; i++)
		awake += look->processes[i].is_rank && is_of_crowd(hang, look, crowd, i) &&
			ri_hang_woke(&look->processes[i]);
	return 2 * awake > members;
}

/* How likely it holds up the others: a rank that waits for other ranks itself is less likely. */
static int weight(enum ri_hang_class class)
{
	switch (class) {
	case RI_HANG_COLLECTIVE:
		return 1;
	case RI_HANG_UNKNOWN:
	case RI_HANG_REFUSED_ALL:
	case RI_HANG_GONE:
		return 0;
	default:
		return 2;
	}
}

static int find_heaviest(const struct ri_hang *hang, const struct ri_hang_look *look,
	int crowd)
{
	int suspect = -1, most = 0;
	size_t heavy = 0;

	for (size_t i = 0; i < look->count; i++) {
		int weighs = weight(look->processes[i].class);

		if (!look->processes[i].is_rank || is_of_crowd(hang, look, crowd, i))
			continue;
		/* it has moved since the look before */
		if (hang->looks_taken > 1 && weighs == 2 && !look->processes[i].still &&
			!ri_hang_runs(look->processes[i].class))
			weighs = 0;
		if (weighs > most) {
			most = weighs;
			suspect = (int)i;
			heavy = 0;
		}
		heavy += weighs == most && weighs > 0;
	}
	/* of several that are as likely none is named: the groups show them */
	return heavy == 1 ? suspect : -1;
}

static int find_suspect(const struct ri_hang *hang, struct ri_hang_look *look)
{
	size_t ranks = 0, members, others;
	int crowd = find_crowd(hang, look, &members), suspect;

	for (size_t i = 0; i < look->count; i++)
		ranks += look->processes[i].is_rank;
	others = ranks - members;
	look->all_wait = ranks > 0 && others == 0;
	if (crowd < 0 || ranks < LEAST || others == 0 ||
		others > (ranks / FEW > 1 ? ranks / FEW : 1))
		return -1;
	look->crowd = crowd;
	suspect = find_heaviest(hang, look, crowd);
	if (suspect < 0 || !crowd_wakes(hang, look, crowd, members))
		return suspect;
	/* the others get on, so a rank that does, too, is only slow */
	return ri_hang_woke(&look->processes[suspect]) || ri_hang_runs(look->processes[suspect].class) ? -1
										: suspect;
}

/* A rank that starts, or is replaced, is missing in one look; one that ended is missing in both. */
static void find_ended(const struct ri_hang *hang, struct ri_hang_look *look)
{
	const struct ri_hang_look *before = &hang->looks[!hang->last];

	look->ended_count = 0;
	for (size_t i = 0; hang->looks_taken > 1 && i < look->missing_count; i++)
		for (size_t k = 0; k < before->missing_count; k++)
			if (before->missing[k] == look->missing[i])
				look->ended[look->ended_count++] = look->missing[i];
}

bool ri_hang_is_lost(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	return hang->after_loss && (process->class == RI_HANG_GONE ||
		process->class == RI_HANG_EXITING ||
		(process->class == RI_HANG_RUNS && process->stack_count == 0 &&
		process->python == RI_HANG_HAS_PYTHON));
}

void ri_hang_find_suspect(struct ri_hang *hang)
{
	struct ri_hang_look *look = ri_hang_newer(hang);

	look->suspect = find_suspect(hang, look);
	find_ended(hang, look);
	if (look->suspect >= 0 && ri_hang_is_lost(hang, &look->processes[look->suspect]))
		look->suspect = -1;
}

bool ri_hang_looks_agree(struct ri_hang *hang)
{
	struct ri_hang_look *now = ri_hang_newer(hang), *before = &hang->looks[!hang->last];
	const struct ri_hang_process *one, *other;

	if (now->suspect < 0)
		return true;
	one = &now->processes[now->suspect];
	other = before->suspect < 0 ? NULL : &before->processes[before->suspect];
	if (hang->looks_taken > 1 && other != NULL && one->pid == other->pid &&
		one->started == other->started && (one->class == other->class ||
		(ri_hang_runs(one->class) && ri_hang_runs(other->class))))
		return true;
	now->suspect = -1;
	return false;
}
