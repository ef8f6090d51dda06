/* SPDX-License-Identifier: Apache-2.0 */
#include "demand/azure_size.h"

#include <string.h>

#include "base/text.h"

enum { NAME = 64 };

static const struct ri_azure_size sizes[] = {
#define RI_AZURE_SIZE(name_, gpus_, ports_, rate_, network_) \
	{ .word = "azure=" name_, .name = name_, .gpus = gpus_, .ports = ports_, .rate = rate_, \
		.network = RI_AZURE_##network_ },
#include "demand/azure_sizes.def"
#undef RI_AZURE_SIZE
};

enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* In small letters, without "standard_" and the number of cores that are left. */
static bool make_plain(const char *name, char out[NAME])
{
	static const char prefix[] = "standard_";
	const size_t skip = sizeof(prefix) - 1;
	size_t length = 0;
	char *dash, *rest;

	for (; *name != '\0'; name++) {
		if (length == NAME - 1)
			return false;
		out[length++] = *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) : *name;
	}
	out[length] = '\0';
	if (strncmp(out, prefix, skip) == 0)
		memmove(out, out + skip, length - skip + 1);
	dash = strchr(out, '-');
	if (dash == NULL || !is_digit(dash[1]))
		return true;
	for (rest = dash + 1; is_digit(*rest); rest++)
		;
	memmove(dash, rest, strlen(rest) + 1);
	return true;
}

const struct ri_azure_size *ri_azure_size_find(const char *name)
{
	char plain[NAME];

	if (!make_plain(name, plain))
		return NULL;
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(sizes[i].name, plain) == 0)
			return &sizes[i];
	return NULL;
}

const char *ri_azure_size_nearest(const char *name)
{
	const char *names[COUNT];
	char plain[NAME];

	if (!make_plain(name, plain))
		return NULL;
	for (size_t i = 0; i < COUNT; i++)
		names[i] = sizes[i].name;
	return ri_text_nearest(plain, names, COUNT);
}

const struct ri_azure_size *ri_azure_size_at(size_t index)
{
	return index < COUNT ? &sizes[index] : NULL;
}
