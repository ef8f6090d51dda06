/* SPDX-License-Identifier: Apache-2.0 */
#include "node/hostname.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "node/sysfile.h"

#define BLANKS " \t\r"

bool ri_hostname_read(struct ri_host *host, char *name, size_t size)
{
	/* proc(5): "(none)" until somebody sets one */
	if (ri_sysfile_line(host, "proc/sys/kernel/hostname", name, size) &&
		strcmp(name, "(none)") != 0)
		return true;
	name[0] = '\0';
	return false;
}

/* Is one of the words up to end the name? */
static bool has_word(const char *words, const char *end, const char *name)
{
	size_t length = strlen(name);

	while (words < end) {
		size_t word;

		words += strspn(words, BLANKS);
		word = strcspn(words, BLANKS "\n#");
		if (word == 0)
			break;
		if (word == length && strncasecmp(words, name, length) == 0)
			return true;
		words += word;
	}
	return false;
}

bool ri_hosts_find(const char *text, const char *name, char *address, size_t size)
{
	while (*text != '\0') {
		const char *start = text + strspn(text, BLANKS);
		size_t length = strcspn(start, BLANKS "\n#");
		const char *end = start + strcspn(start, "\n#");

		if (length > 0 && length < size && has_word(start + length, end, name)) {
			memcpy(address, start, length);
			address[length] = '\0';
			return true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}
