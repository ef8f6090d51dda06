/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "openmpi": a rank that mpirun of Open MPI 3, 4 or 5 started. The
 * tuple is there; the node's index and the master have to be read from what
 * the daemons tell their children.
 */
#include "from/hosts.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"

enum { MAX_DIGITS = 15 };	/* of a number here; any of these fits 64 bits */

/* Digits alone, length of them, which no other one follows, as a number. */
static bool read_number(const char *text, size_t length, uint64_t *out)
{
	return length > 0 && length <= MAX_DIGITS && ri_digits_read(text, out) == length &&
		*out <= UINT32_MAX;
}

bool ri_ompi_uri_index(const char *uri, uint64_t *index)
{
	/* The job's name may hold dots of its own: the last one counts. */
	size_t length = strcspn(uri, ";");
	const char *dot = memrchr(uri, '.', length);

	if (dot == NULL || dot == uri)
		return false;
	return read_number(dot + 1, length - (size_t)(dot + 1 - uri), index);
}

/* The addresses of one transport, without brackets and port; may be empty. */
static struct ri_span address_list(const char *transport)
{
	static const char *const schemes[] = { "tcp://", "tcp4://", "tcp6://" };
	const char *start = NULL, *end;

	for (size_t i = 0; i < RI_ARRAY_SIZE(schemes); i++)
		if (strncmp(transport, schemes[i], strlen(schemes[i])) == 0)
			start = transport + strlen(schemes[i]);
	if (start == NULL)
		return (struct ri_span){ .at = transport };
	end = start + strcspn(start, ";");
	if (*start == '[') {
		const char *close = memchr(start, ']', (size_t)(end - start));

		start++;
		end = close == NULL ? start : close;
	} else {
		const char *colon = memrchr(start, ':', (size_t)(end - start));

		end = colon == NULL ? start : colon;
	}
	return (struct ri_span){ .at = start, .length = (size_t)(end - start) };
}

/* Through the addresses of a URI. */
struct walk {
	const char *at;		/* before the ';' of the next transport, or at it; NULL: none */
	struct ri_span rest;	/* what is left of the current one */
};

static bool next_address(struct walk *walk, struct ri_span *out)
{
	const char *comma;

	while (walk->rest.length == 0) {
		walk->at = strchr(walk->at, ';');
		if (walk->at == NULL)
			return false;
		walk->rest = address_list(++walk->at);
	}
	*out = walk->rest;
	comma = memchr(out->at, ',', out->length);
	if (comma != NULL)
		out->length = (size_t)(comma - out->at);
	walk->rest = ri_span_skip(walk->rest, out->length + 1);
	return true;
}

static bool stands_in(const struct ri_span *address, const char *uri)
{
	struct walk walk = { .at = uri };
	struct ri_span other;

	while (next_address(&walk, &other))
		if (ri_span_same(other, *address))
			return true;
	return false;
}

bool ri_ompi_uri_address(const char *uri, const char *other, struct ri_span *out)
{
	struct walk walk = { .at = uri };
	struct ri_span address;

	while (next_address(&walk, &address)) {
		if (!ri_is_host(address) || ri_loopback_is(address.at, address.length) ||
			(other != NULL && stands_in(&address, other)))
			continue;
		*out = address;
		return true;
	}
	return false;
}

/*
 * Where in the list of names the node of that daemon stands. Its items are "first" or
 * "first(count)".
 */
static bool find_position(const char *daemons, uint64_t index, uint64_t *position)
{
	uint64_t before = 0, first, count;

	for (;; daemons++) {
		size_t length = strcspn(daemons, ","), digits = strcspn(daemons, "(,");

		count = 1;
		if (!read_number(daemons, digits, &first) || (digits < length &&
			(daemons[length - 1] != ')' ||
				!read_number(daemons + digits + 1, length - digits - 2, &count))))
			return false;
		if (index >= first && index - first < count) {
			*position = before + index - first;
			return true;
		}
		before += count;
		daemons += length;
		if (*daemons == '\0')
			return false;
	}
}

/*
 * The names before '@' in Slurm's notation: "n[3:8-11]", numbers of three digits, is "n[008-011]".
 * False where a bracket does not say of how many digits.
 */
