/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump of Flight Recorder, whatever its bytes are: it is read in the memory of struct ri_pickle,
 * strings lie in the file, and what is kept has names and numbers as a watchdog's line would.
 */
#include "blame/flight.h"
#include "fuzz.h"
#include "report/works.h"

static struct ri_pickle pickle;
static struct ri_arena arena;

static void check_value(struct ri_pickle_value value)
{
	CHECK(value.kind <= RI_PICKLE_DICT);
	if (value.kind == RI_PICKLE_STRING)
		CHECK((uint64_t)value.number + value.length <= pickle.length);
	if (value.kind >= RI_PICKLE_LIST)
		CHECK((uint64_t)value.number < pickle.containers);
}

static void check_pickle(void)
{
	check_value(pickle.root);
	for (uint32_t i = 1; i <= pickle.items; i++) {
		check_value(pickle.item[i].value);
		CHECK(pickle.item[i].next <= pickle.items);
	}
	for (size_t i = 0; i < pickle.containers; i++) {
		size_t count = 0;

		for (uint32_t at = pickle.container[i].first; at != 0; at = pickle.item[at].next)
			count++;
		CHECK(count == pickle.container[i].count);
	}
}

static void check_dump(const struct ri_flight_dump *dump)
{
	CHECK(dump->rank == 13 && dump->count <= RI_FLIGHT_GROUPS);
	CHECK(dump->count == 0 || dump->latest < dump->count);
	for (size_t i = 0; i < dump->count; i++) {
		const struct ri_work *work = &dump->works[i];

		CHECK(work->group[0] != '\0' && ri_work_is_name(work->group, RI_WORK_GROUP));
		CHECK(ri_work_is_name(work->op, RI_WORK_OP));
		CHECK(work->has_sequence == (work->op[0] != '\0'));
		CHECK(work->enqueued >= -1 && work->completed >= -1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_flight_dump dump;
	const char *why = NULL;
	bool read = ri_pickle_read(&pickle, bytes, size) == 0;

	if (read)
		check_pickle();
	if (ri_flight_read(&dump, "a/flight_13", bytes, size, &pickle, &arena, &why) == 0) {
		CHECK(read);
		check_dump(&dump);
	} else {
		CHECK(why != NULL);
	}
	ri_arena_release(&arena);
	free(bytes);
	return 0;
}
