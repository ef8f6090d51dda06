/* SPDX-License-Identifier: Apache-2.0 */
#include "words/launcher_words.h"

/* Who writes a label: each may start the next. */
enum level {
	NOBODY,
	STEP,			/* srun, Hydra */
	MPI,
	WORKER,			/* torchrun's, Ray's */
	PROGRAM,
};

static const struct row {
	enum level level;
	enum ri_labels labels;
	const char *shape;
} rows[] = {
#define RI_LABEL(level_, labels_, shape_, source_) { level_, RI_LABELS_##labels_, shape_ },
#include "words/launcher_words.def"
};

/* The first label of a line, if its writer may stand behind that of the last one. */
static const struct row *find_label(struct ri_span line, enum level last, enum ri_labels labels,
	struct ri_rank_said *said)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].level > last &&
			(rows[i].labels == RI_LABELS_NAMED || rows[i].labels == labels) &&
			ri_shape_fits(line, rows[i].shape, said))
			return &rows[i];
	return NULL;
}

/* Python indents by even numbers: an odd one has the blank in it that PMIx puts behind a label. */
static struct ri_span skip_odd(struct ri_span rest)
{
	return ri_span_skip(rest, (rest.length - ri_span_trim_start(rest).length) % 2);
}

bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out)
{
	const struct row *row;
	struct ri_rank_said said;
	enum level last = NOBODY;

	*out = (struct ri_owner){ .rank = -1, .local_rank = -1, .rest = line };
	while ((row = find_label(out->rest, last, labels, &said)) != NULL) {
		last = row->level;
		/* what a label before torchrun's tells is a node */
		if (said.rank >= 0 || said.local_rank >= 0)
			out->rank = said.rank;
		if (said.local_rank >= 0)
			out->local_rank = said.local_rank;
		if (said.pid > 0) {
			out->pid = said.pid;
			out->host = said.host;
		}
		out->rest = last == MPI ? skip_odd(said.message) : said.message;
	}
	out->is_rank = last >= WORKER;
	return last != NOBODY;
}

bool ri_owner_is(const struct ri_owner *owner, const struct ri_owner *other)
{
	if (owner->rank >= 0 && other->rank >= 0)
		return owner->rank == other->rank;
	if (owner->pid > 0 && other->pid > 0)
		return owner->pid == other->pid && owner->host.length == 0;
	return owner->local_rank >= 0 && owner->local_rank == other->local_rank;
}
