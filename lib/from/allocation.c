/* SPDX-License-Identifier: Apache-2.0 */
#include "from/allocation.h"

#include "base/limits.h"
#include "from/hostlist.h"

struct ri_fact *ri_claim_hostlist(struct ri_reading *reading, const char *variable)
{
	const char *raw = ri_reading_get(reading, variable);
	struct ri_hostlist list;
	struct ri_fact *claim;

	if (!ri_source_sees_text(reading->context->env, variable))
		return NULL;
	claim = ri_claim(reading, RI_FACT_HOSTS, variable);
	if (claim == NULL)
		return NULL;
	if (ri_hostlist_read(&list, raw, reading->context->arena) < 0) {
		ri_fail(reading->err, RI_CODE_MEMORY, variable, "no memory left to read it");
		return NULL;
	}
	claim->list = list.hosts;
	claim->number = list.count;
	claim->fault_at = list.fault_at;
	return list.reason == NULL ? claim
		: ri_claim_spoil(claim, RI_STATE_BROKEN, list.reason);
}

bool ri_allocation_read_text(struct ri_reading *reading, const char *variable,
	const char *text, struct ri_hostfile *out)
{
	if (ri_hostfile_read(out, text, reading->context->arena) == 0)
		return true;
	ri_fail(reading->err, RI_CODE_MEMORY, variable, "no memory left to read it");
	return false;
}

bool ri_allocation_read_file(struct ri_reading *reading, const char *variable,
	struct ri_hostfile *out)
{
	const struct ri_context *context = reading->context;
	const char *path = ri_reading_get(reading, variable);
	char *text;

	if (context->host == NULL || !ri_source_sees_text(context->env, variable))
		return false;
	text = ri_reading_file(reading, path, RI_MAX_HOSTFILE);
	/* It is there on the job's first node alone, and not in every container. */
	if (text == NULL && reading->err->code == RI_CODE_NONE)
		ri_findings_add(context->findings, RI_SEVERITY_NOTE, RI_CODE_ENV_IGNORED, variable,
			"the file named there cannot be read");
	if (text == NULL || !ri_allocation_read_text(reading, variable, text, out))
		return false;
	if (out->bad_line != 0)
		ri_findings_add(context->findings, RI_SEVERITY_WARNING, RI_CODE_ENV_IGNORED,
			variable, "line %zu of the file names no host and is not used",
			out->bad_line);
	return out->count > 0;
}

struct ri_fact *ri_allocation_claim_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	struct ri_fact *claim =
		ri_claim(reading, RI_FACT_MASTER_ADDR, hosts->origin.variable);

	if (claim == NULL)
		return NULL;
	claim->state = hosts->state;
	claim->reason = hosts->reason;
	claim->fault_at = hosts->fault_at;
	if (hosts->state == RI_STATE_KNOWN)
		claim->text = hosts->list[0];
	return claim;
}

bool ri_allocation_is_direct(const struct ri_reading *reading)
{
	return reading->launcher == NULL ||
		(reading->launcher->traits & RI_TRAIT_BY_HAND) != 0;
}

bool ri_allocation_is_filled(const struct ri_reading *reading, uint64_t hosts)
{
	const char *launcher = reading->launcher->name;
	uint64_t size, local;

	return ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, launcher, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, launcher, &local) &&
		hosts * local == size;
}

void ri_allocation_guess_master(struct ri_reading *reading, const struct ri_fact *hosts)
{
	const char *launcher = reading->launcher->name;
	struct ri_fact *claim;

	if (hosts->number < 2 || ri_reading_has_master(reading))
		return;
	claim = ri_allocation_claim_master(reading, hosts);
	if (claim == NULL)
		return;
	claim->strength = RI_STRENGTH_DEFAULT;
	ri_finding_hint(ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE,
		RI_CODE_MASTER_ASSUMED, claim->origin.variable,
		"%s does not say where rank 0 runs: \"%s\" is right if it fills the machines of %s "
		"in order", launcher, claim->text, reading->source->name),
		"set MASTER_ADDR if this is another host");
}

void ri_allocation_claim(struct ri_reading *reading, const char *variable,
	const struct ri_hostfile *file, size_t from)
{
	bool direct = ri_allocation_is_direct(reading);
	struct ri_fact *hosts;

	if (file->count <= from ||
		(!direct && !ri_allocation_is_filled(reading, file->count - from)))
		return;
	hosts = ri_claim_list_of(reading, variable, file->hosts + from, file->count - from);
	if (hosts != NULL && direct)
		ri_claim_value(reading, RI_FACT_NNODES, variable, hosts->number);
	else if (hosts != NULL)
		ri_allocation_guess_master(reading, hosts);
}

void ri_allocation_note(const struct ri_reading *reading, const char *variable)
{
	if (reading->identity != NULL)
		return;
	ri_findings_add(reading->context->findings, RI_SEVERITY_NOTE,
		RI_CODE_SOURCE_ALLOCATION, variable,
		"%s allocated the machines of this job, but did not start this process as a "
		"rank", reading->source->name);
}
