/* SPDX-License-Identifier: Apache-2.0 */
#include "from/ompi_place.h"

/*
 * Can a rank of this node be the rank it is, were this node the first? There,
 * slot by slot the rank is the local rank, and round robin there are at most
 * nodes - 1 others between two of its ranks.
 */
static bool may_be_first(const struct ri_ompi_place *place)
{
	if (place->local_rank == 0)
		return place->rank == 0;
	return place->nodes == 0 || place->rank <= place->local_rank * place->nodes;
}

static bool is_candidate(const struct ri_ompi_place *place, uint64_t node)
{
	if (place->nodes != 0 && node >= place->nodes)
		return false;
	return node != 0 || may_be_first(place);
}

/* Would equally filled nodes, slot by slot, put this rank on that node? */
static bool fits_by_slot(const struct ri_ompi_place *place, uint64_t node)
{
	return place->rank / place->local_world_size == node &&
		place->rank % place->local_world_size == place->local_rank;
}

/* The same with the ranks dealt out to the nodes in turn. */
static bool fits_round_robin(const struct ri_ompi_place *place, uint64_t node)
{
	uint64_t nodes = place->world_size / place->local_world_size;

	return place->rank % nodes == node && place->rank / nodes == place->local_rank;
}

/* Placement can be calculated only where the nodes are equally filled. */
static bool fits(const struct ri_ompi_place *place, uint64_t node)
{
	if (place->world_size % place->local_world_size != 0 ||
		(place->nodes != 0 &&
			place->nodes != place->world_size / place->local_world_size))
		return false;
	return fits_by_slot(place, node) || fits_round_robin(place, node);
}

/* Open MPI 5 tells neither nodes nor daemons: the index needs a witness. */
static bool decide_without_counts(const struct ri_ompi_place *place, uint64_t *node_rank)
{
	if (!is_candidate(place, place->daemon) || !fits(place, place->daemon))
		return false;
	if (place->daemon > 0 && is_candidate(place, place->daemon - 1) &&
		fits(place, place->daemon - 1))
		return false;
	*node_rank = place->daemon;
	return true;
}

bool ri_ompi_node_rank(const struct ri_ompi_place *place, uint64_t *node_rank)
{
	bool same, before;

	if (place->rank == place->local_rank) {
		/* Every rank below this one is here, and rank 0 is on node 0. */
		*node_rank = 0;
		return true;
	}
	if (place->nodes == 0)
		return decide_without_counts(place, node_rank);
	if (place->daemons != 0 && place->daemons < place->nodes)
		return false;
	same = is_candidate(place, place->daemon);
	before = place->daemons > place->nodes && place->daemon > 0 &&
		is_candidate(place, place->daemon - 1);
	if (same && before) {
		same = fits(place, place->daemon);
		before = fits(place, place->daemon - 1);
	}
	if (same == before)
		return false;
	*node_rank = same ? place->daemon : place->daemon - 1;
	return true;
}
