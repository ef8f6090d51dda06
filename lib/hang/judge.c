/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

enum {
	HALF_BUSY = 2,		/* one in so many microseconds: it runs */
	DEEPEST = 8,		/* generations between a rank and its workers */
	HARDLY = 100,		/* a rank is still that was on a CPU for one in so many, or less */
	/* of one look of --stall and the next, which are far apart */
	HARDLY_EVER = 200,
	SELDOM = 20,		/* what works for a rank was on a CPU for less than that */
	FAULTS = 20,		/* pages in a second; a rank that only polls takes fewer */
	TICK_US = 10000,	/* sysconf(_SC_CLK_TCK) is 100 on all architectures of ours */
	GENERATIONS = 512,
};

static const struct ri_wait_row rows[] = {
#define RI_WAIT_IF(class_, when_, file_, function_, reach_) \
	{ RI_HANG_##class_, RI_WAIT_##when_, file_, function_, reach_ },
#define RI_WAIT(class_, ...) RI_WAIT_IF(class_, ALWAYS, __VA_ARGS__)
#include "hang/waits.def"
#undef RI_WAIT
#undef RI_WAIT_IF
};

/* The end of a path, or a folder in it. */
static bool is_file(const char *path, const char *part)
{
	size_t length = strlen(path), tail = strlen(part);

	if (part[tail - 1] == '/')
		return strstr(path, part) != NULL;
	return length >= tail && strcmp(path + length - tail, part) == 0;
}

const struct ri_wait_row *ri_wait_find(const char *file, const char *function, size_t inner)
{
	const char *name = ri_wait_name(function);

	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++) {
		const struct ri_wait_row *row = &rows[i];

		if (inner <= row->reach && is_file(file, row->file) &&
			(row->function[0] == '*' || strcmp(row->function, name) == 0))
			return row;
	}
	return NULL;
}

static const struct ri_hang_stack *main_stack(const struct ri_hang_process *process)
{
	return process->stack_count > 0 ? &process->stacks[0] : NULL;
}

/* Does it run what a worker of a data loader runs, be it idle or not? */
static bool loads(const struct ri_hang_process *process)
{
	const struct ri_hang_stack *stack = main_stack(process);

	for (uint32_t i = 0; stack != NULL && i < stack->count; i++) {
		const struct ri_hang_frame *frame = &stack->frames[i];
		const struct ri_wait_row *row = ri_wait_find(frame->file, frame->function, 0);

		if (row != NULL && row->when == RI_WAIT_LOADS)
			return true;
	}
	return false;
}

/* Its system call may be what C++ waits in for other ranks: for a condition, or a socket. */
static bool may_wait_for_peers(const struct ri_hang_process *process)
{
	const struct ri_call_row *row = ri_call_row(&process->call);

	if (ri_call_sleeps(&process->call))
		return false;
	if (row == NULL || row->kind == RI_CALL_EVENT)
		return true;
	return (row->kind == RI_CALL_LOCK || row->kind == RI_CALL_FILE) && row->path < 0 &&
		process->path[0] != '/';
}

const struct ri_wait_row *ri_hang_find_wait(struct ri_hang_process *process)
{
	const struct ri_hang_stack *stack = main_stack(process);
	const struct ri_wait_row *found = NULL;

	process->waits_at = -1;
	for (uint32_t i = 0; stack != NULL && i < stack->count; i++) {
		const struct ri_hang_frame *frame = &stack->frames[i];
		const struct ri_wait_row *row = ri_wait_find(frame->file, frame->function, i);

		if (row == NULL || (row->when == RI_WAIT_BY_CALL && !may_wait_for_peers(process)))
			continue;
		/* a worker that works is not idle, though its loop stands above that */
		if (row->class == RI_HANG_WORK && i > 0 && process->waits_at != (int)i - 1)
			continue;
		process->waits_at = (int)i;
		found = row;
	}
	return found;
}

static bool is_busy(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	if (hang->looks_taken < 2 || !process->has_cpu)
		return process->state == 'R';
	return process->main_us > process->since_us / HALF_BUSY;
}

static enum ri_hang_class class_of_call(const struct ri_hang_process *process)
{
	const struct ri_call_row *row = ri_call_row(&process->call);

	if (ri_call_sleeps(&process->call))
		return RI_HANG_SLEEPS;
	if (row == NULL)
		return process->call.state == RI_CALL_INSIDE ? RI_HANG_WAITS : RI_HANG_UNKNOWN;
	return row->kind == RI_CALL_LOCK ? RI_HANG_LOCK : row->kind == RI_CALL_CHILD ? RI_HANG_CHILD
		: row->kind == RI_CALL_END ? RI_HANG_EXITING : RI_HANG_WAITS;
}

