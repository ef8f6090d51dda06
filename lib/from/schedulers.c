/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedulers. PBS and LSF give machines and no ranks: each starts one process on the first
 * machine, the job's script, from which mpirun starts the ranks. Slurm's srun starts ranks, too.
 */
#include <inttypes.h>
#include <string.h>

#include "from/hosts.h"

/* The hosts of a file that a variable names. False: it has none, or cannot be read. */
static bool read_file(struct ri_reading *reading, const char *variable, struct ri_hostfile *out)
{
	const struct ri_context *context = reading->context;

	if (context->host == NULL || !ri_source_sees_text(context->env, variable))
		return false;
	/* It is there on the job's first node alone, and not in every container. */
	if (!ri_hostfile_of_variable(out, variable, reading)) {
		if (reading->err->code == RI_CODE_NONE)
			ri_note(context->findings, RI_CODE_ENV_IGNORED, variable,
				"the file named there cannot be read");
		return false;
	}
	if (out->bad_line != 0)
		ri_warn(context->findings, RI_CODE_ENV_IGNORED, variable,
			"line %zu of the file names no host and is not used", out->bad_line);
	return out->count > 0;
}

/* Do the launcher's ranks fill so many hosts, if each node has as many as this one? */
static bool is_filled(const struct ri_reading *reading, uint64_t hosts)
{
	const char *launcher = reading->launcher->name;
	uint64_t size, local;

	return ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, launcher, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, launcher, &local) &&
		hosts * local == size;
}

/* Under a launcher that fills all hosts: claim the first where no variable names the master. */
static void guess_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	const char *launcher = reading->launcher->name;
	struct ri_fact *claim;

	if (hosts->number < 2 || ri_reading_has_master(reading))
		return;
	claim = ri_claim_master(reading, hosts, RI_STRENGTH_DEFAULT);
	if (claim == NULL)
		return;
	ri_finding_hint(ri_note(reading->context->findings, RI_CODE_MASTER_ASSUMED,
		claim->origin.variable, "%s does not say where rank 0 runs: \"%s\" is right if it "
		"fills the machines of %s in order", launcher, claim->text, reading->source->name),
		"set MASTER_ADDR if this is another host");
}

/*
 * What a file of machines, from that one on, says to this process: hosts and how many where no
 * launcher stands between, hosts and a guess of the master under one that fills them.
 */
static void claim_machines(struct ri_reading *reading, const char *variable,
	const struct ri_hostfile *file, size_t from)
{
	bool direct = ri_reading_is_direct(reading);
	struct ri_fact *hosts;

	if (file->count <= from ||
		(!direct && !is_filled(reading, file->count - from)))
		return;
	hosts = ri_claim_list_of(reading, variable, file->hosts + from, file->count - from);
	if (hosts != NULL && direct)
		ri_claim_value(reading, RI_FACT_NNODES, variable, hosts->number);
	else if (hosts != NULL)
		guess_master(reading, hosts);
}

/* Say that there is an allocation and no rank, unless a source knows a rank. */
static void note_allocation(const struct ri_reading *reading, const char *variable)
{
	if (reading->identity != NULL)
		return;
	ri_note(reading->context->findings, RI_CODE_SOURCE_ALLOCATION, variable,
		"%s allocated the machines of this job, but did not start this process as a rank",
		reading->source->name);
}

#define MOM "OpenPBS src/resmom/start_exec.c"

static void read_pbs(struct ri_reading *reading)
{
	struct ri_hostfile file;
	uint32_t share;

	note_allocation(reading, "PBS_JOBID");
	ri_claim_rows(reading, ri_source_pbs.reads);
	if (!read_file(reading, "PBS_NODEFILE", &file))
		return;
	share = ri_hostfile_share(&file, 0);
	if (share > 0)
		ri_claim_value(reading, RI_FACT_NPROC, "PBS_NODEFILE", share);
	claim_machines(reading, "PBS_NODEFILE", &file, 0);
}

