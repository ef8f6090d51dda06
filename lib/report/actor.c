/* SPDX-License-Identifier: Apache-2.0 */
#include "report/outcome.h"

#include <strings.h>

#include "base/limits.h"

enum {
	SAID = 16,		/* that one exception names */
	RANK_LENGTH = 4,
};

/* "create.<locals>.Worker": the part behind the last dot; the others are in *before. */
static struct ri_span last_part(struct ri_span name, struct ri_span *before)
{
	const char *dot = memrchr(name.at, '.', name.length);

	*before = (struct ri_span){ name.at, 0 };
	if (dot == NULL)
		return name;
	before->length = (size_t)(dot - name.at);
	return ri_span_skip(name, before->length + 1);
}

/* A program's own repr(), as "Worker(rank=3)" or "<Rank 3>". -1: it tells none. */
static int64_t rank_in(struct ri_span repr)
{
	uint64_t number;

	/* Python's own has the name of a class, which may be Rank16Adapter */
	if (ri_span_has(repr, " object at 0x"))
		return -1;
	for (; repr.length > RANK_LENGTH; repr = ri_span_skip(repr, 1)) {
		struct ri_span rest = ri_span_skip(repr, RANK_LENGTH);

		if (strncasecmp(repr.at, "rank", RANK_LENGTH) != 0)
			continue;
		if (rest.at[0] != '\0' && strchr("=:_- ", rest.at[0]) != NULL)
			rest = ri_span_skip(rest, 1);
		if (ri_digits_of(rest, &number) > 0 && number < RI_MAX_RANKS)
			return (int64_t)number;
	}
	return -1;
}

static bool find_traceback(struct ri_span text, struct ri_traceback *out)
{
	return ri_traceback_find(text, out) && !out->aside && out->last.length > 0;
}

bool ri_actor_is_rays(struct ri_span text)
{
	struct ri_traceback traceback;

	return find_traceback(text, &traceback) && ri_span_has(traceback.whole, "ray.exceptions.");
}

bool ri_actor_find(struct ri_span text, struct ri_actor *out)
{
	struct ri_rank_said said[SAID], *last = NULL;
	struct ri_traceback traceback;
	struct ri_span before;
	size_t count;

	if (!find_traceback(text, &traceback))
		return false;
	count = ri_launcher_words_read(traceback.whole, said, SAID);
	for (size_t i = 0; i < count; i++)
		/* a line of raylet's, which may stand below it, tells of each worker that ended */
		if (said[i].pid > 0 && strcmp(said[i].launcher, "ray") == 0 && (said[i].raised ||
			said[i].actor.length > 0 || said[i].out_of_memory))
			last = &said[i];
	if (last == NULL)
		return false;
	*out = (struct ri_actor){
		.host = last->host, .pid = last->pid, .rank = rank_in(last->message),
		.raised = last->raised, .exit_code = last->exit_code,
		.out_of_memory = last->out_of_memory, .exception = traceback.last,
	};
	/* what raised is told by its method, "Worker.train", or is a function */
	out->name = last_part(last->actor, &before);
	out->is_task = last->raised && before.length == 0;
	if (last->raised && before.length > 0)
		out->name = last_part(before, &before);
	return true;
}
