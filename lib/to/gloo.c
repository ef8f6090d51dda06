/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framework "gloo": what is there is judged, nothing is written. Unset, torch
 * asks for the address of this host's own name, which is right more often than
 * a guess of ours.
 */
#include "to/network.h"

#define DEVICE "PyTorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, GLOO_SOCKET_IFNAME_ENV"

static const char name[] = "GLOO_SOCKET_IFNAME";

static const struct ri_variable writes[] = {
	{ .name = NULL },
};

static const struct ri_variable looks[] = {
	{ .name = name, .meaning = "exact names of interfaces; not NCCL's ^ and =, not loopback on "
				   "several nodes", .cite = DEVICE },
	{ .name = NULL },
};

static void render(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, name);
	struct ri_finding *finding;

	if (value == NULL || value[0] == '\0')
		return;
	if (value[0] == '^' || value[0] == '=') {
		finding = ri_network_warn(writing, name, "is an NCCL pattern: Gloo takes it as a "
						      "name and ends the job");
		ri_finding_hint(finding, "name one interface, as eth0");
		return;
	}
	if (ri_topology_is_wide(topology) && ri_network_is_loopback(value)) {
		ri_network_warn(writing, name,
			"is the loopback interface, and the job has several nodes");
		return;
	}
	ri_network_judge_names(writing, name, value);
}

const struct ri_framework ri_framework_gloo = {
	.name = "gloo",
	.summary = "Gloo, which transfers torch's data between CPUs",
	.when = "Nothing is written: rankinit warns of a value that is known to break jobs.",
	.writes = writes,
	.looks = looks,
	.render = render,
};
