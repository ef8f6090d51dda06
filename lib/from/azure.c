/* SPDX-License-Identifier: Apache-2.0 */
/* Azure: jobs of Azure Machine Learning, tasks of Azure Batch, and what is left of Batch AI. */
#include <string.h>

#include "base/text.h"
#include "from/hosts.h"

#define BATCH_REFERENCE \
	"learn.microsoft.com/azure/batch/batch-compute-node-environment-variables"

enum {
	/*
	 * "Azure ML sets MASTER_PORT to 6105" (GUIDE). The port in AZ_BATCH_MASTER_NODE belongs
	 * to the Batch service itself (BATCH_REFERENCE names 6105 and MASTER_PORT instead), and
	 * DeepSpeed takes the same one on Azure ML (deepspeed/comm/comm.py).
	 */
	DEFAULT_PORT = 6105,
};

#define CR_NODE_RANK "AZUREML_CR_NODE_RANK"

#define GUIDE \
	"learn.microsoft.com/azure/machine-learning/how-to-train-distributed-gpu, PyTorch"
#define DEEPSPEED "DeepSpeed deepspeed/comm/comm.py, in_aml"
#define HI_ML "hi-ml hi-ml-azure/src/health_azure/utils.py"

static void read_azureml(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	bool listed = ri_source_sees_text(env, "AZ_BATCH_HOST_LIST");
	uint64_t count, place, size, nodes;

	/* Anybody may have a NODE_COUNT: for want of better, and no reason to refuse. */
	if (ri_claim_filled(reading, RI_FACT_NNODES, "AZUREML_NODE_COUNT") == NULL && !listed &&
		!ri_source_sees_text(env, "AZ_BATCH_NODE_LIST") &&
		ri_reading_number(reading, RI_FACT_NODE_RANK, CR_NODE_RANK, &place) &&
		ri_reading_number(reading, RI_FACT_NNODES, "NODE_COUNT", &count) && place < count)
		ri_claim_number(reading, RI_FACT_NNODES, "NODE_COUNT");
	if (reading->identity == NULL) {
		/*
		 * The service's own processes: no rank was launched inside them yet. It counts
		 * at least one for each node: fewer are an image's own.
		 */
		bool process = ri_quartet_sees(env) &&
			!(ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &size) &&
				ri_claim_get(reading, RI_FACT_NNODES, &nodes) && size < nodes);

		if (process)
			ri_claim_rows(reading, ri_source_azureml.reads);
		ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK");
		ri_claim_filled(reading, RI_FACT_NODE_RANK, CR_NODE_RANK);
	}
	/* after everything else, the list of Azure Batch among it */
	if (!listed)
		ri_claim_weigh(ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_IP"),
			RI_STRENGTH_DEFAULT);
}

#define RUN "simulated_1635982131_9e3a1f2c"
#define EXPERIMENT "6f1c9a52-0d6f-4a0e-8a53-2f4f5b1c7d10"
#define STATES \
	"learn.microsoft.com/dotnet/api/azure.resourcemanager.machinelearning.models." \
	"machinelearningjobstatus"
#define PREEMPTION \
	"learn.microsoft.com/azure/virtual-machines/linux/scheduled-events, Preempt"

/*
 * A job of Azure Machine Learning. An MPI job's ranks come
 * from its MPI; a PyTorch job's processes are started by the service itself,
 * with the variables of torch.distributed. Without a process count there is
 * one process for each node, and LOCAL_RANK is 0.
 *
 * The common runtime (Singularity's clusters) starts the command once on each
 * node, and may set none of the names that say which run it is.
 */
