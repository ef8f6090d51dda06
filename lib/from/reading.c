/* SPDX-License-Identifier: Apache-2.0 */
#include "from/reading.h"

#include <string.h>

#include "base/loopback.h"
#include "redact/redact.h"

const char *ri_reading_get(const struct ri_reading *reading, const char *variable)
{
	const char *value;

	if (variable[0] == '-')
		return ri_wishes_get(reading->context->wishes, variable);
	value = ri_env_get(reading->context->env, variable);
	return value != NULL && ri_is_service_link(value) ? NULL : value;
}

bool ri_reading_number(const struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, uint64_t *out)
{
	const char *raw = ri_reading_get(reading, variable);

	return raw != NULL && ri_number_read(raw, ri_fact_range(id), out, NULL) == RI_NUMBER_OK;
}

char *ri_reading_file(struct ri_reading *reading, const char *path, size_t most)
{
	char *text = ri_reading_allocate(reading, most, 1);

	return text != NULL && ri_host_read(reading->context->host, path, text, most) >= 0
		? text : NULL;
}

void *ri_reading_allocate(struct ri_reading *reading, size_t count, size_t size)
{
	void *result = ri_arena_array(reading->context->arena, count, size);

	if (result == NULL)
		ri_fail(reading->err, RI_CODE_MEMORY, reading->source->name,
			"no memory left to read this source");
	return result;
}

char *ri_reading_copy(struct ri_reading *reading, const char *text, size_t length)
{
	char *copy = ri_reading_allocate(reading, length + 1, 1);

	if (copy != NULL)
		memcpy(copy, text, length);
	return copy;
}

/* The only place where claims are made. */
struct ri_fact *ri_claim_read(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *raw)
{
	struct ri_fact *claim = ri_reading_allocate(reading, 1, sizeof(*claim));
	struct ri_fact **end = &reading->claims[id];
	char *copy;

	/* as it may be shown, with its faults where they are */
	if (reading->raw != raw) {
		reading->raw = reading->masked = raw;
		if (ri_redact_finds(raw)) {
			reading->masked = copy = ri_reading_copy(reading, raw, strlen(raw));
			if (copy != NULL)
				ri_redact_mask(copy);
		}
	}
	if (claim == NULL || reading->masked == NULL)
		return NULL;
	while (*end != NULL)
		end = &(*end)->next;
	*claim = (struct ri_fact){
		.state = RI_STATE_KNOWN,
		.strength = RI_STRENGTH_SAID,
		.origin = {
			.source = reading->source->name, .variable = variable,
			.raw = reading->masked,
		},
	};
	*end = claim;
	reading->claim_count++;
	return claim;
}

struct ri_fact *ri_claim(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);

	return raw == NULL ? NULL : ri_claim_read(reading, id, variable, raw);
}

struct ri_fact *ri_claim_value(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, uint64_t number)
{
	struct ri_fact *claim = ri_claim(reading, id, variable);

	if (claim != NULL)
		claim->number = number;
	return claim;
}

struct ri_fact *ri_claim_word(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *text, enum ri_strength strength)
{
	struct ri_fact *claim = ri_claim_weigh(ri_claim(reading, id, variable), strength);

	if (claim != NULL)
		claim->text = text;
	return claim;
}

struct ri_fact *ri_claim_list_of(struct ri_reading *reading, const char *variable,
	const char *const *hosts, size_t count)
{
	struct ri_fact *claim = ri_claim_value(reading, RI_FACT_HOSTS, variable, count);

	if (claim != NULL)
		claim->list = hosts;
	return claim;
}

struct ri_fact *ri_claim_text(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, struct ri_span text)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_fact *claim = ri_claim(reading, id, variable);

	if (claim == NULL)
		return NULL;
	claim->text = strlen(raw) == text.length
		? raw
		: ri_reading_copy(reading, text.at, text.length);
	return claim->text == NULL ? NULL : claim;
}

struct ri_fact *ri_claim_number(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_fact *claim = ri_claim(reading, id, variable);

	if (claim != NULL &&
		ri_number_read(raw, ri_fact_range(id), &claim->number, &claim->fault_at) !=
			RI_NUMBER_OK)
		claim->state = RI_STATE_BROKEN;
	return claim;
}

