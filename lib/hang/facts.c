/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/facts.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "from/sources.h"

bool ri_hang_read_field(const char *text, const char *name, uint64_t *out)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0 || text[length] != ':') {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += length + 1;
	return ri_digits_read(text + strspn(text, " \t"), out) > 0;
}

void ri_hang_read_wchan(const char *text, char *out, size_t size)
{
	ri_text_copy(out, size, strcmp(text, "0") == 0 ? "" : text);
	out[strcspn(out, "\n")] = '\0';
}

bool ri_hang_find_mount(char *mountinfo, uint64_t id, struct ri_mount *out)
{
	while (ri_mount_next(&mountinfo, out))
		if (out->id == id)
			return true;
	return false;
}

/* The variable in which the launcher of that source tells a process its rank; or NULL. */
static const char *find_rank_variable(const struct ri_source *source)
{
	for (const struct ri_shape *shape = source->shapes;
		shape != NULL && shape->name != NULL; shape++)
		for (const struct ri_shape_row *row = shape->rows;
			source->manages && row->name != NULL; row++)
			if (strcmp(row->value, "<rank>") == 0)
				return row->name;
	return NULL;
}

/* The same for all sources, by their place in the table. */
static const char *const *rank_variables(void)
{
	static const char *names[RI_SOURCE_COUNT];
	static bool found;

	for (size_t i = 0; !found && i < RI_SOURCE_COUNT; i++)
		names[i] = find_rank_variable(ri_source_at(i));
	found = true;
	return names;
}

const struct ri_hang_identity ri_hang_unsaid = {
	.rank = -1, .local_rank = -1, .local_ranks = -1, .pmix_rank = -1,
	.launched = { { .rank = -1 }, { .rank = -1 } },
};

/* Takes the number of a variable of that name. False: it is another one, or not a number. */
static bool take(const char *variable, const char *name, int64_t *out)
{
	static const struct ri_range ranks = { 0, INT32_MAX };
	size_t length = strlen(name);
	uint64_t number;

	if (strncmp(variable, name, length) != 0 || variable[length] != '=' ||
		ri_number_read(variable + length + 1, ranks, &number, NULL) != RI_NUMBER_OK)
		return false;
	*out = (int64_t)number;
	return true;
}

/*
 * torchrun's variables (pytorch.org, "torchrun", Environment Variables), which rankinit's own
 * ranks have too; PMIX_RANK of each process that a PMIx server started (openpmix 5.0
 * src/server/pmix_server.c, PMIx_server_setup_fork); the other launchers' as lib/from has them.
 */
void ri_hang_note_variable(struct ri_hang_identity *said, const char *variable)
{
	const char *const *names = rank_variables();

	take(variable, "RANK", &said->rank);
	take(variable, "LOCAL_RANK", &said->local_rank);
	take(variable, "LOCAL_WORLD_SIZE", &said->local_ranks);
	take(variable, "PMIX_RANK", &said->pmix_rank);
	said->has_world = said->has_world || strncmp(variable, "WORLD_SIZE=", 11) == 0;
	for (size_t i = 0; i < RI_SOURCE_COUNT; i++) {
		bool by_mpi = ri_source_at(i)->mpi != RI_SOURCE_NO_MPI;

		if (names[i] != NULL && strcmp(names[i], "RANK") != 0 &&
			(said->launched[by_mpi].rank < 0 || i < said->launched[by_mpi].source) &&
			take(variable, names[i], &said->launched[by_mpi].rank))
			said->launched[by_mpi].source = i;
	}
}

enum ri_hang_claim ri_hang_claim_of(const struct ri_hang_identity *said, int64_t *rank)
{
	const struct {
		bool claims;
		enum ri_hang_claim claim;
		int64_t rank;
	} claims[] = {
		{ said->local_rank >= 0, RI_HANG_OWN_RANK, said->rank },
		{ true, RI_HANG_MPI_RANK, said->launched[true].rank },
		{ true, RI_HANG_MPI_RANK, said->pmix_rank },
		{ said->has_world, RI_HANG_NODE_RANK, said->rank },
		{ true, RI_HANG_STEP_RANK, said->launched[false].rank },
	};

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		if (claims[i].claims && claims[i].rank >= 0) {
			*rank = claims[i].rank;
			return claims[i].claim;
		}
	return RI_HANG_NO_RANK;
}
