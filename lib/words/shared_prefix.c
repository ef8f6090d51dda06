/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <string.h>

enum { LEAST = 8, ENDS = 12 };	/* lines; places where the prefix may end */

static const char ends[] = " \t]:|>)";	/* the last byte of a label */

/*
 * How many bytes of a, and of b, both begin with, up to the last that may end a label. A number in
 * one is any in the other.
 */
static size_t share(struct ri_span a, struct ri_span b, size_t *of_b)
{
	size_t i = 0, j = 0, of_a = 0;
	uint64_t number;

	while (i < a.length && j < b.length) {
		size_t more_a = ri_digits_of(ri_span_skip(a, i), &number);
		size_t more_b = ri_digits_of(ri_span_skip(b, j), &number);

		if ((more_a > 0) != (more_b > 0) || (more_a == 0 && a.at[i] != b.at[j]))
			break;
		i += more_a > 0 ? more_a : 1;
		j += more_b > 0 ? more_b : 1;
		if (strchr(ends, a.at[i - 1]) == NULL)
			continue;
		of_a = i;
		*of_b = j;
	}
	return of_a;
}

struct ri_span ri_shared_prefix_find(struct ri_span text, ri_starts_line *starts)
{
	struct ri_span rest = text, line, prefix = { text.at, 0 };
	size_t with = 0, without = 0, most = 0, tried = 0, length, unused;

	while (ri_span_line(&rest, &line)) {
		bool other = line.length == 0 || line.at[0] == ' ' || starts(line);

		prefix.length = most;
		length = other ? 0 : share(prefix, line, &unused);
		if (length > 0) {
			most = length;
			with++;
		} else if (other || with >= LEAST) {
			without += line.length > 0;
		} else {	/* a run of them may begin here */
			without += with;
			prefix.at = line.at;
			most = line.length;
			with = 1;
		}
	}
	most = with >= LEAST && without * 3 <= with ? most : 0;
	for (prefix.length = 0; prefix.length < most && tried < ENDS; tried++) {
		while (prefix.length < most && strchr(ends, prefix.at[prefix.length++]) == NULL)
			continue;
		for (rest = text; ri_span_line(&rest, &line);)
			if (starts(ri_shared_prefix_skip(line, prefix)))
				return prefix;
	}
	return (struct ri_span){ text.at, 0 };
}

struct ri_span ri_shared_prefix_skip(struct ri_span line, struct ri_span prefix)
{
	size_t length = 0;

	return prefix.length > 0 && share(prefix, line, &length) == prefix.length
		? ri_span_skip(line, length) : line;
}