/* OpenPBS, PBS Pro or Torque. */
const struct ri_source ri_source_pbs = {
	.name = "pbs",
	.summary = "a job of OpenPBS or Torque: its machines",
	.identity = RI_SCOPE_NONE,
	.reads = RI_READS(
		{ "PBS_JOBID", "the job", RI_SEEN, RI_JOB_NAME, .cite = MOM },
		{ "PBS_NODEFILE", "a file with the nodes, each once for each of its processes",
		  RI_SEEN, .cite = MOM }),
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

/* The same of a list; false where there is none. */
static bool claim_list(struct ri_reading *reading, const char *variable, bool pairs)
{
	struct ri_hostfile file;

	if (!ri_source_sees_text(reading->context->env, variable) ||
		!ri_hostfile_of_words(&file, ri_reading_get(reading, variable), pairs, reading))
		return false;
	if (file.bad_line != 0) {
		ri_claim_broken(reading, RI_FACT_HOSTS, variable,
			pairs ? "hosts, each with its slots" : "a list of hosts");
		return false;
	}
	claim_machines(reading, variable, &file, count_script_hosts(&file));
	return true;
}

static void read_lsf(struct ri_reading *reading)
{
	static const char rank_file[] = "LSB_DJOB_RANKFILE", host_file[] = "LSB_DJOB_HOSTFILE";
	struct ri_hostfile file;

	note_allocation(reading, "LSB_JOBID");
	ri_claim_rows(reading, ri_source_lsf.reads);
	/* On more lines than the first the script's host has ranks as well. */
	if (read_file(reading, rank_file, &file))
		claim_machines(reading, rank_file, &file, file.slots[0] == 1 ? 1 : 0);
	else if (!claim_list(reading, "LSB_HOSTS", false) &&
		!claim_list(reading, "LSB_MCPU_HOSTS", true) &&
		read_file(reading, host_file, &file))
		claim_machines(reading, host_file, &file, count_script_hosts(&file));
}

/* On the systems that have jsrun the first machine runs the job's script alone. */
const struct ri_source ri_source_lsf = {
	.name = "lsf",
	.summary = "a job of IBM Spectrum LSF: its machines",
	.identity = RI_SCOPE_NONE,
	.cite = LSF,
	.reads = RI_READS(
		{ "LSB_JOBID", "the job", RI_SEEN, RI_JOB_NAME, "1670" },
		{ "LSB_DJOB_RANKFILE",
		  "a file with a host for each rank; the first line is the host of the batch "
		  "script", RI_ONE_SEEN, .cite = LIGHTNING },
		{ "LSB_HOSTS", "a host for each slot; absent if the list is too long",
		  RI_ONE_SEEN },
		{ "LSB_MCPU_HOSTS", "each host and its slots", RI_ONE_SEEN,
		  .value = "<each: ><host> <ranks></each>" },
		{ "LSB_DJOB_HOSTFILE", "a file with a host for each slot", RI_ONE_SEEN }),
	RI_SHAPES({ RI_SHAPE_OF(lsf, PROCESS), .summary = "mpirun in a job of LSF starts each rank",
		.beside = ri_shape_of_mpirun, .grace_s = 10,
		.succeeded = "DONE", .failed = "EXIT", .stopped = "EXIT",
		RI_CITE("IBM Spectrum LSF, lsb.params, JOB_TERMINATE_INTERVAL; bjobs, STAT") }),
	.read = read_lsf,
};

/*
 * A task that srun started. The names of the step are read,
 * not those of the job, since a step may run on a part of the job's nodes.
 *
 * Without a step it is an allocation: machines, and no rank. Below
 * another launcher the step is that one's daemons.
 */

#define TASK "Slurm src/slurmd/slurmstepd/task.c"

enum {
	/* Equal on all nodes without a word between them, and above what needs root. */
	FIRST_PORT = 10000,
	PORTS = 20000,
};

static const char per_node[] = "SLURM_STEP_TASKS_PER_NODE";
static const char job_id[] = "SLURM_JOB_ID";
static const struct ri_range job_ids = { 0, UINT32_MAX };
static const char per_node_asked[] = "SLURM_NTASKS_PER_NODE", on_node[] = "SLURM_GPUS_ON_NODE";

bool ri_source_sees_slurm_task(const struct ri_env *env)
{
	/*
	 * Slurm slurm/slurm.h: SLURM_MAX_NORMAL_STEP_ID. Batch scripts, interactive shells and
	 * the external step have the numbers above it, or none.
	 */
	static const struct ri_range steps = { 0, 0xfffffff0 };
	const char *step = ri_env_get(env, "SLURM_STEP_ID");
	uint64_t number;

	return step != NULL && ri_number_read(step, steps, &number, NULL) == RI_NUMBER_OK &&
		ri_source_sees(env, "SLURM_PROCID") &&
		(ri_source_sees(env, "SLURM_STEP_NUM_TASKS") ||
			ri_source_sees(env, "SLURM_NTASKS")) &&
		ri_source_sees(env, "SLURM_STEP_NODELIST");
}

static bool sees_slurm(const struct ri_env *env)
{
	return ri_source_sees(env, "SLURM_JOB_ID") || ri_source_sees_slurm_task(env);
}

/*
 * A step of one component inherits the number of the job's; of a step of several
 * env_array_for_step (src/common/env.c) gives the nodes and tasks of them all, and SLURM_PROCID
 * and SLURM_NODEID count through them. Before that they were of one component: so the numbers
 * of the step have to hold together, with this task as one of it. Else the variable that says
 * how many components there are is why not.
 */
static const char *find_components(const struct ri_reading *reading)
{
	static const char *const names[] = { "SLURM_HET_SIZE", "SLURM_PACK_SIZE" };
	static const struct ri_range counts = { 1, UINT32_MAX };
	const struct ri_env *env = reading->context->env;
	const char *list = ri_reading_get(reading, per_node);
	uint64_t number, rank, size, local, node, nodes;
	struct ri_tasks tasks;
	bool agrees = list != NULL &&
		ri_reading_number(reading, RI_FACT_RANK, "SLURM_PROCID", &rank) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "SLURM_STEP_NUM_TASKS", &size) &&
		ri_reading_number(reading, RI_FACT_LOCAL_RANK, "SLURM_LOCALID", &local) &&
		ri_reading_number(reading, RI_FACT_NODE_RANK, "SLURM_NODEID", &node) &&
		ri_reading_number(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES", &nodes) &&
		ri_tasks_read(list, node, &tasks) && tasks.nodes == nodes &&
		tasks.tasks == size && rank < size && local < tasks.here;

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (ri_source_sees_text(env, names[i]) &&
			(ri_number_read(ri_env_get(env, names[i]), counts, &number, NULL) !=
				RI_NUMBER_OK || (number > 1 && !agrees)))
			return names[i];
	return NULL;
}

/* How many ranks this node has, if the list agrees with what else is known. */
static void claim_local_size(struct ri_reading *reading)
{
	const struct ri_fact *said =
		ri_claim_of(reading, RI_FACT_WORLD_SIZE, reading->source->name);
	uint64_t size, nodes, node = 0;
	struct ri_tasks tasks;

	if (!ri_source_sees_text(reading->context->env, per_node) ||
		!ri_claim_get(reading, RI_FACT_WORLD_SIZE, &size) ||
		!ri_claim_get(reading, RI_FACT_NNODES, &nodes) ||
		!ri_claim_get(reading, RI_FACT_NODE_RANK, &node))
		return;
	if (!ri_tasks_read(ri_reading_get(reading, per_node), node, &tasks) ||
		tasks.nodes != nodes || tasks.tasks != size) {
		ri_warn(reading->context->findings, RI_CODE_ENV_IGNORED, per_node,
			"the value is %s, expected %" PRIu64 " tasks (%s) on %" PRIu64
			" nodes (SLURM_STEP_NUM_NODES); it is not used",
			RI_QUOTED(ri_reading_get(reading, per_node)), size, said->origin.variable,
			nodes);
		ri_claim_open(reading, RI_FACT_LOCAL_WORLD_SIZE, per_node,
			"SLURM_STEP_TASKS_PER_NODE contradicts the step's tasks and nodes");
	} else if (tasks.here == 0) {
		ri_claim_open(reading, RI_FACT_LOCAL_WORLD_SIZE, per_node,
			"SLURM_STEP_TASKS_PER_NODE has no tasks on the node of SLURM_NODEID");
	} else {
		ri_claim_value(reading, RI_FACT_LOCAL_WORLD_SIZE, per_node, tasks.here);
	}
}

static void claim_tuple(struct ri_reading *reading)
{
	const char *components = find_components(reading);

	if (components != NULL)
		ri_claim_broken(reading, RI_FACT_RANK, components,
			"1, or a step whose tasks and nodes agree with this task's numbers");
	else
		ri_claim_number(reading, RI_FACT_RANK, "SLURM_PROCID");
	if (ri_claim_filled(reading, RI_FACT_WORLD_SIZE, "SLURM_STEP_NUM_TASKS") == NULL)
		ri_claim_number(reading, RI_FACT_WORLD_SIZE, "SLURM_NTASKS");
	ri_claim_filled(reading, RI_FACT_LOCAL_RANK, "SLURM_LOCALID");
}

/* The list is sorted, and rank 0 on its first node unless the tasks were put elsewhere. */
static void claim_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	const char *how = ri_reading_get(reading, "SLURM_DISTRIBUTION");
	uint64_t rank, node = 0;
	bool first = ri_claim_get(reading, RI_FACT_RANK, &rank) && rank == 0 &&
		ri_claim_get(reading, RI_FACT_NODE_RANK, &node) && node < hosts->number;
	struct ri_fact *claim;

	if (!first && how != NULL && strncmp(how, "arbitrary", strlen("arbitrary")) == 0) {
		ri_claim_open(reading, RI_FACT_MASTER_ADDR, "SLURM_DISTRIBUTION",
			"rank 0 may be on any node of the step");
		return;
	}
	claim = ri_claim_master(reading, hosts, RI_STRENGTH_SAID);
	if (claim != NULL && first && hosts->state == RI_STATE_KNOWN)
		claim->text = hosts->list[node];
}

