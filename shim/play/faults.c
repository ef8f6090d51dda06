/* SPDX-License-Identifier: Apache-2.0 */
#include "play/play_job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hang/look.h"
#include "init/descendants.h"
#include "init/leftovers.h"
#include "link/setup.h"
#include "system/log.h"

enum { PROCESSES = 8192 };

static struct process {
	pid_t pid, parent;
	uint64_t started;
	bool fits;
} processes[PROCESSES];
static size_t count;

struct search {
	char rank[32], local_rank[32];	/* "RANK=3"; "": whatever it has there */
	bool has_rank, has_local_rank;	/* the process that is looked at */
};

/* Is the file that it runs our own? The kernel does not tell where the file may not be read. */
static bool is_rankinit(const struct ri_procstat *process)
{
	struct stat own, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
	if (stat("/proc/self/exe", &own) < 0 || stat(path, &its) < 0)
		return ri_leftovers_is_relay(process);
	return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static void compare(void *context, const char *variable)
{
	struct search *search = context;

	search->has_rank = search->has_rank || strcmp(variable, search->rank) == 0;
	search->has_local_rank =
		search->has_local_rank || strcmp(variable, search->local_rank) == 0;
}

/* It fits where both strings stand in its environment, as it was executed with (proc(5)). */
static bool note(const struct ri_procstat *process, void *context)
{
	struct search *search = context;
	char path[32];

	if (process->dying)
		return true;
	search->has_rank = search->rank[0] == '\0';
	search->has_local_rank = search->local_rank[0] == '\0';
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)process->pid);
	processes[count++] = (struct process){
		.pid = process->pid, .parent = process->parent, .started = process->started,
		.fits = !is_rankinit(process) && ((search->has_rank && search->has_local_rank) ||
			(ri_autopsy_each(path, '\0', compare, search) && search->has_rank &&
				search->has_local_rank)),
	};
	return count < PROCESSES;
}

/* Is it below the member, or the member, and none between the two is a rank's already? */
static bool is_first_below(const struct process *process, pid_t member)
{
	const struct process *at = process;
	size_t parent;

	for (size_t depth = 0; depth < count; depth++) {
		if (at->fits && at != process)
			return false;
		if (at->pid == member)
			return true;
		for (parent = 0; parent < count && processes[parent].pid != at->parent;)
			parent++;
		if (parent == count)
			return false;
		at = &processes[parent];
	}
	return false;
}

/*
 * The eldest process below member, or itself, that is no rankinit; rank and local_rank:
 * and that has these in its environment, -1: whatever it has there. 0: there is none.
 */
static pid_t find_rank(pid_t member, int64_t rank, int64_t local_rank)
{
	const struct process *eldest = NULL;
	struct search search = { .rank = "" };

	if (rank >= 0)
		snprintf(search.rank, sizeof(search.rank), "RANK=%d", (int)rank);
	if (local_rank >= 0)
		snprintf(search.local_rank, sizeof(search.local_rank), "LOCAL_RANK=%d",
			(int)local_rank);
	count = 0;
	ri_descendants_each(note, &search);
	for (size_t i = 0; i < count; i++)
		if (processes[i].fits && is_first_below(&processes[i], member) &&
			(eldest == NULL || processes[i].started < eldest->started))
			eldest = &processes[i];
	return eldest == NULL ? 0 : eldest->pid;
}

/* Those of a node's beginning are in what the node was started with. */
static const struct ri_fault *find_next(struct ri_faults *faults)
{
	const struct ri_simulation *simulation = faults->members->simulation;

	while (faults->next < simulation->fault_count) {
		const struct ri_fault *fault = &simulation->faults[faults->next];

		if (fault->kind != RI_FAULT_ABSENT && fault->kind != RI_FAULT_LATE &&
			fault->kind != RI_FAULT_UNFIT)
			return fault;
		faults->next++;
	}
	return NULL;
}

int64_t ri_faults_due(void *context)
{
	struct ri_faults *faults = context;
	const struct ri_fault *fault = find_next(faults);

	return fault == NULL ? INT64_MAX : faults->began_ms + (int64_t)fault->at_ms;
}

/* The child in which the rank runs, and which is started alone or with its node; or NULL. */
static const struct ri_child *find_child(const struct ri_faults *faults, size_t rank)
{
	const struct ri_simulation *simulation = faults->members->simulation;
	size_t place = simulation->shape->scope == RI_SCOPE_PROCESS
		? rank : rank / simulation->ranks;

	for (size_t i = 0; i < faults->children->started; i++)
		if (faults->members->places[i] == place)
			return &faults->children->items[i];
	return NULL;
}

