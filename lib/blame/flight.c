/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/flight.h"

#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "base/text.h"

enum {
	MEMBERS = 64,		/* of an entry; those of a dict that has more are not looked for */
	ENTRIES = 16384,	/* torch keeps 2,000 unless TORCH_FR_BUFFER_SIZE says more */
	TENSORS = 64,		/* of a collective whose sizes are compared */
	DIMENSIONS = 16,
	NANOSECONDS = 1000,	/* in a microsecond */
};

static const char no_dump[] = "it is no dump of torch's Flight Recorder";

/* One entry, of which only what is compared. */
struct entry {
	char group[RI_WORK_GROUP];
	char name[RI_WORK_GROUP / 2];	/* of the group, without its description */
	struct ri_span op;	/* without the backend's name */
	bool gloo, ended, of_two;	/* a send or a receive is of two ranks */
	int64_t sequence, at;
	bool has_size;
	uint64_t in, out;
};

static struct ri_pickle_value member(const struct ri_pickle *pickle, struct ri_pickle_value entry,
	const char *key)
{
	return ri_pickle_get(pickle, entry, key);
}

static bool is_word(struct ri_span span, const char *word)
{
	return span.length == strlen(word) && memcmp(span.at, word, span.length) == 0;
}

/* A part of a name; anything else than what the watchdog's names consist of is none. */
static bool read_name(struct ri_span span, char *out, size_t size)
{
	if (span.length >= size || memchr(span.at, '\0', span.length) != NULL)
		return false;
	memcpy(out, span.at, span.length);
	out[span.length] = '\0';
	return ri_work_is_name(out, size);
}

/* "default_pg", "37(tp)", "37": a name and a description, which may be "undefined" or empty. */
static bool read_group(const struct ri_pickle *pickle, struct ri_pickle_value names,
	struct entry *out)
{
	char words[RI_WORK_GROUP / 2 - 1];
	uint32_t first = ri_pickle_first(pickle, names);
	struct ri_span description;
	struct ri_text text;

	if (ri_pickle_count(pickle, names) != 2 ||
		!read_name(ri_pickle_string(pickle, ri_pickle_item(pickle, first)),
			out->name, sizeof(out->name)))
		return false;
	description = ri_pickle_string(pickle,
		ri_pickle_item(pickle, ri_pickle_next(pickle, first)));
	if (!read_name(description, words, sizeof(words)))
		return false;
	ri_text_init(&text, out->group, RI_WORK_GROUP);
	if (strcmp(words, RI_WORK_DEFAULT) == 0)
		ri_text_add(&text, words);
	else if (words[0] == '\0' || strcmp(words, "undefined") == 0)
		ri_text_add(&text, out->name);
	else
		ri_text_addf(&text, "%s(%s)", out->name, words);
	return out->group[0] != '\0';
}

/* The elements of one tensor. */
static bool multiply(const struct ri_pickle *pickle, struct ri_pickle_value sizes, uint64_t *out)
{
	*out = 1;
	if (sizes.kind != RI_PICKLE_LIST || ri_pickle_count(pickle, sizes) > DIMENSIONS)
		return false;
	for (uint32_t at = ri_pickle_first(pickle, sizes); at != 0;
		at = ri_pickle_next(pickle, at)) {
		struct ri_pickle_value size = ri_pickle_item(pickle, at);

		if (size.kind != RI_PICKLE_INT || size.number < 0 ||
			__builtin_mul_overflow(*out, (uint64_t)size.number, out))
			return false;
	}
	return true;
}

/* The elements of all of them. */
static bool read_elements(const struct ri_pickle *pickle, struct ri_pickle_value list,
	uint64_t *out)
{
	uint64_t elements;

	*out = 0;
	if (list.kind != RI_PICKLE_LIST || ri_pickle_count(pickle, list) > TENSORS)
		return false;
	for (uint32_t at = ri_pickle_first(pickle, list); at != 0;
		at = ri_pickle_next(pickle, at))
		if (!multiply(pickle, ri_pickle_item(pickle, at), &elements) ||
			__builtin_add_overflow(*out, elements, out))
			return false;
	return true;
}

/* "nccl:all_reduce" */
static bool read_op(struct ri_span name, struct entry *out)
{
	const char *colon = memchr(name.at, ':', name.length);

	if (colon == NULL)
		return false;
	out->gloo = is_word((struct ri_span){ name.at, (size_t)(colon - name.at) }, "gloo");
	out->op = ri_span_skip(name, (size_t)(colon - name.at) + 1);
	return true;
}

static bool read_entry(const struct ri_pickle *pickle, struct ri_pickle_value value,
	struct entry *out)
{
	struct ri_pickle_value sequence, at, of_two;

	*out = (struct entry){ .at = 0 };
	if (value.kind != RI_PICKLE_DICT || pickle->container[value.number].count > 2 * MEMBERS)
		return false;
	sequence = member(pickle, value, "collective_seq_id");
	at = member(pickle, value, "time_created_ns");
	of_two = member(pickle, value, "is_p2p");
	if (sequence.kind != RI_PICKLE_INT || sequence.number < 0 || at.kind != RI_PICKLE_INT ||
		!read_group(pickle, member(pickle, value, "process_group"), out) ||
		!read_op(ri_pickle_string(pickle, member(pickle, value, "profiling_name")), out))
		return false;
	out->sequence = sequence.number;
	out->at = at.number / NANOSECONDS;
	out->of_two = of_two.kind == RI_PICKLE_BOOL && of_two.number != 0;
	out->ended = is_word(ri_pickle_string(pickle, member(pickle, value, "state")), "completed");
	out->has_size = read_elements(pickle, member(pickle, value, "input_sizes"), &out->in) &&
		read_elements(pickle, member(pickle, value, "output_sizes"), &out->out);
	return true;
}

