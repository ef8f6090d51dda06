/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data in Python's pickle format, protocols 2 to 5 (Lib/pickletools.py of CPython describes each
 * opcode): dicts, lists, tuples, strings, whole numbers, True, False and None, whose opcodes are
 * those that torch's own pickler (torch/csrc/jit/serialization/pickler.cpp) and Python's write for
 * them. Nothing is executed or imported: an opcode that would is an error. It takes the memory of
 * struct ri_pickle and no more, whatever the bytes say.
 */
#ifndef RI_BLAME_PICKLE_H
#define RI_BLAME_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
	RI_PICKLE_ITEMS = 384 << 10,	/* of all lists, tuples and dicts, of which a pair is two */
	RI_PICKLE_CONTAINERS = 128 << 10,
	RI_PICKLE_MEMO = 128 << 10,
	RI_PICKLE_STACK = 64 << 10,
	RI_PICKLE_MARKS = 64,		/* how deep lists stand in lists */
};

enum ri_pickle_kind {
	RI_PICKLE_NONE,		/* and what is not there, or a fraction, whose value is not kept */
	RI_PICKLE_BOOL,
	RI_PICKLE_INT,
	RI_PICKLE_STRING,
	RI_PICKLE_LIST,
	RI_PICKLE_TUPLE,
	RI_PICKLE_DICT,
};

struct ri_pickle_value {
	uint32_t kind;		/* enum ri_pickle_kind */
	uint32_t length;	/* of a string */
	int64_t number;		/* its value; where its string begins; which container it is */
};

/* What a list, a tuple or a dict holds: a chain of items, of a dict keys and values by turns. */
struct ri_pickle_container {
	uint32_t first, last, count;	/* indices of items, from 1; 0: none */
};

struct ri_pickle_item {
	struct ri_pickle_value value;
	uint32_t next;
};

/* About 14 MB, of which only what a pickle needs is touched; no member has to be set. */
struct ri_pickle {
	const unsigned char *bytes;
	size_t length, at;
	struct ri_pickle_value root;
	size_t items, containers, memo_count, depth, marks;
	struct ri_pickle_item item[RI_PICKLE_ITEMS + 1];
	struct ri_pickle_container container[RI_PICKLE_CONTAINERS];
	struct ri_pickle_value memo[RI_PICKLE_MEMO];
	struct ri_pickle_value stack[RI_PICKLE_STACK];
	uint32_t mark[RI_PICKLE_MARKS];
};

/* Do the bytes begin as a pickle of these protocols? */
bool ri_pickle_is_one(const char *bytes, size_t length);

/*
 * Read one whole pickle, whose bytes have to stay as long as the values are used. Returns 0, or -1
 * where it is none, breaks off, has an opcode that is not needed for data, or is too large.
 */
int ri_pickle_read(struct ri_pickle *pickle, const char *bytes, size_t length);

/* The value of a key of a dict; RI_PICKLE_NONE where it has none, or is no dict. */
struct ri_pickle_value ri_pickle_get(const struct ri_pickle *pickle, struct ri_pickle_value dict,
	const char *key);

/* How many items a list or a tuple has, 0 for any other value. */
size_t ri_pickle_count(const struct ri_pickle *pickle, struct ri_pickle_value list);

/*
 * The first item of a list or a tuple, and that behind another one, as an index; 0: there is none
 * more. A list may hold itself.
 */
uint32_t ri_pickle_first(const struct ri_pickle *pickle, struct ri_pickle_value list);
uint32_t ri_pickle_next(const struct ri_pickle *pickle, uint32_t item);
struct ri_pickle_value ri_pickle_item(const struct ri_pickle *pickle, uint32_t item);

/* The bytes of a string, as they stand in the file; empty for any other value. */
struct ri_span ri_pickle_string(const struct ri_pickle *pickle, struct ri_pickle_value value);

#endif