/* A program that is one task where more were asked for leaves the node's other GPUs idle. */
static void warn_of_few(const struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	uint64_t local, here, asked, gpus, nodes;

	if (context->command->mode != RI_MODE_PROCESS || context->command->stated ||
		context->fan_out != 0 ||
		!ri_claim_get(reading, RI_FACT_LOCAL_RANK, &local) || local > 0 ||
		!ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &here) ||
		!ri_claim_get(reading, RI_FACT_NNODES, &nodes) ||
		!ri_reading_number(reading, RI_FACT_LOCAL_WORLD_SIZE, per_node_asked, &asked) ||
		!ri_reading_number(reading, RI_FACT_LOCAL_WORLD_SIZE, on_node, &gpus) ||
		here >= asked || here >= gpus)
		return;
	ri_finding_hint(ri_warn(context->findings, RI_CODE_NPROC_UNUSED, per_node_asked, "%" PRIu64
		" tasks were asked for on each node, but srun started %" PRIu64
		" on this one, which has %" PRIu64 " GPUs", asked, here, gpus),
		"start all of them: srun --ntasks=%" PRIu64 " --ntasks-per-node=%" PRIu64
		"; use --launch=node if the command starts ranks itself", nodes * asked, asked);
}

static void claim_step(struct ri_reading *reading)
{
	struct ri_fact *id = ri_claim_of(reading, RI_FACT_JOB_ID, reading->source->name);
	const char *step = ri_reading_get(reading, "SLURM_STEP_ID");
	const struct ri_fact *hosts;

	/* Two may run at once, so one is named as Slurm itself names it: "1234.0". */
	if (id != NULL && step != NULL)
		id->text = ri_reading_format(reading, "%s.%s", id->text, step);
	claim_tuple(reading);
	ri_claim_filled(reading, RI_FACT_NNODES, "SLURM_STEP_NUM_NODES");
	ri_claim_filled(reading, RI_FACT_NODE_RANK, "SLURM_NODEID");
	claim_local_size(reading);
	hosts = ri_claim_hostlist(reading, "SLURM_STEP_NODELIST");
	if (hosts != NULL)
		claim_master(reading, hosts);
	warn_of_few(reading);
}

