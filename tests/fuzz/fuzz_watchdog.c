/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank wrote names a work by letters and digits; one alone is out of step with three. */
#include "fuzz.h"
#include "report/culprit.h"

enum { RANKS = 16 };

static bool is_name(const char *text)
{
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:.-()")
		== strlen(text);
}

static void check_work(const struct ri_work *work)
{
	CHECK(is_name(work->op) && is_name(work->group));
	CHECK(work->op[0] != '\0' || work->has_status);
	CHECK(!work->has_status || (work->enqueued >= -1 && work->completed >= -1));
	CHECK(ri_work_is_same(work, work));
}

static void check_works(const struct ri_collectives *works)
{
	char bytes[1024];
	struct ri_text text;

	text = ri_text_of(bytes, sizeof(bytes));
	ri_collectives_add(&text, works);
	CHECK(!text.cut && (text.length > 0) == (works->step != RI_STEP_TOGETHER));
	CHECK(works->odd < (ssize_t)works->count && works->kinds.count <= RI_KINDS);
	CHECK(works->odd < 0 || (works->step != RI_STEP_TOGETHER && works->count > 3 &&
		strcmp(works->most->group, RI_WORK_DEFAULT) == 0));
	for (size_t i = 0; i < text.length; i++)
		CHECK(bytes[i] >= ' ' && bytes[i] <= '~');
}

/* Each part up to an empty line is what one rank wrote. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	static struct ri_rank_outcome ranks[RANKS];
	struct ri_outcome outcome = { .ranks = ranks };
	struct ri_span rest = { bytes, size }, line;
	struct ri_collectives works;
	struct ri_words *words;

	while (outcome.count < RANKS && rest.length > 0) {
		struct ri_span part = { rest.at, 0 };

		while (ri_span_line(&rest, &line) && line.length > 0)
			part.length = (size_t)(line.at + line.length - part.at);
		ranks[outcome.count] = (struct ri_rank_outcome){ .rank = outcome.count };
		words = &ranks[outcome.count++].evidence.words;
		words->has_work = ri_work_find(part, &words->work);
		if (words->has_work)
			check_work(&words->work);
	}
	ri_collectives_find(&outcome, &works);
	check_works(&works);
	free(bytes);
	return 0;
}
