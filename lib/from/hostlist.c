/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is gone through twice: to know how much room the names take, and
 * to write them. Only the bounds stand between a short text and a
 * very long list.
 */
#include "from/allocation.h"

#include <string.h>

#include "base/limits.h"

enum {
	MAX_GROUPS = 8,		/* pairs of brackets in a name; Slurm itself stops earlier */
	MAX_DIGITS = 18,	/* of a number in brackets: any of these fits 64 bits */
};

static const char blanks[] = " \t\r\n\v\f";
static const char separators[] = ", \t\r\n\v\f";

static const char syntax[] = "a list of hosts such as n[01-16],gpu1";
static const char too_long[] = "a list of at most 1048576 hosts";

/* One pair of brackets, and how far its ranges have been counted. */
struct group {
	const char *ranges;	/* the first byte after '[' */
	const char *end;	/* ']' */
	const char *rest;	/* of the ranges, after the one that counts */
	uint64_t number;
	uint64_t last;		/* of the range that counts */
	unsigned width;
};

/* What stands between two separators. */
struct item {
	const char *start;
	const char *end;
	struct group groups[MAX_GROUPS];
	size_t group_count;
	uint64_t names;
	size_t length;		/* at most, of one name */
};

static const char *read_number(const char *at, uint64_t *number, unsigned *width)
{
	size_t digits = ri_digits_read(at, number);

	*width = (unsigned)digits;
	return digits == 0 || digits > MAX_DIGITS ? NULL : at + digits;
}

/*
 * Take the range that starts at group->rest. Returns 1, 0 where none is left,
 * -1 where it is none: rest stays at the fault then.
 */
