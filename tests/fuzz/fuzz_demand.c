/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: a list of --require, and after a line "%%" the files of a process
 * of which limits and capabilities are read, and the name of a VM size.
 */
#include "fuzz.h"

#include "demand/azure_size.h"
#include "demand/demand.h"
#include "node/allowed.h"

static void check_list(const char *text)
{
	static const char *const ids[] = { "shm.size", "ib.libs", NULL };
	const struct ri_demand_list list = {
		.text = text, .subject = "--require", .asker = RI_ASKER_REQUIRE, .ids = ids,
	};
	struct ri_demands demands = { .by_id = { { 0 } } };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_arena arena = { 0 };
	bool some = false, none;

	CHECK(strlen(ri_demands_join("gpu=8,shm=4k", text, &arena)) <= strlen(text) + 13);
	ri_arena_release(&arena);
	if (ri_demands_skip_none(text, &none) == NULL)
		CHECK(none && strcmp(text, "none") == 0);
	if (ri_demands_read(&demands, &list, &err) < 0) {
		CHECK(err.code == RI_CODE_OPTION_VALUE && err.text[0] != '\0');
		CHECK(fuzz_is_printable(err.text) && fuzz_is_printable(err.hint));
		return;
	}
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		const struct ri_demand *demand = ri_demands_find(&demands, (enum ri_topic)topic);

		some |= demand != NULL;
		CHECK(demand == NULL || (demand->count <= 1024 && demand->rate <= 100000));
		CHECK(topic != RI_TOPIC_SHM || demand == NULL || demand->size > 0);
		CHECK(ri_demands_unmet(&demands, (enum ri_topic)topic, RI_DEMAND_SIZE,
			UINT64_MAX) == NULL);
	}
	for (size_t i = 0; i < 2; i++)
		some |= ri_demands_check(&demands, i) != NULL;
	CHECK(some);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = fuzz_cut_part(text);
	char shown[RI_SIZE_TEXT];
	struct ri_status status;
	struct ri_limit limit;
	uint64_t bytes = 0;

	text[strcspn(text, "\n")] = '\0';
	check_list(text);
	if (ri_size_read(text, strlen(text), &bytes))
		CHECK(strlen(ri_size_show(shown, bytes)) < sizeof(shown));
	for (unsigned name = 0; name < RI_LIMIT_COUNT; name++)
		ri_limit_read(rest, (enum ri_limit_name)name, &limit);
	if (ri_status_read(rest, &status))
		CHECK(status.seccomp >= -1 && status.seccomp <= 2);
	ri_azure_size_find(rest);
	free(text);
	return 0;
}
