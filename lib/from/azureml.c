/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "azureml": a job of Azure Machine Learning. An MPI job's ranks come
 * from its MPI; a PyTorch job's processes are started by the service itself,
 * with the variables of torch.distributed. Without a process count there is
 * one process for each node, and LOCAL_RANK is 0.
 *
 * The common runtime (Singularity's clusters) starts the command once on each
 * node, and may set none of the names that say which run it is.
 */
#include "from/quartet.h"

#define CR_NODE_RANK "AZUREML_CR_NODE_RANK"

#define GUIDE \
	"learn.microsoft.com/azure/machine-learning/how-to-train-distributed-gpu, PyTorch"
#define DEEPSPEED "DeepSpeed deepspeed/comm/comm.py, in_aml"
#define HI_ML "hi-ml hi-ml-azure/src/health_azure/utils.py"
/* No reference by Microsoft is known to us. */
#define SCRIPTS "public training scripts for Azure Machine Learning"

enum {
	/* "Azure ML sets MASTER_PORT to 6105" (GUIDE). */
	DEFAULT_PORT = 6105,
};

static const struct ri_source_row reads[] = {
	{ "AZUREML_RUN_ID",
	  "the run; its presence marks the process as part of a job even without a rank", HI_ML,
	  .sign = RI_ONE_SEEN },
	{ "AZUREML_EXPERIMENT_ID", "the same", DEEPSPEED, .sign = RI_ONE_SEEN },
	{ "AZUREML_NODE_COUNT", "nodes of the job", .cite = SCRIPTS },
	{ "NODE_COUNT",
	  "the same beside AZUREML_CR_NODE_RANK, if no other variable counts the nodes",
	  .cite = SCRIPTS },
	RI_QUARTET_READS(RI_NO_SIGN),
	{ "NODE_RANK", "index of this node", .cite = GUIDE },
	{ CR_NODE_RANK, "the same, by the common runtime", SCRIPTS, .sign = RI_ONE_SEEN | RI_TEXT },
	{ "MASTER_IP", "the host of rank 0 on Kubernetes compute", .cite = HI_ML },
	{ .name = NULL },
};

static void read_azureml(struct ri_reading *reading)
{
	const struct ri_env *env = reading->context->env;
	bool listed = ri_source_sees_text(env, "AZ_BATCH_HOST_LIST");
	uint64_t count, place, size, nodes;
	struct ri_fact *claim = NULL;

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
			ri_quartet_claim(reading);
		ri_claim_filled(reading, RI_FACT_NODE_RANK, "NODE_RANK");
		ri_claim_filled(reading, RI_FACT_NODE_RANK, CR_NODE_RANK);
		if (process)
			ri_quartet_claim_rendezvous(reading);
	}
	/* after everything else, the list of Azure Batch among it */
	if (!listed)
		claim = ri_claim_host(reading, RI_FACT_MASTER_ADDR, "MASTER_IP");
	if (claim != NULL)
		claim->strength = RI_STRENGTH_DEFAULT;
	ri_claim_default_port(reading, DEFAULT_PORT);
}

#define RUN "simulated_1635982131_9e3a1f2c"
#define EXPERIMENT "6f1c9a52-0d6f-4a0e-8a53-2f4f5b1c7d10"
#define STATES \
	"learn.microsoft.com/dotnet/api/azure.resourcemanager.machinelearning.models." \
	"machinelearningjobstatus"
#define PREEMPTION \
	"learn.microsoft.com/azure/virtual-machines/linux/scheduled-events, Preempt"

const struct ri_source ri_source_azureml = {
	.name = "azureml",
	.summary = "Azure Machine Learning job: nodes, and a PyTorch job's processes",
	.identity = RI_SCOPE_PROCESS | RI_SCOPE_NODE,
	.job = "AZUREML_RUN_ID",
	/* learn.microsoft.com/azure/machine-learning/reference-yaml-job-command */
	.once = "distribution: {type: pytorch, process_count_per_instance: 1} in the job",
	.reads = reads,
	/*
	 * Whether the other processes of a PyTorch job run on where one failed is not
	 * documented. A low-priority machine is told of its end 30 s before.
	 */
	RI_SHAPES(
		{ .name = "azureml_mpi", .summary = "an Azure ML MPI job: mpirun starts each rank",
		  .scope = RI_SCOPE_PROCESS, .beside = ri_shape_of_mpirun,
		  /* Around mpirun: what Azure Batch and Batch AI leave (azure_batch.c). */
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN, 0 },
			{ "AZUREML_EXPERIMENT_ID", EXPERIMENT, 0 },
			{ "AZUREML_NODE_COUNT", "<nodes>", 0 },
			{ "AZ_BATCH_JOB_ID", EXPERIMENT, 0 },
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
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN, 0 },
			{ "AZUREML_EXPERIMENT_ID", EXPERIMENT, 0 },
			{ "AZUREML_NODE_COUNT", "<nodes>", 0 },
			{ "RANK", "<rank>", 0 },
			{ "WORLD_SIZE", "<world_size>", 0 },
			{ "LOCAL_RANK", "<local_rank>", 0 },
			{ "NODE_RANK", "<node>", 0 },
			{ "MASTER_ADDR", "<master>", 0 },
			{ "MASTER_PORT", "<master_port>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Canceled",
		  RI_CITE(STATES "; " PREEMPTION) },
		{ .name = "azureml_nodes",
		  .summary = "Azure ML's common runtime starts the command on each node",
		  .scope = RI_SCOPE_NODE, .port = 9500, .grace_s = 30,
		  .rows = RI_SHAPE_ROWS(
			{ "AZUREML_RUN_ID", RUN, 0 },
			{ "AZUREML_NODE_COUNT", "<nodes>", 0 },
			{ "NODE_COUNT", "<nodes>", 0 },
			{ CR_NODE_RANK, "<node>", 0 },
			{ "MASTER_ADDR", "<master>", 0 },
			{ "MASTER_PORT", "<master_port>", 0 }),
		  .succeeded = "Completed", .failed = "Failed", .stopped = "Canceled",
		  RI_CITE(STATES "; " PREEMPTION) }),
	.read = read_azureml,
};
