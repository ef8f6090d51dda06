/* SPDX-License-Identifier: Apache-2.0 */
#include "blame/pickle.h"

#include <string.h>

/* pickletools.opcodes: those that data without classes takes. */
enum opcode {
	MARK = '(', STOP = '.', NONE = 'N', NEWTRUE = 0x88, NEWFALSE = 0x89,
	BININT = 'J', BININT1 = 'K', BININT2 = 'M', LONG1 = 0x8a, BINFLOAT = 'G',
	BINUNICODE = 'X', SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d,
	EMPTY_LIST = ']', APPEND = 'a', APPENDS = 'e',
	EMPTY_TUPLE = ')', TUPLE = 't', TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87,
	EMPTY_DICT = '}', SETITEM = 's', SETITEMS = 'u',
	BINPUT = 'q', LONG_BINPUT = 'r', MEMOIZE = 0x94, BINGET = 'h', LONG_BINGET = 'j',
	PROTO = 0x80, FRAME = 0x95,
};

enum { FIRST_PROTOCOL = 2, LAST_PROTOCOL = 5 };

bool ri_pickle_is_one(const char *bytes, size_t length)
{
	return length >= 2 && (unsigned char)bytes[0] == PROTO && bytes[1] >= FIRST_PROTOCOL &&
		bytes[1] <= LAST_PROTOCOL;
}

/* A number of so many bytes, 8 at most, the lowest first. */
static bool take(struct ri_pickle *pickle, size_t bytes, uint64_t *out)
{
	if (bytes > pickle->length - pickle->at)
		return false;
	*out = 0;
	for (size_t i = 0; i < bytes; i++)
		*out |= (uint64_t)pickle->bytes[pickle->at + i] << 8 * i;
	pickle->at += bytes;
	return true;
}

static bool push(struct ri_pickle *pickle, enum ri_pickle_kind kind, int64_t number)
{
	if (pickle->depth == RI_PICKLE_STACK)
		return false;
	pickle->stack[pickle->depth++] = (struct ri_pickle_value){ .kind = kind, .number = number };
	return true;
}

/* The lowest value that the newest mark allows to take. */
static size_t floor_of(const struct ri_pickle *pickle)
{
	return pickle->marks == 0 ? 0 : pickle->mark[pickle->marks - 1];
}

/* A two's complement of so many bytes. */
static bool push_int(struct ri_pickle *pickle, size_t bytes)
{
	uint64_t number, sign;

	if (bytes > sizeof(number) || !take(pickle, bytes, &number))
		return false;
	sign = bytes == 0 ? 0 : UINT64_C(1) << (8 * bytes - 1);
	return push(pickle, RI_PICKLE_INT, (int64_t)((number ^ sign) - sign));
}

static bool push_count(struct ri_pickle *pickle, size_t bytes)
{
	uint64_t number;

	return take(pickle, bytes, &number) && push(pickle, RI_PICKLE_INT, (int64_t)number);
}

static bool push_long(struct ri_pickle *pickle)
{
	uint64_t bytes;

	return take(pickle, 1, &bytes) && push_int(pickle, (size_t)bytes);
}

static bool push_float(struct ri_pickle *pickle)
{
	uint64_t bits;

	return take(pickle, 8, &bits) && push(pickle, RI_PICKLE_NONE, 0);
}

static bool push_string(struct ri_pickle *pickle, size_t bytes)
{
	uint64_t length;

	if (!take(pickle, bytes, &length) || length > pickle->length - pickle->at ||
		length > UINT32_MAX || !push(pickle, RI_PICKLE_STRING, (int64_t)pickle->at))
		return false;
	pickle->stack[pickle->depth - 1].length = (uint32_t)length;
	pickle->at += (size_t)length;
	return true;
}

static bool push_container(struct ri_pickle *pickle, enum ri_pickle_kind kind)
{
	if (pickle->containers == RI_PICKLE_CONTAINERS ||
		!push(pickle, kind, (int64_t)pickle->containers))
		return false;
	pickle->container[pickle->containers++] = (struct ri_pickle_container){ .first = 0 };
	return true;
}

static bool add_item(struct ri_pickle *pickle, struct ri_pickle_value to,
	struct ri_pickle_value value)
{
	struct ri_pickle_container *container = &pickle->container[to.number];
	uint32_t item;

