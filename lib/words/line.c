/* SPDX-License-Identifier: Apache-2.0 */
#include "words/line.h"

#include <string.h>

#include "base/text.h"

enum { STILL = 3 };	/* states of a bar that is only closed */

/* A line of a table: what it means, and the glob that it fits. */
struct row {
	int what;
	const char *shape;
};

static const struct row rows_of_decisive[] = {
#define RI_DECISIVE(what_, shape_, line_, source_) { RI_DECISIVE_##what_, shape_ },
#include "words/decisive.def"
#undef RI_DECISIVE
	{ RI_DECISIVE_NONE, NULL },
};

static const struct row rows_of_noise[] = {
#define RI_NOISE(what_, shape_, line_, source_) { RI_NOISE_##what_, shape_ },
#include "words/noise.def"
#undef RI_NOISE
	{ RI_NOISE_NONE, NULL },
};

struct ri_span ri_line_last_state(struct ri_span line)
{
	const char *last;

	while (line.length > 0 && (line.at[line.length - 1] == '\r' ||
					  ri_is_blank(line.at[line.length - 1])))
		line.length--;
	last = line.length == 0 ? NULL : memrchr(line.at, '\r', line.length);
	return last == NULL ? line : ri_span_skip(line, (size_t)(last + 1 - line.at));
}

/*
 * torch/distributed/distributed_c10d.py "[rank3]: "; c10/util/Logging.cpp "[rank3]:"; of torchrun
 * --tee "[default3]:", with the role (torch/distributed/elastic/agent/server/
 * local_elastic_agent.py).
 */
static struct ri_span skip_label(struct ri_span line)
{
	size_t at = 1, digits;

	if (!ri_span_starts(line, "["))
		return line;
	while (at < line.length && (line.at[at] == '_' ||
		(line.at[at] >= 'a' && line.at[at] <= 'z')))
		at++;
	digits = at;
	while (digits < line.length && line.at[digits] >= '0' && line.at[digits] <= '9')
		digits++;
	if (at == 1 || digits == at || !ri_span_starts(ri_span_skip(line, digits), "]:"))
		return line;
	return ri_span_trim_start(ri_span_skip(line, digits + 2));
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
	line = skip_label(skip_label(ri_span_trim_start(ri_line_last_state(line))));
	return ri_span_trim_start(ri_span_trim_end(skip_bar(line)));
}

/*
 * Where a byte does not fit, the last '*' takes one byte more. The '*' before it
 * never has to: what stands between the two has already been found.
 */
bool ri_glob_fits(struct ri_span line, const char *glob)
{
	const char *star = NULL;
	size_t at = 0, taken = 0;

	if (line.length > RI_GLOB_BYTES)
		line.length = RI_GLOB_BYTES;
	while (at < line.length) {
		if (*glob == '*') {
			star = ++glob;
			taken = at;
			if (*glob == '\0')
				return true;
		} else if (*glob == '~' ? line.at[at] >= '0' && line.at[at] <= '9'
			: *glob != '\0' && line.at[at] == *glob) {
			at++;
			glob++;
		} else if (star != NULL) {
			glob = star;
			at = ++taken;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}

/* The first row that the line fits, or the last one, which has no shape. */
static int find(const struct row *row, struct ri_span line)
{
	while (row->shape != NULL && !ri_glob_fits(line, row->shape))
		row++;
	return row->what;
}

enum ri_decisive ri_decisive_find(struct ri_span line)
{
	return (enum ri_decisive)find(rows_of_decisive, ri_line_trim(line));
}

enum ri_noise ri_noise_find(struct ri_span line)
{
	line = ri_line_trim(line);
	return line.length == 0 ? RI_NOISE_LOG : (enum ri_noise)find(rows_of_noise, line);
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

/* NCCL 2.27 src/debug.cc, ncclDebugLog: host, pid, thread and device stand before it. */
bool ri_line_is_nccls(struct ri_span line)
{
	return ri_glob_fits(line, "*:~*:~* [*] *NCCL WARN *");
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
