/* SPDX-License-Identifier: Apache-2.0 */
#include "node/sockets.h"

#include <string.h>

#include "base/text.h"

enum { WORD = 8, PORT = 4 };	/* hexadecimal digits */

void ri_socket_ipv4(unsigned char address[16], const void *ipv4)
{
	static const unsigned char prefix[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(address, prefix, sizeof(prefix));
	memcpy(address + sizeof(prefix), ipv4, 4);
}

bool ri_socket_is_loopback(const unsigned char address[16])
{
	static const unsigned char six[16] = { [15] = 1 };
	static const unsigned char four[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };

	return memcmp(address, six, sizeof(six)) == 0 || memcmp(address, four, sizeof(four)) == 0;
}

/* Exactly so many digits at *text, which is then behind them. */
static bool read_digits(const char **text, size_t count, uint64_t *out)
{
	char digits[WORD + 1] = "";

	if (strnlen(*text, count) < count)
		return false;
	memcpy(digits, *text, count);
	if (ri_hex_read(digits, out) != count)
		return false;
	*text += count;
	return true;
}

/* An address is one word or four, each a number as the machine has it in memory. */
static bool read_end(const char **text, struct ri_socket_end *out)
{
	uint32_t words[4] = { 0 };
	size_t count = 0;
	uint64_t number;

	*text += strspn(*text, " ");
	for (; **text != ':'; count++) {
		if (count == 4 || !read_digits(text, WORD, &number))
			return false;
		words[count] = (uint32_t)number;
	}
	(*text)++;
	if ((count != 1 && count != 4) || !read_digits(text, PORT, &number))
		return false;
	if (count == 4)
		memcpy(out->address, words, sizeof(out->address));
	else
		ri_socket_ipv4(out->address, words);
	out->port = (uint16_t)number;
	return **text == ' ';
}

bool ri_socket_read(struct ri_socket *out, const char *line)
{
	struct ri_socket made;
	uint64_t number;
	size_t digits;

	line += strspn(line, " ");
	digits = ri_digits_read(line, &number);
	if (digits == 0 || line[digits] != ':')
		return false;
	line += digits + 1;
	if (!read_end(&line, &made.local) || !read_end(&line, &made.remote))
		return false;
	line += strspn(line, " ");
	if (!read_digits(&line, 2, &number) || !ri_is_space(*line))
		return false;
	made.state = (unsigned)number;
	*out = made;
	return true;
}
