/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quoting can be undone and never lets a control through; the distance is
 * that of a plain reading of its definition. Input: words, one to a line; the
 * whole is quoted.
 */
#include "base/text.h"
#include "fuzz.h"

enum { WORDS = 8, LONG = 32 };

static unsigned hex(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The bytes behind a quoted text, without the frame; returns how many. */
static size_t unquote(const char *quoted, char *out)
{
	const char *end = quoted + strlen(quoted) - 1;
	size_t length = 0;

	CHECK(quoted[0] == '"' && end > quoted && *end == '"');
	for (const char *p = quoted + 1; p < end; p++) {
		CHECK(*p != '"');
		if (*p != '\\') {
			out[length++] = *p;
			continue;
		}
		p++;
		switch (*p) {
		case 'n':
			out[length++] = '\n';
			break;
		case 't':
			out[length++] = '\t';
			break;
		case 'r':
			out[length++] = '\r';
			break;
		case 'x':
			CHECK(end - p > 2);
			out[length++] = (char)(hex(p[1]) << 4 | hex(p[2]));
			p += 2;
			break;
		default:
			CHECK(*p == '"' || *p == '\\');
			out[length++] = *p;
		}
	}
	return length;
}

static bool is_utf8(const char *text)
{
	for (size_t length; *text != '\0'; text += length) {
		length = ri_utf8_length(text);
		if (length == 0)
			return false;
	}
	return true;
}

static void check_quote(const char *value)
{
	char quoted[RI_QUOTE_SIZE], back[RI_QUOTE_SIZE], small[16];
	size_t total = strlen(value), length, shown;
	struct ri_text text;

	CHECK(ri_quote(quoted, sizeof(quoted), value) == quoted);
	CHECK(fuzz_is_printable(quoted) && is_utf8(quoted));
	length = unquote(quoted, back);
	if (length != total || memcmp(back, value, total) != 0) {
		CHECK(length >= 3 && memcmp(back + length - 3, "...", 3) == 0);
		shown = length - 3;
		CHECK(total > RI_MAX_QUOTE && shown <= RI_MAX_QUOTE && shown > RI_MAX_QUOTE - 4);
		CHECK(memcmp(back, value, shown) == 0);
	}
	text = ri_text_of(quoted, sizeof(quoted));
	ri_text_add_quoted(&text, value);
	CHECK(!text.cut && text.length == strlen(quoted));
	for (size_t room = 1; room <= sizeof(small); room++) {
		ri_quote(small, room, value);
		CHECK(strlen(small) < room);
		CHECK(strncmp(small, quoted, strlen(small)) == 0);
	}
}

/* As long as before, and what was printable stays. */
static void check_replace(const char *value)
{
	char *copy = strdup(value);
	bool printable = fuzz_is_printable(value) && is_utf8(value);

	CHECK(copy != NULL);
	ri_text_replace_controls(copy);
	CHECK(fuzz_is_printable(copy) && is_utf8(copy) && strlen(copy) == strlen(value));
	CHECK(!printable || strcmp(copy, value) == 0);
	free(copy);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment with the whole table, as the textbooks have it. */
static unsigned plain_distance(const char *a, const char *b)
{
	unsigned d[LONG][LONG];
	size_t m = strlen(a), n = strlen(b);

	if (m >= LONG || n >= LONG)
		return LONG;
	for (size_t i = 0; i <= m; i++) {
		for (size_t j = 0; j <= n; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1);
			d[i][j] = least(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[m][n];
}

/* The only one that begins so, or is the same; several that are: the first. */
static const char *plain_begun(const char *word, const char *const names[], size_t count)
{
	size_t length = strlen(word), begun = 0;
	const char *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i], word) == 0)
			return names[i];
	for (size_t i = 0; i < count; i++) {
		if (length < 3 || strncasecmp(names[i], word, length) != 0)
			continue;
		begun++;
		found = names[i];
	}
	return begun == 1 ? found : NULL;
}

static void check_words(const char *const words[], size_t count)
{
	const char *word = words[0];
	unsigned limit = (unsigned)(strlen(word) / 3), best = LONG;
	const char *nearest = ri_text_nearest(word, words + 1, count - 1), *expected = NULL;

	limit = least(limit, 3);
	if (plain_begun(word, words + 1, count - 1) != NULL) {
		CHECK(nearest == plain_begun(word, words + 1, count - 1));
		return;
	}
	for (size_t i = 1; i < count; i++) {
		unsigned distance = ri_text_distance(word, words[i]);

		CHECK(distance == plain_distance(word, words[i]));
		CHECK(distance == ri_text_distance(words[i], word));
		if (distance <= limit && distance < best) {
			best = distance;
			expected = words[i];
		}
	}
	CHECK(nearest == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;
	const char *words[WORDS];
	size_t count = 0;

	check_quote(text);
	check_replace(text);
	while (rest != NULL && count < WORDS)
		words[count++] = strsep(&rest, "\n");
	for (size_t i = 0; i < count; i++)
		check_quote(words[i]);
	check_words(words, count);
	free(text);
	return 0;
}