struct link_search {
	pid_t parent;
	pid_t found;
};

static bool find_helper(const struct ri_procstat *process, void *context)
{
	struct link_search *search = context;

	if (process->parent == search->parent && strcmp(process->name, RI_LINK_HELPER) == 0 &&
		!process->dying)
		search->found = process->pid;
	return search->found == 0;
}

/* What the node and the others make of it is the link's business. */
static void cut(const struct ri_faults *faults, const struct ri_fault *fault)
{
	size_t first = fault->who * faults->members->simulation->ranks;
	const struct ri_child *child = find_child(faults, first);
	struct link_search search = { .parent = child == NULL ? 0 : child->pid };
	double seconds = (double)fault->at_ms / 1000;

	if (child != NULL && child->lives && ri_descendants_are_shown())
		ri_descendants_each(find_helper, &search);
	if (search.found == 0) {
		ri_log(RI_LEVEL_WARNING, "simulated: node %zu has no link %g s after the start, so "
			"nothing is cut; it needs --link", fault->who, seconds);
		return;
	}
	ri_children_signal(search.found, SIGKILL);
	ri_log(RI_LEVEL_ALWAYS, "simulated: the link of node %zu is cut, %g s after the start",
		fault->who, seconds);
}

static void hit(const struct ri_faults *faults, const struct ri_fault *fault)
{
	const struct ri_simulation *simulation = faults->members->simulation;
	const struct ri_child *child = find_child(faults, fault->who);
	int number = fault->kind == RI_FAULT_KILL ? SIGKILL : SIGSTOP;
	const char *name = fault->kind == RI_FAULT_KILL ? "SIGKILL" : "SIGSTOP";
	bool alone = simulation->shape->scope == RI_SCOPE_PROCESS;
	double seconds = (double)fault->at_ms / 1000;
	char how[96] = "";
	pid_t pid = 0;

	if (!ri_descendants_are_shown()) {
		ri_log(RI_LEVEL_WARNING, "simulated: /proc does not show rank %zu, so %s is not "
			"sent: mount a new one there", fault->who, name);
		return;
	}
	if (child != NULL && child->lives)
		pid = find_rank(child->pid, alone ? -1 : (int64_t)fault->who,
			alone ? -1 : (int64_t)(fault->who % simulation->ranks));
	if (pid == 0) {
		if (!alone)
			snprintf(how, sizeof(how), "; its RANK=%zu and LOCAL_RANK=%zu are looked "
				"for", fault->who, fault->who % simulation->ranks);
		ri_log(RI_LEVEL_WARNING, "simulated: rank %zu does not run %g s after the start, "
			"so %s is not sent%s", fault->who, seconds, name, how);
		return;
	}
	ri_children_signal(pid, number);
	ri_log(RI_LEVEL_ALWAYS, "simulated: %s for rank %zu (pid %d), %g s after the start", name,
		fault->who, (int)pid, seconds);
}

void ri_faults_act(void *context)
{
	struct ri_faults *faults = context;
	const struct ri_fault *fault = find_next(faults);

	if (fault == NULL)
		return;
	faults->next++;
	if (fault->kind == RI_FAULT_UNLINK)
		cut(faults, fault);
	if (fault->kind == RI_FAULT_KILL || fault->kind == RI_FAULT_HANG)
		hit(faults, fault);
	if (fault->kind != RI_FAULT_STOP)
		return;
	ri_log(RI_LEVEL_ALWAYS, "simulated: SIGTERM for the whole job, %g s after the start; "
		"SIGKILL follows after %u s", (double)fault->at_ms / 1000,
		faults->members->simulation->shape->grace_s);
	ri_children_signal(getpid(), SIGTERM);
}

void ri_faults_tell(const struct ri_faults *faults)
{
	const struct ri_simulation *simulation = faults->members->simulation;

	for (size_t i = faults->next; i < simulation->fault_count; i++) {
		const struct ri_fault *fault = &simulation->faults[i];
		const char *name = fault->kind == RI_FAULT_KILL ? "kill"
			: fault->kind == RI_FAULT_HANG ? "hang"
			: fault->kind == RI_FAULT_UNLINK ? "unlink" : NULL;

		if (name != NULL)
			ri_log(RI_LEVEL_WARNING, "simulated: the job ended before %s=%zu@%g, so "
				"this did not happen", name, fault->who,
				(double)fault->at_ms / 1000);
	}
}
