/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process below an outer rankinit writes as the word of an inner one: what is read leads out
 * of no table, and is written as the same bytes. The input is laid over an honest word, from the
 * place on that its first byte says.
 */
#include <string.h>

#include "report/culprit.h"
#include "report/verdict.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_inner_word word = {
		.verdict = { .why = { RI_CAUSE_KILLED, RI_RETRY_SAME }, .class = RI_CLASS_OWN,
			.status = 137, .rank = 3, .node = -1 },
		.of_rank = -1, .exit_status = 220,
	};
	char bytes[RI_INNER_WORD], again[RI_INNER_WORD];
	const struct ri_verdict *verdict;
	size_t from;

	ri_inner_word_write(&word, bytes);
	CHECK(ri_inner_word_read(&word, bytes, sizeof(bytes)) && word.exit_status == 220);
	CHECK(!ri_inner_word_read(&word, bytes, size % sizeof(bytes)));
	if (size < 1)
		return 0;
	from = data[0] % sizeof(bytes);
	size = size - 1 < sizeof(bytes) - from ? size - 1 : sizeof(bytes) - from;
	memcpy(bytes + from, data + 1, size);
	if (!ri_inner_word_read(&word, bytes, sizeof(bytes)))
		return 0;
	verdict = &word.verdict;
	CHECK(ri_cause_word_name(verdict->why.cause) != NULL &&
		ri_retry_words[verdict->why.retry] != NULL);
	CHECK((ri_class_words[verdict->class] == NULL) == (verdict->class == RI_CLASS_NONE));
	CHECK(verdict->status > 0 && verdict->status < 256);
	CHECK(word.exit_status > 0 && word.exit_status < 256);
	CHECK(verdict->rank >= -1 && verdict->node >= -1 && word.of_rank >= -1);
	ri_inner_word_write(&word, again);
	CHECK(memcmp(bytes, again, sizeof(bytes)) == 0);
	return 0;
}
