/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "aws_batch": a node of a multi-node parallel job of AWS Batch.
 *
 * The main node need not have index 0, but rank 0 has to be there: the main
 * node and node 0 change places, on all nodes alike. The main node is not told
 * its own address, so it is asked for it.
 */
#include <string.h>

#include "from/own_address.h"
#include "from/reading.h"

#define NODES "docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html"
#define JOBS "docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html"
#define INDEX "AWS_BATCH_JOB_NODE_INDEX"
#define MAIN_INDEX "AWS_BATCH_JOB_MAIN_NODE_INDEX"
#define MAIN_ADDRESS "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"

static const struct ri_source_row reads[] = {
	{ "AWS_BATCH_JOB_NUM_NODES", "nodes", NODES, RI_SEEN, RI_NUMBER(NNODES), "<nodes>" },
	{ INDEX, "index of this node; 0 and the main node's index are exchanged", NODES, RI_SEEN,
	  .value = "<node>" },
	{ MAIN_INDEX, "index of the main node, which becomes node 0", NODES, .value = "0" },
	{ MAIN_ADDRESS, "address of the main node; absent on the main node itself", NODES, 0,
	  RI_MASTER },
	{ "AWS_BATCH_JOB_ID",
	  "the job, and after a '#' the node; marks the process as part of a job even without a "
	  "rank", JOBS, .value = "5e1b1f0c-7d5e-4a30-9f5e-2b8b8f6a1c7d#<node>" },
	{ "AWS_BATCH_JOB_ATTEMPT", "attempts, including this one", JOBS, .value = "1" },
	RI_OWN_READS,
	{ .name = NULL },
};

static void claim_place(struct ri_reading *reading)
{
	const char *main_index = ri_reading_get(reading, MAIN_INDEX), *host;
	struct ri_range range = ri_fact_range(RI_FACT_NODE_RANK);
	uint64_t main = 0, nodes;
	struct ri_own_machine own;
	struct ri_fact *claim;

	/* node 0, where no variable names another one */
	if (ri_claim_get(reading, RI_FACT_NNODES, &nodes))
		range.max = nodes - 1;
	if (main_index != NULL && ri_number_read(main_index, range, &main, NULL) != RI_NUMBER_OK) {
		ri_claim_broken(reading, RI_FACT_NODE_RANK, MAIN_INDEX,
			"the index of a node, counted from 0");
		return;
	}
	claim = ri_claim_number(reading, RI_FACT_NODE_RANK, INDEX);
	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return;
	if (claim->number != main) {
		if (claim->number == 0)
			claim->number = main;
		return;
	}
	claim->number = 0;
	/* Rank 0 listens here, and others know this node by some address. */
	if (ri_source_sees_text(reading->context->env, MAIN_ADDRESS) ||
		reading->identity != NULL || !ri_own_read(&own, reading))
		return;
	host = ri_own_host(&own, reading->context->arena);
	claim = ri_claim_word(reading, RI_FACT_MASTER_ADDR, main_index != NULL ? MAIN_INDEX : INDEX,
		host, RI_STRENGTH_SAID);
	if (host == NULL)
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"this is the main node, and its own address is unknown");
}

static void read_aws_batch(struct ri_reading *reading)
{
	const char *id = ri_reading_get(reading, "AWS_BATCH_JOB_ID");
	struct ri_fact *claim;

	ri_claim_rows(reading, reads);
	claim_place(reading);
	/* the same for all nodes of the job */
	if (id != NULL && id[0] != '\0')
		ri_claim_text(reading, RI_FACT_JOB_ID, "AWS_BATCH_JOB_ID",
			(struct ri_slice){ id, strcspn(id, "#") });
	claim = ri_claim_filled(reading, RI_FACT_RESTART_COUNT, "AWS_BATCH_JOB_ATTEMPT");
	if (claim == NULL || claim->state != RI_STATE_KNOWN)
		return;
	if (claim->number > 0)
		claim->number--;
	else
		ri_claim_spoil(claim, RI_STATE_BROKEN, "an attempt, counted from 1");
}

static const struct ri_shape_row main_address[] = {
	{ MAIN_ADDRESS, "<master>", RI_OF_OTHERS },
	{ .name = NULL },
};

const struct ri_source ri_source_aws_batch = {
	.name = "aws_batch",
	.summary = "a node of a multi-node parallel job of AWS Batch",
	.identity = RI_SCOPE_NODE,
	.job = "AWS_BATCH_JOB_ID",
	.reads = reads,
	/*
	 * The main node's end is that of the job, and the others are stopped then; where
	 * another one fails, the job goes on.
	 */
	RI_SHAPES({ .name = "aws_batch",
		.summary = "AWS Batch starts a container on each node",
		.scope = RI_SCOPE_NODE, .reads = reads, .rows = main_address,
		.port = 29500, .grace_s = 30, .goes_on = true,
		.succeeded = "SUCCEEDED", .failed = "FAILED", .stopped = "FAILED",
		RI_CITE("docs.aws.amazon.com/batch/latest/userguide/multi-node-parallel-jobs.html; "
			"docs.aws.amazon.com/batch/latest/userguide/job_timeouts.html") }),
	.read = read_aws_batch,
};
