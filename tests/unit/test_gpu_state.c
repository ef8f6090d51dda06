/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs are asked, and which of them are seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "node/devices.h"
#include "node/probe_answer.h"

static void test_questions(void **state)
{
	(void)state;
	assert_string_equal(ri_gpu_asked_word(RI_GPU_MEMORY), "memory");
	assert_string_equal(ri_gpu_asked_word(RI_GPU_MIG), "mig");
}

static void test_errors(void **state)
{
	char text[96];

	(void)state;
	assert_true(ri_nvml_is_quiet(RI_NVML_NOT_SUPPORTED));
	assert_true(ri_nvml_is_quiet(RI_NVML_FUNCTION_NOT_FOUND));
	assert_true(ri_nvml_is_quiet(RI_NVML_DEPRECATED));
	assert_false(ri_nvml_is_quiet(RI_NVML_LOST));
	assert_false(ri_nvml_is_quiet(RI_NVML_NO_PERMISSION));
	assert_false(ri_nvml_is_quiet(RI_NVML_UNKNOWN));
	assert_string_equal(ri_nvml_error_show(text, sizeof(text), 15),
		"it has fallen off the bus (NVML error 15)");
	assert_string_equal(ri_nvml_error_show(text, sizeof(text), 4711),
		"an error (NVML error 4711)");
}

static void test_addresses(void **state)
{
	static const char *const cases[][2] = {
		{ "00000000:1B:00.0", "0000:1b:00.0" }, { "0000:1B:00.0", "0000:1b:00.0" },
		{ "00010000:AF:00.0", "00010000:af:00.0" }, { "", "" }, { "?", "?" },
		{ "00000000", "0000" },
	};
	char address[RI_GPU_WORD];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(address, cases[i][0]);
		ri_gpu_address_normalise(address);
		assert_string_equal(address, cases[i][1]);
	}
}

static void test_seen(void **state)
{
	struct ri_gpu_state gpus[] = {
		{ .address = "0000:1b:00.0", .uuid = "GPU-aa" },
		{ .address = "0000:1c:00.0", .uuid = "GPU-bb" },
		{ .address = "" },	/* lost */
	};
	struct ri_gpu list[] = {
		{ .name = "1", .address = "0000:1c:00.0" },
		{ .name = "2", .address = "0000:1d:00.0" },
		{ .name = "0", .address = NULL },
	};
	struct ri_gpus seen = { .list = list, .count = 1 };
	bool out[3];

	(void)state;
	ri_gpu_states_seen(out, gpus, 3, NULL);
	assert_true(out[0] && out[1] && out[2]);
	/* all that are seen answer, so the lost one is somebody else's */
	ri_gpu_states_seen(out, gpus, 3, &seen);
	assert_true(!out[0] && out[1] && !out[2]);
	seen.count = 2;
	assert_int_equal(ri_gpu_states_seen(out, gpus, 3, &seen), 0);
	assert_true(!out[0] && out[1] && out[2]);
	assert_string_equal(gpus[2].address, "0000:1d:00.0");
	/* NVML does not even list it */
	assert_int_equal(ri_gpu_states_seen(out, gpus, 2, &seen), 1);
	assert_true(!out[0] && out[1]);
	gpus[2].address[0] = '\0';
	/* one without an address may be any */
	seen.count = 3;
	ri_gpu_states_seen(out, gpus, 3, &seen);
	assert_true(out[0] && out[1] && out[2]);
	seen.count = 0;
	ri_gpu_states_seen(out, gpus, 3, &seen);
	assert_true(out[0] && out[1] && out[2]);
	list[0] = (struct ri_gpu){ .name = "GPU-a", .address = "0000:ff:00.0" };
	seen.count = 1;
	ri_gpu_states_seen(out, gpus, 3, &seen);
	assert_true(out[0] && !out[1] && !out[2]);
	/* which of two it is, nothing tells */
	list[0] = (struct ri_gpu){ .name = "0", .address = "0000:ee:00.0" };
	gpus[1].address[0] = '\0';
	assert_int_equal(ri_gpu_states_seen(out, gpus, 3, &seen), 0);
	assert_true(!out[0] && out[1] && out[2] && gpus[2].address[0] == '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