const struct ri_source ri_source_azureml = {
	.name = "azureml",
	.summary = "Azure Machine Learning job: nodes, and a PyTorch job's processes",
	.identity = RI_SCOPE_PROCESS | RI_SCOPE_NODE,
	.job = "AZUREML_RUN_ID",
	/* learn.microsoft.com/azure/machine-learning/reference-yaml-job-command */
	.once = "distribution: {type: pytorch, process_count_per_instance: 1} in the job",
	.port = DEFAULT_PORT,
	/* no reference by Microsoft is known to us */
	.cite = "public training scripts for Azure Machine Learning",
	.reads = RI_READS(
		{ "AZUREML_RUN_ID",
		  "the run; its presence marks the process as part of a job even without a rank",
		  RI_ONE_SEEN, .cite = HI_ML },
		{ "AZUREML_EXPERIMENT_ID", "the same", RI_ONE_SEEN, .cite = DEEPSPEED },
		{ "AZUREML_NODE_COUNT", "nodes of the job" },
		{ "NODE_COUNT",
		  "the same beside AZUREML_CR_NODE_RANK, if no other variable counts the nodes" },
		RI_QUARTET_READS(RI_NO_SIGN),
		{ "NODE_RANK", "index of this node", .cite = GUIDE },
		{ CR_NODE_RANK, "the same, by the common runtime", RI_ONE_SEEN | RI_TEXT },
		{ "MASTER_IP", "the host of rank 0 on Kubernetes compute", .cite = HI_ML }),
	/*
	 * Whether the other processes of a PyTorch job run on where one failed is not
	 * documented. A low-priority machine is told of its end 30 s before.
	 */
	RI_SHAPES(
		{ .name = "azureml_mpi", .summary = "an Azure ML MPI job: mpirun starts each rank",
		  .scope = RI_SCOPE_PROCESS, .beside = ri_shape_of_mpirun,
		  /* Around mpirun: what Azure Batch and Batch AI leave. */
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN },
			{ "AZUREML_EXPERIMENT_ID", EXPERIMENT },
			{ "AZUREML_NODE_COUNT", "<nodes>" },
			{ "AZ_BATCH_JOB_ID", EXPERIMENT },
			/* of one node it is no multi-instance task: Lightning pull request 14118 */
			{ "AZ_BATCH_MASTER_NODE", "<master>:6000", RI_OF_SEVERAL_NODES },
			{ "AZ_BATCH_HOST_LIST", "<each:,><host></each>", RI_OF_SEVERAL_NODES },
			{ "AZ_BATCH_NODE_LIST", "<each:;><host></each>", RI_OF_SEVERAL_NODES },
			{ "AZ_BATCHAI_MPI_MASTER_NODE", "<master>", RI_OF_SEVERAL_NODES },
			{ "AZ_BATCHAI_MPI_MASTER_NODE", "localhost", RI_OF_ONE_NODE }),
		  .port = DEFAULT_PORT, .grace_s = 5,
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Canceled",
		  RI_CITE(STATES "; Open MPI mpirun(1)") },
		{ .name = "azureml_pytorch",
		  .summary = "an Azure ML PyTorch job: the service starts each process",
		  .scope = RI_SCOPE_PROCESS, .port = DEFAULT_PORT, .grace_s = 30,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN },
			{ "AZUREML_EXPERIMENT_ID", EXPERIMENT },
			{ "AZUREML_NODE_COUNT", "<nodes>" },
			{ "RANK", "<rank>" },
			{ "WORLD_SIZE", "<world_size>" },
			{ "LOCAL_RANK", "<local_rank>" },
			{ "NODE_RANK", "<node>" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Canceled",
		  RI_CITE(STATES "; " PREEMPTION) },
		{ .name = "azureml_nodes",
		  .summary = "Azure ML's common runtime starts the command on each node",
		  .scope = RI_SCOPE_NODE, .port = 9500, .grace_s = 30,
		  .beside = ri_shape_states_master,
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN },
			{ "AZUREML_NODE_COUNT", "<nodes>" },
			{ "NODE_COUNT", "<nodes>" },
			{ CR_NODE_RANK, "<node>" }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Canceled",
		  RI_CITE(STATES "; " PREEMPTION) }),
	.read = read_azureml,
};

