/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "pbs": a job of OpenPBS, PBS Pro or Torque. It gives machines, and
 * starts one process on the first of them: no process in it has a rank by PBS.
 */
#include "from/allocation.h"
#include "from/reading.h"

#define MOM "OpenPBS src/resmom/start_exec.c"

static const struct ri_variable reads[] = {
	{ .name = "PBS_JOBID", .meaning = "the job", .cite = MOM },
	{ .name = "PBS_NODEFILE",
	  .meaning = "a file with the nodes, each once for each of its processes", .cite = MOM },
	{ .name = NULL },
};

static bool detect(const struct ri_env *env)
{
	return ri_source_sees(env, "PBS_JOBID") && ri_source_sees(env, "PBS_NODEFILE");
}

static void read_pbs(struct ri_reading *reading)
{
	struct ri_hostfile file;
	uint32_t share;

	ri_allocation_note(reading, "PBS_JOBID");
	ri_claim_label(reading, RI_FACT_JOB_ID, "PBS_JOBID");
	if (!ri_allocation_read_file(reading, "PBS_NODEFILE", &file))
		return;
	share = ri_hostfile_share(&file, 0);
	if (share > 0)
		ri_claim_value(reading, RI_FACT_NPROC, "PBS_NODEFILE", share);
	ri_allocation_claim(reading, "PBS_NODEFILE", &file, 0);
}

/* Of nodes with one process each. The file is on the first one, which runs mpirun. */
static const struct ri_shape_row rows[] = {
	{ "PBS_JOBID", "1670.simulated", RI_OF_FIRST },
	{ "PBS_NODEFILE", "/var/spool/pbs/aux/1670.simulated", RI_OF_FIRST },
	{ "/var/spool/pbs/aux/1670.simulated", "<each:><host>\n</each>", RI_OF_FIRST },
	{ .name = NULL },
};

static const struct ri_shape shapes[] = {
	{ .name = "pbs", .summary = "mpirun in a job of PBS starts each rank",
	  .scope = RI_SCOPE_PROCESS, .rows = rows, .inside = ri_shape_of_mpirun, .port = 29500,
	  .grace_s = 5, .cite = "Open MPI mpirun(1), \"Signal Propagation\"" },
	{ .name = NULL },
};

const struct ri_source ri_source_pbs = {
	.name = "pbs",
	.summary = "a job of OpenPBS or Torque: its machines",
	.identity = RI_SCOPE_NONE,
	.reads = reads,
	.shapes = shapes,
	.detect = detect,
	.read = read_pbs,
};
