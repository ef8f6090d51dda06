/* SPDX-License-Identifier: Apache-2.0 */
#include "report/state.h"

#include "report/outcome.h"

enum { DIGITS = 20 };	/* of the greatest number */

static const char magic[] = "rankinit-state-1 ";

const char *const ri_job_words[] = {
	[RI_JOB_STARTING] = "starting",
	[RI_JOB_RUNNING] = "running",
	[RI_JOB_STOPPING] = "stopping",
	[RI_JOB_FAILED] = "failed",
	[RI_JOB_DONE] = "done",
};

void ri_job_render(const struct ri_job *job, struct ri_text *out)
{
	ri_text_addf(out, "%s%s pid=%d born=%llu ranks=%llu status=%d since=%lld at=", magic,
		ri_job_words[job->word], (int)job->pid, (unsigned long long)job->born,
		(unsigned long long)job->ranks, job->exit_status, (long long)job->since.tv_sec);
	ri_time_add(out, job->since);
	ri_text_add(out, "\n");
}

/* The number of " name=NUMBER" among the words. */
static bool read_number(const char *text, const char *name, uint64_t max, uint64_t *out)
{
	struct ri_span rest = ri_span_after(ri_span_of(text), name);
	size_t digits = ri_digits_of(rest, out);

	/* a longer one has no meaning of ours */
	return digits > 0 && digits <= DIGITS && *out <= max &&
		strchr(" \n", rest.at[digits]) != NULL;
}

static bool read_word(const char *text, enum ri_job_word *out)
{
	struct ri_span word = { text + sizeof(magic) - 1, 0 };

	if (strncmp(text, magic, sizeof(magic) - 1) != 0)
		return false;
	word.length = strcspn(word.at, " \n");
	for (int i = 0; i < RI_JOB_COUNT; i++) {
		if (strlen(ri_job_words[i]) != word.length ||
			!ri_span_starts(word, ri_job_words[i]))
			continue;
		*out = (enum ri_job_word)i;
		return true;
	}
	return false;
}

bool ri_job_read(const char *text, struct ri_job *out)
{
	uint64_t pid, ranks, status, since;
	struct ri_job job;

	if (!read_word(text, &job.word) || !read_number(text, " pid=", INT32_MAX, &pid) ||
		!read_number(text, " born=", UINT64_MAX, &job.born) ||
		!read_number(text, " ranks=", RI_MAX_RANKS, &ranks) ||
		!read_number(text, " status=", 255, &status) ||
		!read_number(text, " since=", INT64_MAX / 1000, &since) || pid == 0)
		return false;
	job.pid = (pid_t)pid;
	job.ranks = ranks;
	job.exit_status = (int)status;
	job.since = (struct timespec){ .tv_sec = (time_t)since };
	*out = job;
	return true;
}

void ri_job_describe(const struct ri_job *job, struct ri_text *out)
{
	ri_text_add(out, ri_job_words[job->word]);
	if (job->word == RI_JOB_FAILED || job->word == RI_JOB_DONE)
		ri_text_addf(out, ": exit status %d", job->exit_status);
	else if (job->ranks > 1)
		ri_text_addf(out, ": %llu ranks", (unsigned long long)job->ranks);
	ri_text_add(out, ", since ");
	ri_time_add(out, job->since);
	ri_text_addf(out, " (pid %d)", (int)job->pid);
}
