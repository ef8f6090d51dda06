/* SPDX-License-Identifier: Apache-2.0 */
#include "demand/require.h"

#include <stddef.h>
#include <string.h>

#include "image/version.h"

enum { VALUE_SIZE = 64 };

/* The operators; a longer one before that which it begins with. */
enum operator { AT_LEAST, AT_MOST, NOT, ABOVE, BELOW, EQUAL, OPERATORS };

static const char *const signs[OPERATORS] = {
	[AT_LEAST] = ">=", [AT_MOST] = "<=", [NOT] = "!=", [ABOVE] = ">", [BELOW] = "<",
	[EQUAL] = "=",
};

struct condition {
	const char *name;
	size_t length;		/* of the name */
	enum operator operator;
	char value[VALUE_SIZE];
};

/* "driver>=535" of that many bytes. */
static bool read_condition(const char *text, size_t length, struct condition *out)
{
	size_t at = strcspn(text, "<>=!"), size;

	*out = (struct condition){ .name = text, .length = at };
	if (at == 0 || at >= length)
		return false;
	while (out->operator < OPERATORS &&
		strncmp(text + at, signs[out->operator], strlen(signs[out->operator])) != 0)
		out->operator++;
	if (out->operator == OPERATORS)
		return false;
	at += strlen(signs[out->operator]);
	size = length - at;
	if (at >= length || size >= sizeof(out->value))
		return false;
	memcpy(out->value, text + at, size);
	out->value[size] = '\0';
	return true;
}

static bool is_called(const struct condition *condition, const char *name)
{
	return condition->length == strlen(name) &&
		strncmp(condition->name, name, condition->length) == 0;
}

/* order: of what there is and what is asked for, as ri_version_compare says it. */
static bool holds(enum operator operator, int order)
{
	switch (operator) {
	case AT_LEAST:
		return order >= 0;
	case AT_MOST:
		return order <= 0;
	case NOT:
		return order != 0;
	case ABOVE:
		return order > 0;
	case BELOW:
		return order < 0;
	default:
		return order == 0;
	}
}

/* Where it may also be newer than actual, only that counts which holds from there on. */
static enum ri_require compare(const struct condition *condition, const char *actual, bool newer)
{
	int order;

	if (strspn(condition->value, "0123456789.") != strlen(condition->value))
		return RI_REQUIRE_BROKEN;
	if (actual == NULL)
		return RI_REQUIRE_UNKNOWN;
	order = ri_version_compare(actual, condition->value);
	if (newer && holds(condition->operator, order) != holds(condition->operator, 1))
		return RI_REQUIRE_UNKNOWN;
	return holds(condition->operator, order) ? RI_REQUIRE_MET : RI_REQUIRE_UNMET;
}

static enum ri_require judge(const struct condition *condition,
	const struct ri_require_facts *facts)
{
	if (is_called(condition, "cuda"))
		return compare(condition, facts->cuda, facts->newer);
	if (is_called(condition, "driver"))
		return compare(condition, facts->driver, false);
	if (is_called(condition, "brand") || is_called(condition, "arch"))
		return RI_REQUIRE_UNKNOWN;
	return RI_REQUIRE_BROKEN;
}

/* One alternative: the worst of its conditions. */
static enum ri_require judge_word(const char *word, size_t length,
	const struct ri_require_facts *facts)
{
	enum ri_require worst = RI_REQUIRE_MET;

	for (const char *end = word + length; word < end; word++) {
		size_t size = strcspn(word, ",");
		struct condition condition;
		enum ri_require one;

		if (size > (size_t)(end - word))
			size = (size_t)(end - word);
		if (size == 0)
			continue;
		one = read_condition(word, size, &condition) ? judge(&condition, facts)
							     : RI_REQUIRE_BROKEN;
		worst = one < worst ? one : worst;
		word += size;
	}
	return worst;
}

enum ri_require ri_require_judge(const char *text, const struct ri_require_facts *facts)
{
	enum ri_require best = RI_REQUIRE_UNMET;
	bool some = false;
	size_t length;

	for (;; text += length) {
		enum ri_require one;

		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (length == 0)
			return some ? best : RI_REQUIRE_MET;
		one = judge_word(text, length, facts);
		if (one == RI_REQUIRE_BROKEN)
			return one;
		some = true;
		best = one > best ? one : best;
	}
}