/* What the kernel says is certain; what the Python stack says comes next, then the call. */
static enum ri_hang_class class_of(const struct ri_hang *hang,
	const struct ri_hang_process *process)
{
	const struct ri_call_row *row = ri_call_row(&process->call);
	bool moves;

	if (process->unlooked)
		return RI_HANG_UNLOOKED;
	if (process->state == 0)
		return RI_HANG_GONE;
	if (process->dying)
		return RI_HANG_EXITING;
	if (process->state == 't' || (process->state == 'T' && process->tracer != 0))
		return RI_HANG_DEBUGGED;
	if (process->state == 'T')
		return RI_HANG_STOPPED;
	if (process->state == 'D')
		return row != NULL && row->kind == RI_CALL_VFORK ? RI_HANG_VFORKING
								 : RI_HANG_BLOCKED;
	moves = is_busy(hang, process);
	if (process->wait != NULL)
		return moves && (process->wait->when == RI_WAIT_UNLESS_BUSY ||
			process->wait->when == RI_WAIT_BY_CALL) ? RI_HANG_RUNS
			: process->wait->class;
	if (!moves && process->call.state == RI_CALL_INSIDE)
		return class_of_call(process);
	if (moves || process->state == 'R')
		return process->still && process->stack_count > 0 ? RI_HANG_SPINS : RI_HANG_RUNS;
	if (process->call_refused && process->python == RI_HANG_REFUSED)
		return RI_HANG_REFUSED_ALL;
	return RI_HANG_UNKNOWN;
}

static bool same_place(const struct ri_hang_process *a, const struct ri_hang_process *b)
{
	const struct ri_hang_stack *one = main_stack(a), *other = main_stack(b);

	if (one == NULL || other == NULL)
		return one == other && a->call.state == b->call.state &&
			a->call.number == b->call.number;
	return one->hash == other->hash && !one->torn && !other->torn;
}

bool ri_hang_is_worker(const struct ri_hang_look *look, size_t i, pid_t of)
{
	pid_t above = look->processes[i].parent;

	for (int depth = 0; look->processes[i].loads && depth < DEEPEST; depth++) {
		int parent;

		if (above == of)
			return true;
		parent = ri_hang_find_process(look, above);
		if (parent < 0)
			break;
		above = look->processes[parent].parent;
	}
	return false;
}

/*
 * The one of its children that it waits for: by the number in its call, or, where that may be any,
 * the one that holds it up most evidently: what cannot move comes first. What a shell in front of a
 * rank, which runs Python, put into the background is not what it waits for.
 */
static int find_child(const struct ri_hang_look *look, size_t parent, bool workers)
{
	static const enum ri_hang_class order[] = {
		RI_HANG_BLOCKED, RI_HANG_STOPPED, RI_HANG_DEBUGGED, RI_HANG_VFORKING,
		RI_HANG_EXITING, RI_HANG_SLEEPS, RI_HANG_LOCK, RI_HANG_DATA, RI_HANG_SPINS,
		RI_HANG_CHILD, RI_HANG_WAITS, RI_HANG_RUNS, RI_HANG_COLLECTIVE,
	};
	pid_t pid = look->processes[parent].pid;
	int own = ri_hang_find_process(look, ri_call_child(&look->processes[parent].call));
	bool python = false;

	if (own >= 0 && look->processes[own].parent == pid)
		return own;
	for (size_t i = 0; i < look->count; i++)
		python = python || (look->processes[i].parent == pid &&
			look->processes[i].python == RI_HANG_HAS_PYTHON);
	for (size_t rank = 0; rank < RI_ARRAY_SIZE(order); rank++)
		for (size_t i = 0; i < look->count; i++)
			if (look->processes[i].class == order[rank] &&
				(!python || look->processes[i].python == RI_HANG_HAS_PYTHON) &&
				(workers ? ri_hang_is_worker(look, i, pid)
					: look->processes[i].parent == pid))
				return (int)i;
	return -1;
}

/* A pipe or a socket is each process's own. */
static const char *path_of(const struct ri_hang_process *process)
{
	return process->path[0] == '/' ? process->path : "";
}

