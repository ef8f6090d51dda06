/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces that variables name, the name of this node, and the way to the master. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check/check.h"
#include "node/node.h"
#include "system/name_service.h"

enum {
	HOSTS_SIZE = 65536,
	NAME_SIZE = 256,
	LEAST_FREE_PORT = 1024,		/* which every user may open (ip(7)) */
};

static const char hosts[] = "/etc/hosts";	/* hosts(5) */

enum answer { FOUND, NOT_FOUND, CANNOT_KNOW };	/* the last: of a recorded machine */

static const char name_hint[] =
	"outside the image: docker run --add-host NAME:ADDRESS or --hostname; Kubernetes: a "
	"headless service and subdomain; or set GLOO_SOCKET_IFNAME in the job's environment, so "
	"that no name is needed";

/*
 * The address of a name into a buffer of NAME_SIZE bytes, by hosts(5) and then by the name
 * service, where there is a network to ask it. It may take as long as the resolver waits.
 */
static enum answer resolve(struct ri_checking *checking, const char *name, char *address)
{
	static char text[HOSTS_SIZE];
	struct ri_interfaces all;
	bool alone;

	if (ri_host_read(checking->host, hosts, text, sizeof(text)) >= 0 &&
		ri_hosts_find(text, name, address, NAME_SIZE))
		return FOUND;
	if (!checking->host->live)
		return CANNOT_KNOW;
	/*
	 * Without a network no name server can be asked, which musl's resolver would do until its
	 * time is over, whatever the kernel says to it.
	 */
	alone = ri_interfaces_find(&all, checking->host, checking->arena);
	for (size_t i = 0; alone && i < all.count; i++)
		alone = all.list[i].down || all.list[i].loopback;
	return !alone && ri_name_resolve(name, address, NAME_SIZE) == 0 ? FOUND : NOT_FOUND;
}

static void check_hostname(struct ri_checking *checking)
{
	char name[NAME_SIZE], address[NAME_SIZE];
	enum answer answer;

	if (!ri_hostname_read(checking->host, name, sizeof(name))) {
		ri_check_unknown(checking, RI_CODE_NET_HOSTNAME_UNKNOWN, "hostname",
			"this node's name is unknown");
		return;
	}
	answer = resolve(checking, name, address);
	if (answer == FOUND)
		ri_check_pass(checking, name, "is %s", address);
	else if (answer == CANNOT_KNOW)
		ri_check_unknown(checking, RI_CODE_NET_HOSTNAME_UNKNOWN, name,
			"is not in /etc/hosts, and a recorded machine has no name service");
	else
		ri_check_lack(checking, RI_CODE_NET_HOSTNAME_UNRESOLVED, name,
			"this node's own name does not resolve: Gloo and MPI look it up");
}

const struct ri_check ri_check_net_hostname = {
	.summary = "this node's own name resolves",
	.reads = "/proc/sys/kernel/hostname, /etc/hosts (hosts(5)), and then the name service",
	.fails = "neither knows the name",
	.advice = name_hint,
	.run = check_hostname,
};

static void check_loopback(struct ri_checking *checking)
{
	char name[NAME_SIZE], address[NAME_SIZE];

	if (!ri_hostname_read(checking->host, name, sizeof(name)) ||
		resolve(checking, name, address) != FOUND) {
		ri_check_skip(checking, "hostname", "its address is unknown");
	} else if (!ri_loopback_is(address, strlen(address))) {
		ri_check_pass(checking, name, "is %s", address);
	} else if (!ri_topology_is_wide(checking->topology)) {
		ri_check_pass(checking, name, "is %s, which is enough for one node", address);
	} else {
		ri_check_lack(checking, RI_CODE_NET_LOOPBACK_NAME, name,
			"is %s: Gloo gives that address to other nodes, which cannot reach it",
			address);
	}
}

const struct ri_check ri_check_net_loopback = {
	.summary = "this node's own name does not resolve to a loopback address",
	.reads = "/proc/sys/kernel/hostname, /etc/hosts (hosts(5)), and then the name service; "
		"PyTorch's ProcessGroupGloo looks the name up",
	.fails = "it does, and the job has several nodes",
	.advice = name_hint,
	.run = check_loopback,
};

