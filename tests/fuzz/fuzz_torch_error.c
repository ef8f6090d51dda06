/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a file of torch's ends where its buffers end, its two
 * readings agree about the time, and its clean copy is JSON again.
 */
#include "fuzz.h"
#include "report/outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size), *written;
	struct ri_span text = { bytes, size };
	static struct ri_torch_error error;
	struct ri_json json = { .escapes = 0 };
	uint64_t seconds = 0;
	json_t *object;

	if (ri_torch_error_read(text, &error)) {
		CHECK(strlen(error.message) < sizeof(error.message));
		CHECK(strlen(error.callstack) < sizeof(error.callstack));
	}
	CHECK(!ri_torch_error_time(text, &seconds) || seconds > 0);
	object = ri_torch_error_json(&json, text);
	CHECK(object != NULL && !json.incomplete);
	written = json_dumps(object, JSON_ENCODE_ANY);
	CHECK(written != NULL);
	free(written);
	json_decref(object);
	free(bytes);
	return 0;
}
