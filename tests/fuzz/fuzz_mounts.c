/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a table of mounts. */
#include "base/proc.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;
	size_t length = strlen(text), lines = 1, mounts = 0;
	struct ri_mount mount;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	while (ri_mount_next(&rest, &mount)) {
		const char *const fields[] = { mount.root, mount.point, mount.type, mount.source,
			mount.options };

		CHECK(++mounts <= lines);
		for (int i = 0; i < 5; i++)
			CHECK((i == 4 && fields[i][0] == '\0') || (fields[i] >= text &&
				fields[i] + strlen(fields[i]) <= text + length));
		CHECK(mount.type[0] != '\0');
	}
	CHECK(rest == text + length && !ri_mount_next(&rest, &mount));
	free(text);
	return 0;
}
