/* SPDX-License-Identifier: Apache-2.0 */
#include "words/owner.h"

#include <string.h>

#include "base/number.h"

enum { NESTED = 4, NAME_BYTES = 64 };	/* labels before one line; bytes of a name in one */

static bool skip(struct ri_span *rest, const char *word)
{
	if (!ri_span_starts(*rest, word))
		return false;
	*rest = ri_span_skip(*rest, strlen(word));
	return true;
}

static bool skip_number(struct ri_span *rest, int64_t *out)
{
	uint64_t number;
	size_t length = ri_digits_of(*rest, &number);

	if (length == 0 || number > INT32_MAX)
		return false;
	*rest = ri_span_skip(*rest, length);
	*out = (int64_t)number;
	return true;
}

/* The escape sequence of a colour, as Ray writes them (python/ray/_private/worker.py). */
static void skip_colour(struct ri_span *rest)
{
	size_t end = 2;

	if (!ri_span_starts(*rest, "\x1b["))
		return;
	while (end < rest->length && ((rest->at[end] >= '0' && rest->at[end] <= '9') ||
		rest->at[end] == ';'))
		end++;
	if (end < rest->length && rest->at[end] == 'm')
		*rest = ri_span_skip(*rest, end + 1);
}

/*
 * "[rank3]: " (torch 2.13 torch/distributed/distributed_c10d.py, the exception hook), "[rank3]:"
 * (c10/util/Logging.cpp); "[default3]:" (torch/distributed/elastic/agent/server/
 * local_elastic_agent.py, log_line_prefix_template), for roles of the usual names.
 */
static bool skip_torch(struct ri_span *rest, struct ri_owner *out)
{
	static const char *const roles[] = { "[default", "[trainer", "[worker" };
	struct ri_span at = *rest;
	int64_t number;

	if (skip(&at, "[rank") && skip_number(&at, &number) && skip(&at, "]:")) {
		out->rank = number;
		skip(&at, " ");
	} else {
		size_t i = 0;

		at = *rest;
		while (i < 3 && !skip(&at, roles[i]))
			i++;
		if (i == 3 || !skip_number(&at, &number) || !skip(&at, "]:"))
			return false;
		out->rank = -1;		/* what srun's label before it tells is a node */
		out->local_rank = number;
	}
	out->is_rank = true;
	*rest = at;
	return true;
}

/*
 * "[1,3]<stderr>:" (Open MPI 4.1 orte/mca/iof/base/iof_base_output.c, --tag-output), with a blank
 * behind it and without the job (5.0, PMIx src/common/pmix_iof.c), and of horovodrun without it
 * (horovod/runner/common/util/safe_shell_exec.py, prefix_stream). Job 1 is the one on the command
 * line. Python indents by even numbers: an odd one has PMIx's blank in it.
 */
static bool skip_mpi(struct ri_span *rest, struct ri_owner *out)
{
	struct ri_span at = *rest;
	int64_t number, job = 1;
	size_t blanks = 0;

	if (!skip(&at, "[") || !skip_number(&at, &number))
		return false;
	if (skip(&at, ",")) {
		job = number;
		if (!skip_number(&at, &number))
			return false;
	}
	if (!skip(&at, "]<stderr>:") && !skip(&at, "]<stdout>:"))
		return false;
	while (blanks < at.length && at.at[blanks] == ' ')
		blanks++;
	out->rank = job == 1 ? number : -1;
	*rest = ri_span_skip(at, blanks % 2);
	return true;
}

