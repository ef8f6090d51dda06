/* SPDX-License-Identifier: Apache-2.0 */
#include "from/allocation.h"

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

int ri_hostfile_read(struct ri_hostfile *out, const char *text, struct ri_arena *arena)
{
	char *rest = ri_arena_copy(arena, text, strlen(text));
	struct seen seen = { .count = 0 };
	size_t lines = 1, places = 2;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	while (places < 2 * lines)
		places *= 2;
	seen.mask = places - 1;
	seen.places = ri_arena_array(arena, places, sizeof(*seen.places));
	seen.hosts = ri_arena_array(arena, lines, sizeof(*seen.hosts));
	seen.slots = ri_arena_array(arena, lines, sizeof(*seen.slots));
	if (rest == NULL || seen.places == NULL || seen.hosts == NULL || seen.slots == NULL)
		return -1;
	*out = (struct ri_hostfile){ .hosts = seen.hosts, .slots = seen.slots };
	for (size_t number = 1; rest != NULL; number++) {
		if (!read_line(&seen, cut_line(&rest))) {
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

struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_hostlist list;
	struct ri_fact *claim;

	if (raw == NULL || ri_text_is_blank(raw))
		return NULL;
	if (ri_hostlist_read(&list, raw, reading->context->arena) < 0) {
		ri_fail(reading->err, RI_CODE_MEMORY, variable, "no memory left to read it");
		return NULL;
	}
	claim = ri_claim_list_of(reading, variable, list.hosts, list.count);
	if (claim == NULL || list.reason == NULL)
		return claim;
	claim->fault_at = list.fault_at;
	return ri_claim_spoil(claim, RI_STATE_BROKEN, list.reason);
}

bool ri_allocation_read_text(struct ri_reading *reading, const char *variable,
	const char *text, struct ri_hostfile *out)
{
	if (ri_hostfile_read(out, text, reading->context->arena) == 0)
		return true;
	ri_fail(reading->err, RI_CODE_MEMORY, variable, "no memory left to read it");
	return false;
}

bool ri_allocation_read_file(struct ri_reading *reading, const char *variable,
	struct ri_hostfile *out)
{
	const struct ri_context *context = reading->context;
	const char *path = ri_reading_get(reading, variable);
	char *text;

	if (context->host == NULL || !ri_source_sees_text(context->env, variable))
		return false;
	text = ri_reading_file(reading, path, RI_MAX_HOSTFILE);
	/* It is there on the job's first node alone, and not in every container. */
	if (text == NULL && reading->err->code == RI_CODE_NONE)
		ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_IGNORED, variable,
			"the file named there cannot be read");
	if (text == NULL || !ri_allocation_read_text(reading, variable, text, out))
		return false;
	if (out->bad_line != 0)
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, RI_CODE_ENV_IGNORED,
			variable, "line %zu of the file names no host and is not used",
			out->bad_line);
	return out->count > 0;
}

struct ri_fact *ri_allocation_claim_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	struct ri_fact *claim =
		ri_claim(reading, RI_FACT_MASTER_ADDR, hosts->origin.variable);

	if (claim == NULL)
		return NULL;
	claim->state = hosts->state;
	claim->reason = hosts->reason;
	claim->fault_at = hosts->fault_at;
	if (hosts->state == RI_STATE_KNOWN)
		claim->text = hosts->list[0];
	return claim;
}

bool ri_allocation_is_direct(const struct ri_reading *reading)
{
	return reading->launcher == NULL ||
		(reading->launcher->traits & RI_TRAIT_BY_HAND) != 0;
}

bool ri_allocation_is_filled(const struct ri_reading *reading, uint64_t hosts)
{
	const char *launcher = reading->launcher->name;
	uint64_t size, local;

	return ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, launcher, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, launcher, &local) &&
		hosts * local == size;
}

void ri_allocation_guess_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	const char *launcher = reading->launcher->name;
	struct ri_fact *claim;

	if (hosts->number < 2 || ri_reading_has_master(reading))
		return;
	claim = ri_allocation_claim_master(reading, hosts);
	if (claim == NULL)
		return;
	claim->strength = RI_STRENGTH_DEFAULT;
	ri_finding_hint(ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE,
		RI_CODE_MASTER_ASSUMED, claim->origin.variable,
		"%s does not say where rank 0 runs: \"%s\" is right if it fills the machines of %s "
		"in order", launcher, claim->text, reading->source->name),
		"set MASTER_ADDR if this is another host");
}

void ri_allocation_claim(struct ri_reading *reading, const char *variable,
	const struct ri_hostfile *file, size_t from)
{
	bool direct = ri_allocation_is_direct(reading);
	struct ri_fact *hosts;

	if (file->count <= from ||
		(!direct && !ri_allocation_is_filled(reading, file->count - from)))
		return;
	hosts = ri_claim_list_of(reading, variable, file->hosts + from, file->count - from);
	if (hosts != NULL && direct)
		ri_claim_value(reading, RI_FACT_NNODES, variable, hosts->number);
	else if (hosts != NULL)
		ri_allocation_guess_master(reading, hosts);
}

void ri_allocation_note(const struct ri_reading *reading, const char *variable)
{
	if (reading->identity != NULL)
		return;
	ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE,
		RI_CODE_SOURCE_ALLOCATION, variable,
		"%s allocated the machines of this job, but did not start this process as a "
		"rank", reading->source->name);
}
