/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the text of /proc/net/fib_trie, and after a line "%%" that of
 * /proc/net/if_inet6. Whatever is taken out of it is found again.
 */
#include "fuzz.h"

#include <arpa/inet.h>

#include "from/hosts.h"
#include "../unit/reading_of.h"

static struct ri_arena arena;

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

static void check_address(const struct ri_own_machine *own, const struct ri_address *address)
{
	char text[INET6_ADDRSTRLEN];
	const char *only[] = { text };
	const struct ri_fact hosts = { .list = only, .number = 1 };
	uint64_t place = 9;

	CHECK(inet_ntop(AF_INET6, address->bytes, text, sizeof(text)) != NULL);
	/* of the other family's file, it may be one that nobody looked for */
	if (ri_own_is(own, text) == RI_OWN_UNKNOWN)
		return;
	CHECK(ri_own_is(own, text) == RI_OWN_YES);
	CHECK(ri_own_find(own, &hosts, &place) && place == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *part = fuzz_cut_part(text);
	struct ri_own_machine own;

	CHECK(ri_own_parse(&own, text, *part == '\0' ? NULL : part, reading_of(&arena)));
	CHECK(own.count <= count_lines(text) + count_lines(part));
	for (size_t i = 0; i < own.count && i < 64; i++) {
		CHECK(i == 0 || memcmp(&own.addresses[i - 1], &own.addresses[i],
			sizeof(own.addresses[i])) <= 0);
		check_address(&own, &own.addresses[i]);
	}
	CHECK(own.count > 0 || ri_own_host(&own, &arena) == NULL);
	ri_arena_release(&arena);
	free(text);
	return 0;
}