/* "(WorkerDict pid=417) ", "(train_fn pid=417, ip=10.0.0.2) " (Ray, print_worker_logs). */
static bool skip_ray(struct ri_span *rest, struct ri_owner *out)
{
	struct ri_span at = *rest, host = { NULL, 0 };
	const char *found, *end;
	int64_t pid;

	skip_colour(&at);
	if (!skip(&at, "("))
		return false;
	found = memmem(at.at, at.length < NAME_BYTES ? at.length : NAME_BYTES, " pid=", 5);
	if (found == NULL || memchr(at.at, ')', (size_t)(found - at.at)) != NULL)
		return false;
	at = ri_span_skip(at, (size_t)(found + 5 - at.at));
	if (!skip_number(&at, &pid))
		return false;
	end = memchr(at.at, ')', at.length);
	if (end == NULL)
		return false;
	if (skip(&at, ", ip="))
		host = (struct ri_span){ at.at, (size_t)(end - at.at) };
	at = ri_span_skip(at, (size_t)(end + 1 - at.at));
	skip_colour(&at);
	skip(&at, " ");
	out->pid = pid;
	out->host = host;
	out->is_rank = true;
	*rest = at;
	return true;
}

/*
 * "3: ", right-aligned (Slurm 22.05 src/common/io_hdr.c, src/api/step_io.c, --label); "[3] "
 * (MPICH 4.0 src/pm/hydra/ui/utils/uiu.c, prepend_rank).
 */
static bool skip_bare(struct ri_span *rest, enum ri_labels labels, struct ri_owner *out)
{
	struct ri_span at = *rest;
	int64_t number;

	if (labels == RI_LABELS_SRUN)
		at = ri_span_trim_start(at);
	if (labels == RI_LABELS_NAMED || (labels == RI_LABELS_HYDRA && !skip(&at, "[")) ||
		!skip_number(&at, &number) || !skip(&at, labels == RI_LABELS_SRUN ? ":" : "]"))
		return false;
	if (!skip(&at, " ") && at.length > 0)
		return false;
	out->rank = number;
	*rest = at;
	return true;
}

bool ri_owner_find(struct ri_span line, enum ri_labels labels, struct ri_owner *out)
{
	bool owned = false;

	*out = (struct ri_owner){ .rank = -1, .local_rank = -1, .rest = line };
	for (int i = 0; i < NESTED && !out->is_rank; i++) {
		if (!skip_torch(&out->rest, out) && !skip_mpi(&out->rest, out) &&
			!skip_ray(&out->rest, out) &&
			(i > 0 || !skip_bare(&out->rest, labels, out)))
			break;
		owned = true;
	}
	if (out->is_rank && out->rank < 0)
		skip_torch(&out->rest, out);	/* "[default3]:[rank11]: " */
	return owned;
}

static bool is_labelled(struct ri_span line, enum ri_labels labels)
{
	struct ri_owner owner = { .rank = -1 };

	return skip_bare(&line, labels, &owner);
}

enum ri_labels ri_labels_find(struct ri_span text)
{
	/* what srun and Hydra say themselves bears none */
	static const char *const own[] = { "srun: ", "slurmstepd", "[proxy:" };
	size_t lines = 0, srun = 0, hydra = 0;
	struct ri_span line;

	while (ri_span_line(&text, &line)) {
		if (ri_span_trim_start(line).length == 0 || ri_span_starts(line, own[0]) ||
			ri_span_starts(line, own[1]) || ri_span_starts(line, own[2]))
			continue;
		lines++;
		srun += is_labelled(line, RI_LABELS_SRUN);
		hydra += is_labelled(line, RI_LABELS_HYDRA);
	}
	if (srun > 0 && srun * 4 >= lines * 3)
		return RI_LABELS_SRUN;
	return hydra > 0 && hydra * 4 >= lines * 3 ? RI_LABELS_HYDRA : RI_LABELS_NAMED;
}

bool ri_owner_is(const struct ri_owner *owner, const struct ri_owner *other)
{
	if (owner->rank >= 0 && other->rank >= 0)
		return owner->rank == other->rank;
	if (owner->pid > 0 && other->pid > 0)
		return owner->pid == other->pid && owner->host.length == 0;
	return owner->local_rank >= 0 && owner->local_rank == other->local_rank;
}
