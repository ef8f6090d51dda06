/* SPDX-License-Identifier: Apache-2.0 */
#include "words/line.h"

#include <string.h>

#include "base/text.h"

struct ri_span ri_line_last_state(struct ri_span line)
{
	const char *last;

	while (line.length > 0 && (line.at[line.length - 1] == '\r' ||
					  ri_is_blank(line.at[line.length - 1])))
		line.length--;
	last = line.length == 0 ? NULL : memrchr(line.at, '\r', line.length);
	return last == NULL ? line : ri_span_skip(line, (size_t)(last + 1 - line.at));
}

/* torch/distributed/distributed_c10d.py "[rank3]: "; c10/util/Logging.cpp "[rank3]:" */
static struct ri_span skip_rank(struct ri_span line)
{
	static const char before[] = "[rank";
	size_t at = sizeof(before) - 1;

	if (!ri_span_starts(line, before))
		return line;
	while (at < line.length && line.at[at] >= '0' && line.at[at] <= '9')
		at++;
	if (at + 1 >= line.length || line.at[at] != ']' || line.at[at + 1] != ':')
		return line;
	return ri_span_skip(line, at + 2);
}

static struct ri_span after(struct ri_span text, const char *word)
{
	const char *found = memmem(text.at, text.length, word, strlen(word));

	if (found == NULL)
		return (struct ri_span){ text.at, 0 };
	return ri_span_skip(text, (size_t)(found - text.at) + strlen(word));
}

/* " 30%|###   | 3/10 [00:00<00:01,  4.14it/s]" of tqdm, which ends no line of its own. */
static struct ri_span skip_bar(struct ri_span line)
{
	struct ri_span rest = after(after(after(line, "%|"), "| "), "[");

	rest = ri_span_trim_start(after(after(rest, "<"), "]"));
	return rest.length > 0 ? rest : line;
}

struct ri_span ri_line_trim(struct ri_span line)
{
	line = skip_rank(ri_span_trim_start(ri_line_last_state(line)));
	return ri_span_trim_start(ri_span_trim_end(skip_bar(line)));
}
