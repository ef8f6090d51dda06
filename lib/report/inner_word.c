/* SPDX-License-Identifier: Apache-2.0 */
#include "report/inner_word.h"

#include <string.h>

static const char magic[24] = "rankinit-inner " RI_VERSION;

void ri_inner_word_write(const struct ri_inner_word *word, char bytes[RI_INNER_WORD])
{
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + sizeof(magic), word, sizeof(*word));
}

bool ri_inner_word_read(struct ri_inner_word *out, const char *bytes, size_t length)
{
	struct ri_inner_word word;

	if (length != RI_INNER_WORD || memcmp(bytes, magic, sizeof(magic)) != 0)
		return false;
	memcpy(&word, bytes + sizeof(magic), sizeof(word));
	if (!ri_verdict_is_sound(&word.verdict) || word.verdict.status == 0 || word.of_rank < -1 ||
		word.exit_status < 1 || word.exit_status > 255)
		return false;
	memcpy(out, &word, sizeof(word));
	return true;
}