static bool convert(const char *names, struct ri_text *out)
{
	uint64_t digits = 0, number;
	size_t length;

	for (const char *at = names; *at != '@'; at++) {
		ri_text_add_bytes(out, at, 1);
		if (*at == '[') {
			length = ri_digits_read(at + 1, &digits);
			if (length == 0 || at[length + 1] != ':' || digits > MAX_DIGITS)
				return false;
			at += length + 1;
		} else if (*at == ']') {
			digits = 0;
		}
		if (digits == 0 || strchr(":,-", *at) == NULL)
			continue;
		length = ri_digits_read(at + 1, &number);
		if (length > 0)
			ri_text_addf(out, "%0*" PRIu64, (int)digits, number);
		at += length;
	}
	return true;
}

const char *ri_ompi_regex_host(const char *regex, uint64_t index, struct ri_reading *reading)
{
	const char *daemons = strchr(regex, '@');
	/* a number of one digit, with what is before it, becomes one of the most digits */
	size_t size = strlen(regex) * (MAX_DIGITS + 1) / 2 + 1;
	struct ri_hostlist list;
	struct ri_text text;
	uint64_t position;
	char *names;

	if (daemons == NULL || !find_position(daemons + 1, index, &position))
		return NULL;
	names = ri_reading_allocate(reading, size, 1);
	if (names == NULL)
		return NULL;
	text = ri_text_of(names, size);
	return convert(regex, &text) && ri_hostlist_read(&list, names, reading) &&
		position < list.count ? list.hosts[position] : NULL;
}

/*
 * May the rank run on that node? There are as many, and the first can have the rank it is:
 * slot by slot the rank is the local rank there, and round robin there are at most
 * nodes - 1 others between two of its ranks.
 */
static bool is_candidate(const struct ri_ompi_place *place, uint64_t node)
{
	if (node != 0)
		return place->nodes == 0 || node < place->nodes;
	if (place->local_rank == 0)
		return place->rank == 0;
	return place->nodes == 0 || place->rank <= place->local_rank * place->nodes;
}

/* Would equally filled nodes put this rank on that node? Others cannot be calculated. */
static bool fits(const struct ri_ompi_place *place, uint64_t node)
{
	uint64_t each = place->local_world_size, nodes = place->world_size / each;
	uint64_t rank = place->rank;

	if (place->world_size % each != 0 || (place->nodes != 0 && place->nodes != nodes))
		return false;
	/* slot by slot, or dealt out to the nodes in turn */
	return (rank / each == node && rank % each == place->local_rank) ||
		(rank % nodes == node && rank / nodes == place->local_rank);
}

bool ri_ompi_node_rank(const struct ri_ompi_place *place, uint64_t *node_rank)
{
	bool same, before;

	if (place->rank == place->local_rank) {
		/* Every rank below this one is here, and rank 0 is on node 0. */
		*node_rank = 0;
		return true;
	}
	if (place->nodes != 0 && place->daemons != 0 && place->daemons < place->nodes)
		return false;
	same = is_candidate(place, place->daemon);
	before = place->daemon > 0 && is_candidate(place, place->daemon - 1) &&
		(place->nodes == 0 || place->daemons > place->nodes);
	/* Open MPI 5 tells neither nodes nor daemons: the index needs a witness. */
	if (place->nodes == 0 || (same && before)) {
		same = same && fits(place, place->daemon);
		before = before && fits(place, place->daemon - 1);
	}
	if (same == before || (before && place->nodes == 0))
		return false;
	*node_rank = same ? place->daemon : place->daemon - 1;
	return true;
}

#define SCHIZO "Open MPI 4.1 orte/mca/schizo/ompi/schizo_ompi.c"
#define PMDL "openpmix 5.0 src/mca/pmdl/ompi/pmdl_ompi.c"
#define PLM "Open MPI 4.1 orte/mca/plm/base/plm_base_launch_support.c"
#define PTL "openpmix 5.0 src/mca/ptl/base"

static const char local_daemon[] = "OMPI_MCA_orte_local_daemon_uri";
static const char mpirun[] = "OMPI_MCA_orte_hnp_uri", regex[] = "OMPI_MCA_orte_node_regex";

