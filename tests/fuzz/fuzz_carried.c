/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an attempt is said to have left: nothing of it leads out of a table or out of a text, and
 * what is read is written so that it reads the same. The input is laid over what rankinit writes,
 * from the place on that its first two bytes say, so that more than the first check is reached.
 */
#include "report/restarts.h"
#include "fuzz.h"

static struct ri_carried carried, again;
static unsigned char bytes[RI_CARRIED_SIZE], written[RI_CARRIED_SIZE];

static size_t write_one(void)
{
	struct ri_restart *restart = &carried.restarts.items[0];

	carried = (struct ri_carried){
		.pid = 1, .attempt = 1,
		.link = { .on = true, .verdict = { .status = 122, .node = 1 },
			.text = "rank 1 failed first\n" },
		.name = "rankinit", .signature = "killed 1 3 0 9", .failure = "rank 1 failed",
		.restarts = { .launcher = ri_restarts_own, .count = 1, .all = 1 },
	};
	restart->number = restart->most = 1;
	restart->known = true;
	restart->first.end = RI_END_SIGNALED;
	restart->first.signal = 9;
	strcpy(restart->words, "ValueError: bad batch 17");
	return ri_carried_write(&carried, bytes);
}

static void look(size_t length)
{
	char line[1024];
	struct ri_text text;

	if (!ri_carried_read(&again, bytes, length))
		return;
	CHECK(ri_carried_write(&again, written) == length);
	CHECK(ri_carried_read(&carried, written, length));
	CHECK(carried.attempt == again.attempt);
	CHECK(carried.link.verdict.status == again.link.verdict.status);
	CHECK(memcmp(carried.link.key, again.link.key, RI_CARRIED_KEY) == 0);
	CHECK(strcmp(carried.link.text, again.link.text) == 0);
	CHECK(strcmp(carried.failure, again.failure) == 0);
	for (size_t i = 0; i < again.restarts.count; i++) {
		text = ri_text_of(line, sizeof(line));
		ri_restart_add_failure(&text, &again.restarts.items[i]);
		CHECK(text.length > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length = write_one(), from = 0;

	look(length);
	if (size < 2)
		return 0;
	from = (size_t)(data[0] << 8 | data[1]) % length;
	size = size - 2 < length - from ? size - 2 : length - from;
	memcpy(bytes + from, data + 2, size);
	look(length);
	look(from);
	return 0;
}