static int next_range(struct group *group)
{
	const char *at = group->rest + strspn(group->rest, blanks);
	unsigned ignored;

	if (at == group->end)
		return 0;
	group->rest = at;
	at = read_number(at, &group->number, &group->width);
	if (at == NULL)
		return -1;
	group->last = group->number;
	if (*at == '-')
		at = read_number(at + 1, &group->last, &ignored);
	if (at == NULL || group->last < group->number)
		return -1;
	at += strspn(at, blanks);
	group->rest = at + (*at == ',');
	return *at == ',' || *at == ']' ? 1 : -1;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t count_digits(uint64_t number)
{
	size_t count = 1;

	for (; number >= 10; number /= 10)
		count++;
	return count;
}

/* Read the brackets from '[' on; NULL where they go wrong, *fault is where. */
static const char *read_group(struct item *item, const char *at, const char **fault)
{
	struct group group = { .ranges = at + 1, .rest = at + 1 };
	uint64_t names = 0;
	size_t digits = 0;

	*fault = at;
	if (item->group_count == MAX_GROUPS)
		return NULL;
	do {
		if (next_range(&group) != 1) {
			*fault = group.rest;
			return NULL;
		}
		names += group.last - group.number + 1;
		digits = larger(digits, larger(group.width, count_digits(group.last)));
		if (names > RI_MAX_RANKS)
			names = RI_MAX_RANKS + 1;
	} while (group.rest[-1] == ',');
	group.end = group.rest;
	group.rest = group.ranges;
	item->groups[item->group_count++] = group;
	item->length += digits;
	item->names *= names;
	if (item->names > RI_MAX_RANKS)
		item->names = RI_MAX_RANKS + 1;
	return group.end + 1;
}

/* Read one item; false where it goes wrong, *fault is where. */
static bool read_item(struct item *item, const char *at, const char **fault)
{
	item->start = at;
	item->group_count = 0;
	item->names = 1;
	item->length = 0;
	while (*at != '\0' && strchr(separators, *at) == NULL) {
		*fault = at;
		if (*at == ']')
			return false;
		if (*at == '[') {
			at = read_group(item, at, fault);
			if (at == NULL)
				return false;
			continue;
		}
		item->length++;
		at++;
	}
	item->end = at;
	*fault = item->start;
	return item->length <= RI_MAX_NAME;
}

/* How many hosts it lists, and the bytes that their names take. */
static bool measure(struct ri_hostlist *out, const char *text, size_t *hosts, size_t *bytes)
{
	const char *at = text + strspn(text, separators), *fault;
	struct item item;

	for (; *at != '\0'; at = item.end + strspn(item.end, separators)) {
		if (!read_item(&item, at, &fault)) {
			out->reason = syntax;
			out->fault_at = (size_t)(fault - text);
			return false;
		}
		*hosts += item.names;
		*bytes += item.names * (item.length + 1);
		if (*hosts > RI_MAX_RANKS || *bytes > RI_MAX_HOSTFILE) {
			out->reason = too_long;
			out->fault_at = (size_t)(at - text);
			return false;
		}
	}
	out->reason = *hosts == 0 ? syntax : NULL;
	return *hosts > 0;
}

/* With at least as many digits as are there; printf(3) would be the most of the work. */
static char *write_name(char *to, const struct item *item)
{
	const struct group *group = item->groups;

	for (const char *at = item->start; at < item->end; at++) {
		size_t digits;
		uint64_t number;

		if (*at != '[') {
			*to++ = *at;
			continue;
		}
		digits = larger(group->width, count_digits(group->number));
		number = group->number;
		for (size_t i = digits; i-- > 0; number /= 10)
			to[i] = (char)('0' + number % 10);
		to += digits;
		at = group++->end;
	}
	*to = '\0';
	return to;
}

/* Count on by one; false after the last name. */
static bool next_name(struct item *item)
{
	for (size_t i = item->group_count; i-- > 0;) {
		struct group *group = &item->groups[i];

		if (group->number < group->last) {
			group->number++;
			return true;
		}
		if (next_range(group) > 0)
			return true;
		group->rest = group->ranges;
		next_range(group);
	}
	return false;
}

int ri_hostlist_read(struct ri_hostlist *out, const char *text, struct ri_arena *arena)
{
	size_t count = 0, room = 0, size = 0;
	const char **hosts, *fault;
	struct item item;
	char *to, *end;

	*out = (struct ri_hostlist){ .hosts = NULL };
	if (!measure(out, text, &room, &size))
		return 0;
	hosts = ri_arena_array(arena, room, sizeof(*hosts));
	to = ri_arena_alloc(arena, size);
	if (hosts == NULL || to == NULL)
		return -1;
	for (const char *at = text + strspn(text, separators); *at != '\0';
		at = item.end + strspn(item.end, separators)) {
		read_item(&item, at, &fault);
		for (size_t i = 0; i < item.group_count; i++)
			next_range(&item.groups[i]);
		do {
			end = write_name(to, &item);
			if (!ri_is_host((struct ri_span){ to, (size_t)(end - to) })) {
				out->reason = syntax;
				out->fault_at = (size_t)(at - text);
				return 0;
			}
			hosts[count++] = to;
			to = end + 1;
		} while (next_name(&item));
	}
	out->hosts = hosts;
	out->count = count;
	return 0;
}

/* "2" or "2(x3)", which ends at ',' or the end; NULL where it is none. */
static const char *read_count(const char *at, uint64_t *tasks, uint64_t *nodes)
{
	unsigned ignored;

	*nodes = 1;
	at = read_number(at, tasks, &ignored);
	if (at != NULL && *at == '(') {
		if (at[1] != 'x')
			return NULL;
		at = read_number(at + 2, nodes, &ignored);
		if (at == NULL || *at++ != ')')
			return NULL;
	}
	return at;
}

bool ri_tasks_read(const char *text, uint64_t node, struct ri_tasks *out)
{
	struct ri_tasks sum = { .nodes = 0 };
	uint64_t tasks, nodes;

	for (const char *at = text;; at++) {
		at = read_count(at, &tasks, &nodes);
		if (at == NULL || tasks == 0 || tasks > RI_MAX_RANKS || nodes == 0 ||
			nodes > RI_MAX_RANKS)
			return false;
		if (node >= sum.nodes && node - sum.nodes < nodes)
			sum.here = tasks;
		sum.nodes += nodes;
		sum.tasks += tasks * nodes;
		if (*at == '\0')
			break;
		if (*at != ',')
			return false;
	}
	*out = sum;
	return true;
}
