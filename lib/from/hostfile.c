/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar is all that Open MPI (hostfile in mpirun(1)), DeepSpeed
 * (deepspeed/launcher/runner.py, fetch_hostfile), Hydra (MPICH
 * src/pm/hydra/lib/utils/args.c) and the files of PBS and LSF have in common.
 */
#include "from/hostfile.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "from/endpoint.h"

static const char blanks[] = " \t\r\v\f";

/* Names that were seen: open addressing, index + 1 of each in hosts. */
struct seen {
	uint32_t *places;
	size_t mask;
	const char **hosts;
	uint32_t *slots;
	size_t count;
};

static size_t hash(const char *name)
{
	size_t value = 5381;

	for (; *name != '\0'; name++)
		value = value * 33 + (unsigned char)*name;
	return value;
}

/* Where the name stands, for the first time if it must; NULL where there is no room. */
static uint32_t *find_slots(struct seen *seen, const char *name)
{
	size_t at = hash(name) & seen->mask;

	for (; seen->places[at] != 0; at = (at + 1) & seen->mask)
		if (strcmp(seen->hosts[seen->places[at] - 1], name) == 0)
			return &seen->slots[seen->places[at] - 1];
	if (seen->count == RI_MAX_RANKS)
		return NULL;
	seen->hosts[seen->count++] = name;
	seen->places[at] = (uint32_t)seen->count;
	return &seen->slots[seen->count - 1];
}

static void add_once(struct seen *seen, const char *name, uint64_t slots)
{
	uint32_t *sum = find_slots(seen, name);

	if (sum == NULL)
		return;
	slots += *sum;
	*sum = slots < RI_MAX_RANKS ? (uint32_t)slots : RI_MAX_RANKS;
}

/* Cut the next word off *rest, in place; NULL where there is none. */
static char *cut_word(char **rest)
{
	char *word = *rest + strspn(*rest, blanks);

	*rest = word + strcspn(word, blanks);
	if (**rest != '\0')
		*(*rest)++ = '\0';
	return *word == '\0' ? NULL : word;
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

	line[strcspn(line, "#")] = '\0';
	host = cut_word(&line);
	if (host == NULL)
		return true;
	/* Hydra and Intel MPI write "host:slots", which reads as a port. */
	if (!ri_endpoint_read((struct ri_slice){ host, strlen(host) }, &endpoint))
		return false;
	slots = endpoint.port == 0 ? 1 : endpoint.port;
	while ((word = cut_word(&line)) != NULL)
		if (!read_slots(word, &slots))
			return false;
	host += endpoint.host.text - host;
	host[endpoint.host.length] = '\0';
	add_once(seen, host, slots);
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static int allocate(struct seen *seen, size_t lines, struct ri_arena *arena)
{
	size_t places = 2;

	while (places < 2 * lines)
		places *= 2;
	seen->mask = places - 1;
	seen->places = ri_arena_array(arena, places, sizeof(*seen->places));
	seen->hosts = ri_arena_array(arena, lines, sizeof(*seen->hosts));
	seen->slots = ri_arena_array(arena, lines, sizeof(*seen->slots));
	return seen->places == NULL || seen->hosts == NULL || seen->slots == NULL ? -1 : 0;
}

int ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_arena *arena)
{
	char *line = ri_arena_copy(arena, text, strlen(text)), *end;
	struct seen seen = { .count = 0 };
	size_t number = 1;

	if (line == NULL || allocate(&seen, count_lines(text), arena) < 0)
		return -1;
	*out = (struct ri_hostfile){ .hosts = seen.hosts, .slots = seen.slots };
	for (; line != NULL; line = end, number++) {
		end = strchr(line, '\n');
		if (end != NULL)
			*end++ = '\0';
		if (!read_line(&seen, line)) {
			out->bad_line = number;
			return 0;
		}
	}
	out->count = seen.count;
	return 0;
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