	if (pickle->items == RI_PICKLE_ITEMS)
		return false;
	item = (uint32_t)++pickle->items;
	pickle->item[item] = (struct ri_pickle_item){ .value = value };
	if (container->count++ == 0)
		container->first = item;
	else
		pickle->item[container->last].next = item;
	container->last = item;
	return true;
}

/* The values from there on become items of the one below them, which is of this kind. */
static bool add_items(struct ri_pickle *pickle, enum ri_pickle_kind kind, size_t from)
{
	size_t end = pickle->depth;

	if (from <= floor_of(pickle) || from > end || pickle->stack[from - 1].kind != kind ||
		(kind == RI_PICKLE_DICT && (end - from) % 2 != 0))
		return false;
	for (size_t i = from; i < end; i++)
		if (!add_item(pickle, pickle->stack[from - 1], pickle->stack[i]))
			return false;
	pickle->depth = from;
	return true;
}

static bool add_marked(struct ri_pickle *pickle, enum ri_pickle_kind kind)
{
	size_t from = floor_of(pickle);

	if (pickle->marks == 0)
		return false;
	pickle->marks--;
	return add_items(pickle, kind, from);
}

static bool add_last(struct ri_pickle *pickle, enum ri_pickle_kind kind, size_t count)
{
	return pickle->depth > count && add_items(pickle, kind, pickle->depth - count);
}

/* The values from there on become a tuple. */
static bool make_tuple(struct ri_pickle *pickle, size_t from)
{
	size_t end = pickle->depth;
	struct ri_pickle_value tuple;

	if (from < floor_of(pickle) || from > end || !push_container(pickle, RI_PICKLE_TUPLE))
		return false;
	tuple = pickle->stack[end];
	for (size_t i = from; i < end; i++)
		if (!add_item(pickle, tuple, pickle->stack[i]))
			return false;
	pickle->depth = from + 1;
	pickle->stack[from] = tuple;
	return true;
}

static bool make_last(struct ri_pickle *pickle, size_t count)
{
	return pickle->depth >= count && make_tuple(pickle, pickle->depth - count);
}

static bool make_marked(struct ri_pickle *pickle)
{
	return pickle->marks > 0 && make_tuple(pickle, pickle->mark[--pickle->marks]);
}

static bool set_mark(struct ri_pickle *pickle)
{
	if (pickle->marks == RI_PICKLE_MARKS)
		return false;
	pickle->mark[pickle->marks++] = (uint32_t)pickle->depth;
	return true;
}

/* An entry may be written anew, but none is left out: what was not put cannot be got. */
static bool put_at(struct ri_pickle *pickle, uint64_t index)
{
	if (pickle->depth <= floor_of(pickle) || index > pickle->memo_count ||
		index >= RI_PICKLE_MEMO)
		return false;
	pickle->memo_count += index == pickle->memo_count;
	pickle->memo[index] = pickle->stack[pickle->depth - 1];
	return true;
}

static bool put(struct ri_pickle *pickle, size_t bytes)
{
	uint64_t index;

	return take(pickle, bytes, &index) && put_at(pickle, index);
}

static bool get(struct ri_pickle *pickle, size_t bytes)
{
	uint64_t index;

	if (!take(pickle, bytes, &index) || index >= pickle->memo_count ||
		!push(pickle, RI_PICKLE_NONE, 0))
		return false;
	pickle->stack[pickle->depth - 1] = pickle->memo[index];
	return true;
}

static bool skip_frame(struct ri_pickle *pickle)
{
	uint64_t length;

	return take(pickle, 8, &length);
}

static bool do_scalar(struct ri_pickle *pickle, uint64_t opcode)
{
	switch (opcode) {
	case NONE:
		return push(pickle, RI_PICKLE_NONE, 0);
	case NEWTRUE:
	case NEWFALSE:
		return push(pickle, RI_PICKLE_BOOL, opcode == NEWTRUE);
	case BININT:
		return push_int(pickle, 4);
	case BININT1:
		return push_count(pickle, 1);
	case BININT2:
		return push_count(pickle, 2);
	case LONG1:
		return push_long(pickle);
	case BINFLOAT:
		return push_float(pickle);
	case SHORT_BINUNICODE:
		return push_string(pickle, 1);
	case BINUNICODE:
		return push_string(pickle, 4);
	case BINUNICODE8:
		return push_string(pickle, 8);
	}
	return false;
}

