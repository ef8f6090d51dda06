/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedulers that give machines and no ranks: PBS, LSF. Each starts one process on the first
 * machine, the job's script, from which mpirun starts the ranks. Slurm has a file of its own.
 */
#include <string.h>

#include "from/allocation.h"

#define MOM "OpenPBS src/resmom/start_exec.c"

static void read_pbs(struct ri_reading *reading)
{
	struct ri_hostfile file;
	uint32_t share;

	ri_allocation_note(reading, "PBS_JOBID");
	ri_claim_rows(reading, ri_source_pbs.reads);
	if (!ri_allocation_read_file(reading, "PBS_NODEFILE", &file))
		return;
	share = ri_hostfile_share(&file, 0);
	if (share > 0)
		ri_claim_value(reading, RI_FACT_NPROC, "PBS_NODEFILE", share);
	ri_allocation_claim(reading, "PBS_NODEFILE", &file, 0);
}

/* OpenPBS, PBS Pro or Torque. */
const struct ri_source ri_source_pbs = {
	.name = "pbs",
	.summary = "a job of OpenPBS or Torque: its machines",
	.identity = RI_SCOPE_NONE,
	.reads = RI_READS(
		{ "PBS_JOBID", "the job", MOM, RI_SEEN, RI_JOB_NAME },
		{ "PBS_NODEFILE", "a file with the nodes, each once for each of its processes", MOM,
		  .sign = RI_SEEN }),
	RI_SHAPES({ .name = "pbs", .summary = "mpirun in a job of PBS starts each rank",
		.scope = RI_SCOPE_PROCESS,
		/* Of nodes with one process each. The first one has the file, and runs mpirun. */
		.rows = RI_SHAPE_ROWS(
			{ "PBS_JOBID", "1670.simulated", RI_OF_FIRST },
			{ "PBS_NODEFILE", "/var/spool/pbs/aux/1670.simulated", RI_OF_FIRST },
			{ "/var/spool/pbs/aux/1670.simulated", "<each:><host>\n</each>",
			  RI_OF_FIRST }),
		.beside = ri_shape_of_mpirun, .grace_s = 5,
		RI_CITE("Open MPI mpirun(1), \"Signal Propagation\"") }),
	.read = read_pbs,
};

#define LSF "IBM Spectrum LSF, environment variables set for job execution"
#define LIGHTNING "Lightning src/lightning/fabric/plugins/environments/lsf.py"

/* One slot, and all others the same larger number: that host only starts jsrun. */
static size_t count_script_hosts(const struct ri_hostfile *file)
{
	return file->slots[0] == 1 && ri_hostfile_share(file, 1) > 1 ? 1 : 0;
}

/* A list with blanks is as the lines of a host file: "a a b", or "a 2 b 1" in pairs. */
static bool claim_list(struct ri_reading *reading, const char *variable, bool pairs)
{
	const char *raw = ri_reading_get(reading, variable);
	size_t size = raw == NULL ? 0 : strlen(raw) + 2, word = 0;
	struct ri_hostfile file;
	struct ri_text text;
	char *lines;

	if (!ri_source_sees_text(reading->context->env, variable))
		return false;
	lines = ri_reading_allocate(reading, size, 1);
	if (lines == NULL)
		return false;
	text = ri_text_of(lines, size);
	for (raw += strspn(raw, " \t"); *raw != '\0'; raw += strspn(raw, " \t")) {
		size_t length = strcspn(raw, " \t");

		ri_text_add_bytes(&text, raw, length);
		ri_text_add(&text, pairs && word++ % 2 == 0 ? ":" : "\n");
		raw += length;
	}
	if (!ri_allocation_read_text(reading, variable, lines, &file))
		return false;
	if (file.bad_line != 0) {
		ri_claim_broken(reading, RI_FACT_HOSTS, variable,
			pairs ? "hosts, each with its slots" : "a list of hosts");
		return false;
	}
	ri_allocation_claim(reading, variable, &file, count_script_hosts(&file));
	return true;
}

static void read_lsf(struct ri_reading *reading)
{
	static const char rank_file[] = "LSB_DJOB_RANKFILE", host_file[] = "LSB_DJOB_HOSTFILE";
	struct ri_hostfile file;

	ri_allocation_note(reading, "LSB_JOBID");
	ri_claim_rows(reading, ri_source_lsf.reads);
	/* On more lines than the first the script's host has ranks as well. */
	if (ri_allocation_read_file(reading, rank_file, &file))
		ri_allocation_claim(reading, rank_file, &file, file.slots[0] == 1 ? 1 : 0);
	else if (!claim_list(reading, "LSB_HOSTS", false) &&
		!claim_list(reading, "LSB_MCPU_HOSTS", true) &&
		ri_allocation_read_file(reading, host_file, &file))
		ri_allocation_claim(reading, host_file, &file, count_script_hosts(&file));
}

/* On the systems that have jsrun the first machine runs the job's script alone. */
const struct ri_source ri_source_lsf = {
	.name = "lsf",
	.summary = "a job of IBM Spectrum LSF: its machines",
	.identity = RI_SCOPE_NONE,
	.reads = RI_READS(
		{ "LSB_JOBID", "the job", LSF, RI_SEEN, RI_JOB_NAME, "1670" },
		{ "LSB_DJOB_RANKFILE",
		  "a file with a host for each rank; the first line is the host of the batch "
		  "script", LIGHTNING, .sign = RI_ONE_SEEN },
		{ "LSB_HOSTS", "a host for each slot; absent if the list is too long", LSF,
		  .sign = RI_ONE_SEEN },
		{ "LSB_MCPU_HOSTS", "each host and its slots", LSF, RI_ONE_SEEN,
		  .value = "<each: ><host> <ranks></each>" },
		{ "LSB_DJOB_HOSTFILE", "a file with a host for each slot", LSF,
		  .sign = RI_ONE_SEEN }),
	RI_SHAPES({ .name = "lsf", .summary = "mpirun in a job of LSF starts each rank",
		.scope = RI_SCOPE_PROCESS, .reads = &ri_source_lsf.reads,
		.beside = ri_shape_of_mpirun, .grace_s = 10,
		.succeeded = "DONE", .failed = "EXIT", .stopped = "EXIT",
		RI_CITE("IBM Spectrum LSF, lsb.params, JOB_TERMINATE_INTERVAL; bjobs, STAT") }),
	.read = read_lsf,
};
