/* SPDX-License-Identifier: Apache-2.0 */
#include "words/noise.h"

#include "words/decisive.h"
#include "words/glob.h"
#include "words/line.h"

enum { STILL = 3 };	/* states of a bar that is only closed */

static const struct {
	enum ri_noise what;
	const char *shape;
} table[] = {
#define RI_NOISE(what_, shape_, line_, source_) { RI_NOISE_##what_, shape_ },
#include "words/noise.def"
#undef RI_NOISE
};

enum ri_noise ri_noise_find(struct ri_span line)
{
	line = ri_line_trim(line);
	if (line.length == 0)
		return RI_NOISE_LOG;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (ri_glob_fits(line, table[i].shape))
			return table[i].what;
	return RI_NOISE_NONE;
}

bool ri_noise_hides(struct ri_span line)
{
	return ri_noise_find(line) > RI_NOISE_KEEP;
}

bool ri_noise_is(struct ri_span line)
{
	enum ri_decisive decisive = ri_decisive_find(line);

	return decisive == RI_DECISIVE_LAST || decisive == RI_DECISIVE_LOG ||
		ri_noise_hides(line) || ri_span_starts(ri_line_trim(line), "File \"");
}

bool ri_noise_is_warning(struct ri_span line)
{
	return ri_noise_find(line) == RI_NOISE_LOG;
}

static size_t count_states(struct ri_span line)
{
	size_t count = 1;

	for (size_t i = 0; i < line.length; i++)
		count += line.at[i] == '\r';
	return count;
}

size_t ri_noise_count(struct ri_span text)
{
	struct ri_span line;
	size_t count = 0, states;

	while (ri_span_line(&text, &line)) {
		states = count_states(line);
		if (states > STILL && ri_noise_find(line) == RI_NOISE_PROGRESS)
			count += states;
		else
			count += !ri_noise_is(line);
	}
	return count;
}
