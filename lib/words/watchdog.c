/* SPDX-License-Identifier: Apache-2.0 */
#include "words/watchdog.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"

static const struct {
	const char *at, *enqueued, *completed;
} lines[] = {
#define RI_WATCHDOG(at_, enqueued_, completed_, versions_, source_) \
	{ at_, enqueued_, completed_ },
#define RI_COLLECTIVE(name_, sizes_, source_)
#include "words/watchdog.def"
#undef RI_WATCHDOG
#undef RI_COLLECTIVE
};

enum sizes { SIZES_ANY, SIZES_SAME };

static const struct {
	const char *name;
	enum sizes sizes;
} collectives[] = {
#define RI_WATCHDOG(at_, enqueued_, completed_, versions_, source_)
#define RI_COLLECTIVE(name_, sizes_, source_) { name_, SIZES_##sizes_ },
#include "words/watchdog.def"
#undef RI_WATCHDOG
#undef RI_COLLECTIVE
};

enum {
	LINES = sizeof(lines) / sizeof(lines[0]),
	COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]),
};

/* Take the words, and what stands before them, off *rest. */
static bool pass(struct ri_span *rest, const char *words)
{
	size_t length = strlen(words);
	const char *found = rest->length < length ? NULL
		: memmem(rest->at, rest->length, words, length);

	if (found == NULL)
		return false;
	*rest = ri_span_skip(*rest, (size_t)(found - rest->at) + length);
	return true;
}

static bool take_number(struct ri_span *rest, uint64_t *out)
{
	size_t digits = ri_digits_of(*rest, out);

	*rest = ri_span_skip(*rest, digits);
	return digits > 0;
}

/* -1 is that of none. */
static bool take_last(struct ri_span *rest, int64_t *out)
{
	uint64_t number;

	if (ri_span_starts(*rest, "-1")) {
		*rest = ri_span_skip(*rest, 2);
		*out = -1;
		return true;
	}
	if (!take_number(rest, &number) || number > INT64_MAX)
		return false;
	*out = (int64_t)number;
	return true;
}

static bool is_of_name(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		(c != '\0' && strchr("_:.-()", c) != NULL);
}

/* Up to one of the ends; nothing where it is longer or has other bytes than a name. */
static bool take_name(struct ri_span *rest, const char *ends, char *out, size_t size)
{
	size_t length = 0;

	while (length < rest->length && strchr(ends, rest->at[length]) == NULL) {
		if (length + 1 >= size || !is_of_name(rest->at[length]))
			return false;
		out[length] = rest->at[length];
		length++;
	}
	out[length] = '\0';
	*rest = ri_span_skip(*rest, length);
	return length > 0;
}

/* "[PG ID 1 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] ", "[PG 0 (default_pg) Rank 1] ". */
static void read_group(struct ri_span line, char out[RI_WORK_GROUP])
{
	char id[RI_WORK_GROUP / 2], name[RI_WORK_GROUP / 2 - 1];
	struct ri_span rest = line;
	struct ri_text group;
	bool guid, named;

	out[0] = '\0';
	if (!pass(&rest, "[PG "))
		return;
	guid = ri_span_starts(rest, "ID ") && pass(&rest, " PG GUID ");
	if (!take_name(&rest, "( ", id, sizeof(id)))
		return;
	rest = ri_span_skip(rest, !guid && ri_span_starts(rest, " ("));
	named = ri_span_starts(rest, "(");
	rest = ri_span_skip(rest, named);
	if (named && (!take_name(&rest, ")", name, sizeof(name)) || !pass(&rest, ")")))
		return;
	if (!ri_span_starts(rest, " Rank ") || !(guid || named))
		return;
	ri_text_init(&group, out, RI_WORK_GROUP);
	if (named && strcmp(name, RI_WORK_DEFAULT) == 0)
		ri_text_add(&group, name);
	else
		ri_text_addf(&group, named ? "%s(%s)" : "%s", id, name);
}

