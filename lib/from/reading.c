/* SPDX-License-Identifier: Apache-2.0 */
#include "from/reading.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/limits.h"
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

void *ri_reading_need(struct ri_reading *reading, void *given)
{
	if (given == NULL)
		ri_fail(reading->err, RI_CODE_MEMORY, reading->source->name,
			"no memory left to read this source");
	return given;
}

void *ri_reading_allocate(struct ri_reading *reading, size_t count, size_t size)
{
	return ri_reading_need(reading, ri_arena_array(reading->context->arena, count, size));
}

char *ri_reading_copy(struct ri_reading *reading, const char *text, size_t length)
{
	return ri_reading_need(reading, ri_arena_copy(reading->context->arena, text, length));
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
	if (ri_endpoint_read(ri_span_of(raw), &endpoint)) {
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

struct ri_fact *ri_claim_hosts(struct ri_reading *reading, const char *variable, char separator)
{
	const char *text = ri_reading_get(reading, variable), **hosts;
	struct ri_fact *claim = text == NULL || ri_text_is_blank(text) ? NULL
		: ri_claim(reading, RI_FACT_HOSTS, variable);
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
	struct ri_fact *claim = NULL;

	for (const struct ri_source_row *row = rows; row->name != NULL; row++) {
		if (row->take == RI_TAKE_NOTHING || (row->take == RI_TAKE_ELSE && claim != NULL))
			continue;
		claim = row->take == RI_TAKE_HOSTS
			? ri_claim_hosts(reading, row->name, row->between)
			: takes[row->take](reading, row->fact, row->name);
		if (row->stated)
			ri_claim_weigh(claim, RI_STRENGTH_STATED);
	}
}

void ri_source_read(const struct ri_source *source, struct ri_reading *reading)
{
	struct ri_fact *port;

	if (source->read == NULL)
		ri_claim_rows(reading, source->reads);
	else
		source->read(reading);
	/* the only claim in the name of no variable */
	port = source->port == 0 ? NULL : ri_claim_read(reading, RI_FACT_MASTER_PORT, NULL, "");
	if (ri_claim_weigh(port, RI_STRENGTH_DEFAULT) != NULL)
		port->number = source->port;
}

struct ri_fact *ri_claim_known(
	const struct ri_reading *reading, enum ri_fact_id id, const char *source)
{
	struct ri_fact *claim = reading->claims[id];

	while (claim != NULL && (claim->state != RI_STATE_KNOWN ||
		(source != NULL && claim->origin.source != source)))
		claim = claim->next;
	return claim;
}

bool ri_claim_number_of(const struct ri_reading *reading, enum ri_fact_id id, const char *source,
	uint64_t *out)
{
	const struct ri_fact *claim = ri_claim_known(reading, id, source);

	if (claim == NULL)
		return false;
	*out = claim->number;
	return true;
}

bool ri_claim_get(const struct ri_reading *reading, enum ri_fact_id id, uint64_t *out)
{
	return ri_claim_number_of(reading, id, reading->source->name, out);
}

struct ri_fact *ri_claim_master(struct ri_reading *reading, const struct ri_fact *hosts,
	enum ri_strength strength)
{
	struct ri_fact *claim = hosts == NULL ? NULL : ri_claim_read(reading, RI_FACT_MASTER_ADDR,
		hosts->origin.variable, hosts->origin.raw);

	if (claim == NULL)
		return NULL;
	claim->strength = strength;
	claim->state = hosts->state;
	claim->reason = hosts->reason;
	claim->fault_at = hosts->fault_at;
	if (hosts->state == RI_STATE_KNOWN)
		claim->text = hosts->list[0];
	return claim;
}

void ri_claim_first_host(struct ri_reading *reading)
{
	const struct ri_fact *hosts =
		ri_claim_known(reading, RI_FACT_HOSTS, reading->source->name);
	struct ri_fact *claim = reading->claims[RI_FACT_MASTER_ADDR];

	for (; claim != NULL; claim = claim->next)
		if (claim->origin.source == reading->source->name &&
			claim->state != RI_STATE_OPEN)
			return;
	claim = ri_claim_master(reading, hosts, RI_STRENGTH_DEFAULT);
	if (claim != NULL && ri_loopback_is(claim->text, strlen(claim->text)))
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"the first host of the list makes each node its own master");
}

bool ri_reading_is_direct(const struct ri_reading *reading)
{
	/* facts by hand change nothing */
	return reading->launcher == NULL ||
		(reading->launcher->traits & RI_TRAIT_BY_HAND) != 0;
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

bool ri_identity_is_on_one_node(const struct ri_reading *reading)
{
	const char *identity = reading->identity->name;
	uint64_t size, local;

	if (!ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, identity, &size))
		return false;
	return size == 1 || (ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE,
		identity, &local) && local == size);
}

static bool is_name(struct ri_span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!ri_is_word(text.at[i]) &&
			(i == 0 || (text.at[i] != '.' && text.at[i] != '-')))
			return false;
	return text.length > 0;
}

/*
 * Four numbers as inet_pton(3) takes them. Lists of hosts may be long, so
 * this neither copies nor calls.
 */