static void read_slurm(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	bool task = ri_source_sees_slurm_task(env);
	struct ri_fact *claim;
	uint64_t number;

	ri_claim_filled(reading, RI_FACT_RESTART_COUNT, "SLURM_RESTART_COUNT");
	/* Steps of one job share the port; on the same first node it must be stated. */
	claim = ri_claim_label(reading, RI_FACT_JOB_ID, job_id) == NULL ? NULL
		: ri_claim(reading, RI_FACT_MASTER_PORT, job_id);
	if (claim != NULL && ri_number_read(ri_reading_get(reading, job_id), job_ids, &number,
		NULL) == RI_NUMBER_OK) {
		claim->number = FIRST_PORT + number % PORTS;
		claim->strength = RI_STRENGTH_DEFAULT;
	} else {
		ri_claim_spoil(claim, RI_STATE_BROKEN, "the number of a job");
	}
	if (ri_reading_is_direct(reading)) {
		if (task) {
			claim_step(reading);
			return;
		}
		/* in a batch script, or a shell of salloc */
		note_allocation(reading, ri_source_sees(env, "SLURM_STEP_ID")
			? "SLURM_STEP_ID" : job_id);
		ri_claim_filled(reading, RI_FACT_NNODES, "SLURM_JOB_NUM_NODES");
		ri_claim_hostlist(reading, "SLURM_JOB_NODELIST");
		return;
	}
	/* Below a launcher the step, where there is one, is that of its daemons. */
	if (task && find_components(reading) == NULL)
		claim_tuple(reading);
	if (!ri_reading_number(reading, RI_FACT_NNODES, "SLURM_JOB_NUM_NODES", &number) ||
		!is_filled(reading, number))
		return;
	claim = ri_claim_hostlist(reading, "SLURM_JOB_NODELIST");
	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return;
	if (claim->number == number)
		guess_master(reading, claim);
	else
		ri_claim_spoil(claim, RI_STATE_BROKEN, "as many hosts as in SLURM_JOB_NUM_NODES");
}

