/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries on top of torch that read its names by themselves: what a rank of each is given. */
#include <string.h>

#include "base/text.h"
#include "to/to.h"

/* Which rank it is, and where the ranks meet. */
#define RANK_AND_MASTER \
	(RI_FROM(RANK) | RI_FROM(WORLD_SIZE) | RI_FROM(LOCAL_RANK) | RI_RENDEZVOUS)
#define NODE_AND_MASTER (RI_FROM(NODE_RANK) | RI_RENDEZVOUS)

/*
 * MosaicML Composer. In a rank it takes six variables, and is a job of one where they are
 * missing, whatever MASTER_ADDR says. Its launcher reads from the same names how many ranks to
 * start: WORLD_SIZE in the job, LOCAL_WORLD_SIZE on this node. What the platform says there
 * stays.
 */
#define DIST "Composer composer/utils/dist.py"
#define LAUNCHER "Composer composer/cli/launcher.py, _parse_args"

/*
 * A count that is there and is not that of this one process, or of nodes: its platform's.
 * Fewer in the job than there are nodes are an image's.
 */
static bool is_given(const struct ri_writing *writing, const struct ri_topology *topology,
	const char *variable, enum ri_fact_id id)
{
	const char *value = ri_env_get(writing->context->env, variable);
	const char *origin = topology->facts[id].origin.variable;
	const char *nodes = topology->facts[RI_FACT_NNODES].origin.variable;
	struct ri_range counts = { 1, RI_MAX_RANKS };
	uint64_t count;

	if (id == RI_FACT_WORLD_SIZE)
		ri_topology_get(topology, RI_FACT_NNODES, &counts.min);
	return value != NULL && (origin == NULL || strcmp(origin, variable) != 0) &&
		(nodes == NULL || strcmp(nodes, variable) != 0) &&
		ri_number_read(value, counts, &count, NULL) == RI_NUMBER_OK;
}

static void render_composer(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_command *command = writing->context->command;
	uint64_t nodes, each = writing->context->wishes->nproc_count;

	if (command->mode != RI_MODE_NODE || command->launcher == NULL ||
		!command->launcher->counts)
		return;
	/* Without an identity there is one node. */
	if (!ri_topology_get(topology, RI_FACT_NNODES, &nodes))
		nodes = 1;
	/* --nproc-per-node stands above what is there. */
	if (each == 0) {
		if (is_given(writing, topology, "WORLD_SIZE", RI_FACT_WORLD_SIZE))
			return;
		if (!is_given(writing, topology, "LOCAL_WORLD_SIZE", RI_FACT_LOCAL_WORLD_SIZE))
			ri_topology_get(topology, RI_FACT_NPROC, &each);
	}
	/* On the first node it would run a job of that node, on the others it would fail. */
	if (each == 0) {
		if (nodes == 1 || ri_command_mentions(command, "--world-size"))
			return;
		ri_fail(writing->err, RI_CODE_LAUNCH_INCOMPLETE, "WORLD_SIZE",
			"composer needs the number of ranks on all %d nodes, and no source "
			"provides it", (int)nodes);
		ri_fail_hint(writing->err, "state --nproc-per-node, or add composer's own options "
					   "--world_size and -n");
		return;
	}
	ri_want_number(writing, "WORLD_SIZE", nodes * each);
	ri_want_number(writing, "LOCAL_WORLD_SIZE", each);
}

const struct ri_framework ri_framework_composer = {
	.name = "composer",
	.summary = "MosaicML Composer and its launcher",
	.when = "A rank gets all of them; the launcher gets NODE_RANK and MASTER_*, and the number "
		"of ranks to start if it is known.",
	.writes = RI_VARIABLES(
		{ "RANK", "index of this process in the job", DIST },
		{ "WORLD_SIZE",
		  "processes in the job; a launcher that has no value yet gets the number of ranks "
		  "that all nodes start", LAUNCHER },
		{ "LOCAL_RANK", "index of this process on its node", DIST },
		{ "LOCAL_WORLD_SIZE",
		  "processes on this node; for the launcher, the number of ranks it starts",
		  LAUNCHER },
		{ "NODE_RANK", "index of this node", LAUNCHER },
		{ "MASTER_ADDR", "host on which rank 0 listens", LAUNCHER },
		{ "MASTER_PORT", "port on which rank 0 listens", LAUNCHER }),
	.rank = {
		.gets = RANK_AND_MASTER | RI_FROM(LOCAL_WORLD_SIZE) | RI_FROM(NODE_RANK),
		.needs = RANK_AND_MASTER | RI_FROM(LOCAL_WORLD_SIZE) | RI_FROM(NODE_RANK),
	},
	.node = { .gets = NODE_AND_MASTER, .needs = NODE_AND_MASTER },
	.nameless = true,
	.render = render_composer,
};