static bool is_ipv4(struct ri_span text)
{
	const char *at = text.at, *end = at + text.length;
	unsigned parts = 0;

	for (;;) {
		const char *start = at;
		unsigned value = 0;

		for (; at < end && ri_is_digit(*at) && at - start < 3; at++)
			value = 10 * value + (unsigned)(*at - '0');
		if (at == start || value > 255 || (*start == '0' && at - start > 1))
			return false;
		parts++;
		if (at == end || parts == 4)
			return at == end && parts == 4;
		if (*at++ != '.')
			return false;
	}
}

static bool is_ipv6(struct ri_span text)
{
	char copy[INET6_ADDRSTRLEN];
	const char *zone = memchr(text.at, '%', text.length);
	size_t length = zone == NULL ? text.length : (size_t)(zone - text.at);
	struct in6_addr address;

	if (zone != NULL && !is_name((struct ri_span){ zone + 1, text.length - length - 1 }))
		return false;
	if (length >= sizeof(copy) || memchr(text.at, '\0', length) != NULL)
		return false;
	memcpy(copy, text.at, length);
	copy[length] = '\0';
	/* connect(2) to fe80:: without a zone is EINVAL (Linux net/ipv6/tcp_ipv6.c) */
	return inet_pton(AF_INET6, copy, &address) == 1 &&
		(zone != NULL || !IN6_IS_ADDR_LINKLOCAL(&address));
}

bool ri_is_host(struct ri_span text)
{
	if (text.length == 0 || text.length > RI_MAX_NAME)
		return false;
	if (is_name(text)) {
		for (size_t i = 0; i < text.length; i++)
			if (!ri_is_digit(text.at[i]) && text.at[i] != '.')
				return true;
		return is_ipv4(text);
	}
	return memchr(text.at, ':', text.length) != NULL && is_ipv6(text);
}

/* The colon before a port, or NULL. */
static const char *find_port(struct ri_span text)
{
	const char *first = memchr(text.at, ':', text.length), *last;

	if (first == NULL)
		return NULL;
	last = memrchr(text.at, ':', text.length);
	if (*text.at != '[')
		return first == last ? first : NULL;
	return last > text.at && last[-1] == ']' ? last : NULL;
}

/* Without what isspace(3) takes for blanks, ends of lines among it. */
static struct ri_span trim(struct ri_span text)
{
	while (text.length > 0 && ri_is_space(*text.at))
		text = ri_span_skip(text, 1);
	while (text.length > 0 && ri_is_space(text.at[text.length - 1]))
		text.length--;
	return text;
}

/* Take brackets off; they are for addresses that hold colons, nothing else. */
static bool strip_brackets(struct ri_span *host)
{
	if (*host->at != '[')
		return true;
	if (host->length < 3 || host->at[host->length - 1] != ']')
		return false;
	host->at++;
	host->length -= 2;
	return memchr(host->at, ':', host->length) != NULL;
}

bool ri_endpoint_read(struct ri_span text, struct ri_endpoint *out)
{
	const struct ri_range ports = { .min = 1, .max = 65535 };
	struct ri_endpoint made = { .host = trim(text) };
	const char *colon;
	uint64_t port;
	char copy[8];
	size_t length;

	if (made.host.length == 0)
		return false;
	colon = find_port(made.host);
	if (colon != NULL) {
		/* digits alone, no blanks */
		length = (size_t)(made.host.at + made.host.length - colon - 1);
		if (length == 0 || length >= sizeof(copy) ||
			!ri_is_digit(colon[1]) || !ri_is_digit(colon[length]))
			return false;
		memcpy(copy, colon + 1, length);
		copy[length] = '\0';
		if (ri_number_read(copy, ports, &port, NULL) != RI_NUMBER_OK)
			return false;
		made.port = (unsigned)port;
		made.host.length = (size_t)(colon - made.host.at);
	}
	if (made.host.length == 0 || !strip_brackets(&made.host) || !ri_is_host(made.host))
		return false;
	*out = made;
	return true;
}

size_t ri_host_fault(const char *text, size_t length)
{
	struct ri_span host = trim((struct ri_span){ text, length });
	const char *colon;

	for (size_t i = 0; i < host.length; i++)
		if (!ri_is_word(host.at[i]) && strchr(".-:[]%", host.at[i]) == NULL)
			return (size_t)(host.at - text) + i;
	colon = host.length == 0 ? NULL : find_port(host);
	return (size_t)((colon == NULL ? host.at : colon + 1) - text);
}

const char *ri_endpoint_expect(const char *text, size_t length)
{
	struct ri_span host = trim((struct ri_span){ text, length });
	const char *colon = host.length == 0 ? NULL : find_port(host);
	size_t after = colon == NULL ? 0 : (size_t)(host.at + host.length - colon - 1);

	/* after the colon of a URL stands no port at all */
	if (colon != NULL && memchr(colon, '/', after + 1) == NULL) {
		host.length = (size_t)(colon - host.at);
		if (host.length > 0 && strip_brackets(&host) && ri_is_host(host))
			return "a port from 1 to 65535 after the colon";
	}
	if (host.length > 5 && strncasecmp(host.at + (*host.at == '['), "fe80:", 5) == 0 &&
		memchr(host.at, '%', host.length) == NULL)
		return "an address that other nodes reach, or a link-local one with its zone, as "
			"fe80::1%eth0";
	return "one host name or address";
}