#define PRIMARY "AZ_BATCH_IS_CURRENT_NODE_MASTER"

/* "2 10.0.0.4 1 10.0.0.5 1": how many there are, and each with its cores. */
static void claim_nodes(struct ri_reading *reading)
{
	static const char variable[] = "CCP_NODES";
	const char *words = ri_reading_get(reading, variable);
	struct ri_hostfile file;
	uint64_t count;

	if (!ri_source_sees_text(reading->context->env, variable))
		return;
	words += strspn(words, " ");
	words += ri_digits_read(words, &count);
	if (!ri_hostfile_of_words(&file, words, true, reading))
		return;
	if (file.count > 0 && *words == ' ' && count == file.count)
		ri_claim_list_of(reading, variable, file.hosts, file.count);
	else
		ri_claim_broken(reading, RI_FACT_HOSTS, variable,
			"a list of host names or addresses");
}

/*
 * Known by hand on the node itself only: where mpirun started this process,
 * the variable may have come along from the primary node.
 */
static bool read_primary(struct ri_reading *reading, bool *is_primary)
{
	const char *raw = ri_reading_get(reading, PRIMARY);

	if (raw == NULL || ri_bool_read(raw, is_primary))
		return raw != NULL;
	ri_claim_broken(reading, RI_FACT_NODE_RANK, PRIMARY, "true or false");
	return false;
}

/*
 * Node 0 is where the master is, on all nodes alike: if that is not the first
 * of the list, the two change places.
 */
static void put_master_first(struct ri_reading *reading, struct ri_fact *hosts)
{
	const struct ri_fact *master =
		ri_claim_known(reading, RI_FACT_MASTER_ADDR, reading->source->name);
	const char **list;
	size_t at = 0;

	if (master == NULL)
		return;
	while (at < hosts->number && strcmp(hosts->list[at], master->text) != 0)
		at++;
	if (at == 0 || at == hosts->number)
		return;
	list = ri_reading_allocate(reading, hosts->number, sizeof(*list));
	if (list == NULL)
		return;
	memcpy(list, hosts->list, hosts->number * sizeof(*list));
	list[at] = hosts->list[0];
	list[0] = hosts->list[at];
	hosts->list = list;
}

/* Which of the hosts is this one? That it is the primary node goes without an address. */
static void claim_place(struct ri_reading *reading, const struct ri_fact *hosts)
{
	bool is_primary = false, is_said = read_primary(reading, &is_primary), is_found;
	struct ri_fact *claim;
	struct ri_own_machine own;
	uint64_t place = 0;

	if (!ri_own_read(&own, reading))
		return;
	is_found = ri_own_find(&own, hosts, &place);
	claim = ri_claim_value(reading, RI_FACT_NODE_RANK,
		is_found || !is_primary ? hosts->origin.variable : PRIMARY, is_found ? place : 0);
	if (claim == NULL)
		return;
	if (!is_found && !is_primary) {
		ri_claim_spoil(claim, RI_STATE_OPEN, "the name and the addresses of this machine "
			"match none of the hosts, or more than one");
		return;
	}
	if (is_said && is_primary != (claim->number == 0))
		ri_warn(reading->context->findings, RI_CODE_ENV_DIFFERS, PRIMARY,
			"%s is not used: according to %s this is node %d", ri_reading_get(reading,
			PRIMARY), claim->origin.variable, (int)claim->number);
	/* The job's command is started on the primary node, and on no other one. */
	if (claim->number == 0)
		ri_claim_word(reading, RI_FACT_ROLE, claim->origin.variable, RI_ROLE_PRIMARY,
			RI_STRENGTH_SAID);
}

/*
 * All ranks would wait for it; not where the user says which host it is, nor where it may be
 * one of them: a name may be that of an address, and an IPv6 address one more of a node's. An
 * IPv4 address is written in one way alone.
 */