/* What stands in "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=..." */
static bool read_work(struct ri_span line, struct ri_work *out)
{
	struct ri_span rest = line, size;

	*out = (struct ri_work){ .enqueued = -1, .completed = -1 };
	if (!pass(&rest, "collective operation timeout: WorkNCCL("))
		return false;
	if (ri_span_starts(rest, "SeqNum=")) {
		pass(&rest, "SeqNum=");
		out->has_sequence = take_number(&rest, &out->sequence);
		rest = ri_span_skip(rest, 2);
	}
	if (!ri_span_starts(rest, "OpType=") || !pass(&rest, "OpType=") ||
		!take_name(&rest, ",)", out->op, sizeof(out->op)))
		return false;
	size = rest;
	out->has_size = ri_span_starts(size, ", NumelIn=") && pass(&size, "=") &&
		take_number(&size, &out->in) && ri_span_starts(size, ", NumelOut=") &&
		pass(&size, "=") && take_number(&size, &out->out);
	read_group(line, out->group);
	return true;
}

/* One of the table; *at is the number of the work that failed, where it is told. */
static bool read_status(struct ri_span line, struct ri_work *out, bool *has_at, uint64_t *at)
{
	for (size_t i = 0; i < LINES; i++) {
		struct ri_span rest = line;

		*out = (struct ri_work){ .has_status = true };
		*has_at = lines[i].at[0] != '\0';
		if ((*has_at && (!pass(&rest, lines[i].at) || !take_number(&rest, at))) ||
			!pass(&rest, lines[i].enqueued) || !take_last(&rest, &out->enqueued) ||
			!pass(&rest, lines[i].completed) || !take_last(&rest, &out->completed))
			continue;
		read_group(line, out->group);
		return true;
	}
	return false;
}

/* Two lines of the same work: what the second one adds. */
static void add_work(struct ri_work *work, const struct ri_work *again)
{
	if (work->op[0] == '\0')
		*work = *again;
	else if (work->group[0] == '\0' && ri_work_is_same(work, again))
		ri_text_copy(work->group, RI_WORK_GROUP, again->group);
}

static void add_status(struct ri_work *work, const struct ri_work *status)
{
	if (work->has_status || strcmp(work->group, status->group) != 0)
		return;
	work->has_status = true;
	work->enqueued = status->enqueued;
	work->completed = status->completed;
}

bool ri_work_find(struct ri_span text, struct ri_work *out)
{
	struct ri_work work = { .op = "" }, heard = { .op = "" }, read;
	struct ri_span line;
	bool has_at;
	uint64_t at = 0;

	while (ri_span_line(&text, &line)) {
		if (read_work(line, &read)) {
			add_work(&work, &read);
		} else if (read_status(line, &read, &has_at, &at)) {
			/* the line behind that of the work names its group */
			if (has_at && work.group[0] == '\0' && work.has_sequence &&
				work.sequence == at)
				ri_text_copy(work.group, RI_WORK_GROUP, read.group);
			if (has_at)
				add_status(&work, &read);
			else if (!heard.has_status)
				heard = read;
		}
	}
	if (work.op[0] == '\0' && !heard.has_status)
		return false;
	*out = work.op[0] == '\0' ? heard : work;
	return true;
}

static size_t index_of(const char *op)
{
	size_t i = 0;

	while (i < COLLECTIVES && strcmp(collectives[i].name, op) != 0)
		i++;
	return i;
}

bool ri_work_waits(const struct ri_work *work)
{
	return work->has_sequence && index_of(work->op) < COLLECTIVES;
}

bool ri_work_is_same(const struct ri_work *a, const struct ri_work *b)
{
	size_t index = index_of(a->op);

	if (strcmp(a->op, b->op) != 0 || a->has_sequence != b->has_sequence ||
		a->sequence != b->sequence)
		return false;
	return index == COLLECTIVES || collectives[index].sizes == SIZES_ANY || !a->has_size ||
		!b->has_size || (a->in == b->in && a->out == b->out);
}
