/* SPDX-License-Identifier: Apache-2.0 */
#include "report/noise.h"

#include <string.h>

enum { LAST_LINES = 20 };	/* in which an error is looked for */

static bool has(struct ri_span text, const char *words)
{
	return memmem(text.at, text.length, words, strlen(words)) != NULL;
}

/* Without the "[rank0]:" that torch puts before each line, and "[1,0]<stderr>:" of mpirun. */
static struct ri_span without_prefix(struct ri_span line)
{
	const char *end;

	if (!ri_span_starts(line, "[rank"))
		return line;
	end = memchr(line.at, ':', line.length);
	return end == NULL ? line : ri_span_skip(line, (size_t)(end - line.at) + 1);
}

/* A line that torch's logging or absl's makes: "[W1122 01:02:03.4 file.cpp:5]", "I0000 ...". */
static bool is_log_of(struct ri_span line, const char *letters)
{
	if (ri_span_starts(line, "["))
		line = ri_span_skip(line, 1);
	return line.length > 2 && strchr(letters, line.at[0]) != NULL &&
		((line.at[1] >= '0' && line.at[1] <= '9') || line.at[1] == ' ') &&
		(line.at[2] < 'a' || line.at[2] > 'z');
}

bool ri_noise_is(struct ri_span line)
{
	static const char *const starts[] = {
		"frame #", "Exception raised from ", "terminate called ", "  what():",
		"warnings.warn(", "wandb:", "Extension modules:", "*** ", "Thread 0x",
		"File \"", "Current thread 0x", "<no Python frame>",
	};
	static const char *const words[] = {
		"Warning: ", " WARNING ", " NCCL INFO ", " NCCL WARN ", "%|", "it/s]", "s/it]",
	};

	line = ri_span_trim_start(without_prefix(line));
	if (line.length == 0 || is_log_of(line, "IWE"))
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (ri_span_starts(line, starts[i]))
			return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has(line, words[i]))
			return true;
	return false;
}

bool ri_noise_is_warning(struct ri_span line)
{
	return is_log_of(ri_span_trim_start(without_prefix(line)), "IW");
}

bool ri_noise_has_error(struct ri_span text)
{
	static const char *const words[] = {
		"ERROR", "Error", "error:", "FATAL", "Fatal", "fatal:", "CRITICAL",
	};
	struct ri_span line;

	for (int i = 0; i < LAST_LINES && ri_span_last_line(&text, &line); i++) {
		if (ri_noise_is_warning(line))
			continue;
		for (size_t word = 0; word < sizeof(words) / sizeof(words[0]); word++)
			if (has(line, words[word]))
				return true;
	}
	return false;
}