static void report_outside(struct ri_reading *reading, const struct ri_fact *hosts)
{
	static const char plain[] = "0123456789.";
	const struct ri_fact *master = reading->claims[RI_FACT_MASTER_ADDR];

	if (master == NULL || master->origin.source != reading->source->name ||
		master->state != RI_STATE_KNOWN ||
		master->text[strspn(master->text, plain)] != '\0')
		return;
	for (size_t i = 0; i < hosts->number; i++)
		if (hosts->list[i][strspn(hosts->list[i], plain)] != '\0' ||
			strcmp(hosts->list[i], master->text) == 0)
			return;
	if (ri_source_sees_text(reading->context->env, "MASTER_ADDR"))
		return;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_ENV_DIFFERS,
		master->origin.variable, "%s is not among the nodes in %s, %s: if no rank 0 runs "
		"there, all other ranks wait forever", RI_QUOTED(master->origin.raw),
		hosts->origin.variable, RI_QUOTED(hosts->origin.raw)),
		"state --master-addr, the same on all nodes");
}

/* A port that the user states counts more than one of ours, also the Batch service's own. */
static void report_port(struct ri_reading *reading, unsigned batch)
{
	const struct ri_fact *claim = reading->claims[RI_FACT_MASTER_PORT];
	const char *stated = "MASTER_PORT";
	uint64_t port = 0;

	while (claim != NULL && claim->strength != RI_STRENGTH_MANUAL)
		claim = claim->next;
	if (claim != NULL) {
		stated = claim->origin.variable;
		port = claim->number;
	} else {
		ri_reading_number(reading, RI_FACT_MASTER_PORT, stated, &port);
	}
	if (port != batch)
		return;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_MASTER_PORT_BATCH, stated,
		"port %u is used as requested, but the Azure Batch service listens on it", batch),
		"without %s the port is %d", stated, DEFAULT_PORT);
}

static void read_azure_batch(struct ri_reading *reading)
{
	bool is_primary;
	struct ri_fact *hosts;
	unsigned port;

	/* on that port the Azure Batch service itself listens */
	ri_claim_endpoint(reading, RI_FACT_MASTER_ADDR, "AZ_BATCH_MASTER_NODE", &port);
	if (port != 0)
		report_port(reading, port);
	ri_claim_rows(reading, ri_source_azure_batch.reads);
	claim_nodes(reading);
	ri_claim_first_host(reading);
	hosts = ri_claim_known(reading, RI_FACT_HOSTS, reading->source->name);
	if (hosts != NULL) {
		put_master_first(reading, hosts);
		report_outside(reading, hosts);
	}
	/* A rank has its place from its launcher; the list is good for the master alone. */
	if (hosts != NULL && reading->identity == NULL)
		claim_place(reading, hosts);
	else
		read_primary(reading, &is_primary);
}

/*
 * A multi-instance task of Azure Batch, which is also
 * what an MPI job of Azure Machine Learning runs as. It knows the nodes, and
 * nothing about ranks; which of them this is the machine's own address tells.
 *
 * The task's application command runs on the primary node alone, where it
 * usually is mpirun; the coordination command runs on all of them. No variable in
 * the environment tells the two apart. So each node is told its place, and a
 * launcher on the primary node that it waits for the others.
 */