static bool do_one(struct ri_pickle *pickle, uint64_t opcode)
{
	switch (opcode) {
	case MARK:
		return set_mark(pickle);
	case EMPTY_LIST:
		return push_container(pickle, RI_PICKLE_LIST);
	case EMPTY_DICT:
		return push_container(pickle, RI_PICKLE_DICT);
	case EMPTY_TUPLE:
		return push_container(pickle, RI_PICKLE_TUPLE);
	case APPEND:
		return add_last(pickle, RI_PICKLE_LIST, 1);
	case APPENDS:
		return add_marked(pickle, RI_PICKLE_LIST);
	case SETITEM:
		return add_last(pickle, RI_PICKLE_DICT, 2);
	case SETITEMS:
		return add_marked(pickle, RI_PICKLE_DICT);
	case TUPLE:
		return make_marked(pickle);
	case TUPLE1:
	case TUPLE2:
	case TUPLE3:
		return make_last(pickle, (size_t)(opcode - TUPLE1 + 1));
	case BINPUT:
		return put(pickle, 1);
	case LONG_BINPUT:
		return put(pickle, 4);
	case MEMOIZE:
		return put_at(pickle, pickle->memo_count);
	case BINGET:
		return get(pickle, 1);
	case LONG_BINGET:
		return get(pickle, 4);
	case FRAME:
		return skip_frame(pickle);
	}
	return do_scalar(pickle, opcode);
}

int ri_pickle_read(struct ri_pickle *pickle, const char *bytes, size_t length)
{
	uint64_t opcode;

	if (!ri_pickle_is_one(bytes, length))
		return -1;
	pickle->bytes = (const unsigned char *)bytes;
	pickle->length = length;
	pickle->at = 2;
	pickle->items = pickle->containers = pickle->memo_count = 0;
	pickle->depth = pickle->marks = 0;
	for (;;) {
		if (!take(pickle, 1, &opcode))
			return -1;
		if (opcode == STOP)
			break;
		if (!do_one(pickle, opcode))
			return -1;
	}
	if (pickle->depth != 1 || pickle->marks != 0)
		return -1;
	pickle->root = pickle->stack[0];
	return 0;
}

static const struct ri_pickle_container *container_of(const struct ri_pickle *pickle,
	struct ri_pickle_value value)
{
	return value.kind < RI_PICKLE_LIST ? NULL : &pickle->container[value.number];
}

static bool is_string(const struct ri_pickle *pickle, struct ri_pickle_value value,
	const char *text)
{
	struct ri_span span = ri_pickle_string(pickle, value);

	return value.kind == RI_PICKLE_STRING && span.length == strlen(text) &&
		memcmp(span.at, text, span.length) == 0;
}

struct ri_pickle_value ri_pickle_get(const struct ri_pickle *pickle, struct ri_pickle_value dict,
	const char *key)
{
	struct ri_pickle_value found = { .kind = RI_PICKLE_NONE };
	uint32_t at = dict.kind == RI_PICKLE_DICT ? container_of(pickle, dict)->first : 0;

	for (; at != 0; at = pickle->item[pickle->item[at].next].next)
		if (is_string(pickle, pickle->item[at].value, key))
			found = pickle->item[pickle->item[at].next].value;
	return found;
}

static bool is_list(struct ri_pickle_value value)
{
	return value.kind == RI_PICKLE_LIST || value.kind == RI_PICKLE_TUPLE;
}

size_t ri_pickle_count(const struct ri_pickle *pickle, struct ri_pickle_value list)
{
	return is_list(list) ? container_of(pickle, list)->count : 0;
}

uint32_t ri_pickle_first(const struct ri_pickle *pickle, struct ri_pickle_value list)
{
	return is_list(list) ? container_of(pickle, list)->first : 0;
}

uint32_t ri_pickle_next(const struct ri_pickle *pickle, uint32_t item)
{
	return pickle->item[item].next;
}

struct ri_pickle_value ri_pickle_item(const struct ri_pickle *pickle, uint32_t item)
{
	return pickle->item[item].value;
}

struct ri_span ri_pickle_string(const struct ri_pickle *pickle, struct ri_pickle_value value)
{
	if (value.kind != RI_PICKLE_STRING)
		return (struct ri_span){ "", 0 };
	return (struct ri_span){ (const char *)pickle->bytes + value.number, value.length };
}
