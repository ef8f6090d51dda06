/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "nccl": what is there is judged, nothing is written. Any value of
 * NCCL_SOCKET_IFNAME switches off its own choice, which knows InfiniBand.
 */
#include <string.h>

#include "to/network.h"

#define DOCUMENT "docs.nvidia.com/deeplearning/nccl/user-guide, Environment Variables"

static const char interfaces[] = "NCCL_SOCKET_IFNAME";
static const char bootstrap[] = "NCCL_COMM_ID";
static const char debug_file[] = "NCCL_DEBUG_FILE";
static const char no_infiniband[] = "NCCL_IB_DISABLE";

static const struct ri_variable writes[] = {
	{ .name = NULL },
};

static const struct ri_variable looks[] = {
	{ .name = interfaces,
	  .meaning = "prefixes of interface names; = marks whole names, ^ excludes; not loopback "
		     "on several nodes", .cite = DOCUMENT },
	{ .name = bootstrap,
	  .meaning = "the meeting point of every communicator, also those of "
	  "torch", .cite = DOCUMENT },
	{ .name = debug_file,
	  .meaning = "one file for each process, with %h and %p in its name", .cite = DOCUMENT },
	{ .name = no_infiniband, .meaning = "1: NCCL does not use InfiniBand", .cite = DOCUMENT },
	{ .name = NULL },
};

static void judge_interfaces(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, interfaces);

	if (value == NULL || value[0] == '^')
		return;
	if (ri_topology_is_wide(topology) && ri_network_is_loopback(value + (value[0] == '='))) {
		ri_network_warn(writing, interfaces,
			"is the loopback interface, and the job has several nodes");
		return;
	}
	/* Without '=' any interface that begins like it will do. */
	if (value[0] == '=')
		ri_network_judge_names(writing, interfaces, value + 1);
}

static void judge_debug_file(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, debug_file);
	uint64_t local;

	if (value == NULL || strstr(value, "%p") != NULL || strncmp(value, "/dev/", 5) == 0 ||
		!ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) || local == 1)
		return;
	ri_finding_hint(ri_network_warn(writing, debug_file,
		"is one file for all ranks of this node: they overwrite each other's output"),
		"add %%h and %%p, the host and the process, to the name");
}

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, bootstrap);

	judge_interfaces(writing, topology);
	judge_debug_file(writing, topology);
	if (value != NULL && value[0] != '\0')
		ri_finding_hint(ri_network_warn(writing, bootstrap, "makes all communicators of "
				"the job meet at one address instead of one each"),
			"unset it: torch and Horovod give NCCL the addresses");
	value = ri_env_get(writing->context->env, no_infiniband);
	if (value != NULL && strcmp(value, "1") == 0 && ri_topology_is_wide(topology))
		ri_findings_add(writing->context->findings, RI_SEVERITY_NOTE, RI_CODE_NETWORK_VALUE,
			no_infiniband, "NCCL does not use InfiniBand between the nodes");
}

const struct ri_framework ri_framework_nccl = {
	.name = "nccl",
	.summary = "NCCL, which transfers data between GPUs",
	.when = "Nothing is written: rankinit warns of a value that is known to break jobs.",
	.writes = writes,
	.looks = looks,
	.render = render,
};
