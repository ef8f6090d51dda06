/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's settings against what is here. What does not fit is seldom an error
 * for NCCL: it goes by sockets, or by a topology that is not the machine's,
 * and the job takes several times as long.
 */
#include <stdio.h>
#include <string.h>

#include "check/lookups.h"
#include "node/node.h"

/* A setting: its name, its value, and where it stands if that is not a variable. */
struct setting {
	const char *name;
	char value[RI_NCCL_VALUE];
	char quoted[RI_QUOTE_SIZE];
	char where[80];
};

static bool get(const struct ri_checking *checking, const char *name, struct setting *out)
{
	const char *origin = ri_nccl_conf_get(ri_check_loader(checking)->image, name, out->value);

	out->name = name;
	out->where[0] = '\0';
	if (origin == NULL || out->value[0] == '\0')
		return false;
	if (strcmp(origin, name) != 0)
		snprintf(out->where, sizeof(out->where), " (%s)", origin);
	ri_quote(out->quoted, sizeof(out->quoted), out->value);
	return true;
}

/* Over several nodes it costs most of the job's time. */
static void say_bad(struct ri_checking *checking, enum ri_code code, const struct setting *setting,
	const char *what)
{
	ri_check_problem(checking, ri_topology_is_wide(checking->topology), code, setting->name,
		"%s%s %s", setting->quoted, setting->where, what);
}

/* NCCL src/plugin/net.cc: NAME stands for libnccl-net-NAME.so, or is a library itself. */
static bool has_plugin(const struct ri_checking *checking, const char *name)
{
	const struct ri_loader *loader = ri_check_loader(checking);
	struct ri_library library;
	char file[RI_NCCL_VALUE + 32];

	if (name[0] == '/')
		return ri_host_has(checking->host, name);
	snprintf(file, sizeof(file), "libnccl-net-%s.so", name);
	return ri_loader_find(loader, name, &library) || ri_loader_find(loader, file, &library);
}

/* NCCL documentation, "Environment Variables" */
static void check_env(struct ri_checking *checking)
{
	const struct ri_hcas *hcas = ri_ib_look(checking);
	bool shared = ri_check_is_shared(checking);
	struct setting set;

	if (get(checking, "NCCL_IB_DISABLE", &set)) {
		if (strcmp(set.value, "1") == 0 && ri_ib_active(hcas) > 0)
			say_bad(checking, RI_CODE_NCCL_ENV_DISABLED, &set, "leaves the InfiniBand "
				"here unused: NCCL uses TCP between nodes");
		else
			ri_check_pass(checking, set.name, "is %s", set.quoted);
	}
	if (get(checking, "NCCL_IB_HCA", &set) && hcas->count > 0) {
		bool chosen = false;

		for (size_t i = 0; i < hcas->count; i++)
			chosen |= ri_choice_takes(set.value, RI_CHOICE_NCCL, hcas->list[i].name);
		if (chosen)
			ri_check_pass(checking, set.name, "matches an adapter that is here");
		else
			say_bad(checking, RI_CODE_NCCL_ENV_HCA, &set,
				"matches none of the adapters here: NCCL uses TCP between nodes");
	}
	/* NCCL src/plugin/net.cc: a network of that name has to be there, or it ends */
	if (get(checking, "NCCL_NET", &set)) {
		if (strcmp(set.value, "IB") != 0 || hcas->count > 0)
			ri_check_pass(checking, set.name, "is %s", set.quoted);
		else
			ri_check_problem(checking, shared, RI_CODE_NCCL_ENV_NET, set.name,
				"%s%s, but there is no RDMA device%s", set.quoted, set.where,
				shared ? ": NCCL does not start" : "");
	}
	if (get(checking, "NCCL_NET_PLUGIN", &set) && strcmp(set.value, "none") != 0) {
		if (has_plugin(checking, set.value))
			ri_check_pass(checking, set.name, "%s is here", set.quoted);
		else
			ri_check_lack(checking, RI_CODE_NCCL_ENV_PLUGIN, set.name,
				"%s%s is not a library that the loader finds: NCCL continues "
				"without it", set.quoted, set.where);
	}
	if (get(checking, "NCCL_TOPO_FILE", &set)) {
		if (set.value[0] != '/' || ri_host_has(checking->host, set.value))
			ri_check_pass(checking, set.name, "%s is here", set.quoted);
		else
			say_bad(checking, RI_CODE_NCCL_ENV_TOPO, &set, "is missing: NCCL uses the "
				"topology that it detects, which is wrong on virtual machines");
	}
	if (checking->count == 0)
		ri_check_skip(checking, "NCCL", "no setting here could be wrong");
}

const struct ri_check ri_check_nccl_env = {
	.summary = "NCCL is set to use what is here",
	.reads = "NCCL_IB_DISABLE, NCCL_IB_HCA, NCCL_NET, NCCL_NET_PLUGIN and NCCL_TOPO_FILE, as "
		"variables, in the file of NCCL_CONF_FILE or ~/.nccl.conf, and in /etc/nccl.conf "
		"(NCCL documentation, \"Environment Variables\")",
	.fails = "InfiniBand is here and switched off, NCCL_IB_HCA matches no adapter, NCCL_NET is "
		"IB without any adapter, or a named file or plug-in is missing; a warning if the "
		"job has several nodes, for NCCL_NET=IB also if it has several ranks here",
	.advice = "in the job's environment (or the image's /etc/nccl.conf): unset it, or name "
		"what is here",
	.runs = RI_CHECK_LAUNCH,
	.needs = &ri_check_needs_nvidia,
	RI_CHECK_WISHES(RI_ABOUT(IB) | RI_ABOUT(OFED)),
	.run = check_env,
};
