/* SPDX-License-Identifier: Apache-2.0 */
#include "from/from.h"

#include <inttypes.h>
#include <string.h>

#include "from/contest.h"
#include "from/identity.h"
#include "from/reading.h"
#include "model/wishes.h"

#define RI_SOURCE(name) extern const struct ri_source ri_source_##name;
#include "from/sources.def"
#undef RI_SOURCE

static const struct ri_source *const sources[] = {
#define RI_SOURCE(name) &ri_source_##name,
#include "from/sources.def"
#undef RI_SOURCE
};

enum { SOURCE_COUNT = sizeof(sources) / sizeof(sources[0]) };

const struct ri_source *ri_source_at(size_t index)
{
	return index < SOURCE_COUNT ? sources[index] : NULL;
}

static const struct ri_source *find_source(const char *name)
{
	const struct ri_source *source;

	for (size_t i = 0; name != NULL && (source = ri_source_at(i)) != NULL; i++)
		if (strcmp(source->name, name) == 0)
			return source;
	return NULL;
}

bool ri_source_manages(const char *identity)
{
	const struct ri_source *source = find_source(identity);

	return source != NULL && source->manages;
}

bool ri_source_is_mpi(const char *identity)
{
	const struct ri_source *source = find_source(identity);

	return source != NULL && source->mpi;
}

static bool is_asked_for(const struct ri_source *source, const struct ri_wishes *wishes)
{
	return wishes != NULL && wishes->source.value != NULL &&
		strcmp(wishes->source.value, source->name) == 0;
}

static bool is_there(const struct ri_source *source, const struct ri_env *env,
	const struct ri_wishes *wishes)
{
	if (source->detect == NULL)
		return ri_wishes_subject(wishes) != NULL;
	return source->detect(env) || (source->hidden && is_asked_for(source, wishes));
}

/* Is there a launcher that says who this process is, by what tells it apart? */
static bool has_rank(const struct ri_env *env, const struct ri_wishes *wishes)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sources[i]->identity == RI_SCOPE_PROCESS && !sources[i]->unsigned_tuple &&
			ri_wishes_allow_source(wishes, sources[i]->name) &&
			is_there(sources[i], env, wishes))
			return true;
	return false;
}

bool ri_sources_say_job(const struct ri_env *env, const struct ri_wishes *wishes)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if (sources[i]->job != NULL && ri_source_sees_text(env, sources[i]->job) &&
			ri_wishes_allow_source(wishes, sources[i]->name))
			return true;
	return false;
}

unsigned ri_sources_want(const struct ri_env *env, const struct ri_wishes *wishes)
{
	const unsigned place =
		RI_WANTS_PLACE | RI_WANTS_FILES | RI_WANTS_PROC | RI_WANTS_NAME;
	unsigned wants = 0;

	for (size_t i = 0; i < SOURCE_COUNT; i++)
		if ((sources[i]->wants & ~wants) != 0 && is_there(sources[i], env, wishes))
			wants |= sources[i]->wants;
	if (ri_wishes_state_hosts(wishes))
		return wants | place;
	if ((wants & RI_WANTS_PLACE) == 0)
		return wants;
	return has_rank(env, wishes)
		? wants & ~(unsigned)RI_WANTS_PLACE
		: wants | place;
}

static int note_source(struct ri_topology *out, struct ri_reading *reading, const char **names)
{
	size_t before = reading->claim_count;

	reading->source->read(reading);
	if (reading->err->code != RI_CODE_NONE)
		return -1;
	if (reading->claim_count > before)
		names[out->source_count++] = reading->source->name;
	if (ri_identity_takes(reading))
		reading->identity = reading->source;
	return 0;
}

static int read_sources(struct ri_topology *out, struct ri_reading *reading)
{
	const char **names = NULL;

	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (!is_there(sources[i], reading->context->env, reading->context->wishes))
			continue;
		if (names == NULL)
			names = ri_arena_array(reading->context->arena, SOURCE_COUNT,
				sizeof(*names));
		if (names == NULL)
			return ri_fail(reading->err, RI_CODE_MEMORY, sources[i]->name,
				"no memory left to read this source");
		out->sources = names;
		reading->source = sources[i];
		if (note_source(out, reading, names) < 0)
			return -1;
	}
	return 0;
}

