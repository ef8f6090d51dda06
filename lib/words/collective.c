/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <string.h>

enum what { WORK, STATUS, GROUP };

static const struct {
	enum what what;
	const char *shape;
} rows[] = {
#define RI_WATCHDOG(what_, shape_, versions_) { what_, shape_ },
#include "words/collective.def"
};

enum sizes { SIZES_ANY, SIZES_SAME };

static const struct {
	const char *name;
	enum sizes sizes;
} collectives[] = {
#define RI_COLLECTIVE(name_, sizes_, source_) { name_, SIZES_##sizes_ },
#include "words/collective.def"
};

enum {
	COLLECTIVES = RI_ARRAY_SIZE(collectives),
	LINES = 512,		/* that are looked at for what torch compares */
};

/* What one line tells. */
struct watchdog_line {
	struct ri_work work;
	char id[RI_WORK_GROUP / 2], name[RI_WORK_GROUP / 2 - 1];	/* of its group */
	bool has_at;
	uint64_t at;		/* the number of the work that failed */
};

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

/* Up to one of the ends; nothing where it is longer or has other bytes than a name. */
static bool take_name(struct ri_span *rest, const char *ends, char *out, size_t size)
{
	size_t length = 0;

	while (length < rest->length && strchr(ends, rest->at[length]) == NULL) {
		char c = rest->at[length];

		if (length + 1 >= size ||
			!(ri_is_word(c) || (c != '\0' && strchr(":.-()", c) != NULL)))
			return false;
		out[length++] = c;
	}
	out[length] = '\0';
	*rest = ri_span_skip(*rest, length);
	return length > 0;
}

/* A field of the shapes in collective.def. */
static bool take(char what, struct ri_span *rest, void *out)
{
	struct watchdog_line *says = out;
	struct ri_work *work = &says->work;
	uint64_t any;

	switch (what) {
	case 'q':
		return work->has_sequence = take_number(rest, &work->sequence);
	case 'o':
		return take_name(rest, ",)", work->op, sizeof(work->op));
	case 'i':
		return take_number(rest, &work->in);
	case 'u':
		return work->has_size = take_number(rest, &work->out);
	case 'a':
		return says->has_at = take_number(rest, &says->at);
	case 'e':
		return take_last(rest, &work->enqueued);
	case 'c':
		return work->has_status = take_last(rest, &work->completed);
	case 'g':
		return take_name(rest, "( ", says->id, sizeof(says->id));
	case 'n':
		return take_name(rest, ")", says->name, sizeof(says->name));
	default:
		return take_number(rest, &any);
	}
}

/* Does the line tell this? */
static bool read_line(struct ri_span line, enum what what, struct watchdog_line *out)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++) {
		if (rows[i].what != what)
			continue;
		*out = (struct watchdog_line){ .work = { .enqueued = -1, .completed = -1 } };
		if (ri_shape_read(line, rows[i].shape, take, out))
			return true;
	}
	return false;
}

/* "37(TENSOR_MODEL_PARALLEL_GROUP)", "default_pg" */
static void read_group(struct ri_span line, char out[RI_WORK_GROUP])
{
	struct watchdog_line says;
	struct ri_text group = ri_text_of(out, RI_WORK_GROUP);

	if (!read_line(line, GROUP, &says))
		return;
	if (strcmp(says.name, RI_WORK_DEFAULT) == 0)
		ri_text_add(&group, says.name);
	else
		ri_text_addf(&group, says.name[0] != '\0' ? "%s(%s)" : "%s", says.id, says.name);
}

bool ri_work_find(struct ri_span text, struct ri_work *out)
{
	struct ri_work work = { .op = "" }, heard = { .op = "" };
	struct ri_span line;
	struct watchdog_line says;

	while (ri_span_line(&text, &line)) {
		if (read_line(line, WORK, &says)) {
			read_group(line, says.work.group);
			/* of two lines of the same work the second one may name its group */
			if (work.op[0] == '\0')
				work = says.work;
			else if (work.group[0] == '\0' && ri_work_is_same(&work, &says.work))
				ri_text_copy(work.group, RI_WORK_GROUP, says.work.group);
		} else if (read_line(line, STATUS, &says)) {
			read_group(line, says.work.group);
			/* the line behind that of the work names its group */
			if (says.has_at && work.group[0] == '\0' && work.has_sequence &&
				work.sequence == says.at)
				ri_text_copy(work.group, RI_WORK_GROUP, says.work.group);
			if (!says.has_at && !heard.has_status)
				heard = says.work;
			if (!says.has_at || work.has_status ||
				strcmp(work.group, says.work.group) != 0)
				continue;
			work.has_status = true;
			work.enqueued = says.work.enqueued;
			work.completed = says.work.completed;
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

/* The bytes that belong to it, as many as there is room for. */
static void copy(char *out, size_t size, struct ri_span text, bool (*is_of)(char))
{
	size_t length = 0;

	while (length + 1 < size && length < text.length && is_of(text.at[length])) {
		out[length] = text.at[length];
		length++;
	}
	out[length] = '\0';
}

static bool is_of_shape(char c)
{
	return ri_is_digit(c) || c == ',' || c == ' ';
}

/* "Rank 7 is running collective: CollectiveFingerPrint(...)", up to the other one's. */
static bool read_call(struct ri_span text, struct ri_fingerprint *out)
{
	static const char running[] = " is running collective: CollectiveFingerPrint";
	size_t digits;

	*out = (struct ri_fingerprint){ .sequence = 0 };
	digits = ri_digits_of(text, &out->rank);
	text = ri_span_skip(text, digits);
	if (digits == 0 || !ri_span_starts(text, running))
		return false;
	/* "(SequenceNumber=101, OpType=REDUCE, TensorShape=[1], ...)"; a barrier has no shape */
	text = ri_span_skip(text, sizeof(running) - 1);
	copy(out->op, sizeof(out->op), ri_span_after(text, "OpType="), ri_is_word);
	out->has_sequence =
		ri_digits_of(ri_span_after(text, "(SequenceNumber="), &out->sequence) > 0;
	copy(out->shape, sizeof(out->shape), ri_span_after(text, ", TensorShape=["), is_of_shape);
	return out->op[0] != '\0';
}

bool ri_fingerprints_find(struct ri_span text, struct ri_fingerprint out[2])
{
	static const char mismatch[] = "Detected mismatch between collectives on ranks. Rank ";
	struct ri_span line, own, other;
	struct ri_fingerprint calls[2];

	for (int i = 0; i < LINES && ri_span_last_line(&text, &line); i++) {
		own = ri_span_after(line, mismatch);
		other = ri_span_after(own, ", but Rank ");
		own.length -= other.length;
		if (!read_call(own, &calls[0]) || !read_call(other, &calls[1]))
			continue;
		memcpy(out, calls, sizeof(calls));
		return true;
	}
	return false;
}
