/* SPDX-License-Identifier: Apache-2.0 */
#include "node/choice.h"

#include <string.h>

void ri_choice_init(struct ri_choice *choice, const char *list, enum ri_choice_kind kind)
{
	*choice = (struct ri_choice){ .rest = list, .exact = kind == RI_CHOICE_NAMES };
	if (kind != RI_CHOICE_NCCL)
		return;
	/* NCCL src/misc/socket.cc: '^' first, then '=' */
	if (*choice->rest == '^') {
		choice->excludes = true;
		choice->rest++;
	}
	if (*choice->rest == '=') {
		choice->exact = true;
		choice->rest++;
	}
}

bool ri_choice_next(struct ri_choice *choice, char *word, size_t size)
{
	const char *start = choice->rest + strspn(choice->rest, ", ");
	size_t length = strcspn(start, ", "), name = strcspn(start, ":, ");

	choice->rest = start + length;
	if (name >= size)
		name = size - 1;
	memcpy(word, start, name);
	word[name] = '\0';
	return length > 0;
}

bool ri_choice_matches(const struct ri_choice *choice, const char *word, const char *name)
{
	return choice->exact ? strcmp(word, name) == 0 : strncmp(word, name, strlen(word)) == 0;
}

bool ri_choice_takes(const char *list, enum ri_choice_kind kind, const char *name)
{
	struct ri_choice choice;
	bool any = false, found = false;
	char word[128];

	ri_choice_init(&choice, list, kind);
	while (ri_choice_next(&choice, word, sizeof(word))) {
		any = true;
		found |= ri_choice_matches(&choice, word, name);
	}
	return any ? found != choice.excludes : !choice.excludes;
}
