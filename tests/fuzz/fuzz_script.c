/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the beginning of a file. A name that is found stands in it, and is one word. */
#include "fuzz.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_script script;
	char *head = fuzz_string(data, size);
	size_t length;

	memset(&script, 'x', sizeof(script));
	if (ri_script_read(&script, head, size)) {
		length = strnlen(script.interpreter, sizeof(script.interpreter));
		CHECK(size > 2 && head[0] == '#' && head[1] == '!');
		CHECK(length > 0 && length <= RI_SCRIPT_HEAD - 2);
		CHECK(strcspn(script.interpreter, " \t\n") == length);
		CHECK(memmem(head, size, script.interpreter, length) != NULL);
		CHECK(!script.has_return || memchr(head, '\r', size) != NULL);
	} else {
		CHECK(script.interpreter[0] == 'x');
	}
	free(head);
	return 0;
}