const struct ri_source ri_source_azure_batch = {
	.name = "azure_batch",
	.summary = "Azure Batch multi-instance task, Azure ML MPI job: master, hosts, this node",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.job = "AZ_BATCH_JOB_ID",
	.port = DEFAULT_PORT,
	.cite = BATCH_REFERENCE,
	.reads = RI_READS(
		{ "AZ_BATCH_MASTER_NODE",
		  "address:port of the primary node; the Azure Batch service itself listens on "
		  "the port", RI_ONE_SEEN, .value = "<master>:6000" },
		{ "AZ_BATCH_HOST_LIST", "the nodes of the task, separated by commas", RI_ONE_SEEN,
		  RI_HOSTS(',') },
		{ "AZ_BATCH_NODE_LIST", "the nodes of the task, separated by semicolons",
		  RI_ONE_SEEN, RI_HOSTS(';'), "<each:;><host></each>" },
		{ "CCP_NODES",
		  "the nodes in the format of HPC Pack: a count, then address and cores of each",
		  RI_ONE_SEEN, .value = "<nodes> <each: ><host> <ranks></each>" },
		{ PRIMARY, "true on the primary node, unless mpirun carried it to another one" },
		{ "AZ_BATCH_JOB_ID",
		  "name of the job; marks the process as part of a job even without a rank", 0,
		  RI_JOB_NAME, "simulated" },
		RI_OWN_READS),
	/*
	 * The application command is mpirun's, on the primary node alone: there is no shape of
	 * nodes, whose commands the service does not start.
	 */
	RI_SHAPES({ RI_SHAPE_OF(azure_batch, PROCESS),
		.summary = "mpirun of an Azure Batch task starts each rank",
		.beside = ri_shape_of_mpirun, .port = DEFAULT_PORT, .grace_s = 5,
		.succeeded = "success", .failed = "failure", .stopped = "failure",
		RI_CITE("learn.microsoft.com/rest/api/batchservice, TaskExecutionResult; "
			"Open MPI mpirun(1)") }),
	.read = read_azure_batch,
};

/* What is left of Batch AI: jobs of Azure Machine Learning, and other systems, keep its names. */
#define TASK_INDEX "AZ_BATCHAI_TASK_INDEX"
#define HOST_FILE "AZ_BATCHAI_MPI_HOST_FILE"
#define INIT_METHOD "AZ_BATCHAI_PYTORCH_INIT_METHOD"

#define BATCH_AI "BatchAI documentation/using-batch-ai-environment-variables.md"

/* "localhost" is each node itself: that serves a job of one node. */
static void judge_master(struct ri_reading *reading, struct ri_fact *claim)
{
	if (claim != NULL && claim->state == RI_STATE_KNOWN &&
		ri_loopback_is(claim->text, strlen(claim->text)))
		ri_claim_spoil(claim, RI_STATE_OPEN, ri_reading_format(reading,
			"%s makes each node its own master", claim->origin.variable));
}

/* "tcp://10.0.0.4:23456", as torch.distributed.init_process_group takes it. */
static void claim_init_method(struct ri_reading *reading)
{
	const char *raw = ri_env_get(reading->context->env, INIT_METHOD);
	struct ri_endpoint endpoint;
	struct ri_fact *claim;

	if (raw == NULL || strncmp(raw, "tcp://", 6) != 0)
		return;
	claim = ri_claim_read(reading, RI_FACT_MASTER_ADDR, INIT_METHOD, raw);
	if (claim == NULL)
		return;
	if (!ri_endpoint_read((struct ri_span){ raw + 6, strcspn(raw + 6, "/?") }, &endpoint) ||
		endpoint.port == 0) {
		ri_claim_spoil(claim, RI_STATE_BROKEN, "tcp://HOST:PORT");
		return;
	}
	claim->text = ri_reading_copy(reading, endpoint.host.at, endpoint.host.length);
	if (claim->text == NULL)
		return;
	judge_master(reading, claim);
	claim = ri_claim_read(reading, RI_FACT_MASTER_PORT, INIT_METHOD, raw);
	if (claim != NULL)
		claim->number = endpoint.port;
}

/* The host file as a list; NULL where it cannot be read, or no source may read files now. */
static struct ri_fact *claim_host_file(struct ri_reading *reading)
{
	struct ri_hostfile file;
	struct ri_fact *claim;

	if (!ri_hostfile_of_variable(&file, HOST_FILE, reading))
		return NULL;
	claim = ri_claim_list_of(reading, HOST_FILE, file.hosts, file.count);
	if (file.count > 0)
		return claim;
	ri_claim_spoil(claim, RI_STATE_BROKEN, file.bad_line == 0
		? "the path of a file that lists hosts"
		: ri_reading_format(reading,
			"a host file of lines \"HOST [slots=N]\", which line %zu is not",
			file.bad_line));
	return NULL;
}

