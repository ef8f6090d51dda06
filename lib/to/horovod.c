/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "horovod": nothing is written. Under mpirun Horovod asks MPI, and
 * an MPI world cannot be made out of names. Over Gloo it needs a server that
 * lives in horovodrun, and HOROVOD_RANK without one is taken for a job of one
 * (horovod/common/gloo/gloo_context.cc) - as is everything else that comes
 * without a launcher: not an error, but as many models as there are ranks.
 */
#include <string.h>

#include "to/writing.h"

#define RUN "Horovod horovod/runner/gloo_run.py"

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	uint64_t size;

	if (!ri_writing_is_asked(writing) || ri_writing_is_of_nodes(writing, topology) ||
		!ri_topology_get(topology, RI_FACT_WORLD_SIZE, &size) || size == 1)
		return;
	/* Of the ranks that are started here none of these is one. */
	for (const struct ri_variable *v = writing->framework->looks;
		v->name != NULL && writing->context->fan_out == 0; v++)
		if (ri_env_get(writing->context->env, v->name) != NULL)
			return;
	ri_fail(writing->err, RI_CODE_FRAMEWORK_INCOMPLETE, "HOROVOD_RANK",
		"neither MPI nor horovodrun started this rank: Horovod would run %d jobs of one "
		"rank",
		(int)size);
	ri_fail_hint(writing->err, "start the ranks with mpirun or horovodrun, and put rankinit "
				   "between the launcher and the program");
}

const struct ri_framework ri_framework_horovod = {
	.name = "horovod",
	.summary = "Horovod, which gets everything from its own launchers",
	.when = "Nothing is written. With --frameworks=horovod, rankinit refuses a rank that no "
		"Horovod launcher started.",
	.looks = RI_VARIABLES(
		{ "OMPI_COMM_WORLD_SIZE", "this rank was started by mpirun of Open MPI",
		  "Horovod horovod/common/util.py, get_env_rank_and_size" },
		{ "PMIX_RANK", "started by a process manager that MPI can ask",
		  "openpmix 5.0 src/server/pmix_server.c" },
		{ "PMI_RANK", "the same for MPICH, Intel MPI and others",
		  "Horovod horovod/common/util.py, get_env_rank_and_size" },
		{ "JSM_NAMESPACE_RANK", "started by jsrun", "Horovod horovod/runner/js_run.py" },
		{ "MV2_COMM_WORLD_RANK", "started by mpirun_rsh of MVAPICH2",
		  "MVAPICH2 User Guide, 9.1 environment variables of a rank" },
		{ "PALS_RANKID", "started by Cray's launcher, or by srun for Cray MPI",
		  "Slurm src/plugins/mpi/cray_shasta/mpi_cray_shasta.c" },
		{ "HOROVOD_GLOO_RENDEZVOUS_ADDR", "started by horovodrun over Gloo", RUN }),
	.render = render,
};