/* Variables that choose interfaces. */
static const struct {
	const char *name;
	enum ri_choice_kind kind;
} variables[] = {
	/* NCCL documentation, "Environment Variables" */
	{ "NCCL_SOCKET_IFNAME", RI_CHOICE_NCCL },
	/* PyTorch documentation, "Distributed communication package", common variables */
	{ "GLOO_SOCKET_IFNAME", RI_CHOICE_NAMES },
	{ "TP_SOCKET_IFNAME", RI_CHOICE_NAMES },
};

/* Does a list choose an interface that is up? Else why not. */
static const char *judge_list(const struct ri_interfaces *all, const char *list,
	enum ri_choice_kind kind)
{
	const char *fault = "names no interface that is here";

	/* it leaves some out, and names none */
	if (kind == RI_CHOICE_NCCL && list[0] == '^')
		return NULL;
	for (size_t i = 0; i < all->count; i++) {
		if (!ri_choice_takes(list, kind, all->list[i].name))
			continue;
		if (!all->list[i].down)
			return NULL;
		fault = "names an interface that is down";
	}
	return fault;
}

static void check_iface(struct ri_checking *checking)
{
	struct ri_interfaces all = { .count = 0 };
	bool shared = ri_check_is_shared(checking), known = false;

	for (size_t i = 0; i < RI_ARRAY_SIZE(variables); i++) {
		const char *value = ri_env_get(checking->env, variables[i].name);
		const char *fault;

		if (value == NULL || value[0] == '\0')
			continue;
		known = known || ri_interfaces_find(&all, checking->host, checking->arena);
		if (!known) {
			ri_check_unknown(checking, RI_CODE_NET_IFACE_UNKNOWN, variables[i].name,
				"network interfaces cannot be listed here");
			continue;
		}
		fault = judge_list(&all, value, variables[i].kind);
		if (fault != NULL)
			ri_check_problem(checking, shared, RI_CODE_NET_IFACE_NONE,
				variables[i].name, "%s %s%s", RI_QUOTED(value), fault,
				shared ? ": ranks do not find each other" : "");
		else
			ri_check_pass(checking, variables[i].name, "names an interface that is up");
	}
	if (checking->count == 0)
		ri_check_skip(checking, "interfaces", "NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and "
			"TP_SOCKET_IFNAME are not set");
}

const struct ri_check ri_check_net_iface = {
	.summary = "variables name interfaces that are here and up",
	.reads = "NCCL_SOCKET_IFNAME (NCCL documentation), GLOO_SOCKET_IFNAME and "
		"TP_SOCKET_IFNAME (PyTorch documentation), /sys/class/net (Linux "
		"ABI/testing/sysfs-class-net)",
	.fails = "none of the interfaces named by one variable is here and up; a warning if "
		"several ranks are here",
	.advice = "in the job's environment: name an interface that this container has, or unset "
		"it; docker run --network=host shows those of the machine",
	.runs = RI_CHECK_LAUNCH,
	.run = check_iface,
};

/*
 * Why rank 0 does not open the port here, later on; NULL: it does. Under
 * torchrun its agent has done so already (PyTorch torch/distributed/elastic,
 * TORCHELASTIC_USE_AGENT_STORE).
 */
static const char *find_why_not(const struct ri_checking *checking, uint64_t *port)
{
	const char *agent = ri_env_get(checking->env, "TORCHELASTIC_USE_AGENT_STORE");
	uint64_t place = 0;

	if (!checking->host->live)
		return "a recorded machine has no ports to try";
	if (!checking->asked && !ri_check_is_shared(checking))
		return "a single rank does not need it";
	if (!ri_topology_get(checking->topology, RI_FACT_MASTER_PORT, port))
		return "no port is given";
	if (agent != NULL && strcmp(agent, "True") == 0)
		return "the torchrun agent has opened it already";
	if (!ri_topology_get(checking->topology, RI_FACT_RANK, &place) &&
		!ri_topology_get(checking->topology, RI_FACT_NODE_RANK, &place))
		return "cannot tell whether rank 0, which opens it, is on this node";
	return place == 0 ? NULL : "rank 0, which opens it, is on another node";
}

