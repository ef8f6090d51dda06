/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "lsf": a job of IBM Spectrum LSF. It gives machines; on the systems
 * that have jsrun the first of them runs the job's script alone.
 */
#include <string.h>

#include "base/text.h"
#include "from/allocation.h"
#include "from/reading.h"

#define LSF "IBM Spectrum LSF, environment variables set for job execution"
#define LIGHTNING "Lightning src/lightning/fabric/plugins/environments/lsf.py"

static const struct ri_variable reads[] = {
	{ .name = "LSB_JOBID", .meaning = "the job", .cite = LSF },
	{ .name = "LSB_DJOB_RANKFILE",
	  .meaning = "a file with a host for each rank; the first line is the host of the batch "
	  "script",
	  .cite = LIGHTNING },
	{ .name = "LSB_HOSTS",
	  .meaning = "a host for each slot; absent if the list is too long", .cite = LSF },
	{ .name = "LSB_MCPU_HOSTS", .meaning = "each host and its slots", .cite = LSF },
	{ .name = "LSB_DJOB_HOSTFILE", .meaning = "a file with a host for each slot",
	  .cite = LSF },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "LSB_JOBID") &&
		(ri_source_sees(env, "LSB_DJOB_RANKFILE") || ri_source_sees(env, "LSB_HOSTS") ||
			ri_source_sees(env, "LSB_MCPU_HOSTS") ||
			ri_source_sees(env, "LSB_DJOB_HOSTFILE"));
}

/* One slot, and all others the same larger number: that host only starts jsrun. */
static size_t count_script_hosts(const struct ri_hostfile *file)
{
	return file->slots[0] == 1 && ri_hostfile_share(file, 1) > 1 ? 1 : 0;
}

static bool claim_ranks(struct ri_reading *reading)
{
	const char *variable = "LSB_DJOB_RANKFILE";
	struct ri_hostfile file;

	if (!ri_allocation_read_file(reading, variable, &file))
		return false;
	/* On more lines than the first it has ranks as well. */
	ri_allocation_claim(reading, variable, &file, file.slots[0] == 1 ? 1 : 0);
	return true;
}

/* A list with blanks as the lines of a host file: "a a b", or "a 2 b 1" in pairs. */
static char *make_lines(struct ri_reading *reading, const char *raw, bool pairs)
{
	size_t size = strlen(raw) + 2, word = 0;
	char *lines = ri_reading_allocate(reading, size, 1);
	struct ri_text text;

	if (lines == NULL)
		return NULL;
	ri_text_init(&text, lines, size);
	for (raw += strspn(raw, " \t"); *raw != '\0'; raw += strspn(raw, " \t")) {
		size_t length = strcspn(raw, " \t");

		ri_text_add_bytes(&text, raw, length);
		ri_text_add(&text, pairs && word++ % 2 == 0 ? ":" : "\n");
		raw += length;
	}
	return lines;
}

static bool claim_list(struct ri_reading *reading, const char *variable, bool pairs)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_hostfile file;
	char *lines;

	if (!ri_source_sees_text(reading->context->env, variable))
		return false;
	lines = make_lines(reading, raw, pairs);
	if (lines == NULL || !ri_allocation_read_text(reading, variable, lines, &file))
		return false;
	if (file.bad_line != 0) {
		ri_claim_broken(reading, RI_FACT_HOSTS, variable,
			pairs ? "hosts, each with its slots" : "a list of hosts");
		return false;
	}
	ri_allocation_claim(reading, variable, &file, count_script_hosts(&file));
	return true;
}

static void claim_file(struct ri_reading *reading)
{
	struct ri_hostfile file;

	if (ri_allocation_read_file(reading, "LSB_DJOB_HOSTFILE", &file))
		ri_allocation_claim(
			reading, "LSB_DJOB_HOSTFILE", &file, count_script_hosts(&file));
}

static void read_lsf(struct ri_reading *reading)
{
	ri_allocation_note(reading, "LSB_JOBID");
	ri_claim_label(reading, RI_FACT_JOB_ID, "LSB_JOBID");
	if (!claim_ranks(reading) && !claim_list(reading, "LSB_HOSTS", false) &&
		!claim_list(reading, "LSB_MCPU_HOSTS", true))
		claim_file(reading);
}

static const struct ri_shape_row rows[] = {
	{ "LSB_JOBID", "1670", 0 },
	{ "LSB_MCPU_HOSTS", "<each: ><host> <ranks></each>", 0 },
	{ .name = NULL },
};

static const struct ri_shape shapes[] = {
	{ .name = "lsf", .summary = "mpirun in a job of LSF starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .inside = ri_shape_of_mpirun, .port = 29500,
	  .grace_s = 10, .succeeded = "DONE", .failed = "EXIT", .stopped = "EXIT",
	  .cite = "IBM Spectrum LSF, lsb.params, JOB_TERMINATE_INTERVAL; bjobs, STAT" },
	{ .name = NULL },
};

const struct ri_source ri_source_lsf = {
	.name = "lsf",
	.summary = "a job of IBM Spectrum LSF: its machines",
	.identity = RI_SCOPE_NONE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_lsf,
};
