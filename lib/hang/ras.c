/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/ras.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/loopback.h"
#include "base/number.h"
#include "from/endpoint.h"
#include "base/ranges.h"

enum {
	LINE = 1024,		/* more than NCCL writes */
	GROUPS = 16,		/* of ranks that have begun as many operations */
	SHOWN = 8,		/* ranges of ranks */
	HASH = 16,		/* digits of a communicator's */
};

bool ri_ras_place_read(const char *text, struct ri_ras_place *out)
{
	struct ri_ras_place place = { .ipv4 = { 127, 0, 0, 1 } };
	struct ri_endpoint endpoint;
	char host[INET6_ADDRSTRLEN];
	struct in6_addr wide;

	if (!ri_endpoint_read((struct ri_slice){ text, strlen(text) }, &endpoint) ||
		endpoint.port == 0 || endpoint.host.length >= sizeof(host))
		return false;
	memcpy(host, endpoint.host.text, endpoint.host.length);
	host[endpoint.host.length] = '\0';
	if (strcasecmp(host, "localhost") == 0) {
		place.has_ipv4 = place.has_ipv6 = true;
	} else if (inet_pton(AF_INET, host, place.ipv4) == 1) {
		place.has_ipv4 = ri_loopback_has(place.ipv4);
	} else {
		place.has_ipv6 = inet_pton(AF_INET6, host, &wide) == 1 &&
			IN6_IS_ADDR_LOOPBACK(&wide);
	}
	if (!place.has_ipv4 && !place.has_ipv6)
		return false;
	place.port = (uint16_t)endpoint.port;
	*out = place;
	return true;
}

/* --- its text ---------------------------------------------------------------- */

static bool take(struct ri_span *rest, const char *word)
{
	if (!ri_span_starts(*rest, word))
		return false;
	*rest = ri_span_skip(*rest, strlen(word));
	return true;
}

/* One that JSON holds. */
static bool take_number(struct ri_span *rest, uint64_t *out)
{
	size_t digits = ri_digits_of(*rest, out);

	*rest = ri_span_skip(*rest, digits);
	return digits > 0 && *out <= INT64_MAX;
}

bool ri_ras_is_greeting(struct ri_span text)
{
	uint64_t version;

	return take(&text, "SERVER PROTOCOL ") && take_number(&text, &version) &&
		take(&text, "\n") && text.length == 0;
}

/* What the lines before say of those that follow. */
struct reader {
	struct ri_ras *out;
	bool has_communicator, counts;	/* counts: groups follow, and their ranks */
	uint64_t communicator;
	struct ri_ras_fact groups[GROUPS];
	size_t count;
	char operation[sizeof(((struct ri_ras_fact *)0)->operation)];
};

static void keep(struct ri_ras *out, const struct ri_ras_fact *fact)
{
	if (out->count < RI_RAS_FACTS)
		out->facts[out->count++] = *fact;
	else
		out->left_out++;
}

/* A paragraph ends: of groups that have begun the same number nothing is to be said. */
static void conclude(struct reader *reader)
{
	uint64_t most = 0;

	for (size_t i = 0; i < reader->count; i++)
		if (reader->groups[i].begun > most)
			most = reader->groups[i].begun;
	for (size_t i = 0; i < reader->count; i++) {
		struct ri_ras_fact *group = &reader->groups[i];

		group->others = most;
		if (group->missing || group->begun < most)
			keep(reader->out, group);
	}
	reader->count = 0;
	reader->counts = false;
}

static struct ri_ras_fact *begin_group(struct reader *reader, uint64_t count)
{
	struct ri_ras_fact *group;

	if (reader->count == GROUPS)
		return NULL;
	group = &reader->groups[reader->count++];
	*group = (struct ri_ras_fact){ .communicator = reader->communicator, .count = count };
	memcpy(group->operation, reader->operation, sizeof(group->operation));
	return group;
}

/* "#0-0 (27a079b828ff1a75) MISMATCH" */
static bool read_communicator(struct reader *reader, struct ri_span line)
{
	uint64_t number;
	char hash[HASH + 1];

	if (!take(&line, "#") || !take_number(&line, &number) || !take(&line, "-") ||
		!take_number(&line, &number) || !take(&line, " (") || line.length < HASH)
		return false;
	memcpy(hash, line.at, HASH);
	hash[HASH] = '\0';
	line = ri_span_skip(line, HASH);
	conclude(reader);
	reader->has_communicator = ri_hex_read(hash, &reader->communicator) == HASH &&
		take(&line, ") ");
	return true;
}

/* "  Communicator ranks have different AllReduce operation counts" */
static bool read_operation(struct reader *reader, struct ri_span line)
{
	size_t length = 0;

	if (!take(&line, "  Communicator ranks have different "))
		return false;
	conclude(reader);
	while (length < line.length && isalpha((unsigned char)line.at[length]))
		length++;
	if (length == 0 || length >= sizeof(reader->operation) || !reader->has_communicator ||
		!ri_span_starts(ri_span_skip(line, length), " operation counts"))
		return true;
	memcpy(reader->operation, line.at, length);
	reader->operation[length] = '\0';
	reader->counts = true;
	return true;
}