/* Of a list of hosts alone it is worth saying why it does not help. */
static void report_unused(const struct ri_topology *made, const struct ri_context *context)
{
	const struct ri_fact *hosts = &made->facts[RI_FACT_HOSTS];
	struct ri_finding *finding;

	if (hosts->state == RI_STATE_KNOWN && hosts->origin.source == ri_source_manual.name) {
		finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
			RI_CODE_SOURCE_INCOMPLETE, hosts->origin.variable,
			"nothing says which of its %" PRIu64 " hosts this is, so it is not used: "
			"the name and the addresses of this machine pick none of them, or more "
			"than one", hosts->number);
		ri_finding_hint(finding, "state --node-rank");
		return;
	}
	finding = ri_findings_add(context->findings, RI_SEVERITY_WARNING,
		RI_CODE_SOURCE_INCOMPLETE, ri_wishes_subject(context->wishes),
		"nothing says which rank or node this is, so what is stated is not used");
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
			!ri_wishes_allow_source(wishes, ri_source_manual.name))) {
		ri_fail(err, RI_CODE_SOURCE_ABSENT, wishes->source.subject,
			"%s does not say which rank this is", wishes->source.value);
		return ri_fail_hint(err, "rankinit --list=sources shows what it reads");
	}
	if (ri_wishes_subject(wishes) != NULL && context->fan_out == 0)
		report_unused(made, context);
	return 0;
}

/* The identity must be whole before anything can be derived from it. */
static int complete(struct ri_topology *made, const struct ri_context *context,
	struct ri_error *err)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if (ri_contest_decides(made, id) &&
			ri_contest_report_broken(made, id, context, err) < 0)
			return -1;
	ri_contest_report_lost(made, context->findings);
	return ri_topology_complete(made, context, err);
}

/* Is this a node for whoever starts ranks here? One process beside the ranks is the task itself. */
static bool may_adopt(const struct ri_topology *topology, const struct ri_context *context)
{
	return context->fan_out != 0 && !ri_topology_is_launcher(topology) &&
		(context->fan_out > 1 || !ri_topology_is_beside(topology) ||
			ri_topology_knows(topology, RI_FACT_NNODES));
}

/* Who starts ranks here says by that who they are: it is one of the sources. */
static int adopt_node(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	const char **names, *own = ri_source_manual.name;

	if (ri_topology_adopt_node(out, context, err) < 0)
		return -1;
	out->identity = own;
	out->scope = RI_SCOPE_PROCESS;
	if (out->source_count > 0 && out->sources[0] == own)
		return 0;
	names = ri_arena_array(context->arena, out->source_count + 1, sizeof(*names));
	if (names == NULL)
		return ri_fail(err, RI_CODE_MEMORY, own, "no memory left to read this source");
	names[0] = own;
	for (size_t i = 0; i < out->source_count; i++)
		names[i + 1] = out->sources[i];
	out->sources = names;
	out->source_count++;
	return 0;
}

int ri_topology_read(struct ri_topology *out, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_reading reading = { .context = context, .err = err };
	int status;

	*out = (struct ri_topology){ .identity = NULL };
	if (ri_wishes_refuse_all(context->wishes))
		return 0;
	status = read_sources(out, &reading);
	if (status == 0)
		ri_identity_settle(out, &reading);
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		ri_contest_settle(out, reading.claims[id], id);
	if (status < 0 || check_identity(out, context, err) < 0)
		return -1;
	if (out->identity == NULL && may_adopt(out, context) && adopt_node(out, context, err) < 0)
		return -1;
	if (out->identity != NULL && complete(out, context, err) < 0)
		return -1;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		if ((out->identity == NULL || !ri_contest_decides(out, id)) &&
			ri_contest_report_broken(out, id, context, err) < 0)
			return -1;
	return 0;
}