/*
 * Of the list of its ranks, "[0, 1]"; 0: there is none. Groups that were split off together have
 * one name where torch does not make it of their ranks (distributed_c10d.py, split_group). FNV-1a.
 */
static uint64_t digest_members(const struct ri_pickle *pickle, const char *group)
{
	struct ri_pickle_value all = ri_pickle_get(pickle, pickle->root, "pg_config");
	struct ri_span ranks = ri_pickle_string(pickle,
		ri_pickle_get(pickle, ri_pickle_get(pickle, all, group), "ranks"));
	uint64_t digest = UINT64_C(0xcbf29ce484222325);

	if (ranks.length == 0 || is_word(ranks, "[]"))
		return 0;
	for (size_t i = 0; i < ranks.length; i++)
		digest = (digest ^ (unsigned char)ranks.at[i]) * UINT64_C(0x100000001b3);
	return digest;
}

/* The work of its group, which may be its first; NULL: there are too many groups. */
static struct ri_work *find_work(struct ri_flight_dump *dump, const struct ri_pickle *pickle,
	const struct entry *entry)
{
	struct ri_work *work;

	for (size_t i = 0; i < dump->count; i++)
		if (strcmp(dump->works[i].group, entry->group) == 0)
			return &dump->works[i];
	if (dump->count == RI_FLIGHT_GROUPS)
		return NULL;
	work = &dump->works[dump->count++];
	*work = (struct ri_work){
		.members = digest_members(pickle, entry->name),
		.has_status = true, .enqueued = -1, .completed = -1,
	};
	ri_text_copy(work->group, RI_WORK_GROUP, entry->group);
	return work;
}

static void add_entry(struct ri_flight_dump *dump, const struct ri_pickle *pickle,
	const struct entry *entry)
{
	struct ri_work *work = find_work(dump, pickle, entry);
	bool waits = work != NULL && work->op[0] != '\0';

	dump->last = entry->at > dump->last ? entry->at : dump->last;
	if (entry->of_two && !entry->gloo)
		dump->waits_for_one |= !entry->ended;
	if (entry->of_two || work == NULL)
		return;
	dump->latest = (size_t)(work - dump->works);
	work->enqueued = entry->sequence;
	if (entry->gloo || entry->ended)
		work->completed = waits && !entry->gloo ? work->completed : entry->sequence;
	if ((waits && !entry->gloo) || entry->ended)
		return;
	if (!read_name(entry->op, work->op, sizeof(work->op)))
		work->op[0] = '\0';
	work->has_sequence = work->op[0] != '\0';
	work->sequence = (uint64_t)entry->sequence;
	work->has_size = entry->has_size;
	work->in = entry->in;
	work->out = entry->out;
}

static bool read_entries(struct ri_flight_dump *dump, const struct ri_pickle *pickle)
{
	struct ri_pickle_value entries = ri_pickle_get(pickle, pickle->root, "entries");
	struct entry entry;
	size_t gloo = 0;

	if (entries.kind != RI_PICKLE_LIST || ri_pickle_count(pickle, entries) > ENTRIES)
		return false;
	for (uint32_t at = ri_pickle_first(pickle, entries); at != 0;
		at = ri_pickle_next(pickle, at)) {
		if (!read_entry(pickle, ri_pickle_item(pickle, at), &entry))
			return false;
		gloo += entry.gloo;
		add_entry(dump, pickle, &entry);
	}
	dump->ends = gloo == 0;
	return gloo == 0 || gloo == ri_pickle_count(pickle, entries);
}

static int64_t rank_of(const char *file)
{
	size_t length = strlen(file), digits = 0;
	uint64_t rank;

	while (digits < length && file[length - digits - 1] >= '0' &&
		file[length - digits - 1] <= '9')
		digits++;
	if (digits == 0 || ri_digits_read(file + length - digits, &rank) != digits ||
		rank >= RI_MAX_RANKS)
		return -1;
	return (int64_t)rank;
}

/* Keep the works, of which there were as many as a dump may have. */
static int keep(struct ri_flight_dump *out, const struct ri_flight_dump *dump,
	struct ri_arena *arena)
{
	struct ri_work *works = ri_arena_array(arena, dump->count + 1, sizeof(*works));

	if (works == NULL)
		return -1;
	memcpy(works, dump->works, dump->count * sizeof(*works));
	*out = *dump;
	out->works = works;
	return 0;
}

int ri_flight_read(struct ri_flight_dump *out, const char *file, const char *bytes, size_t length,
	struct ri_pickle *pickle, struct ri_arena *arena, const char **why)
{
	struct ri_work works[RI_FLIGHT_GROUPS];
	struct ri_flight_dump dump = { .file = file, .rank = rank_of(file), .works = works };
	struct ri_span version;

	*why = no_dump;
	if (ri_pickle_read(pickle, bytes, length) < 0 || pickle->root.kind != RI_PICKLE_DICT ||
		pickle->container[pickle->root.number].count > 2 * MEMBERS)
		return -1;
	version = ri_pickle_string(pickle, ri_pickle_get(pickle, pickle->root, "version"));
	if (version.length > 0 && !ri_span_starts(version, "2.")) {
		*why = "it is a dump of another version of torch's Flight Recorder";
		return -1;
	}
	if (version.length == 0 || !read_entries(&dump, pickle))
		return -1;
	*why = "its name does not end with the number of a rank";
	if (dump.rank < 0)
		return -1;
	*why = "no memory left for it";
	return keep(out, &dump, arena);
}
