/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a record of the kernel's log, which anybody who may write to it has a part in. */
#include "fuzz.h"
#include "node/xid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct ri_xid xid;

	memset(&xid, 0xff, sizeof(xid));
	if (ri_xid_read(&xid, text)) {
		size_t length = strnlen(xid.address, sizeof(xid.address));

		CHECK(length > 0 && length < sizeof(xid.address));
		CHECK(strspn(xid.address, "0123456789abcdef:.") == length);
		CHECK(strchr(xid.address, '.') != NULL);
		CHECK(strstr(text, ";NVRM: Xid (") != NULL);
		CHECK(ri_xid_kind_find(xid.number) == NULL || xid.number < 1000);
	}
	free(text);
	return 0;
}
