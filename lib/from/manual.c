/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "manual": what the user states by options, above all others. A fact
 * that is stated replaces that fact alone; the others stay those of the
 * orchestrator, and the rules hold them against each other.
 */
#include <string.h>

#include "from/hosts.h"
#include "model/context.h"

/* One host; a port in it would be lost, so it is no host. */
static struct ri_fact *claim_master(struct ri_reading *reading, const struct ri_given *stated)
{
	const char *raw = stated->value;
	struct ri_endpoint endpoint = { .port = 0 };
	struct ri_fact *claim;

	if (ri_endpoint_read(ri_span_of(raw), &endpoint) && endpoint.port == 0)
		return ri_claim_text(reading, RI_FACT_MASTER_ADDR, stated->subject, endpoint.host);
	claim = ri_claim(reading, RI_FACT_MASTER_ADDR, stated->subject);
	if (claim == NULL)
		return NULL;
	claim->fault_at = endpoint.port != 0 ? (size_t)(strrchr(raw, ':') - raw)
		: ri_host_fault(raw, strlen(raw));
	return ri_claim_spoil(claim, RI_STATE_BROKEN, endpoint.port != 0
		? "a host without a port; the port goes into --master-port"
		: "one host name or address");
}

static void claim_stated(struct ri_reading *reading, enum ri_fact_id id)
{
	const struct ri_given *stated = &reading->context->wishes->facts[id];
	struct ri_fact *claim;

	if (ri_reading_get(reading, stated->subject) == NULL)
		return;
	if (id == RI_FACT_MASTER_ADDR) {
		claim = claim_master(reading, stated);
	} else if (id == RI_FACT_HOSTS) {
		claim = ri_claim_hosts(reading, stated->subject, ',');
		/* a blank one */
		if (claim == NULL && reading->err->code == RI_CODE_NONE)
			claim = ri_claim_broken(reading, id, stated->subject,
				"a list of host names or addresses");
	} else {
		claim = ri_claim_number(reading, id, stated->subject);
	}
	ri_claim_weigh(claim, RI_STRENGTH_MANUAL);
}

static void claim_hostfile(struct ri_reading *reading)
{
	const struct ri_wishes *wishes = reading->context->wishes;
	struct ri_hostfile file;
	struct ri_fact *claim;

	if (wishes->hostfile_text == NULL ||
		!ri_hostfile_read(&file, wishes->hostfile_text, reading))
		return;
	if (file.bad_line != 0) {
		ri_fail(reading->err, RI_CODE_FILE_SYNTAX, wishes->hostfile.value,
			"line %zu is neither \"HOST [slots=N]\" nor a comment", file.bad_line);
		return;
	}
	claim = ri_claim_weigh(ri_claim_list_of(reading, wishes->hostfile.subject, file.hosts,
		file.count), RI_STRENGTH_MANUAL);
	if (file.count == 0)
		ri_claim_spoil(claim, RI_STATE_BROKEN, "a file that lists hosts");
}

/* Runs first, so that every claim there is is its own. */
static void read_manual(struct ri_reading *reading)
{
	const struct ri_fact *hosts;
	struct ri_own_machine own;
	uint64_t place;

	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (reading->context->wishes->facts[id].value != NULL)
			claim_stated(reading, id);
	claim_hostfile(reading);
	hosts = reading->claims[RI_FACT_HOSTS];
	if (hosts == NULL || hosts->state != RI_STATE_KNOWN || reading->err->code != RI_CODE_NONE)
		return;
	ri_claim_master(reading, hosts, RI_STRENGTH_MANUAL);
	if (ri_own_read(&own, reading) && ri_own_find(&own, hosts, &place))
		ri_claim_weigh(ri_claim_value(reading, RI_FACT_NODE_RANK, hosts->origin.variable,
			place), RI_STRENGTH_MANUAL);
}

const struct ri_source ri_source_manual = {
	.name = "manual",
	.summary = "facts stated by options, which override all others",
	.identity = RI_SCOPE_PROCESS | RI_SCOPE_NODE,
	.traits = RI_TRAIT_BY_HAND,
	.cite = "rankinit(8)",
	.reads = RI_READS(
		{ "--rank", "rank" },
		{ "--world-size", "world size" },
		{ "--local-rank", "local rank" },
		{ "--local-world-size", "ranks on this node" },
		{ "--node-rank", "index of this node" },
		{ "--nnodes", "nodes" },
		{ "--master-addr", "host on which rank 0 listens" },
		{ "--master-port", "port on which rank 0 listens" },
		{ "--hosts", "the nodes in order, the master first" },
		{ "--hostfile", "the same from a file" },
		RI_OWN_READS),
	.read = read_manual,
};