struct ri_fact *ri_claim_filled(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);

	return raw == NULL || ri_text_is_blank(raw) ? NULL
		: ri_claim_number(reading, id, variable);
}

struct ri_fact *ri_claim_label(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);

	return raw == NULL || ri_text_is_blank(raw) ? NULL
		: ri_claim_word(reading, id, variable, raw, RI_STRENGTH_SAID);
}

struct ri_fact *ri_claim_weigh(struct ri_fact *claim, enum ri_strength strength)
{
	if (claim != NULL)
		claim->strength = strength;
	return claim;
}

struct ri_fact *ri_claim_spoil(struct ri_fact *claim, enum ri_fact_state state,
	const char *reason)
{
	if (claim != NULL) {
		claim->state = state;
		claim->reason = reason;
	}
	return claim;
}

struct ri_fact *ri_claim_broken(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *reason)
{
	return ri_claim_spoil(ri_claim(reading, id, variable), RI_STATE_BROKEN, reason);
}

struct ri_fact *ri_claim_open(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, const char *reason)
{
	return ri_claim_spoil(ri_claim(reading, id, variable), RI_STATE_OPEN, reason);
}

struct ri_fact *ri_claim_endpoint(struct ri_reading *reading, enum ri_fact_id id,
	const char *variable, unsigned *port)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_endpoint endpoint;
	struct ri_fact *claim;

	*port = 0;
	if (raw == NULL || ri_text_is_blank(raw))
		return NULL;
	if (ri_endpoint_read((struct ri_span){ raw, strlen(raw) }, &endpoint)) {
		*port = endpoint.port;
		return ri_claim_text(reading, id, variable, endpoint.host);
	}
	claim = ri_claim_broken(reading, id, variable, ri_endpoint_expect(raw, strlen(raw)));
	if (claim != NULL)
		claim->fault_at = ri_host_fault(raw, strlen(raw));
	return claim;
}

struct ri_fact *ri_claim_host(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	unsigned port;

	return ri_claim_endpoint(reading, id, variable, &port);
}

/*
 * Cut a copy of the list into hosts, in place. A separator at the very end is
 * tolerated; an empty item elsewhere is a host that somebody lost. Returns
 * how many there are, 0 where one of them is not a host: *fault_at says where.
 */
static size_t cut_hosts(char *text, char separator, const char **hosts, size_t *fault_at)
{
	struct ri_endpoint endpoint;
	size_t count = 0, length;
	char *at = text;
	bool last;

	do {
		length = (size_t)(strchrnul(at, separator) - at);
		last = at[length] == '\0';
		if (last && count > 0 && ri_text_is_blank(at))
			break;
		if (!ri_endpoint_read((struct ri_span){ at, length }, &endpoint)) {
			*fault_at = (size_t)(at - text) + ri_host_fault(at, length);
			return 0;
		}
		at[endpoint.host.at - at + (ptrdiff_t)endpoint.host.length] = '\0';
		hosts[count++] = endpoint.host.at;
		at += length + 1;
	} while (!last);
	return count;
}

struct ri_fact *ri_claim_list(
	struct ri_reading *reading, const char *variable, const char *text, char separator)
{
	struct ri_fact *claim = ri_claim(reading, RI_FACT_HOSTS, variable);
	const char **hosts;
	size_t room = 1;
	char *copy;

	if (claim == NULL)
		return NULL;
	for (const char *at = text; *at != '\0'; at++)
		room += *at == separator;
	hosts = ri_reading_allocate(reading, room, sizeof(*hosts));
	copy = ri_reading_copy(reading, text, strlen(text));
	if (hosts == NULL || copy == NULL)
		return NULL;
	if (room <= ri_fact_range(RI_FACT_HOSTS).max)
		claim->number = cut_hosts(copy, separator, hosts, &claim->fault_at);
	claim->list = hosts;
	return claim->number > 0 ? claim : ri_claim_spoil(claim, RI_STATE_BROKEN,
		"a list of host names or addresses");
}

struct ri_fact *ri_claim_hosts(struct ri_reading *reading, const char *variable, char separator)
{
	const char *raw = ri_reading_get(reading, variable);

	return raw == NULL || ri_text_is_blank(raw) ? NULL
		: ri_claim_list(reading, variable, raw, separator);
}

