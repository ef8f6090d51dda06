/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that carry the data, NCCL and Gloo: what is there of them is judged, nothing is
 * written. Any value of NCCL_SOCKET_IFNAME switches off NCCL's own choice, which knows
 * InfiniBand. Without GLOO_SOCKET_IFNAME torch asks for the address of this host's own name,
 * which is right more often than a guess of ours.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "to/to.h"

enum { NAME_MAX_LENGTH = 15 };	/* IFNAMSIZ (Linux include/uapi/linux/if.h) */

/* Does the list, with commas between, name the loopback interface and no other? */
static bool is_loopback(const char *list)
{
	bool found = false;

	for (; *list != '\0'; list += *list == ',') {
		size_t length = strcspn(list, ",");

		if (length != 2 || memcmp(list, "lo", 2) != 0)
			return false;
		found = true;
		list += length;
	}
	return found;
}

static bool exists(struct ri_host *host, const char *name, size_t length)
{
	char path[sizeof("/sys/class/net/") + NAME_MAX_LENGTH];

	if (length == 0 || length > NAME_MAX_LENGTH || memchr(name, '/', length) != NULL ||
		name[0] == '.')
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s", (int)length, name);
	return ri_host_has(host, path);
}

/* A warning about the variable's value, RI_CODE_NETWORK_VALUE. */
static struct ri_error *warn(struct ri_writing *writing, const char *variable, const char *what)
{
	return ri_warn(writing->context->findings, RI_CODE_NETWORK_VALUE, variable, "%s %s",
		RI_QUOTED(ri_env_get(writing->context->env, variable)), what);
}

/*
 * Warn of a list of loopback alone in a job of several nodes, and where its names are
 * whole ones of the first that this machine has not. Only a machine whose files may be
 * read is asked.
 */
static void judge_interfaces(struct ri_writing *writing, const struct ri_topology *topology,
	const char *variable, const char *list, bool whole)
{
	struct ri_host *host = writing->context->host;
	RI_TEXT(name, RI_QUOTE_SIZE);

	if (ri_topology_is_wide(topology) && is_loopback(list)) {
		warn(writing, variable, "is the loopback interface, and the job has several nodes");
		return;
	}
	/* Every network namespace has its own: where it is missing /sys shows nothing. */
	if (!whole || host == NULL || !exists(host, "lo", 2))
		return;
	while (*list != '\0' && exists(host, list, strcspn(list, ","))) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	if (*list == '\0')
		return;
	ri_text_addf(&name, "%.*s", (int)strcspn(list, ","), list);
	ri_warn(writing->context->findings, RI_CODE_NETWORK_VALUE, variable,
		"this machine has no interface %s", RI_QUOTED(name.bytes));
}

#define DOCUMENT "docs.nvidia.com/deeplearning/nccl/user-guide, Environment Variables"

static const char interfaces[] = "NCCL_SOCKET_IFNAME";
static const char bootstrap[] = "NCCL_COMM_ID";
static const char debug_file[] = "NCCL_DEBUG_FILE";
static const char no_infiniband[] = "NCCL_IB_DISABLE";

static void render_nccl(struct ri_writing *writing, const struct ri_topology *topology)
{
	const struct ri_env *env = writing->context->env;
	const char *value = ri_env_get(env, interfaces);
	uint64_t local;

	/* without '=' any interface that begins like it will do */
	if (value != NULL && value[0] != '^')
		judge_interfaces(writing, topology, interfaces, value + (value[0] == '='),
			value[0] == '=');
	value = ri_env_get(env, debug_file);
	if (value != NULL && strstr(value, "%p") == NULL && strncmp(value, "/dev/", 5) != 0 &&
		ri_topology_get(topology, RI_FACT_LOCAL_WORLD_SIZE, &local) && local > 1)
		ri_finding_hint(warn(writing, debug_file, "is one file for all ranks of this "
				"node: they overwrite each other's output"),
			"add %%h and %%p, the host and the process, to the name");
	value = ri_env_get(env, bootstrap);
	if (value != NULL && value[0] != '\0')
		ri_finding_hint(warn(writing, bootstrap, "makes all communicators of "
				"the job meet at one address instead of one each"),
			"unset it: torch and Horovod give NCCL the addresses");
	value = ri_env_get(env, no_infiniband);
	if (value != NULL && strcmp(value, "1") == 0 && ri_topology_is_wide(topology))
		ri_note(writing->context->findings, RI_CODE_NETWORK_VALUE, no_infiniband,
			"NCCL does not use InfiniBand between the nodes");
}

const struct ri_framework ri_framework_nccl = {
	.name = "nccl",
	.summary = "NCCL, which transfers data between GPUs",
	.when = "Nothing is written: rankinit warns of a value that is known to break jobs.",
	.looks = RI_VARIABLES(
		{ interfaces,
		  "prefixes of interface names; = marks whole names, ^ excludes; not loopback on "
		  "several nodes", DOCUMENT },
		{ bootstrap, "the meeting point of every communicator, also those of torch",
		  DOCUMENT },
		{ debug_file, "one file for each process, with %h and %p in its name", DOCUMENT },
		{ no_infiniband, "1: NCCL does not use InfiniBand", DOCUMENT }),
	.render = render_nccl,
};

#define DEVICE "PyTorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, GLOO_SOCKET_IFNAME_ENV"

static const char gloo_name[] = "GLOO_SOCKET_IFNAME";

static void render_gloo(struct ri_writing *writing, const struct ri_topology *topology)
{
	const char *value = ri_env_get(writing->context->env, gloo_name);

	if (value == NULL || value[0] == '\0')
		return;
	if (value[0] == '^' || value[0] == '=')
		ri_finding_hint(warn(writing, gloo_name, "is an NCCL pattern: Gloo takes it as a "
			"name and ends the job"), "name one interface, as eth0");
	else
		judge_interfaces(writing, topology, gloo_name, value, true);
}

const struct ri_framework ri_framework_gloo = {
	.name = "gloo",
	.summary = "Gloo, which transfers torch's data between CPUs",
	.when = "Nothing is written: rankinit warns of a value that is known to break jobs.",
	.looks = RI_VARIABLES(
		{ gloo_name,
		  "exact names of interfaces; not NCCL's ^ and =, not loopback on several nodes",
		  DEVICE }),
	.render = render_gloo,
};
