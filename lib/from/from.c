/* SPDX-License-Identifier: Apache-2.0 */
#include "from/from.h"

#include <inttypes.h>
#include <string.h>

#include "model/context.h"

static bool is_by_hand(const struct ri_source *source)
{
	return (source->traits & RI_TRAIT_BY_HAND) != 0;
}

/* What the source says whose tuple counts so far. */
static bool get_held(const struct ri_reading *reading, enum ri_fact_id id, uint64_t *out)
{
	return ri_claim_number_of(reading, id, reading->identity->name, out);
}

/*
 * Half of a tuple is worth a warning: it should have been the identity. The local size
 * does not count: not every launcher says it. True where the tuple is whole, in whatever state.
 */
static bool check_tuple(const struct ri_reading *reading)
{
	const char *source = reading->source->name, *missing = NULL, *said = NULL;

	for (enum ri_fact_id id = RI_FACT_RANK; id <= RI_FACT_LOCAL_WORLD_SIZE; id++) {
		const struct ri_fact *claim = ri_claim_of(reading, id, source);

		if (claim != NULL && claim->state == RI_STATE_KNOWN)
			said = claim->origin.variable;
		else if (claim == NULL && missing == NULL && id < RI_FACT_LOCAL_WORLD_SIZE)
			missing = ri_fact_name(id);
	}
	if (missing != NULL && said != NULL && reading->identity == NULL &&
		!is_by_hand(reading->source))
		ri_warn(reading->context->findings, RI_CODE_SOURCE_INCOMPLETE, said,
			"%s does not give %s, so its ranks are not used", source, missing);
	return missing == NULL;
}

/*
 * Is the source whose turn it is the identity from here on, by its tuple? One without a signature
 * is weighed against the innermost launcher's, and no other one. Half of a tuple is a finding.
 */
static bool takes_identity(struct ri_reading *reading)
{
	const struct ri_source *held = reading->identity, *source = reading->source;
	uint64_t rank, size, local_rank, local_size, other;

	/* What is stated by hand stands above all others. */
	if ((source->identity & RI_SCOPE_PROCESS) == 0 ||
		(held != NULL && is_by_hand(held)) ||
		!ri_wishes_allow_source(reading->context->wishes, source->name) ||
		!check_tuple(reading))
		return false;
	if (!source->unsigned_tuple) {
		if (reading->launcher != NULL)
			return false;
		reading->launcher = source;
	}
	/* Is this a tuple that could be true, of a world larger than the other one's? */
	return held == NULL ||
		(ri_claim_number_of(reading, RI_FACT_RANK, source->name, &rank) &&
		ri_claim_number_of(reading, RI_FACT_WORLD_SIZE, source->name, &size) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_RANK, source->name, &local_rank) &&
		ri_claim_number_of(reading, RI_FACT_LOCAL_WORLD_SIZE, source->name, &local_size) &&
		get_held(reading, RI_FACT_WORLD_SIZE, &other) &&
		rank < size && local_rank < local_size && local_size <= size && size > other);
}

/* Is there something to read for it: in the environment, by options, by --source? */
static bool is_there(const struct ri_source *source, const struct ri_context *context)
{
	const struct ri_wishes *wishes = context->wishes;
	const char *named = wishes->source.value;

	if (is_by_hand(source))
		return ri_wishes_subject(wishes) != NULL;
	return ri_source_is_seen(source, context->env) || (source->hidden &&
		named != NULL && strcmp(named, source->name) == 0);
}

/* Is what it shares with others one of them's that is there and comes first? */
static bool is_taken(const struct ri_reading *reading, const struct ri_source *const *at)
{
	const struct ri_source *const *other = ri_sources;

	if ((*at)->shares == NULL)
		return false;
	while (other < at && ((*other)->shares == NULL ||
		strcmp((*other)->shares, (*at)->shares) != 0 ||
		!ri_source_is_seen(*other, reading->context->env)))
		other++;
	return other < at;
}

static int read_all(struct ri_topology *out, struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	const char **names = NULL;
	size_t before;

	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++) {
		if (!is_there(*at, context) || is_taken(reading, at))
			continue;
		reading->source = *at;
		if (names == NULL)
			names = ri_reading_allocate(reading, RI_SOURCE_COUNT, sizeof(*names));
		if (names == NULL)
			return -1;
		out->sources = names;
		before = reading->claim_count;
		ri_source_read(*at, reading);
		if (reading->err->code != RI_CODE_NONE)
			return -1;
		if (reading->claim_count > before)
			names[out->source_count++] = (*at)->name;
		if (takes_identity(reading))
			reading->identity = *at;
	}
	return 0;
}

int ri_sources_read(struct ri_topology *out, struct ri_reading *reading,
	const struct ri_context *context, struct ri_error *err)
{
	*out = (struct ri_topology){ .identity = NULL };
	*reading = (struct ri_reading){ .context = context, .err = err };
	if (ri_wishes_refuse_all(context->wishes) || read_all(out, reading) == 0)
		return 0;
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		ri_claims_choose(out, reading->claims[id], id);
	return -1;
}