static void read_azure_batchai(struct ri_reading *reading)
{
	static const char *const masters[] = {
		"AZ_BATCHAI_MPI_MASTER_NODE", "AZ_BATCHAI_JOB_MASTER_NODE_IP",
	};
	struct ri_fact *index, *hosts;
	struct ri_own_machine own;
	uint64_t place;

	claim_init_method(reading);
	for (size_t i = 0; i < RI_ARRAY_SIZE(masters); i++)
		judge_master(reading, ri_claim_host(reading, RI_FACT_MASTER_ADDR, masters[i]));
	ri_claim_rows(reading, ri_source_azure_batchai.reads);
	/*
	 * Workers and parameter servers are counted apart, and which of them this is
	 * stands in the words of the command alone.
	 */
	index = ri_claim_filled(reading, RI_FACT_NODE_RANK, TASK_INDEX);
	if (index != NULL && index->state == RI_STATE_KNOWN &&
		ri_source_sees_text(reading->context->env, "AZ_BATCHAI_PS_HOSTS"))
		ri_claim_spoil(index, RI_STATE_OPEN,
			"AZ_BATCHAI_TASK_INDEX may be the index of a parameter server");
	/* A rank has its place from its launcher. */
	if (reading->identity == NULL &&
		ri_claim_known(reading, RI_FACT_HOSTS, reading->source->name) == NULL) {
		hosts = claim_host_file(reading);
		if (hosts != NULL && !ri_source_sees_text(reading->context->env, TASK_INDEX) &&
			ri_own_read(&own, reading) && ri_own_find(&own, hosts, &place))
			ri_claim_value(reading, RI_FACT_NODE_RANK, HOST_FILE, place);
	}
	ri_claim_first_host(reading);
}

const struct ri_source ri_source_azure_batchai = {
	.name = "azure_batchai",
	.summary = "Batch AI variables that Azure Machine Learning still sets: master, hosts, node",
	.identity = RI_SCOPE_NODE,
	.of_container = true,
	.port = DEFAULT_PORT,
	.cite = BATCH_AI,
	.reads = RI_READS(
		{ "AZ_BATCHAI_MPI_MASTER_NODE",
		  "the host where mpirun runs; \"localhost\" is used only for a job of one node",
		  RI_ONE_SEEN,
		  .cite = "DeepSpeed deepspeed/comm/comm.py, patch_aml_env_for_torch_nccl_backend"
		  },
		{ "AZ_BATCHAI_JOB_MASTER_NODE_IP", "the address of the first node", RI_ONE_SEEN,
		  .value = "<master>",
		  .cite = "public training scripts for Azure Machine Learning" },
		{ TASK_INDEX, "index of this node", RI_ONE_SEEN, .value = "<node>" },
		{ "AZ_BATCHAI_WORKER_HOSTS", "host:port of each worker, separated by commas",
		  RI_ONE_SEEN, RI_HOSTS(','), "<each:,><host>:<port></each>" },
		{ "AZ_BATCHAI_PS_HOSTS",
		  "the same for the parameter servers, which are counted separately",
		  RI_ONE_SEEN },
		{ HOST_FILE, "path of a host file for mpirun", RI_ONE_SEEN },
		{ INIT_METHOD, "tcp://host:port on which rank 0 listens; a file:// URL is not used",
		  RI_ONE_SEEN | RI_LINK, .value = "tcp://<master>:<master_port>" },
		RI_OWN_READS),
	/* The service is no more: what it gave a process to end is not known, so the least. */
	RI_SHAPES({ RI_SHAPE_OF(azure_batchai, NODE), .summary = "a system that kept Batch AI's "
		"names starts the command on each node",
		.port = 23456, .grace_s = 5, RI_CITE(BATCH_AI) }),
	.read = read_azure_batchai,
};
