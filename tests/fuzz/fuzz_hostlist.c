/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the same text as a list of hosts in Slurm's notation and as tasks
 * per node. Whatever it is, the answer is hosts, or where it goes wrong.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "from/hosts.h"
#include "from/reading.h"
#include "../unit/reading_of.h"

static struct ri_arena arena;

/* What is read stands for itself: a list of its own names is the same list. */
static void check_again(const struct ri_hostlist *list)
{
	size_t size = 1;
	struct ri_hostlist again;
	char *text, *at;

	for (size_t i = 0; i < list->count; i++)
		size += strlen(list->hosts[i]) + 1;
	at = text = malloc(size);
	CHECK(text != NULL);
	for (size_t i = 0; i < list->count; i++)
		at += sprintf(at, "%s,", list->hosts[i]);
	CHECK(ri_hostlist_read(&again, text, reading_of(&arena)));
	CHECK(again.reason == NULL && again.count == list->count);
	for (size_t i = 0; i < list->count; i++)
		CHECK(strcmp(again.hosts[i], list->hosts[i]) == 0);
	free(text);
}

static void check_list(const char *text)
{
	struct ri_hostlist list;

	CHECK(ri_hostlist_read(&list, text, reading_of(&arena)));
	if (list.reason != NULL) {
		CHECK(list.count == 0 && list.fault_at <= strlen(text));
		return;
	}
	CHECK(list.count > 0 && list.count <= RI_MAX_RANKS);
	for (size_t i = 0; i < list.count; i++)
		CHECK(ri_is_host((struct ri_span){ list.hosts[i], strlen(list.hosts[i]) }));
	if (list.count <= 4096)
		check_again(&list);
}

static void check_tasks(const char *text)
{
	struct ri_tasks tasks, other;
	uint64_t sum = 0;

	if (!ri_tasks_read(text, 0, &tasks))
		return;
	CHECK(tasks.nodes > 0 && tasks.tasks >= tasks.nodes && tasks.here > 0);
	CHECK(ri_tasks_read(text, tasks.nodes, &other) && other.here == 0);
	for (uint64_t node = 0; node < tasks.nodes && tasks.nodes <= 64; node++) {
		CHECK(ri_tasks_read(text, node, &other) && other.tasks == tasks.tasks);
		sum += other.here;
	}
	CHECK(tasks.nodes > 64 || sum == tasks.tasks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	check_list(text);
	check_tasks(text);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
