/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of --simulate: what is accepted is a job that one machine can play, and
 * faults that can happen in it; what is refused names the option.
 */
#include "from/sources.h"
#include "play/simulation.h"
#include "fuzz.h"

static void check_fault(const struct ri_simulation *job, const struct ri_fault *fault)
{
	size_t ranks = job->nodes * job->ranks;
	bool of_node = fault->kind == RI_FAULT_ABSENT || fault->kind == RI_FAULT_LATE ||
		fault->kind == RI_FAULT_UNLINK || fault->kind == RI_FAULT_UNFIT;
	size_t node = of_node ? fault->who : fault->who / job->ranks;

	CHECK(fault->at_ms <= RI_MAX_GRACE_S * 1000ULL && fault->attempt <= RI_MAX_RESTARTS);
	if (fault->kind == RI_FAULT_STOP) {
		CHECK(fault->who == 0);
		return;
	}
	CHECK(fault->who < (of_node ? job->nodes : ranks));
	CHECK(fault->kind == RI_FAULT_ABSENT ||
		ri_simulation_fault_of(job, RI_FAULT_ABSENT, node) == NULL);
}

static void check_job(const struct ri_simulation *job)
{
	size_t absent = 0;

	CHECK(job->shape != NULL && job->nodes > 0 && job->ranks > 0);
	CHECK(job->nodes * job->ranks <= RI_MAX_SIMULATED);
	CHECK(job->fault_count <= RI_MAX_FAULTS);
	for (size_t i = 0; i < job->fault_count; i++) {
		check_fault(job, &job->faults[i]);
		CHECK(i == 0 || job->faults[i].at_ms >= job->faults[i - 1].at_ms);
		absent += job->faults[i].kind == RI_FAULT_ABSENT;
	}
	CHECK(absent < job->nodes);
}

/* What a member is given has no place left in it that its shape has. */
static void check_member(const struct ri_simulation *job, size_t node)
{
	const struct ri_shape_member member = {
		.nodes = job->nodes, .ranks = job->ranks, .node = node,
		.local_rank = job->ranks - 1, .port = ri_shape_port(job->shape),
	};
	static struct ri_arena arena;
	struct ri_shape_row row;

	for (size_t i = 0; ri_shape_row_at(job->shape, i, &row); i++) {
		char *value;

		if (!ri_shape_row_is_of(&row, &member))
			continue;
		value = ri_shape_value(&row, &member, &arena);
		CHECK(value != NULL && strchr(value, '<') == NULL);
		CHECK(strlen(value) < RI_MAX_VARIABLE - 1);
	}
	CHECK(strncmp(ri_shape_host(node, &arena), "127.0.", 6) == 0);
	ri_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_simulation job;
	struct ri_given given = { .subject = "--simulate" };
	char *text = fuzz_string(data, size);

	given.value = text;
	if (ri_simulation_read(&job, &given, &err) == 0) {
		CHECK(err.code == RI_CODE_NONE);
		check_job(&job);
		check_member(&job, 0);
		check_member(&job, job.nodes - 1);
	} else {
		CHECK(err.code == RI_CODE_OPTION_VALUE);
		CHECK(strcmp(err.subject, "--simulate") == 0);
		CHECK(err.text[0] == '"' && fuzz_is_printable(err.text));
	}
	free(text);
	return 0;
}