/* Do both do the same, as far as a reader would say so? */
static bool is_same(const struct ri_hang_process *a, const struct ri_hang_process *b)
{
	const struct ri_hang_stack *one = main_stack(a), *other = main_stack(b);

	if (a->class != b->class || a->is_rank != b->is_rank || a->python != b->python ||
		(a->rank < 0) != (b->rank < 0) || strcmp(a->name, b->name) != 0 ||
		strcmp(path_of(a), path_of(b)) != 0)
		return false;
	if (one == NULL || other == NULL)
		return same_place(a, b);
	if (one->count != other->count)
		return false;
	for (uint32_t i = 0; i < one->count; i++) {
		const struct ri_hang_frame *its = &one->frames[i], *theirs = &other->frames[i];

		if (its->line != theirs->line || strcmp(its->function, theirs->function) != 0 ||
			strcmp(its->file, theirs->file) != 0)
			return false;
	}
	return true;
}

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

static bool is_of_crowd(const struct ri_hang *hang, const struct ri_hang_look *look, int crowd,
	size_t i)
{
	return ri_hang_waits_still(hang, &look->processes[i]) &&
		same_wait(&look->processes[crowd], &look->processes[i]);
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
			count += look->processes[j].is_rank && is_of_crowd(hang, look, (int)i, j);
		if (count > *members) {
			*members = count;
			best = (int)i;
		}
	}
	return best;
}