/* What anybody says of how many nodes there are. */
static const struct ri_fact *find_nodes(const struct ri_reading *reading)
{
	const struct ri_fact *nodes = ri_claim_known(reading, RI_FACT_NNODES, NULL);

	return nodes != NULL ? nodes : ri_claim_known(reading, RI_FACT_HOSTS, NULL);
}

static bool is_launcher(const struct ri_reading *reading, const struct ri_source *source)
{
	const struct ri_fact *role = ri_claim_of(reading, RI_FACT_ROLE, source->name);

	return role != NULL && role->text != NULL && strcmp(role->text, RI_ROLE_LAUNCHER) == 0;
}

/*
 * Who knows the node's place, in whatever state, where anybody knows how many there are. A
 * launcher pod, which starts the ranks, is none of their nodes, whatever its variables say.
 */
static const struct ri_source *find_node(const struct ri_reading *reading)
{
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++) {
		const char *name = (*at)->name;
		const struct ri_fact *place = ri_claim_of(reading, RI_FACT_NODE_RANK, name);

		if (is_launcher(reading, *at))
			return NULL;
		if (((*at)->identity & RI_SCOPE_NODE) != 0 && place != NULL &&
			place->state != RI_STATE_OPEN &&
			ri_wishes_allow_source(reading->context->wishes, name) &&
			(ri_claim_of(reading, RI_FACT_NNODES, name) != NULL ||
				find_nodes(reading) != NULL))
			return *at;
	}
	return NULL;
}

static uint64_t count_nodes(const struct ri_reading *reading)
{
	const struct ri_fact *nodes = find_nodes(reading);

	return nodes == NULL ? 0 : nodes->number;
}

static void report_size(const struct ri_reading *reading, const char *variable, uint64_t size,
	const char *node)
{
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_ENV_DIFFERS, variable,
		"%" PRIu64 " is not used: according to %s the job has %" PRIu64 " nodes", size,
		node, count_nodes(reading)), "an image should not set RANK or WORLD_SIZE");
}

/* RANK and WORLD_SIZE by themselves, of which no source made anything. */
struct bare {
	uint64_t rank, size;
};

static bool find_bare(const struct ri_reading *reading, struct bare *out)
{
	for (enum ri_fact_id id = 0; id < RI_FACT_COUNT; id++)
		for (const struct ri_fact *claim = reading->claims[id]; claim != NULL;
			claim = claim->next)
			if (claim->origin.variable != NULL &&
				strcmp(claim->origin.variable, "RANK") == 0)
				return false;
	return ri_reading_number(reading, RI_FACT_RANK, "RANK", &out->rank) &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, "WORLD_SIZE", &out->size);
}

/* RANK and WORLD_SIZE where they are not those of the identity. */
static void report_bare(const struct ri_reading *reading, const struct ri_topology *made)
{
	struct ri_findings *findings = reading->context->findings;
	const char *variable = "WORLD_SIZE";
	const struct ri_fact *said = reading->identity == NULL ? NULL
		: ri_claim_of(reading, RI_FACT_WORLD_SIZE, reading->identity->name);
	uint64_t rank, size, wanted;
	struct bare bare;

	if (made->identity == NULL)
		return;
	if (made->scope == RI_SCOPE_NODE) {
		/*
		 * Of a node it is taken out, also where the image did not set it: see
		 * remove_image_s of torch. Unless the choice said so already.
		 */
		if ((said == NULL || said->origin.variable == NULL ||
			strcmp(said->origin.variable, variable) != 0) &&
			ri_reading_number(reading, RI_FACT_WORLD_SIZE, variable, &size) &&
			size < count_nodes(reading))
			report_size(reading, variable, size, made->identity);
		return;
	}
	if (!get_held(reading, RI_FACT_WORLD_SIZE, &size))
		return;
	/* Of more than one they may well be those of nodes. */
	if (size > 1 && find_bare(reading, &bare) && bare.size == 1 &&
		get_held(reading, RI_FACT_RANK, &rank))
		ri_note(findings, RI_CODE_ENV_DIFFERS, "RANK", "%" PRIu64 " of %" PRIu64
			" is not used: according to %s this is rank %" PRIu64 " of %" PRIu64,
			bare.rank, bare.size, made->identity, rank, size);
	/* A launcher started one process where the user wanted more: each would train alone. */
	if (size == 1 && reading->launcher != NULL && reading->context->fan_out == 0 &&
		ri_reading_number(reading, RI_FACT_WORLD_SIZE, variable, &wanted) && wanted > 1)
		ri_finding_hint(ri_warn(findings, RI_CODE_ENV_DIFFERS, variable, "%" PRIu64
			" is not used: according to %s there is one process", wanted,
			made->identity), "if there shall be more, have the launcher start them, as "
			"in srun --ntasks=%" PRIu64, wanted);
}

