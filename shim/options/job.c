/* SPDX-License-Identifier: Apache-2.0 */
/* Options about who we are, how many ranks there are, and what they are told. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "from/sources.h"
#include "options/table.h"
#include "options/value.h"
#include "to/to.h"

enum { MAX_NAMES = 64 };	/* sources or frameworks, and one more */

/* An RI_CODE_OPTION_VALUE about a name, and the one that was perhaps meant. */
static int unknown_name(struct ri_given given, const char *word, const char *const names[],
	const char *table, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE];
	const char *nearest;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	nearest = ri_text_nearest(word, names, count);
	ri_fail(err, RI_CODE_OPTION_VALUE, given.subject, "%s is not among rankinit's %s",
		ri_quote(quoted, sizeof(quoted), word), table);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=%s", table);
}

static bool is_in(const char *word, const char *const names[])
{
	for (; *names != NULL; names++)
		if (strcmp(*names, word) == 0)
			return true;
	return false;
}

int ri_read_source(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { "none" };
	const struct ri_source *source;

	for (size_t i = 0; i < MAX_NAMES - 2 && (source = ri_source_at(i)) != NULL; i++)
		names[i + 1] = source->name;
	if (!is_in(given.value, names))
		return unknown_name(given, given.value, names, "sources", err);
	options->wishes.source = given;
	return 0;
}

int ri_read_frameworks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const char *names[MAX_NAMES] = { NULL };
	const struct ri_framework *framework;
	char word[64];
	size_t length;

	options->wishes.frameworks = NULL;
	if (strcmp(given.value, "auto") == 0)
		return 0;
	options->wishes.frameworks = given.value;
	if (strcmp(given.value, "none") == 0)
		return 0;
	for (size_t i = 0; i < MAX_NAMES - 1 && (framework = ri_framework_at(i)) != NULL; i++)
		names[i] = framework->name;
	for (const char *item = given.value;; item += length + 1) {
		length = strcspn(item, ",");
		snprintf(word, sizeof(word), "%.*s", (int)length, item);
		if (!is_in(word, names))
			return unknown_name(given, word, names, "frameworks", err);
		if (item[length] == '\0')
			return 0;
	}
}

int ri_read_tf_ps(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RANKS };

	options->wishes.tf_ps = given;
	return ri_value_number(&options->wishes.tf_ps_count, range, given, err);
}

int ri_read_nproc_per_node(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_NPROC_GPU] = "gpu", [RI_NPROC_CPU] = "cpu", [RI_NPROC_AUTO] = "auto",
	};
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	struct ri_wishes *wishes = &options->wishes;
	char expected[64];

	wishes->nproc = given;
	wishes->nproc_count = 0;
	for (options->nproc = RI_NPROC_GPU; options->nproc <= RI_NPROC_AUTO; options->nproc++)
		if (strcmp(words[options->nproc], given.value) == 0)
			return 0;
	options->nproc = RI_NPROC_STATED;
	if (ri_number_read(given.value, range, &wishes->nproc_count, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a number from 1 to %d, gpu, cpu or auto",
		RI_MAX_LOCAL);
	return ri_option_bad_value(given, expected, err);
}