struct ri_fact *ri_claim_gpus(
	struct ri_reading *reading, enum ri_fact_id id, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	uint64_t none;

	if (raw != NULL &&
		ri_number_read(raw, (struct ri_range){ 0, 0 }, &none, NULL) == RI_NUMBER_OK)
		return NULL;
	return ri_claim_filled(reading, id, variable);
}

void ri_claim_rows(struct ri_reading *reading, const struct ri_source_row *rows)
{
	static struct ri_fact *(*const takes[])(
		struct ri_reading *reading, enum ri_fact_id id, const char *variable) = {
		[RI_TAKE_NUMBER] = ri_claim_number, [RI_TAKE_FILLED] = ri_claim_filled,
		[RI_TAKE_ELSE] = ri_claim_filled, [RI_TAKE_LABEL] = ri_claim_label,
		[RI_TAKE_HOST] = ri_claim_host, [RI_TAKE_GPUS] = ri_claim_gpus,
	};
	const struct ri_fact *claim = NULL;

	for (const struct ri_source_row *row = rows; row->name != NULL; row++)
		if (row->take == RI_TAKE_COMMAS || row->take == RI_TAKE_LINES)
			claim = ri_claim_hosts(reading, row->name,
				row->take == RI_TAKE_LINES ? '\n' : ',');
		else if (row->take != RI_TAKE_NOTHING &&
			(row->take != RI_TAKE_ELSE || claim == NULL))
			claim = takes[row->take](reading, row->fact, row->name);
}

void ri_source_read(const struct ri_source *source, struct ri_reading *reading)
{
	if (source->read == NULL)
		ri_claim_rows(reading, source->reads);
	else
		source->read(reading);
}

struct ri_fact *ri_claimed(const struct ri_reading *reading, enum ri_fact_id id)
{
	struct ri_fact *claim = reading->claims[id];

	while (claim != NULL && (claim->origin.source != reading->source->name ||
		claim->state != RI_STATE_KNOWN))
		claim = claim->next;
	return claim;
}

bool ri_claim_get(const struct ri_reading *reading, enum ri_fact_id id, uint64_t *out)
{
	const struct ri_fact *claim = ri_claimed(reading, id);

	if (claim == NULL)
		return false;
	*out = claim->number;
	return true;
}

void ri_claim_first_host(struct ri_reading *reading)
{
	const struct ri_fact *hosts = ri_claimed(reading, RI_FACT_HOSTS);
	struct ri_fact *claim = reading->claims[RI_FACT_MASTER_ADDR];

	for (; claim != NULL; claim = claim->next)
		if (claim->origin.source == reading->source->name &&
			claim->state != RI_STATE_OPEN)
			return;
	if (hosts == NULL)
		return;
	claim = ri_claim_read(reading, RI_FACT_MASTER_ADDR, hosts->origin.variable,
		hosts->origin.raw);
	if (claim == NULL)
		return;
	claim->text = hosts->list[0];
	claim->strength = RI_STRENGTH_DEFAULT;
	if (ri_loopback_is(claim->text, strlen(claim->text)))
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"the first host of the list makes each node its own master");
}

void ri_claim_default_port(struct ri_reading *reading, unsigned port)
{
	struct ri_fact *claim = ri_claim_weigh(
		ri_claim_read(reading, RI_FACT_MASTER_PORT, NULL, ""), RI_STRENGTH_DEFAULT);

	if (claim != NULL)
		claim->number = port;
}

bool ri_reading_has_master(const struct ri_reading *reading)
{
	return reading->claims[RI_FACT_MASTER_ADDR] != NULL ||
		ri_source_sees_text(reading->context->env, "MASTER_ADDR");
}

struct ri_fact *ri_claim_of(
	const struct ri_reading *reading, enum ri_fact_id id, const char *source)
{
	struct ri_fact *claim = reading->claims[id];

	while (claim != NULL && claim->origin.source != source)
		claim = claim->next;
	return claim;
}

bool ri_claim_number_of(const struct ri_reading *reading, enum ri_fact_id id, const char *source,
	uint64_t *out)
{
	const struct ri_fact *claim = ri_claim_of(reading, id, source);

	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return false;
	*out = claim->number;
	return true;
}
