/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a state file is written in a form that reads the same. */
#include "fuzz.h"
#include "report/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_string(data, size), bytes[RI_JOB_SIZE];
	struct ri_job job, again;
	struct ri_text text;

	if (ri_job_read(line, &job)) {
		text = ri_text_of(bytes, sizeof(bytes));
		ri_job_render(&job, &text);
		CHECK(!text.cut && ri_job_read(bytes, &again));
		CHECK(again.word == job.word && again.pid == job.pid && again.born == job.born);
		CHECK(again.ranks == job.ranks && again.exit_status == job.exit_status);
		CHECK(again.since.tv_sec == job.since.tv_sec);
		text = ri_text_of(bytes, sizeof(bytes));
		ri_job_describe(&job, &text);
		CHECK(!text.cut && fuzz_is_printable(bytes));
	}
	free(line);
	return 0;
}