const struct ri_source ri_source_slurm = {
	.name = "slurm",
	.summary = "a task under srun (Slurm); otherwise the machines of the job",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.signals = RI_SIGNALS_STEP,
	.once = "srun -n NODES --ntasks-per-node=1 rankinit -- COMMAND",
	.cite = "Slurm src/common/env.c",
	.reads = RI_READS(
		{ "SLURM_STEP_ID", "the step; numbers above 4294967280 are not steps with tasks",
		  .value = "0", .cite = "Slurm slurm/slurm.h" },
		{ "SLURM_PROCID", "rank", .value = "<rank>", .cite = TASK },
		{ "SLURM_LOCALID", "local rank", .value = "<local_rank>", .cite = TASK },
		{ "SLURM_NODEID", "index of this node in the step", .value = "<node>",
		  .cite = TASK },
		{ "SLURM_STEP_NUM_TASKS", "world size", .value = "<world_size>" },
		{ "SLURM_NTASKS", "the same, if the step does not give it",
		  .value = "<world_size>" },
		{ "SLURM_STEP_NUM_NODES", "nodes of the step", .value = "<nodes>" },
		{ per_node, "ranks of each node, 2(x3),1" },
		{ "SLURM_STEP_NODELIST", "nodes of the step, the master first",
		  .value = "<each:,><host></each>" },
		{ "SLURM_DISTRIBUTION",
		  "arbitrary: rank 0 may be on any node, which rank 0 alone knows",
		  .cite = "Slurm srun(1), --distribution, OUTPUT ENVIRONMENT VARIABLES" },
		{ "SLURM_JOB_NUM_NODES", "nodes of the job, if there is no step",
		  .value = "<nodes>" },
		{ "SLURM_JOB_NODELIST",
		  "their names; under mpirun the first is the master if the ranks fill all of them",
		  .value = "<each:,><host></each>" },
		{ "SLURM_HET_SIZE",
		  "components of the job; of more than one the step's numbers have to agree",
		  .cite = "Slurm sbatch(1)" },
		{ "SLURM_PACK_SIZE", "the same before Slurm 20.02", .cite = "Slurm sbatch(1)" },
		{ job_id, "the job; its port is 10000 + this modulo 20000", .value = "1234" },
		/* simulated as of srun --ntasks-per-node, or Lightning refuses SLURM_NTASKS */
		{ per_node_asked,
		  "tasks that were asked for on each node, of which srun may start fewer",
		  .value = "<ranks>", .cite = "Slurm sbatch(1), srun(1)" },
		{ on_node, "GPUs of this node, which fewer tasks may leave idle",
		  .cite = "Slurm srun(1)" },
		{ "SLURM_RESTART_COUNT", "how many times the job was requeued",
		  .cite = "Slurm sbatch(1)" }),
	/* KillOnBadExit is 0 by default: the step's other tasks run on. */
	RI_SHAPES({ RI_SHAPE_OF(slurm, PROCESS), .summary = "srun starts each task",
		.rows = RI_SHAPE_ROWS(
			{ per_node, "<ranks>", RI_OF_ONE_NODE },
			{ per_node, "<ranks>(x<nodes>)", RI_OF_SEVERAL_NODES }),
		.port = FIRST_PORT + 1234, .grace_s = 30, .goes_on = true,
		.succeeded = "COMPLETED", .failed = "FAILED", .stopped = "CANCELLED",
		RI_CITE("Slurm slurm.conf(5), KillWait, KillOnBadExit; "
			"sacct(1), JOB STATE CODES") }),
	.detect = sees_slurm,
	.read = read_slurm,
};
