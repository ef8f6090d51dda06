/* SPDX-License-Identifier: Apache-2.0 */
#include "report/inner_word.h"

#include <string.h>

static const char magic[24] = "rankinit-inner " RI_VERSION;

struct bytes {
	char magic[sizeof(magic)];
	int64_t cause, retry, class, rank, of_rank;
	int64_t status, exit_status;
};

_Static_assert(sizeof(struct bytes) == RI_INNER_WORD, "it has no gaps");

void ri_inner_word_write(const struct ri_inner_word *word, char bytes[RI_INNER_WORD])
{
	struct bytes all = {
		.cause = word->why.cause, .retry = word->why.retry, .class = word->class,
		.rank = word->rank,
		.of_rank = word->of_rank, .status = word->status, .exit_status = word->exit_status,
	};

	memcpy(all.magic, magic, sizeof(magic));
	memcpy(bytes, &all, sizeof(all));
}

static bool is_within(int64_t number, int64_t least, int64_t most)
{
	return number >= least && number <= most;
}

bool ri_inner_word_read(struct ri_inner_word *out, const char *bytes, size_t length)
{
	struct bytes all;

	if (length != sizeof(all))
		return false;
	memcpy(&all, bytes, sizeof(all));
	if (memcmp(all.magic, magic, sizeof(magic)) != 0 ||
		!is_within(all.cause, 0, RI_CAUSE_COUNT - 1) ||
		!is_within(all.retry, 0, RI_RETRY_COUNT - 1) ||
		!is_within(all.class, RI_CLASS_NONE, RI_CLASS_OWN) ||
		!is_within(all.rank, -1, INT64_MAX) || !is_within(all.of_rank, -1, INT64_MAX) ||
		!is_within(all.status, 1, 255) || !is_within(all.exit_status, 1, 255))
		return false;
	*out = (struct ri_inner_word){
		.why = { (enum ri_cause_word)all.cause, (enum ri_retry)all.retry },
		.class = (enum ri_class)all.class,
		.rank = all.rank, .of_rank = all.of_rank,
		.status = (int)all.status, .exit_status = (int)all.exit_status,
	};
	return true;
}