/*
 * The variable of the daemon on this node, or NULL: of mpirun 3 or 4, or of a PMIx server that
 * is a daemon of mpirun 5, "prterun-host-pid@0.index;..."
 */
static const char *find_daemon(const struct ri_reading *reading)
{
	static const char *const names[] = {
		"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2",
	};

	if (ri_reading_get(reading, local_daemon) != NULL)
		return local_daemon;
	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++) {
		const char *uri = ri_reading_get(reading, names[i]);

		if (uri != NULL && strncmp(uri, "prte", 4) == 0)
			return names[i];
	}
	return NULL;
}

static bool read_place(struct ri_reading *reading, uint64_t daemon, struct ri_ompi_place *place)
{
	const char *daemons = "OMPI_MCA_ess_base_num_procs";

	*place = (struct ri_ompi_place){ .daemon = daemon };
	if (ri_reading_get(reading, daemons) != NULL &&
		!ri_reading_number(reading, RI_FACT_NNODES, daemons, &place->daemons))
		return false;
	ri_claim_get(reading, RI_FACT_NNODES, &place->nodes);
	return ri_claim_get(reading, RI_FACT_RANK, &place->rank) &&
		ri_claim_get(reading, RI_FACT_WORLD_SIZE, &place->world_size) &&
		ri_claim_get(reading, RI_FACT_LOCAL_RANK, &place->local_rank) &&
		ri_claim_get(reading, RI_FACT_LOCAL_WORLD_SIZE, &place->local_world_size) &&
		place->local_world_size <= place->world_size;
}

/* Claim an address of the daemon whose URI this variable holds. */
static bool claim_address(struct ri_reading *reading, const char *variable, const char *other)
{
	const char *uri = ri_reading_get(reading, variable);
	struct ri_span address;

	if (uri == NULL || !ri_ompi_uri_address(uri, other, &address))
		return false;
	ri_claim_weigh(ri_claim_text(reading, RI_FACT_MASTER_ADDR, variable, address),
		RI_STRENGTH_DEFAULT);
	return true;
}

/*
 * Where rank 0 listens, as far as Open MPI 3 and 4 tell: first is the index
 * of node 0's daemon, own that of this node's. Every other source knows it better.
 */
static void claim_master(struct ri_reading *reading, uint64_t own, uint64_t first)
{
	const char *of_mpirun = ri_reading_get(reading, mpirun);
	const char *of_own = ri_reading_get(reading, local_daemon);
	const char *nodes = ri_reading_get(reading, regex);
	const char *name;

	if ((first == 0 && claim_address(reading, mpirun, own == 0 ? NULL : of_own)) ||
		(first == own &&
			claim_address(reading, local_daemon, own == 0 ? NULL : of_mpirun)) ||
		nodes == NULL)
		return;
	name = ri_ompi_regex_host(nodes, first, reading);
	if (name != NULL)
		ri_claim_word(reading, RI_FACT_MASTER_ADDR, regex, name, RI_STRENGTH_DEFAULT);
}

static void read_openmpi(struct ri_reading *reading)
{
	const char *job = ri_reading_get(reading, "PMIX_NAMESPACE"), *daemon;
	struct ri_ompi_place place;
	struct ri_fact *claim;
	uint64_t index;

	/* The launcher that wrote PMIX_NAMESPACE started this process; mpirun's looks otherwise. */
	if (job != NULL && strncmp(job, "slurm.pmix.", strlen("slurm.pmix.")) == 0 &&
		ri_source_sees_slurm_task(reading->context->env)) {
		ri_note(reading->context->findings, RI_CODE_ENV_DIFFERS, "OMPI_COMM_WORLD_RANK",
			"is not used: PMIX_NAMESPACE shows that srun started this process inside a "
			"rank of mpirun");
		return;
	}
	ri_claim_rows(reading, ri_source_openmpi.reads);
	daemon = find_daemon(reading);
	if (daemon == NULL)
		return;
	if (!ri_ompi_uri_index(ri_reading_get(reading, daemon), &index)) {
		ri_claim_broken(reading, RI_FACT_NODE_RANK, daemon, "JOB.INDEX;ADDRESSES");
		return;
	}
	claim = read_place(reading, index, &place)
		? ri_claim(reading, RI_FACT_NODE_RANK, daemon) : NULL;
	if (claim == NULL)
		return;
	if (!ri_ompi_node_rank(&place, &claim->number))
		ri_claim_spoil(claim, RI_STATE_OPEN,
			"the daemon's index fits none of the nodes, or more than one");
	else if (index >= claim->number && daemon == local_daemon)
		claim_master(reading, index, index - claim->number);
}