int ri_hang_weigh(enum ri_hang_class class)
{
	switch (class) {
	case RI_HANG_COLLECTIVE:
		return 1;
	case RI_HANG_UNKNOWN:
	case RI_HANG_REFUSED_ALL:
	case RI_HANG_UNLOOKED:
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
		int weighs = ri_hang_weigh(look->processes[i].class);

		if (!look->processes[i].is_rank || look->processes[i].class == RI_HANG_GONE ||
			is_of_crowd(hang, look, crowd, i))
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

/*
 * The rank that holds up the others; -1: none. There must be three ranks or more; those that differ
 * must be at most a quarter of them, or one, and the others must wait for other ranks without
 * moving.
 */
static int find_suspect(const struct ri_hang *hang, struct ri_hang_look *look)
{
	size_t ranks = 0, awake = 0, members, others;
	int crowd = find_crowd(hang, look, &members), suspect;

	for (size_t i = 0; i < look->count; i++)
		ranks += look->processes[i].is_rank;
	others = ranks - members;
	look->all_wait = ranks > 0 && others == 0;
	if (crowd < 0 || ranks < RI_HANG_LEAST || others == 0 || others > ri_hang_few(ranks))
		return -1;
	look->crowd = crowd;
	suspect = find_heaviest(hang, look, crowd);
	/* did most of the ranks that wait begin to wait anew? Then they get on, or they poll */
	for (size_t i = 0; i < look->count; i++)
		awake += look->processes[i].is_rank && is_of_crowd(hang, look, crowd, i) &&
			look->processes[i].naps > 0;
	if (suspect < 0 || 2 * awake <= members)
		return suspect;
	/* the others get on, so a rank that does, too, is only slow */
	return look->processes[suspect].naps > 0 ||
		ri_hang_runs(look->processes[suspect].class) ? -1 : suspect;
}

bool ri_hang_is_lost(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	return hang->after_loss && (process->class == RI_HANG_GONE ||
		process->class == RI_HANG_EXITING ||
		(process->class == RI_HANG_RUNS && process->stack_count == 0 &&
		process->python == RI_HANG_HAS_PYTHON));
}

void ri_hang_judge(struct ri_hang *hang)
{
	struct ri_hang_look *look = ri_hang_newer(hang), *before = &hang->looks[!hang->last];

	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *process = &look->processes[i];
		const struct ri_hang_process *was = ri_hang_find_before(hang, process);

		process->still = was != NULL && same_place(was, process);
		process->wait = ri_hang_find_wait(process);
		process->class = class_of(hang, process);
		process->child = -1;
		process->loads = loads(process);
	}
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *process = &look->processes[i];

		if (process->class == RI_HANG_LOADER)
			process->child = find_child(look, i, true);
		if (process->child < 0 && (process->class == RI_HANG_CHILD ||
			process->class == RI_HANG_LOADER || process->class == RI_HANG_VFORKING))
			process->child = find_child(look, i, false);
	}
	for (size_t i = 0; i < look->count; i++) {
		size_t first = 0;

		while (first < i && (look->processes[first].group != (int)first ||
			!is_same(&look->processes[first], &look->processes[i])))
			first++;
		look->processes[i].group = (int)first;
	}
	look->suspect = find_suspect(hang, look);
	/* a rank that starts, or is replaced, is missing in one look; one that ended in both */
	look->ended_count = 0;
	for (size_t i = 0; hang->looks_taken > 1 && i < look->missing_count; i++)
		for (size_t k = 0; k < before->missing_count; k++)
			if (before->missing[k] == look->missing[i])
				look->ended[look->ended_count++] = look->missing[i];
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

/* --- whether any rank gets on, from one look of --stall to the next ------------ */

static const struct ri_hang_process *find_parent(const struct ri_hang_look *look,
	const struct ri_hang_process *process)
{
	int at = ri_hang_find_process(look, process->parent);

	return at < 0 ? NULL : &look->processes[at];
}

/* Whether this is a rank; where there are none, whether no process above it runs Python. */
static bool counts(const struct ri_hang_look *look, bool ranks,
	const struct ri_hang_process *process)
{
	const struct ri_hang_process *parent;

	if (ranks)
		return process->is_rank;
	parent = find_parent(look, process);
	return process->python == RI_HANG_HAS_PYTHON &&
		(parent == NULL || parent->python != RI_HANG_HAS_PYTHON);
}

/* The moment of the rank that this process works for, or is; NULL: none. */
static struct ri_hang_moment *find_moment(const struct ri_hang_look *look,
	const struct ri_hang_process *process, struct ri_hang_moment *moments, size_t count)
{
	for (int depth = 0; process != NULL && depth < GENERATIONS; depth++) {
		for (size_t i = 0; i < count; i++)
			if (moments[i].pid == process->pid)
				return &moments[i];
		process = find_parent(look, process);
	}
	return NULL;
}

/* The sum of hashes changes if a process below the rank ends, begins, or has another stack. */
static void add_work(struct ri_hang_moment *moment, const struct ri_hang_process *process)
{
	uint64_t hash = (uint64_t)process->pid;

	moment->ticks += process->cpu_ticks;
	if (moment->pid == process->pid)
		return;
	for (uint32_t i = 0; i < process->stack_count; i++)
		hash = hash * 1099511628211u ^ process->stacks[i].hash ^
			(process->stacks[i].torn ? (uint64_t)process->at_us : 0);
	moment->stacks += hash * 1099511628211u;
}

static bool has_moved(const struct ri_hang_process *process, const struct ri_hang_moment *then,
	const struct ri_hang_moment *now)
{
	uint64_t since = (uint64_t)(now->at_us - then->at_us);
	uint64_t busy = (now->main_ns - then->main_ns) / 1000;

	if (process->stack_count == 0 || process->stacks[0].torn || then->pid != now->pid ||
		then->hash != now->hash)
		return true;
	/* it was on a CPU for a part of the time, or for all of it and took memory */
	if (busy > since / HARDLY_EVER)
		return busy < since - since / HARDLY ||
			(now->faults - then->faults) * 1000000 > since * FAULTS;
	/*
	 * Did threads or children work for a rank whose main thread waits? If that spins, its
	 * threads may spin for it, and their time proves no work.
	 */
	return (process->wait == NULL || process->wait->class != RI_HANG_COLLECTIVE ||
		process->wait->when != RI_WAIT_ALWAYS) &&
		(now->stacks != then->stacks ||
		(now->ticks - then->ticks) * TICK_US > since / SELDOM);
}

const struct ri_hang_process *ri_hang_find_unreadable(struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	bool ranks = ri_hang_has_ranks(look);
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++) {
		if (!counts(look, ranks, &look->processes[i]))
			continue;
		count++;
		if (look->processes[i].stack_count == 0)
			return &look->processes[i];
	}
	return count == 0 && look->count > 0 ? &look->processes[0] : NULL;
}

bool ri_hang_has_moved(struct ri_hang *hang, struct ri_hang_moment *moments, size_t room)
{
	static struct ri_hang_moment now[RI_HANG_PROCESSES];
	static const struct ri_hang_process *counted[RI_HANG_PROCESSES];
	const struct ri_hang_look *look = ri_hang_newer(hang);
	bool moved = false, ranks = ri_hang_has_ranks(look);
	size_t count = 0;

	for (size_t i = 0; i < look->count && count < room; i++) {
		const struct ri_hang_process *process = &look->processes[i];

		if (!counts(look, ranks, process))
			continue;
		counted[count] = process;
		now[count++] = (struct ri_hang_moment){
			.pid = process->pid, .main_ns = process->main_ns, .at_us = process->at_us,
			.faults = process->faults,
			.hash = process->stack_count > 0 ? process->stacks[0].hash : 0,
		};
	}
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_moment *moment = find_moment(look, &look->processes[i], now, count);

		if (moment != NULL)
			add_work(moment, &look->processes[i]);
	}
	for (size_t i = 0; i < count; i++) {
		moved = has_moved(counted[i], &moments[i], &now[i]) || moved;
		moments[i] = now[i];
	}
	return moved || count == 0;
}
