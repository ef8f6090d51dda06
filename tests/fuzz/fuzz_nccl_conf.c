/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a file of NCCL's settings. What is found stands in it, behind its name. */
#include "fuzz.h"
#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "NCCL_IB_HCA", "NCCL_NET", "NCCL_TOPO_FILE", "A" };
	char *text = fuzz_string(data, size), *value = malloc(RI_NCCL_VALUE);

	CHECK(value != NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!ri_nccl_conf_find(text, names[i], value)) {
			CHECK(value[0] == '\0');
			continue;
		}
		CHECK(strchr(value, '\n') == NULL);
		CHECK(strstr(text, value) != NULL && value[0] != ' ' && value[0] != '\t');
	}
	free(value);
	free(text);
	return 0;
}
