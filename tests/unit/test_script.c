/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "image/image.h"

static struct ri_script script;

static bool reads(const char *head)
{
	return ri_script_read(&script, head, strlen(head));
}

static void test_the_name_ends_at_a_blank_or_a_newline(void **state)
{
	static const char *const heads[] = {
		"#!/bin/a\nb", "#!/bin/a", "#! \t/bin/a\n", "#!/bin/a -x\r\n", "#!/bin/a\tx\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		assert_true(reads(heads[i]));
		assert_string_equal(script.interpreter, "/bin/a");
		assert_false(script.has_return);
	}
}

static void test_a_carriage_return_is_told(void **state)
{
	(void)state;
	assert_true(reads("#!/bin/a\r\nb"));
	assert_string_equal(script.interpreter, "/bin/a");
	assert_true(script.has_return);
	assert_true(reads("#!/bin/a\r -x\n"));
	assert_true(script.has_return);
}

static void test_what_names_nobody(void **state)
{
	static const char *const heads[] = { "", "#", "#!", "#!\n/bin/a", "#! \t", "#!\r\n",
		"/bin/a", " #!/bin/a", "\x7f" "ELF" };

	(void)state;
	strcpy(script.interpreter, "left");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_false(reads(heads[i]));
	assert_string_equal(script.interpreter, "left");
}

static void test_no_more_than_the_kernel_looks_at(void **state)
{
	char head[2 * RI_SCRIPT_HEAD];

	(void)state;
	memset(head, 'x', sizeof(head));
	memcpy(head, "#!", 2);
	assert_true(ri_script_read(&script, head, sizeof(head)));
	assert_int_equal(strlen(script.interpreter), RI_SCRIPT_HEAD - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_name_ends_at_a_blank_or_a_newline),
		cmocka_unit_test(test_a_carriage_return_is_told),
		cmocka_unit_test(test_what_names_nobody),
		cmocka_unit_test(test_no_more_than_the_kernel_looks_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
