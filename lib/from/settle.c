/* SPDX-License-Identifier: Apache-2.0 */
/* From what all sources claim to one set of facts that hold together. */
#include "from/settle.h"

#include <inttypes.h>
#include <string.h>

#include "from/contest.h"
#include "from/identity.h"
#include "model/derive.h"
#include "model/wishes.h"

/* Is it what an outer layer says of a job of several nodes? */
static bool is_outer(const char *identity, const struct ri_fact *claim)
{
	return claim->state == RI_STATE_KNOWN && claim->strength < RI_STRENGTH_STATED &&
		claim->origin.source != identity;
}

static bool has_outer_nodes(const struct ri_reading *reading, enum ri_fact_id id)
{
	const struct ri_fact *claim = reading->claims[id];

	while (claim != NULL && !(is_outer(reading->identity->name, claim) && claim->number > 1))
		claim = claim->next;
	return claim != NULL;
}

/* Neither the nodes around nor their master are of a job that one node holds. */
static void leave_outer(struct ri_reading *reading)
{
	static const enum ri_fact_id left[] = {
		RI_FACT_NNODES, RI_FACT_HOSTS, RI_FACT_MASTER_ADDR,
	};

	if (!has_outer_nodes(reading, RI_FACT_NNODES) && !has_outer_nodes(reading, RI_FACT_HOSTS))
		return;
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		struct ri_fact *claim = reading->claims[left[i]];

		for (; claim != NULL; claim = claim->next) {
			if (!is_outer(reading->identity->name, claim))
				continue;
			claim->state = RI_STATE_OPEN;
			claim->text = NULL;
			claim->reason = "all ranks are on this node, but this value is about "
				"several nodes";
		}
	}
}

/* Of a list of hosts alone it is worth saying why it does not help. */
static void report_unused(const struct ri_topology *made, const struct ri_context *context)
{
	const struct ri_fact *hosts = &made->facts[RI_FACT_HOSTS];
	struct ri_finding *finding;

	if (hosts->state == RI_STATE_KNOWN && hosts->strength == RI_STRENGTH_MANUAL) {
		finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
			RI_CODE_SOURCE_INCOMPLETE, hosts->origin.variable,
			"cannot tell which of its %" PRIu64 " hosts this machine is, so the list "
			"is not used: the name and the addresses of this machine match none of "
			"them, or more than one", hosts->number);
		ri_finding_hint(finding, "state --node-rank");
		return;
	}
	finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_SOURCE_INCOMPLETE, ri_wishes_subject(context->wishes),
		"cannot tell which rank or node this process is, so this option is not used");
	ri_finding_hint(finding, "state --rank, --world-size, --local-rank and "
				 "--local-world-size, or --node-rank and --nnodes");
}

/* What the user asked for needs an identity. */
static int check_identity(const struct ri_topology *made, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_wishes *wishes = context->wishes;

	if (made->identity != NULL || wishes == NULL)
		return 0;
	if (wishes->source.value != NULL &&
		(context->fan_out == 0 ||
			!ri_wishes_allow_source(wishes, RI_BY_HAND))) {
		ri_fail(err, RI_CODE_SOURCE_ABSENT, wishes->source.subject,
			"%s gives no rank for this process", wishes->source.value);
		return ri_fail_hint(err, "rankinit --list=sources shows what rankinit reads");
	}
	if (ri_wishes_subject(wishes) != NULL && context->fan_out == 0)
		report_unused(made, context);
	return 0;
}

/* A rankinit that starts ranks says by that who they are: it is one of the sources. */
static int adopt_node(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	const char **names;

	if (ri_topology_adopt_node(out, context, err) < 0)
		return -1;
	out->identity = RI_BY_HAND;
	out->scope = RI_SCOPE_PROCESS;
	out->traits = RI_TRAIT_BY_HAND;
	if (out->source_count > 0 && strcmp(out->sources[0], RI_BY_HAND) == 0)
		return 0;
	names = ri_arena_array(context->arena, out->source_count + 1, sizeof(*names));
	if (names == NULL)
		return ri_fail(err, RI_CODE_MEMORY, RI_BY_HAND,
			"no memory left to read this source");
	names[0] = RI_BY_HAND;
	for (size_t i = 0; i < out->source_count; i++)
		names[i + 1] = out->sources[i];
	out->sources = names;
	out->source_count++;
	return 0;
}

/*
 * The winners. A claim of where rank 0 is has to be better on several nodes, so
 * it comes last.
 */
static int settle_claims(struct ri_topology *out, struct ri_reading *reading)
{
	int status;

	if (out->scope == RI_SCOPE_PROCESS && ri_identity_is_on_one_node(reading))
		leave_outer(reading);
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (id != RI_FACT_MASTER_ADDR)
			ri_contest_settle(out, reading->claims[id], id);
	status = check_identity(out, reading->context, reading->err);
	if (status == 0 && reading->adopts)
		status = adopt_node(out, reading->context, reading->err);
	reading->gave_way = ri_contest_settle(out, reading->claims[RI_FACT_MASTER_ADDR],
		RI_FACT_MASTER_ADDR);
	return status;
}

int ri_claims_settle(struct ri_topology *out, struct ri_reading *reading)
{
	if (ri_wishes_refuse_all(reading->context->wishes))
		return 0;
	if (settle_claims(out, reading) < 0)
		return -1;
	if (out->identity == NULL)
		return 0;
	/* the identity must be whole before anything can be made of it */
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (ri_contest_decides(out, id)) {
			reading->reported |= 1u << id;
			if (ri_contest_report_broken(out, id, reading->context,
				reading->err) < 0)
				return -1;
		}
	ri_contest_report_lost(out, reading->gave_way, reading->context->findings);
	return ri_topology_count(out, reading->context, reading->err);
}

int ri_claims_report(const struct ri_topology *topology, struct ri_reading *reading)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if ((reading->reported >> id & 1) == 0 &&
			ri_contest_report_broken(topology, id, reading->context,
				reading->err) < 0)
			return -1;
	return 0;
}
