/* SPDX-License-Identifier: Apache-2.0 */
/* An address, an empty line, and what answers there: what is kept of it are numbers and names. */
#include "fuzz.h"
#include "hang/ras.h"

static void check_fact(const struct ri_ras_fact *fact)
{
	char bytes[512];
	struct ri_text text;

	CHECK(fact->count > 0 && fact->listed <= fact->count && fact->listed <= RI_RAS_RANKS);
	CHECK(fact->missing == (fact->operation[0] == '\0'));
	CHECK(fact->missing || fact->begun < fact->others);
	for (size_t i = 1; i < fact->listed; i++)
		CHECK(fact->ranks[i - 1] < fact->ranks[i]);
	ri_text_init(&text, bytes, sizeof(bytes));
	ri_ras_add_fact(&text, fact);
	CHECK(!text.cut && fuzz_is_printable(bytes) && strchr(bytes, '\n') == NULL);
}

static void check_place(const char *address)
{
	struct ri_ras_place place;

	if (!ri_ras_place_read(address, &place))
		return;
	CHECK(place.port > 0 && (place.has_ipv4 || place.has_ipv6));
	CHECK(!place.has_ipv4 || place.ipv4[0] == 127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size), *address = strdup(bytes);
	struct ri_span rest = { bytes, size }, line;
	static struct ri_ras ras;

	CHECK(address != NULL);
	address[strcspn(address, "\n")] = '\0';
	check_place(address);
	free(address);
	ri_ras_is_greeting(rest);
	while (ri_span_line(&rest, &line) && line.length > 0)
		continue;
	ri_ras_read(rest, &ras);
	CHECK(ras.answer != RI_RAS_NOT_ASKED && ras.count <= RI_RAS_FACTS);
	CHECK(ras.answer == RI_RAS_READ || (ras.count == 0 && ras.dead == 0 && ras.silent == 0));
	for (size_t i = 0; i < ras.count; i++)
		check_fact(&ras.facts[i]);
	free(bytes);
	return 0;
}