/*
 * Lightning and Fabric where they find no other cluster. They compute the rank from NODE_RANK
 * and LOCAL_RANK, and start the ranks of a node themselves unless LOCAL_RANK is there, whatever
 * it says.
 */
#define PLUGIN "Lightning src/lightning/fabric/plugins/environments/lightning.py"

static void render_lightning(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_command *command = writing->context->command;

	(void)topology;
	if (command->mode != RI_MODE_NODE)
		return;
	ri_want_gone(writing, "LOCAL_RANK");
	/* a launcher that we do not know may well be a script with a Trainer in it */
	if (command->launcher == NULL || strcmp(command->launcher->name, "fabric") == 0)
		ri_want_gone(writing, "SLURM_NTASKS");
}

const struct ri_framework ri_framework_lightning = {
	.name = "lightning",
	.summary = "Lightning and Fabric, as read by LightningEnvironment",
	.when = "A rank gets NODE_RANK, LOCAL_RANK and MASTER_*; a launcher gets NODE_RANK and "
		"MASTER_*, and LOCAL_RANK is removed.",
	.writes = RI_VARIABLES(
		{ "NODE_RANK", "index of this node", PLUGIN },
		{ "LOCAL_RANK",
		  "index of this process on its node; removed if Lightning starts the ranks",
		  PLUGIN },
		{ "MASTER_ADDR", "host on which rank 0 listens", PLUGIN },
		{ "MASTER_PORT", "port on which rank 0 listens", PLUGIN },
		{ "SLURM_NTASKS",
		  "removed if Lightning starts the ranks: with it, Lightning assumes that srun "
		  "starts them",
		  "Lightning src/lightning/fabric/plugins/environments/slurm.py, detect" }),
	.rank = {
		.gets = NODE_AND_MASTER | RI_FROM(LOCAL_RANK),
		.needs = NODE_AND_MASTER | RI_FROM(LOCAL_RANK),
	},
	.node = { .gets = NODE_AND_MASTER, .needs = NODE_AND_MASTER },
	.render = render_lightning,
};

/*
 * DeepSpeed: five variables, all of them or none. Where one is missing it looks for Azure ML,
 * SageMaker and mpi4py in turn, and takes another port and another address from each. Its
 * launcher on a node, launch.py, takes where to meet from its words alone.
 */
#define COMM "DeepSpeed deepspeed/comm/comm.py, init_distributed"

static void render_deepspeed(struct ri_writing *writing, const struct ri_topology *topology)
{
	static const char variable[] = "OMPI_COMM_WORLD_LOCAL_RANK";
	const char *value = ri_env_get(writing->context->env, variable);
	const struct ri_command *command = writing->context->command;
	const struct ri_launcher *launcher = command->launcher;
	const struct ri_range any = { 0, UINT32_MAX };
	uint64_t local, number, nodes;

	if (command->mode == RI_MODE_NODE) {
		/* Without these words every node meets itself (launcher/launch.py, parse_args). */
		if (launcher == NULL || strcmp(launcher->name, "deepspeed") != 0 ||
			!ri_topology_get(topology, RI_FACT_NNODES, &nodes) || nodes == 1 ||
			ri_command_mentions(command, "--master-addr"))
			return;
		ri_fail(writing->err, RI_CODE_LAUNCH_INCOMPLETE, "MASTER_ADDR",
			"deepspeed takes it only from its own options, which do not give it: each "
			"of the %d nodes would start a job of its own", (int)nodes);
		ri_fail_hint(writing->err, "add --node_rank=$NODE_RANK "
			"--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT");
		return;
	}
	/* Of an mpirun outside of what started this rank; MPI programs may still ask for it. */
	if (!ri_writing_is_asked(writing) || value == NULL ||
		!ri_topology_get(topology, RI_FACT_LOCAL_RANK, &local) ||
		(ri_number_read(value, any, &number, NULL) == RI_NUMBER_OK && number == local))
		return;
	ri_want_gone(writing, variable);
	ri_note(writing->context->findings, RI_CODE_ENV_IGNORED, variable,
		"is not the local rank, which is %d according to %s: it is removed", (int)local,
		topology->identity);
}

