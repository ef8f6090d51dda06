/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: a list of --require and --checks, and after a line "%%" the files of a process
 * of which limits and capabilities are read, and the name of a VM size.
 */
#include "fuzz.h"

#include "check/wishes.h"
#include "demand/demand.h"
#include "node/node.h"

/* As --checks, and as the variable of --require where the command line has some. */
static void check_others(const char *text)
{
	static struct ri_check_wishes wishes;
	struct ri_given checks = { .subject = "--checks", .value = text };
	struct ri_given stated = { .subject = "--require", .value = "gpu=8,lim.nproc" };
	struct ri_given variable = { .subject = "RANKINIT_REQUIRE", .value = text, .twin = true };
	struct ri_error err = RI_ERROR_INIT;

	memset(&wishes, 0, sizeof(wishes));
	if (ri_check_read_pick(&wishes, checks, &err) < 0)
		CHECK(err.code == RI_CODE_OPTION_VALUE && fuzz_is_printable(err.text));
	err = (struct ri_error)RI_ERROR_INIT;
	CHECK(ri_check_read_demands(&wishes, RI_ASKER_REQUIRE, stated, &err) == 0);
	if (ri_check_read_demands(&wishes, RI_ASKER_REQUIRE, variable, &err) < 0)
		CHECK(err.code == RI_CODE_OPTION_VALUE);
	CHECK(ri_demands_find(&wishes.demands, RI_TOPIC_GPU)->count == 8);
}

static void check_list(const char *text)
{
	static struct ri_check_wishes wishes;
	const struct ri_given option = { .subject = "--require", .value = text };
	struct ri_demands *demands = &wishes.demands;
	struct ri_asked *asked = &demands->of[RI_ASKER_REQUIRE];
	struct ri_error err = RI_ERROR_INIT;
	struct ri_arena arena = { 0 };
	bool some = false;

	memset(&wishes, 0, sizeof(wishes));
	CHECK(strlen(ri_check_join_demands("gpu=8,shm=4k", text, &arena)) <= strlen(text) + 13);
	ri_arena_release(&arena);
	if (ri_check_read_demands(&wishes, RI_ASKER_REQUIRE, option, &err) < 0) {
		CHECK(err.code == RI_CODE_OPTION_VALUE && err.text[0] != '\0');
		CHECK(fuzz_is_printable(err.text) && fuzz_is_printable(err.hint));
		return;
	}
	some = asked->deep || asked->size != NULL || wishes.require.value == NULL;
	ri_demands_add_size(asked, RI_ASKER_REQUIRE);
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		const struct ri_demand *demand = ri_demands_find(demands, (enum ri_topic)topic);

		some |= demand != NULL;
		CHECK(demand == NULL || (demand->count <= 1024 && demand->rate <= 100000));
		CHECK(topic != RI_TOPIC_SHM || demand == NULL || demand->size > 0);
		CHECK(ri_demands_unmet(demands, (enum ri_topic)topic, RI_DEMAND_SIZE,
			UINT64_MAX) == NULL);
	}
	for (size_t i = 0; i < ri_check_count(); i++)
		some |= ri_demands_check(demands, i, false) != NULL ||
			ri_demands_check(demands, i, true) != NULL;
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
	check_others(text);
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
