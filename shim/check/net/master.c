/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the other nodes, as far as it can be seen without going it. */
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/net/net.h"
#include "system/name_service.h"

static void judge_master(struct ri_checking *checking, const char *subject, const char *name)
{
	char address[RI_NET_NAME];

	ri_check_doing(checking, name);
	switch (ri_net_resolve(checking, name, address)) {
	case RI_NET_FOUND:
		ri_check_pass(checking, subject, "%s is %s", name, address);
		break;
	case RI_NET_CANNOT_KNOW:
		ri_check_unknown(checking, RI_CODE_NET_MASTER_UNKNOWN, subject, "%s is not in "
			"/etc/hosts, and a recorded machine has no name service", name);
		break;
	default:
		ri_check_lack(checking, RI_CODE_NET_MASTER_UNRESOLVED, subject,
			"%s does not resolve, or not yet", name);
	}
}

static void check_master(struct ri_checking *checking)
{
	const struct ri_fact *master = &checking->topology->facts[RI_FACT_MASTER_ADDR];
	const char *subject = ri_topology_subject(checking->topology, RI_FACT_MASTER_ADDR);

	if (master->state != RI_STATE_KNOWN)
		ri_check_skip(checking, "MASTER_ADDR", "no master is given");
	else if (ri_name_is_address(master->text))
		ri_check_pass(checking, subject, "%s is an address", master->text);
	else
		judge_master(checking, subject, master->text);
}

/*
 * Not before a launch: where pods get their names when they start, it may be
 * too early, and frameworks and --wait-master ask again.
 */
const struct ri_check ri_check_net_master = {
	.id = "net.master",
	.summary = "the master's name resolves",
	.reads = "MASTER_ADDR as it was found, /etc/hosts (hosts(5)), and then the name service",
	.fails = "neither knows the name; it may become known later",
	.advice = "--wait-master=120 waits until it resolves; Kubernetes: a headless service with "
		"publishNotReadyAddresses: true; else MASTER_ADDR in the job's environment: an "
		"address of the node of rank 0",
	.runs = RI_CHECK_EXTRA,
	.run = check_master,
};
