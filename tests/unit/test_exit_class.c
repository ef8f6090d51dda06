/* SPDX-License-Identifier: Apache-2.0 */
/* What a scheduler may know of a failure by the exit status alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/verdict.h"

static const int classes[RI_RETRY_COUNT] = {
	[RI_RETRY_NEVER] = 120, [RI_RETRY_SAME] = 220, [RI_RETRY_OTHER_NODE] = 230,
};

static void an_end_without_a_failure_has_no_class(void **state)
{
	(void)state;
	for (int retry = 0; retry < RI_RETRY_COUNT; retry++)
		assert_int_equal(ri_exit_class(0, (enum ri_retry)retry), 0);
}

static void what_to_do_next_says_the_class(void **state)
{
	(void)state;
	for (int retry = 0; retry < RI_RETRY_COUNT; retry++)
		for (int status = 1; status < 256; status++)
			if (status != 122)
				assert_int_equal(ri_exit_class(status, (enum ri_retry)retry),
					classes[retry]);
}

static void a_node_that_the_link_stopped_is_healthy(void **state)
{
	(void)state;
	assert_int_equal(ri_exit_class(122, RI_RETRY_NEVER), 120);
	assert_int_equal(ri_exit_class(122, RI_RETRY_SAME), 220);
	assert_int_equal(ri_exit_class(122, RI_RETRY_OTHER_NODE), 220);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_without_a_failure_has_no_class),
		cmocka_unit_test(what_to_do_next_says_the_class),
		cmocka_unit_test(a_node_that_the_link_stopped_is_healthy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
