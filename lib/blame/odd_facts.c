/* SPDX-License-Identifier: Apache-2.0 */
/* What few of the nodes have, and the others have not. */
#include "blame/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
	FEW = 20,	/* one of so many */
	LEAST = 3,	/* of two nodes neither is the odd one */
};

/* A node's value of one fact. */
struct entry {
	const char *fact, *value;
	const struct ri_node_report *who;
};

static int compare(const void *first, const void *second)
{
	const struct entry *a = first, *b = second;
	int order = strcmp(a->fact, b->fact);

	if (order == 0)
		order = strcmp(a->value, b->value);
	if (order == 0)
		order = (a->who->node > b->who->node) - (a->who->node < b->who->node);
	return order != 0 ? order : strcmp(a->who->file, b->who->file);
}

/* One report of each machine: those of its ranks say the same. */
static size_t choose(const struct ri_attempt *attempt, const struct ri_node_report **out)
{
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_node_report *report = attempt->reports[i];

		if (report->fact_count > 0 &&
			(count == 0 || !ri_node_report_is_beside(out[count - 1], report)))
			out[count++] = report;
	}
	return count;
}

/* Interfaces have names of their own on some machines: only a value can be odd, no lack. */
static bool may_lack(const char *fact)
{
	return strncmp(fact, "mtu_", 4) != 0;
}

/* Each machine has its own. */
static bool is_compared(const char *fact)
{
	return strcmp(fact, "boot") != 0;
}

static size_t run_of(const struct entry *entries, size_t from, size_t end)
{
	size_t at = from + 1;

	while (at < end && strcmp(entries[at].value, entries[from].value) == 0)
		at++;
	return at - from;
}

static int add(struct ri_reports *job, const struct ri_odd_fact *odd)
{
	struct ri_odd_fact *list;

	/* doubled at powers of two */
	if ((job->odd_fact_count & (job->odd_fact_count - 1)) == 0) {
		list = ri_arena_array(&job->arena, job->odd_fact_count * 2 + 1, sizeof(*list));
		if (list == NULL)
			return -1;
		if (job->odd_fact_count > 0)
			memcpy(list, job->odd_facts, job->odd_fact_count * sizeof(*list));
		job->odd_facts = list;
	}
	job->odd_facts[job->odd_fact_count++] = *odd;
	return 0;
}

/* Those of the nodes that do not have the fact, of which entries lists who has. */
static int add_lacking(struct ri_reports *job, struct ri_odd_fact *odd,
	const struct entry *entries, size_t count, const struct ri_node_report **nodes, size_t all)
{
	odd->value = NULL;
	odd->count = 0;
	odd->who = ri_arena_array(&job->arena, all - count, sizeof(struct ri_node_report *));
	if (odd->who == NULL)
		return -1;
	for (size_t i = 0; i < all; i++) {
		bool has = false;

		for (size_t k = 0; k < count && !has; k++)
			has = entries[k].who == nodes[i];
		if (!has && odd->count < all - count)
			odd->who[odd->count++] = nodes[i];
	}
	return add(job, odd);
}

/* All values of one fact. */
static int compare_fact(struct ri_reports *job, const struct entry *entries, size_t count,
	const struct ri_node_report **nodes, size_t all)
{
	size_t few = all / FEW > 1 ? all / FEW : 1, length;
	size_t lacking = may_lack(entries[0].fact) ? all - count : 0;
	struct ri_odd_fact odd = { .fact = entries[0].fact, .usual_count = lacking };

	for (size_t i = 0; i < count; i += length) {
		length = run_of(entries, i, count);
		if (length > odd.usual_count) {
			odd.usual = entries[i].value;
			odd.usual_count = length;
		}
	}
	if (odd.usual_count <= few)
		return 0;
	for (size_t i = 0; i < count; i += length) {
		length = run_of(entries, i, count);
		if (length > few)
			continue;
		odd.value = entries[i].value;
		odd.count = length;
		odd.who = ri_arena_array(&job->arena, length, sizeof(struct ri_node_report *));
		if (odd.who == NULL)
			return -1;
		for (size_t k = 0; k < length; k++)
			odd.who[k] = entries[i + k].who;
		if (add(job, &odd) < 0)
			return -1;
	}
	if (lacking == 0 || lacking > few)
		return 0;
	return add_lacking(job, &odd, entries, count, nodes, all);
}

int ri_reports_compare_facts(struct ri_reports *job)
{
	const struct ri_attempt *attempt = &job->attempts[0];
	const struct ri_node_report **nodes =
		ri_arena_array(&job->arena, attempt->count, sizeof(*nodes));
	size_t all = nodes == NULL ? 0 : choose(attempt, nodes), count = 0, end;
	struct entry *entries;

	if (nodes == NULL || all < LEAST)
		return nodes == NULL ? -1 : 0;
	for (size_t i = 0; i < all; i++)
		count += nodes[i]->fact_count;
	entries = ri_arena_array(&job->arena, count, sizeof(*entries));
	if (entries == NULL)
		return -1;
	count = 0;
	for (size_t i = 0; i < all; i++)
		for (size_t k = 0; k < nodes[i]->fact_count; k++)
			entries[count++] = (struct entry){
				nodes[i]->facts[k][0], nodes[i]->facts[k][1], nodes[i],
			};
	qsort(entries, count, sizeof(*entries), compare);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count &&
			strcmp(entries[end].fact, entries[i].fact) == 0; end++)
			;
		if (is_compared(entries[i].fact) &&
			compare_fact(job, entries + i, end - i, nodes, all) < 0)
			return -1;
	}
	return 0;
}
