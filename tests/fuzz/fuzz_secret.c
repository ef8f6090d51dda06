/* SPDX-License-Identifier: Apache-2.0 */
/* Anything as a secret: too little of it is always refused. */
#include "fuzz.h"
#include "link/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);

	for (size_t length = 0; length <= size && length < 20; length++)
		CHECK(ri_secret_flaw(bytes, length) != NULL);
	CHECK(ri_secret_length(bytes, size) <= size && ri_secret_length(bytes, size) + 2 >= size);
	if (ri_secret_flaw(bytes, size) == NULL)
		CHECK(memmem(bytes, size, "LINK_KEY", 8) == NULL);
	free(bytes);
	return 0;
}