const struct ri_framework ri_framework_deepspeed = {
	.name = "deepspeed",
	.summary = "DeepSpeed, as read by init_distributed",
	.when = "A rank gets all five, so that DeepSpeed looks nowhere else. Its launcher takes "
		"them from its options, where $MASTER_ADDR and similar may stand.",
	.writes = RI_VARIABLES(
		{ "RANK", "index of this process in the job", COMM },
		{ "WORLD_SIZE", "processes in the job", COMM },
		{ "LOCAL_RANK", "index of this process on its node", COMM },
		{ "MASTER_ADDR", "host on which rank 0 listens", COMM },
		{ "MASTER_PORT", "port on which rank 0 listens", COMM },
		{ "OMPI_COMM_WORLD_LOCAL_RANK",
		  "--frameworks=deepspeed removes it if it differs from LOCAL_RANK, because "
		  "DeepSpeed asserts that they are equal",
		  "DeepSpeed deepspeed/runtime/engine.py, _do_args_sanity_check" }),
	.rank = { .gets = RANK_AND_MASTER, .needs = RANK_AND_MASTER },
	.render = render_deepspeed,
};

/*
 * Hugging Face Accelerate in a rank. LOCAL_RANK alone makes it distributed; with GPUs it looks
 * at nothing else to find out, so mpirun without it makes as many jobs of one as there are ranks.
 *
 * ACCELERATE_* is what a user chooses (mixed precision, FSDP, the CPU), not who
 * a rank is: it is neither written nor removed. `accelerate launch` hands its
 * words to torchrun, and gets what that gets.
 */
#define STATE "Accelerate src/accelerate/state.py, PartialState"
#define ENVIRONMENT \
	"Accelerate src/accelerate/utils/environment.py, get_cpu_distributed_information"

const struct ri_framework ri_framework_accelerate = {
	.name = "accelerate",
	.summary = "Hugging Face Accelerate, if each rank is started on its own",
	.when = "A rank gets all of them. accelerate launch gets the same as torchrun.",
	.writes = RI_VARIABLES(
		{ "LOCAL_RANK",
		  "index of this process on its node; if it is set, Accelerate runs distributed",
		  STATE },
		{ "RANK", "index of this process in the job", STATE },
		{ "WORLD_SIZE", "processes in the job", STATE },
		{ "LOCAL_WORLD_SIZE", "processes on this node", ENVIRONMENT },
		{ "MASTER_ADDR", "host on which rank 0 listens", STATE },
		{ "MASTER_PORT", "port on which rank 0 listens", STATE }),
	.rank = { .gets = RANK_AND_MASTER | RI_FROM(LOCAL_WORLD_SIZE), .needs = RANK_AND_MASTER },
};

/*
 * Hugging Face's Trainer. Without LOCAL_RANK, and with several GPUs to see, every rank runs on
 * all of them by itself, and says nothing. Old scripts take --local_rank too: "$LOCAL_RANK" in
 * an argument is replaced (command/command.h).
 */
#define ARGUMENTS "Transformers src/transformers/training_args.py, TrainingArguments"

const struct ri_framework ri_framework_transformers = {
	.name = "transformers",
	.summary = "Hugging Face Transformers, the Trainer",
	.when = "A rank gets all of them; a launcher gives them to its ranks itself.",
	.writes = RI_VARIABLES(
		{ "LOCAL_RANK",
		  "index of this process on its node; without it the Trainer runs alone",
		  ARGUMENTS },
		{ "RANK", "index of this process in the job", ARGUMENTS },
		{ "WORLD_SIZE", "processes in the job", ARGUMENTS },
		{ "MASTER_ADDR", "host on which rank 0 listens", ARGUMENTS },
		{ "MASTER_PORT", "port on which rank 0 listens", ARGUMENTS }),
	.rank = { .gets = RANK_AND_MASTER, .needs = RANK_AND_MASTER },
};

/*
 * Framework "horovod": nothing is written. Under mpirun Horovod asks MPI, and
 * an MPI world cannot be made out of names. Over Gloo it needs a server that
 * lives in horovodrun, and HOROVOD_RANK without one is taken for a job of one
 * (horovod/common/gloo/gloo_context.cc) - as is everything else that comes
 * without a launcher: not an error, but as many models as there are ranks.
 */

#define GLOO_RUN "Horovod horovod/runner/gloo_run.py"

static void render_horovod(struct ri_writing *writing, const struct ri_topology *topology)
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
		{ "HOROVOD_GLOO_RENDEZVOUS_ADDR", "started by horovodrun over Gloo", GLOO_RUN }),
	.render = render_horovod,
};