static void check_masterport(struct ri_checking *checking)
{
	const char *subject = ri_topology_subject(checking->topology, RI_FACT_MASTER_PORT);
	uint64_t port = 0;
	const char *why_not = find_why_not(checking, &port);
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd, error = 0, yes = 1;

	if (why_not != NULL) {
		ri_check_skip(checking, "MASTER_PORT", "%s", why_not);
		return;
	}
	/* as torch's store does */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
		bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (error == 0) {
		ri_check_pass(checking, subject, "%llu is free", (unsigned long long)port);
	} else if (error == EADDRINUSE) {
		ri_check_warn(checking, RI_CODE_NET_MASTERPORT_TAKEN, subject,
			"%llu is in use on this machine, so rank 0 cannot open it",
			(unsigned long long)port);
	} else if (error == EACCES && port < LEAST_FREE_PORT) {
		ri_check_warn(checking, RI_CODE_NET_MASTERPORT_DENIED, subject,
			"%llu requires CAP_NET_BIND_SERVICE, as all ports below %d do: rank 0 "
			"cannot open it", (unsigned long long)port, LEAST_FREE_PORT);
		ri_check_hint(checking, "MASTER_PORT in the job's environment, or --master-port: "
			"1024 or above; or outside the image: docker run --sysctl "
			"net.ipv4.ip_unprivileged_port_start=0, or --cap-add=NET_BIND_SERVICE");
	} else {
		ri_check_unknown(checking, RI_CODE_NET_MASTERPORT_UNKNOWN, subject, "%s",
			strerror(error));
	}
}

const struct ri_check ri_check_net_masterport = {
	.summary = "rank 0 can open the port of the rendezvous",
	.reads = "MASTER_PORT as it was found, which rank 0 binds for a moment and releases",
	.fails = "a process of this machine listens on it, or it requires a capability that is "
		"missing (capabilities(7): CAP_NET_BIND_SERVICE)",
	.advice = "MASTER_PORT in the job's environment, or --master-port: a port on which no "
		"process of this machine listens",
	.runs = RI_CHECK_LAUNCH,
	.run = check_masterport,
};

static void check_master(struct ri_checking *checking)
{
	const struct ri_fact *master = &checking->topology->facts[RI_FACT_MASTER_ADDR];
	const char *subject = ri_topology_subject(checking->topology, RI_FACT_MASTER_ADDR);
	char address[NAME_SIZE];
	enum answer answer;

	if (master->state != RI_STATE_KNOWN) {
		ri_check_skip(checking, "MASTER_ADDR", "no master is given");
		return;
	}
	if (ri_name_is_address(master->text)) {
		ri_check_pass(checking, subject, "%s is an address", master->text);
		return;
	}
	ri_check_doing(checking, master->text);
	answer = resolve(checking, master->text, address);
	if (answer == FOUND)
		ri_check_pass(checking, subject, "%s is %s", master->text, address);
	else if (answer == CANNOT_KNOW)
		ri_check_unknown(checking, RI_CODE_NET_MASTER_UNKNOWN, subject, "%s is not in "
			"/etc/hosts, and a recorded machine has no name service", master->text);
	else
		ri_check_lack(checking, RI_CODE_NET_MASTER_UNRESOLVED, subject,
			"%s does not resolve, or not yet", master->text);
}

/*
 * Not before a launch: where pods get their names when they start, it may be
 * too early, and frameworks and --wait-master ask again.
 */
const struct ri_check ri_check_net_master = {
	.summary = "the master's name resolves",
	.reads = "MASTER_ADDR as it was found, /etc/hosts (hosts(5)), and then the name service",
	.fails = "neither knows the name; it may become known later",
	.advice = "--wait-master=120 waits until it resolves; Kubernetes: a headless service with "
		"publishNotReadyAddresses: true; else MASTER_ADDR in the job's environment: an "
		"address of the node of rank 0",
	.runs = RI_CHECK_EXTRA,
	.run = check_master,
};
