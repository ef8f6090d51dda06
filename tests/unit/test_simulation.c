/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --simulate that makes sense; behaviour tests have those that make none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "from/sources.h"
#include "play/simulation.h"

static struct ri_simulation job;

static int read_value(const char *value)
{
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_given given = { .subject = "--simulate", .value = value };

	return ri_simulation_read(&job, &given, &err);
}

static void a_job_without_faults(void **state)
{
	(void)state;
	assert_int_equal(read_value("openmpi:2x4"), 0);
	assert_string_equal(job.shape->name, "openmpi");
	assert_int_equal(job.nodes, 2);
	assert_int_equal(job.ranks, 4);
	assert_int_equal(job.fault_count, 0);
	assert_int_equal(read_value("sagemaker:256x1"), 0);
	assert_int_equal(read_value("sagemaker:1x256"), 0);
	assert_int_equal(read_value("sagemaker:1x257"), -1);
}

static void faults_in_the_order_of_their_times(void **state)
{
	static const struct ri_fault faults[] = {
		{ RI_FAULT_ABSENT, 2, 0, 0 }, { RI_FAULT_UNFIT, 1, 0, 7 },
		{ RI_FAULT_HANG, 1, 250, 0 }, { RI_FAULT_LATE, 1, 1500, 0 },
		{ RI_FAULT_UNLINK, 0, 4000, 0 }, { RI_FAULT_KILL, 3, 20000, 0 },
		{ RI_FAULT_STOP, 0, 30000, 0 },
	};

	(void)state;
	assert_int_equal(read_value("openmpi:3x2,stop=30,kill=3@20,late=1:1.5,hang=1@0.25,"
		"unlink=0@4,absent=2,unfit=1@7"), 0);
	assert_int_equal(job.fault_count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(job.faults[i].kind, faults[i].kind);
		assert_int_equal(job.faults[i].who, faults[i].who);
		assert_int_equal(job.faults[i].at_ms, faults[i].at_ms);
		assert_int_equal(job.faults[i].attempt, faults[i].attempt);
	}
	assert_ptr_equal(ri_simulation_fault_of(&job, RI_FAULT_LATE, 1), &job.faults[3]);
	assert_null(ri_simulation_fault_of(&job, RI_FAULT_LATE, 2));
	assert_null(ri_simulation_fault_of(&job, RI_FAULT_ABSENT, 1));
}

static void every_shape_by_its_name(void **state)
{
	const struct ri_shape *shape;
	char value[96];

	(void)state;
	for (size_t i = 0; (shape = ri_source_shape_at(i)) != NULL; i++) {
		strcpy(value, shape->name);
		strcat(value, ":1x1");
		assert_int_equal(read_value(value), 0);
		assert_ptr_equal(job.shape, shape);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_without_faults),
		cmocka_unit_test(faults_in_the_order_of_their_times),
		cmocka_unit_test(every_shape_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
