/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"

#include <string.h>

#include "base/host.h"

const char *ri_word_shell(const char *word)
{
	static const char *const shells[] = {
		"ash", "bash", "busybox", "dash", "fish", "ksh", "ksh93", "mksh", "sh", "zsh",
	};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(ri_path_name(word), shells[i]) == 0)
			return shells[i];
	return NULL;
}

bool ri_word_is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

bool ri_word_begins(const char *name, const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] != word[i] && !(name[i] == '-' && word[i] == '_'))
			return false;
	return true;
}

bool ri_word_is_name(const char *word, const char *name, size_t length)
{
	return ri_word_begins(name, word, length) && (name[length] == '\0' || name[length] == ' ');
}

bool ri_word_is_listed(const char *list, const char *name, bool shortens)
{
	size_t length = strlen(name);
	bool listed = false;

	while (*list != '\0' && !listed) {
		list += strspn(list, " ");
		listed = *list != '\0' && (shortens ? ri_word_begins(list, name, length)
			: ri_word_is_name(name, list, length));
		list += strcspn(list, " ");
	}
	return listed;
}

const char *ri_word_find_valued(const char *letters, const char *cluster)
{
	bool others = letters[0] == '!';

	for (; *cluster != '\0'; cluster++)
		if ((strchr(letters + others, *cluster) != NULL) != others)
			return cluster;
	return NULL;
}

char *const *ri_word_skip_option(const char *letters, const char *longs, bool shortens,
	char *const *words)
{
	const char *word = *words++, *valued;
	bool takes_word, others = longs[0] == '!';

	if (word[1] == '-') {
		takes_word = strchr(word, '=') == NULL &&
			ri_word_is_listed(longs + others, word + 2, shortens) != others;
	} else {
		valued = ri_word_find_valued(letters, word + 1);
		takes_word = valued != NULL && valued[1] == '\0';
	}
	return takes_word && *words != NULL ? words + 1 : words;
}