/*
 * The identity is not complete, but half of it is there. Plenty of jobs are none of
 * ours, so it is no warning. A run that starts ranks here refuses, and says why; where
 * roles or the number of nodes are known there is another reason.
 */
static void report_lone(const struct ri_reading *reading)
{
	struct ri_findings *findings = reading->context->findings;
	const struct ri_fact *place;
	struct bare bare;

	if (reading->context->fan_out != 0 || reading->claims[RI_FACT_ROLE] != NULL ||
		reading->claims[RI_FACT_NNODES] != NULL || reading->claims[RI_FACT_HOSTS] != NULL)
		return;
	if (find_bare(reading, &bare) && bare.rank < bare.size && bare.size > 1) {
		ri_finding_hint(ri_note(findings, RI_CODE_SOURCE_INCOMPLETE, "RANK", "%" PRIu64
			" of %" PRIu64 " may be that of a process or of a node, because LOCAL_RANK "
			"is not set: it is not used", bare.rank, bare.size), "set LOCAL_RANK too; "
			"if it is that of a node, state --node-rank and --nnodes");
		return;
	}
	/* A node's place that a source says which could say who we are, if it knew the others. */
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++) {
		place = ri_claim_of(reading, RI_FACT_NODE_RANK, (*at)->name);
		if (((*at)->identity & RI_SCOPE_NODE) == 0 || is_by_hand(*at) || place == NULL ||
			place->state != RI_STATE_KNOWN || place->origin.variable == NULL)
			continue;
		ri_finding_hint(ri_note(findings, RI_CODE_SOURCE_INCOMPLETE, place->origin.variable,
			"this is node %" PRIu64
			", but the number of nodes is unknown: it is not used", place->number),
			"if the nodes train together, state --nnodes, the same on all of them");
		return;
	}
}

/*
 * Is this a node on which rankinit or a launcher starts ranks? One process beside the ranks is
 * the task itself.
 */
static bool may_adopt(const struct ri_reading *reading)
{
	const struct ri_context *context = reading->context;
	const struct ri_fact *role = ri_claim_known(reading, RI_FACT_ROLE, NULL);

	if (context->fan_out == 0 || !ri_wishes_allow_source(context->wishes, RI_BY_HAND))
		return false;
	if (role != NULL && strcmp(role->text, RI_ROLE_LAUNCHER) == 0)
		return false;
	return context->fan_out > 1 || role == NULL || !ri_role_is_beside(role->text) ||
		ri_claim_known(reading, RI_FACT_NNODES, NULL) != NULL;
}

/* A default that stays, as the node's place is unknown: each node is a job of its own. */
static void report_kept(const struct ri_reading *reading)
{
	const struct ri_fact *nodes = find_nodes(reading);
	uint64_t size;

	if (nodes == NULL || !get_held(reading, RI_FACT_WORLD_SIZE, &size))
		return;
	ri_finding_hint(ri_warn(reading->context->findings, RI_CODE_NODES_COUNT,
		nodes->origin.variable == NULL ? nodes->origin.source : nodes->origin.variable,
		"gives %" PRIu64 " nodes, but %s gives a job of %" PRIu64
		": it is unknown which node this is, so each node may run a job of its own",
		nodes->number, reading->identity->name, size),
		"state --node-rank; an image should not set RANK or WORLD_SIZE");
}

void ri_identity_choose(struct ri_topology *out, struct ri_reading *reading)
{
	const struct ri_source *held = reading->identity, *taken = NULL;
	bool launches = false, is_void = held == NULL;
	const struct ri_fact *said;
	uint64_t size;

	if (ri_wishes_refuse_all(reading->context->wishes))
		return;
	for (const struct ri_source *const *at = ri_sources; *at != NULL; at++)
		launches |= is_launcher(reading, *at);
	/*
	 * Is the tuple that we hold the default of an image? It has no signature, and fewer
	 * ranks than the job has nodes; or it is one of one where the ranks are about to be
	 * started.
	 */
	if (held != NULL && (held->traits & RI_TRAIT_ANYBODYS) != 0 &&
		get_held(reading, RI_FACT_WORLD_SIZE, &size))
		is_void = size < count_nodes(reading) || (size == 1 && launches);
	if (is_void)
		taken = find_node(reading);
	if (taken != NULL) {
		said = held == NULL ? NULL
			: ri_claim_of(reading, RI_FACT_WORLD_SIZE, held->name);
		if (said != NULL)
			report_size(reading, said->origin.variable, said->number, taken->name);
		out->scope = RI_SCOPE_NODE;
	} else if (held != NULL && !(is_void && launches)) {
		taken = held;
		out->scope = RI_SCOPE_PROCESS;
		if (is_void)
			report_kept(reading);
	}
	if (taken != NULL) {
		out->identity = taken->name;
		out->traits = taken->traits;
	}
	report_bare(reading, out);
	if (out->identity == NULL)
		report_lone(reading);
	reading->adopts = out->identity == NULL && may_adopt(reading);
}
