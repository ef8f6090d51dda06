/* SPDX-License-Identifier: Apache-2.0 */
#include "from/hosts.h"

#include <string.h>

#include "base/limits.h"

/*
 * The grammar is all that Open MPI (hostfile in mpirun(1)), DeepSpeed
 * (deepspeed/launcher/runner.py, fetch_hostfile), Hydra (MPICH
 * src/pm/hydra/lib/utils/args.c) and the files of PBS and LSF have in common.
 */

/* Names that were seen: open addressing, index + 1 of each in hosts. */
struct seen {
	uint32_t *places;
	size_t mask;
	const char **hosts;
	uint32_t *slots;
	size_t count;
};

/* Add to what the host has; at its first place it is one more, if there is room. */
static void add_once(struct seen *seen, const char *host, uint64_t slots)
{
	size_t at = 5381;
	uint32_t *sum;

	for (const char *byte = host; *byte != '\0'; byte++)
		at = at * 33 + (unsigned char)*byte;
	at &= seen->mask;
	while (seen->places[at] != 0 && strcmp(seen->hosts[seen->places[at] - 1], host) != 0)
		at = (at + 1) & seen->mask;
	if (seen->places[at] == 0) {
		if (seen->count == RI_MAX_RANKS)
			return;
		seen->hosts[seen->count++] = host;
		seen->places[at] = (uint32_t)seen->count;
	}
	sum = &seen->slots[seen->places[at] - 1];
	slots += *sum;
	*sum = slots < RI_MAX_RANKS ? (uint32_t)slots : RI_MAX_RANKS;
}

/*
 * Cut the next word off *rest, in place; its length is 0 where there is none. A hundred thousand
 * lines are read before a start: no tables of strspn(3) for each word.
 */
static char *cut_word(char **rest, size_t *length)
{
	char *word, *end;

	for (word = *rest; ri_is_space(*word); word++)
		;
	for (end = word; *end != '\0' && !ri_is_space(*end); end++)
		;
	*length = (size_t)(end - word);
	*rest = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

/* "slots=8", which becomes *slots; "max_slots=16", "max-slots=16" */
static bool read_slots(char *word, uint64_t *slots)
{
	const struct ri_range range = { 1, RI_MAX_RANKS };
	char *equals = strchr(word, '=');
	uint64_t value;

	if (equals == NULL)
		return false;
	*equals = '\0';
	if (ri_number_read(equals + 1, range, &value, NULL) != RI_NUMBER_OK)
		return false;
	if (strcmp(word, "slots") == 0)
		*slots = value;
	else if (strcmp(word, "max_slots") != 0 && strcmp(word, "max-slots") != 0)
		return false;
	return true;
}

/* Take one line, which is cut in place. False where it is no such line. */
static bool read_line(struct seen *seen, char *line)
{
	struct ri_endpoint endpoint;
	char *word, *host;
	uint64_t slots;
	size_t length;

	host = cut_word(&line, &length);
	if (length == 0)
		return true;
	/* Hydra and Intel MPI write "host:slots", which reads as a port. */
	if (!ri_endpoint_read((struct ri_span){ host, length }, &endpoint))
		return false;
	slots = endpoint.port == 0 ? 1 : endpoint.port;
	while (word = cut_word(&line, &length), length > 0)
		if (!read_slots(word, &slots))
			return false;
	host += endpoint.host.at - host;
	host[endpoint.host.length] = '\0';
	add_once(seen, host, slots);
	return true;
}

/* Cut the next line off *rest, in place, and its remark off the line. */
static char *cut_line(char **rest)
{
	char *line = *rest, *end = line;

	while (*end != '\0' && *end != '\n' && *end != '#')
		end++;
	*rest = *end == '#' ? strchrnul(end, '\n') : end;
	*rest = **rest == '\0' ? NULL : *rest + 1;
	*end = '\0';
	return line;
}

bool ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_reading *reading)
{
	char *rest = ri_reading_copy(reading, text, strlen(text));
	struct seen seen = { .count = 0 };
	size_t lines = 1, places = 2;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	while (places < 2 * lines)
		places *= 2;
	seen.mask = places - 1;
	seen.places = ri_reading_allocate(reading, places, sizeof(*seen.places));
	seen.hosts = ri_reading_allocate(reading, lines, sizeof(*seen.hosts));
	seen.slots = ri_reading_allocate(reading, lines, sizeof(*seen.slots));
	if (rest == NULL || seen.places == NULL || seen.hosts == NULL || seen.slots == NULL)
		return false;
	*out = (struct ri_hostfile){ .hosts = seen.hosts, .slots = seen.slots };
	for (size_t number = 1; rest != NULL; number++) {
		if (!read_line(&seen, cut_line(&rest))) {
			out->bad_line = number;
			return true;
		}
	}
	out->count = seen.count;
	return true;
}

uint32_t ri_hostfile_share(const struct ri_hostfile *file, size_t from)
{
	uint32_t share = 0;

	for (size_t i = from; i < file->count; i++) {
		if (i > from && file->slots[i] != share)
			return 0;
		share = file->slots[i];
	}
	return share;
}

struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_hostlist list;
	struct ri_fact *claim;

	if (raw == NULL || ri_text_is_blank(raw) || !ri_hostlist_read(&list, raw, reading))
		return NULL;
	claim = ri_claim_list_of(reading, variable, list.hosts, list.count);
	if (claim == NULL || list.reason == NULL)
		return claim;
	claim->fault_at = list.fault_at;
	return ri_claim_spoil(claim, RI_STATE_BROKEN, list.reason);
}

bool ri_hostfile_of_words(struct ri_hostfile *out, const char *words, bool pairs,
	struct ri_reading *reading)
{
	/* a pair of four bytes, "a 1 ", becomes a line of ten */
	size_t size = 3 * strlen(words) + sizeof(" slots=1\n"), count = 0;
	char *lines = ri_reading_allocate(reading, size, 1);
	struct ri_text text;

	if (lines == NULL)
		return false;
	text = ri_text_of(lines, size);
	for (words += strspn(words, " \t"); *words != '\0'; words += strspn(words, " \t")) {
		size_t length = strcspn(words, " \t");

		ri_text_add_bytes(&text, words, length);
		ri_text_add(&text, pairs && count++ % 2 == 0 ? " slots=" : "\n");
		words += length;
	}
	return ri_hostfile_read(out, lines, reading);
}

bool ri_hostfile_of_variable(struct ri_hostfile *out, const char *variable,
	struct ri_reading *reading)
{
	const char *path = ri_reading_get(reading, variable), *text;

	if (path == NULL || reading->context->host == NULL)
		return false;
	text = ri_reading_file(reading, path, RI_MAX_HOSTFILE);
	return text != NULL && ri_hostfile_read(out, text, reading);
}

/*
 * The names of a list are gone through twice: to know how much room they take, and to write them.
 * Only the bounds stand between a short text and a very long list.
 */

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

/* Read the brackets from '[' on; NULL where they go wrong, *fault is where. */
static const char *read_group(struct item *item, const char *at, const char **fault)
{
	struct group group = { .ranges = at + 1, .rest = at + 1 };

	*fault = at;
	if (item->group_count == MAX_GROUPS)
		return NULL;
	do {
		if (next_range(&group) != 1) {
			*fault = group.rest;
			return NULL;
		}
	} while (group.rest[-1] == ',');
	group.end = group.rest;
	group.rest = group.ranges;
	next_range(&group);
	item->groups[item->group_count++] = group;
	return group.end + 1;
}

/* Read one item, which stands at its first name; false where it goes wrong, *fault is where. */
static bool read_item(struct item *item, const char *at, const char **fault)
{
	*item = (struct item){ .start = at };
	while (*at != '\0' && strchr(separators, *at) == NULL) {
		*fault = at;
		if (*at == ']')
			return false;
		at = *at == '[' ? read_group(item, at, fault) : at + 1;
		if (at == NULL)
			return false;
	}
	item->end = at;
	return true;
}

/*
 * The name at which the item stands, of size bytes at most. Returns its length; 0: it is too long.
 * printf(3) would be the most of the work.
 */
static size_t write_name(char *to, size_t size, const struct item *item)
{
	const struct group *group = item->groups;
	size_t length = 0;

	for (const char *at = item->start; at < item->end; at++) {
		char digits[MAX_DIGITS];
		size_t count = 0;

		if (*at == '[') {
			for (uint64_t number = group->number;
				number > 0 || count < group->width; number /= 10)
				digits[count++] = (char)('0' + number % 10);
			at = group++->end;
		} else {
			digits[count++] = *at;
		}
		if (count >= size - length)
			return 0;
		while (count > 0)
			to[length++] = digits[--count];
	}
	to[length] = '\0';
	return length;
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

/* Go through the names, which are counted, and kept where there is room for them. */
static void walk(struct ri_hostlist *out, const char *text, const char **hosts, char *room,
	size_t *bytes)
{
	const char *at = text + strspn(text, separators), *fault = text;
	char name[RI_MAX_NAME + 1];
	struct item item;

	*out = (struct ri_hostlist){ .hosts = hosts };
	for (*bytes = 0; *at != '\0'; at = item.end + strspn(item.end, separators)) {
		if (!read_item(&item, at, &fault)) {
			out->reason = syntax;
			out->fault_at = (size_t)(fault - text);
			return;
		}
		out->fault_at = (size_t)(at - text);
		do {
			size_t length = write_name(name, sizeof(name), &item);

			if (!ri_is_host((struct ri_span){ name, length })) {
				out->reason = syntax;
				return;
			}
			if (out->count == RI_MAX_RANKS || *bytes + length >= RI_MAX_HOSTFILE) {
				out->reason = too_long;
				return;
			}
			if (hosts != NULL)
				hosts[out->count] = memcpy(room + *bytes, name, length + 1);
			out->count++;
			*bytes += length + 1;
		} while (next_name(&item));
	}
	out->fault_at = 0;
	out->reason = out->count == 0 ? syntax : NULL;
}

bool ri_hostlist_read(struct ri_hostlist *out, const char *text, struct ri_reading *reading)
{
	const char **hosts;
	size_t bytes;
	char *room;

	walk(out, text, NULL, NULL, &bytes);
	if (out->reason != NULL) {
		out->count = 0;
		return true;
	}
	hosts = ri_reading_allocate(reading, out->count, sizeof(*hosts));
	room = ri_reading_allocate(reading, bytes, 1);
	if (hosts == NULL || room == NULL)
		return false;
	walk(out, text, hosts, room, &bytes);
	return true;
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