/* As mpirun 4 sets it on several machines: it runs on the first, as the daemon of index 0. */
const struct ri_shape_row ri_shape_of_mpirun[] = {
	{ "OMPI_COMM_WORLD_RANK", "<rank>" },
	{ "OMPI_COMM_WORLD_SIZE", "<world_size>" },
	{ "OMPI_COMM_WORLD_LOCAL_RANK", "<local_rank>" },
	{ "OMPI_COMM_WORLD_LOCAL_SIZE", "<ranks>" },
	{ "OMPI_MCA_orte_num_nodes", "<nodes>" },
	{ "OMPI_MCA_orte_hnp_uri", "2130313216.0;tcp://<master>:58493" },
	{ "OMPI_MCA_orte_local_daemon_uri", "2130313216.<node>;tcp://<host>:58493" },
	{ "OMPI_MCA_ess_base_num_procs", "<nodes>", RI_OF_OTHERS },
	{ .name = NULL },
};

const struct ri_source ri_source_openmpi = {
	.name = "openmpi",
	.summary = "a rank under mpirun of Open MPI 3, 4 or 5",
	.identity = RI_SCOPE_PROCESS,
	.manages = true,
	.mpi = RI_SOURCE_OPENMPI,
	/* kill_local() of orte/mca/odls/default/odls_default_module.c; PRRTE has the same */
	.signals = RI_SIGNALS_GROUP,
	.launchers = "mpirun|mpiexec|orterun|orted|prterun|prte|prted",
	.once = "mpirun --map-by ppr:1:node rankinit -- COMMAND",
	.over_ssh = true,
	.cite = SCHIZO "; " PMDL,
	.reads = RI_READS(
		{ "OMPI_COMM_WORLD_RANK", "rank", RI_SEEN, RI_NUMBER(RANK) },
		{ "OMPI_COMM_WORLD_SIZE", "world size", RI_SEEN, RI_NUMBER(WORLD_SIZE) },
		{ "OMPI_COMM_WORLD_LOCAL_RANK", "local rank", 0, RI_NUMBER(LOCAL_RANK) },
		{ "OMPI_COMM_WORLD_LOCAL_SIZE", "ranks of this job on this node", 0,
		  RI_NUMBER(LOCAL_WORLD_SIZE) },
		{ "OMPI_MCA_orte_num_nodes", "nodes that have ranks (3, 4)", 0, RI_NUMBER(NNODES),
		  .cite = SCHIZO },
		{ local_daemon, "the daemon of this node (3, 4)", .cite = SCHIZO },
		{ mpirun, "mpirun itself (3, 4)", .cite = SCHIZO },
		{ "OMPI_MCA_ess_base_num_procs",
		  "daemons in all; not set on the node of mpirun (3, 4)", .cite = PLM },
		{ regex, "nodes of all daemons; not set on the node of mpirun (3, 4)",
		  .cite = PLM },
		{ "PMIX_SERVER_URI41", "the daemon of this node (5)", .cite = PTL },
		{ "PMIX_SERVER_URI4", "the same", .cite = PTL },
		{ "PMIX_SERVER_URI3", "the same", .cite = PTL },
		{ "PMIX_SERVER_URI2", "the same", .cite = PTL },
		{ "PMIX_NAMESPACE",
		  "slurm.pmix.* in a task of srun: srun ran inside a rank, whose numbers are "
		  "not used", .cite = "Slurm src/plugins/mpi/pmix/pmixp_info.c" }),
	RI_SHAPES({ .name = "openmpi", .summary = "mpirun starts each rank",
		.scope = RI_SCOPE_PROCESS, .rows = ri_shape_of_mpirun, .grace_s = 5,
		RI_CITE("Open MPI mpirun(1), \"Signal Propagation\"") }),
	.read = read_openmpi,
};
