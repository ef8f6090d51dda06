/* SPDX-License-Identifier: Apache-2.0 */
#include "play/process.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/procstat.h"
#include "hang/look.h"
#include "watch/descendants.h"
#include "watch/leftovers.h"

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

/* Both strings stand in its environment, as it was executed with (proc(5)). */
static bool has_variables(pid_t pid, struct search *search)
{
	char path[32];

	search->has_rank = search->rank[0] == '\0';
	search->has_local_rank = search->local_rank[0] == '\0';
	if (search->has_rank && search->has_local_rank)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	return ri_autopsy_each(path, '\0', compare, search) && search->has_rank &&
		search->has_local_rank;
}

static bool note(const struct ri_procstat *process, void *context)
{
	if (process->dying)
		return true;
	processes[count++] = (struct process){
		.pid = process->pid, .parent = process->parent, .started = process->started,
		.fits = !is_rankinit(process) && has_variables(process->pid, context),
	};
	return count < PROCESSES;
}

static const struct process *find(pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

/* Is it below the member, or the member, and none between the two is a rank's already? */
static bool is_first_below(const struct process *process, pid_t member)
{
	const struct process *at = process;

	for (size_t depth = 0; at != NULL && depth < count; depth++) {
		if (at->fits && at != process)
			return false;
		if (at->pid == member)
			return true;
		at = find(at->parent);
	}
	return false;
}

pid_t ri_simulate_find(pid_t member, int64_t rank, int64_t local_rank)
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
