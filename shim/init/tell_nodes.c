/* SPDX-License-Identifier: Apache-2.0 */
#include "init/tell_nodes.h"

#include "link/link.h"

static bool only_lost;	/* what failed had lost another rank, as the last judge had it */

static bool has_failed(const struct ri_children *children)
{
	for (size_t i = 0; i < children->started; i++)
		if (ri_child_failed(&children->items[i]) || children->items[i].leaving)
			return true;
	return children->refused != 0;
}

bool ri_nodes_have_news(const struct ri_link_job *job)
{
	return has_failed(job->children) && ri_judge_is_news(RI_ASK_FAILED);
}

void ri_nodes_tell(const struct ri_link_job *job)
{
	bool failed;

	if (!ri_link_is_on())
		return;
	failed = has_failed(job->children);
	/* from outside; not where that came for a failure, or after it */
	if (job->stop->asked && (only_lost || !failed))
		ri_link_say_stop(job, job->stop->number);
	else if (failed && ri_judge_is_news(RI_ASK_FAILED) && !ri_judge_ask(RI_ASK_FAILED))
		ri_nodes_tell_judged(job, NULL);
	else if (!failed && job->children->living == 0)
		ri_link_say(job, RI_CLASS_NONE, ri_why_unknown, "");
}

void ri_nodes_tell_judged(const struct ri_link_job *job, const struct ri_judged *answer)
{
	const struct ri_child *first;
	RI_TEXT(line, RI_MAX_LINE);

	if (!ri_link_is_on())
		return;
	only_lost = answer != NULL && answer->lost;
	first = ri_children_first_of(job->children);
	if (answer != NULL && answer->said.kind == RI_LINK_END)
		ri_link_end(&answer->said.end);
	if (answer != NULL || (first == NULL && job->children->refused == 0))
		return;
	ri_link_add_node(&line, job->part.node, job->host);
	ri_text_add(&line, " failed: ");
	if (first != NULL)
		ri_child_add_end(&line, job->children, first);
	else
		ri_text_add(&line, "not all of its ranks could be started");
	ri_text_add(&line, "\n");
	ri_link_say(job, RI_CLASS_UNKNOWN, ri_why_unknown, line.bytes);
}

void ri_nodes_tell_last(const struct ri_link_job *job, int status)
{
	const char *why;

	if (!ri_link_is_on() || *job->ordered)
		return;
	if (status == 0 && job->stop->asked)
		ri_link_say_stop(job, job->stop->number);
	else if (!has_failed(job->children))
		ri_nodes_tell(job);
	else if (ri_judge_is_news(RI_ASK_FAILED))
		ri_nodes_tell_judged(job, ri_judge_wait(RI_ASK_FAILED, NULL, &why));
}
