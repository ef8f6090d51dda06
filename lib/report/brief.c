/* SPDX-License-Identifier: Apache-2.0 */
#include "report/blame.h"
#include "report/brief.h"

#include <string.h>

#include "redact/redact.h"
#include "report/actor.h"
#include "report/causes.h"
#include "report/members.h"
#include "report/inner_word.h"

void ri_brief_begin(struct ri_verdict *out, const struct ri_topology *topology, const char *host)
{
	uint64_t node;

	*out = (struct ri_verdict){ .rank = -1, .node = -1 };
	if (topology != NULL && ri_topology_get(topology, RI_FACT_NODE_RANK, &node))
		out->node = (int64_t)node;
	ri_text_copy(out->host, sizeof(out->host), host);
}

int64_t ri_brief_rank(const struct ri_outcome *outcome)
{
	ssize_t named = ri_outcome_named(outcome);

	if (named < 0)
		return -1;
	if (outcome->ranks[named].actor != NULL)
		return outcome->ranks[named].actor->rank;
	return ri_outcome_has_ranks(outcome) ? (int64_t)outcome->ranks[named].rank : -1;
}

/* It may have run elsewhere; an actor of Ray's has an address, which is of any node. */
static bool is_here(const struct ri_outcome *outcome)
{
	ssize_t named = ri_outcome_named(outcome);

	return outcome->blame != RI_BLAME_ELSEWHERE &&
		(named < 0 || outcome->ranks[named].actor == NULL);
}

static void take_first(struct ri_verdict *out, const struct ri_outcome *outcome)
{
	out->class = outcome->ranks[outcome->first].evidence.class;
	out->rank = ri_brief_rank(outcome);
	if (is_here(outcome))
		return;
	out->node = -1;
	out->host[0] = '\0';
}

static void take_stop(struct ri_verdict *out, const struct ri_outcome *outcome)
{
	out->class = RI_CLASS_STOPPED;
	for (size_t i = 0; i < outcome->count; i++)
		out->failed_before |= ri_class_was_held(outcome, &outcome->ranks[i]);
	if (outcome->single)
		out->rank = (int64_t)outcome->ranks[0].rank;
}

bool ri_brief_find(struct ri_verdict *out, const struct ri_outcome *outcome, int status)
{
	bool of_job = outcome->link.verdict != NULL && !outcome->link.is_here;

	if (outcome->first < 0 && ((outcome->stop.signal == 0 && !of_job) ||
		outcome->exit_status == 0))
		return false;
	ri_brief_begin(out, outcome->topology, outcome->host);
	out->why = ri_why_find(outcome);
	if (of_job)
		*out = *outcome->link.verdict;	/* each of its nodes tells that alike */
	else if (outcome->first >= 0)
		take_first(out, outcome);
	else
		take_stop(out, outcome);
	out->status = status;
	out->retries = outcome->restarts == NULL ? 0 : outcome->restarts->all;
	if (outcome->inner != NULL) {
		out->why = outcome->inner->verdict.why;
		out->class = outcome->inner->verdict.class;
		out->rank = outcome->inner->verdict.rank;
		out->status = outcome->inner->verdict.status;
	}
	return true;
}

static bool is_plain(const char *value)
{
	for (; *value != '\0'; value++)
		if (*value <= ' ' || *value > '~' || strchr("\"=\\", *value) != NULL)
			return false;
	return true;
}

/* As in a string of JSON; bytes that are no UTF-8 are replaced. */
static void add_escaped(struct ri_text *out, const char *value)
{
	size_t length;

	for (; *value != '\0'; value += length) {
		unsigned code = (unsigned char)value[0];

		length = ri_utf8_length(value);
		if (length == 2)
			code = (code & 0x1f) << 6 | ((unsigned char)value[1] & 0x3f);
		if (length == 0)
			ri_text_add(out, "\\ufffd");
		else if (length <= 2 && (code < ' ' || (code > '~' && code < 0xa0)))
			ri_text_addf(out, "\\u%04x", code);
		else if (code == '"' || code == '\\')
			ri_text_addf(out, "\\%c", (int)code);
		else
			ri_text_add_bytes(out, value, length);
		length += length == 0;
	}
}

/* A name that somebody else gave. */
static void add_name(struct ri_text *out, const char *key, const char *value)
{
	char bytes[RI_BRIEF_LINE];
	struct ri_text name;

	if (value == NULL || value[0] == '\0')
		return;
	ri_text_init(&name, bytes, sizeof(bytes));
	ri_redact_word(&name, value);
	out->cut = out->cut || name.cut;
	ri_text_addf(out, is_plain(bytes) ? " %s=" : " %s=\"", key);
	add_escaped(out, bytes);
	ri_text_add(out, is_plain(bytes) ? "" : "\"");
}

static void add_number(struct ri_text *out, const char *key, int64_t number)
{
	if (number >= 0)
		ri_text_addf(out, " %s=%lld", key, (long long)number);
}

void ri_brief_add(struct ri_text *out, const struct ri_verdict *verdict,
	const struct ri_topology *topology)
{
	const char *job = topology != NULL && ri_topology_knows(topology, RI_FACT_JOB_ID)
		? topology->facts[RI_FACT_JOB_ID].text : NULL;
	char line[RI_BRIEF_SIZE];
	struct ri_text text;

	for (int dropped = 0; dropped <= 2; dropped++) {
		ri_text_init(&text, line, sizeof(line));
		ri_text_addf(&text, "verdict cause=%s", ri_cause_word_name(verdict->why.cause));
		add_name(&text, "class", ri_class_name(verdict->class));
		add_name(&text, "retry", ri_retry_name(verdict->why.retry));
		add_number(&text, "rank", verdict->rank);
		add_number(&text, "node", verdict->node);
		add_name(&text, "host", dropped > 1 ? NULL : verdict->host);
		add_number(&text, "status", verdict->status);
		if (verdict->why.cause == RI_CAUSE_PREEMPTED)
			add_name(&text, "failed_before", verdict->failed_before ? "yes" : "no");
		add_number(&text, "retries", (int64_t)verdict->retries);
		add_name(&text, "job", dropped > 0 ? NULL : job);
		if (!text.cut)
			break;
	}
	ri_text_add(out, line);
}

json_t *ri_brief_json(struct ri_json *json, const struct ri_verdict *verdict)
{
	struct ri_report_verdict told;

	if (verdict == NULL)
		return json_null();
	told = (struct ri_report_verdict){
		.cause = ri_cause_word_name(verdict->why.cause), .class = (int)verdict->class,
		.retry = ri_retry_name(verdict->why.retry), .rank = verdict->rank,
		.node = verdict->node,
		.host = verdict->host[0] == '\0' ? NULL : verdict->host,
		.status = verdict->status, .retries = (int64_t)verdict->retries,
		.failed_before = verdict->why.cause != RI_CAUSE_PREEMPTED ? json_null()
			: json_boolean(verdict->failed_before),
	};
	return ri_members_write(json, ri_report_verdict, &told);
}
