/* SPDX-License-Identifier: Apache-2.0 */
#include "link/secret.h"

#include <stdbool.h>
#include <string.h>

/* Of 32 bytes that were drawn, even digits, nearly all are new; of 16 that stand twice 18 are. */
enum { NEW_LEAST = 20 };

static bool is_upper(unsigned char byte)
{
	return byte >= 'A' && byte <= 'Z';
}

static bool is_lower(unsigned char byte)
{
	return byte >= 'a' && byte <= 'z';
}

/* Where it stands on a keyboard: neighbours of a row differ by one, other bytes never do. */
static int key_of(unsigned char byte)
{
	static const char rows[] = "1234567890-= qwertyuiop[] asdfghjkl;' zxcvbnm,./";
	const char *found = memchr(rows, is_upper(byte) ? byte - 'A' + 'a' : byte,
		sizeof(rows) - 1);

	return found == NULL ? -2 * (byte + 1) : (int)(found - rows);
}

/* "aaa", "abc" and "321" */
static bool goes_on(int first, int second, int third)
{
	return second - first == third - second && second - first >= -1 && second - first <= 1;
}

/* The byte at index goes on with a run, or what it ends stood there before. */
static bool follows(const unsigned char *bytes, size_t index)
{
	const unsigned char *three = bytes + index - 2;

	if (goes_on(three[0], three[1], three[2]) ||
		goes_on(key_of(three[0]), key_of(three[1]), key_of(three[2])))
		return true;
	for (const unsigned char *seen = bytes; seen < three; seen++)
		if (memcmp(seen, three, 3) == 0)
			return true;
	return false;
}

static bool is_predictable(const unsigned char *bytes, size_t length)
{
	size_t new = 0;

	for (size_t i = 0; i < length && new < NEW_LEAST; i++)
		if (i < 2 || !follows(bytes, i))
			new++;
	return new < NEW_LEAST;
}

/* Two words or more, whose letters but the first are of one case, and nothing else. */
static bool is_words(const unsigned char *bytes, size_t length)
{
	static const char between[] = " \t\r\n-_./,:;=+!?'\"";
	bool first = true, lower = false, upper = false;
	size_t words = 0;

	for (size_t i = 0; i < length; i++) {
		bool letter = is_lower(bytes[i]) || is_upper(bytes[i]);

		if (!letter && memchr(between, bytes[i], sizeof(between) - 1) == NULL)
			return false;
		if (letter && first)
			words++;
		lower = lower || is_lower(bytes[i]);
		upper = upper || (is_upper(bytes[i]) && !first);
		first = !letter;
	}
	return words > 1 && !(lower && upper);
}

size_t ri_secret_length(const void *secret, size_t length)
{
	const char *bytes = secret;

	if (length > 0 && bytes[length - 1] == '\n')
		length--;
	return length > 0 && bytes[length - 1] == '\r' ? length - 1 : length;
}

const char *ri_secret_flaw(const void *secret, size_t length)
{
	static const char name[] = "LINK_KEY";

	/* a line of a file of variables, or a reference that no template engine replaced */
	if (memmem(secret, length, name, sizeof(name) - 1) != NULL)
		return "has the name of the variable in it";
	if (is_predictable(secret, length))
		return "repeats itself, or goes on as an alphabet or a keyboard does";
	if (is_words(secret, length))
		return "is made of words";
	return NULL;
}