/* "  Missing communicator data from 2 ranks", or "... 2 job processes" */
static bool read_missing(struct reader *reader, struct ri_span line)
{
	struct ri_ras_fact *group;
	uint64_t count;

	if (!take(&line, "  Missing communicator data from ") || !take_number(&line, &count))
		return false;
	conclude(reader);
	if (ri_span_starts(line, " job process")) {
		reader->out->silent = count;
	} else if (ri_span_starts(line, " rank") && reader->has_communicator && count > 0) {
		group = begin_group(reader, count);
		group->missing = true;
		group->operation[0] = '\0';
	}
	return true;
}

/* "  2 job processes are considered dead (unreachable via the RAS network)" */
static bool read_dead(struct reader *reader, struct ri_span line)
{
	uint64_t count;

	if (!take(&line, "  ") || !take_number(&line, &count) || !take(&line, " job process"))
		return false;
	if (ri_span_has(line, " considered dead "))
		reader->out->dead = count;
	return true;
}

/* "launched up to operation 17", "not launched any operations" */
static bool read_begun(struct ri_span line, uint64_t *begun)
{
	*begun = 0;
	return take(&line, "not launched any operations") ||
		(take(&line, "launched up to operation ") && take_number(&line, begun));
}

static void add_rank(struct ri_ras_fact *group, uint64_t rank)
{
	if (rank <= INT32_MAX && group->listed < RI_RAS_RANKS && group->listed < group->count &&
		(group->listed == 0 || group->ranks[group->listed - 1] < (int64_t)rank))
		group->ranks[group->listed++] = (int64_t)rank;
}

/* "  26 ranks have launched ...", "  Rank 3 has launched ... -- GPU ...", "  Rank 3 -- GPU ..." */
static void read_ranks(struct reader *reader, struct ri_span line)
{
	struct ri_ras_fact *group;
	uint64_t number, begun;
	bool one;

	if (!take(&line, "  "))
		return;
	one = take(&line, "Rank ");
	if (!take_number(&line, &number))
		return;
	if (one && ri_span_starts(line, " -- ") && reader->count > 0) {
		add_rank(&reader->groups[reader->count - 1], number);
		return;
	}
	if (!reader->counts || !take(&line, one ? " has " : " ranks have ") ||
		!read_begun(line, &begun) || (!one && number == 0))
		return;
	group = begin_group(reader, one ? 1 : number);
	if (group == NULL)
		return;
	group->begun = begun;
	if (one)
		add_rank(group, number);
}

static void read_line(struct reader *reader, struct ri_span line)
{
	if (line.length == 0)
		conclude(reader);
	else if (!read_communicator(reader, line) && !read_operation(reader, line) &&
		!read_missing(reader, line) && !read_dead(reader, line))
		read_ranks(reader, line);
}

static bool is_line(struct ri_span line)
{
	for (size_t i = 0; i < line.length; i++)
		if (line.at[i] < ' ' || line.at[i] > '~')
			return false;
	return line.length < LINE;
}

/* Without what stands behind its last '\n', which may be as long as a line. */
static bool cut_rest(struct ri_span *text)
{
	size_t whole = text->length;

	while (whole > 0 && text->at[whole - 1] != '\n')
		whole--;
	if (!is_line(ri_span_skip(*text, whole)))
		return false;
	text->length = whole;
	return true;
}

void ri_ras_read(struct ri_span text, struct ri_ras *out)
{
	struct reader reader = { .out = out };
	struct ri_span line;

	out->answer = RI_RAS_FOREIGN;
	out->dead = out->silent = 0;
	out->count = out->left_out = 0;
	if (!cut_rest(&text) || !ri_span_starts(text, "NCCL version "))
		return;
	while (ri_span_line(&text, &line)) {
		if (!is_line(line)) {
			out->dead = out->silent = 0;
			out->count = out->left_out = 0;
			return;
		}
		read_line(&reader, line);
	}
	conclude(&reader);
	out->answer = RI_RAS_READ;
}

/* --- for people -------------------------------------------------------------- */

static void add_ranks(struct ri_text *out, const struct ri_ras_fact *fact)
{
	struct ri_ranges list = { .out = out, .between = ", ", .most = SHOWN };

	if (fact->listed < fact->count) {
		ri_text_addf(out, "%llu rank%s", (unsigned long long)fact->count,
			fact->count == 1 ? "" : "s");
		return;
	}
	ri_text_add(out, fact->count == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < fact->listed; i++)
		ri_ranges_add(&list, fact->ranks[i]);
	ri_ranges_end(&list);
}

void ri_ras_add_fact(struct ri_text *out, const struct ri_ras_fact *fact)
{
	const char *have = fact->count == 1 ? "has" : "have";

	add_ranks(out, fact);
	ri_text_addf(out, " of communicator 0x%016llx ", (unsigned long long)fact->communicator);
	if (fact->missing) {
		ri_text_addf(out, "%s not answered", have);
		return;
	}
	ri_text_addf(out, "%s begun %llu operation%s", have, (unsigned long long)fact->begun,
		fact->begun == 1 ? "" : "s");
	if (strcmp(fact->operation, "collective") != 0)
		ri_text_addf(out, " of %s", fact->operation);
	ri_text_addf(out, ", others %llu", (unsigned long long)fact->others);
}
