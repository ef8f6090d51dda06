/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "check/check.h"

bool ri_check_is_shared(const struct ri_checking *checking)
{
	return checking->ranks > 1 || ri_topology_is_wide(checking->topology);
}

/* The one that is written now. Past the last it is written and not kept. */
static struct ri_check_result *last(struct ri_checking *checking)
{
	static struct ri_check_result spare;

	if (checking->count == 0 || checking->count > RI_CHECK_RESULTS)
		return &spare;
	return &checking->results[checking->count - 1];
}

static struct ri_check_result *add(struct ri_checking *checking, enum ri_check_status status,
	enum ri_code code, const char *subject)
{
	struct ri_check_result *result;

	if (checking->count <= RI_CHECK_RESULTS)
		checking->count++;
	result = last(checking);
	*result = (struct ri_check_result){
		.check = (uint16_t)checking->number, .status = (uint8_t)status,
		.code = (uint16_t)code,
	};
	ri_text_copy(result->subject, sizeof(result->subject), subject);
	return result;
}

#define FILL(result, field, format) \
	do { \
		va_list args; \
		va_start(args, format); \
		vsnprintf((result)->field, sizeof((result)->field), format, args); \
		va_end(args); \
	} while (0)

/* srun(1), OUTPUT ENVIRONMENT VARIABLES; sbatch and salloc set it, too */
bool ri_check_is_slurm(const struct ri_checking *checking)
{
	return ri_env_get(checking->env, "SLURM_JOB_ID") != NULL;
}

/* By its id, its family, and what the check holds. */
static void ask(struct ri_checking *checking)
{
	const struct ri_check *check = ri_check_at(checking->number);
	struct ri_check_result *result = last(checking);
	bool holds = result->status != RI_CHECK_UNKNOWN || check->holds_unknown;

	ri_check_asked(checking, ri_demands_check(checking->demands, checking->number, false));
	ri_check_asked(checking, ri_demands_check(checking->demands, checking->number, true));
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		const struct ri_demand *demand = ri_demands_find(checking->demands,
			(enum ri_topic)topic);

		if (holds && (check->holds & 1u << topic) != 0)
			ri_check_asked(checking, demand);
		if (demand != NULL && (check->wished & 1u << topic) != 0 &&
			result->status == RI_CHECK_NOTE)
			result->status = RI_CHECK_WARN;
	}
}

/* Its hint is what the check advises, unless it gets another. */
void ri_check_problem(struct ri_checking *checking, bool warns, enum ri_code code,
	const char *subject, const char *format, ...)
{
	struct ri_check_result *result = add(checking, warns ? RI_CHECK_WARN : RI_CHECK_NOTE,
		code, subject);

	FILL(result, text, format);
	result->problem = true;
	ri_check_advise(checking);
	ask(checking);
}

void ri_check_say(struct ri_checking *checking, enum ri_check_status status, enum ri_code code,
	const char *subject, const char *format, ...)
{
	struct ri_check_result *result = add(checking, status, code, subject);

	FILL(result, text, format);
	if (status == RI_CHECK_UNKNOWN)
		ask(checking);
}

void ri_check_unprobed(struct ri_checking *checking, const char *subject, const char *text)
{
	if (ri_demands_check(checking->demands, checking->number, false) != NULL)
		ri_check_unknown(checking, RI_CODE_PROBE_OFF, subject, "%s", text);
	else
		ri_check_skip(checking, subject, "%s", text);
}

void ri_check_doing(struct ri_checking *checking, const char *subject)
{
	if (checking->doing != NULL)
		ri_text_copy(checking->doing, RI_CHECK_SUBJECT, subject == NULL ? "" : subject);
}

void ri_check_asked(struct ri_checking *checking, const struct ri_demand *demand)
{
	struct ri_check_result *result = last(checking);
	bool required;

	if (demand == NULL)
		return;
	required = ri_demand_is_firm(demand);
	if (result->status == RI_CHECK_UNKNOWN) {
		result->unfit |= required;
		if (required && result->expected[0] == '\0')
			snprintf(result->expected, sizeof(result->expected), "an answer (%s)",
				demand->subject);
	} else if (result->problem) {
		if (required)
			result->status = RI_CHECK_FAIL;
		else if (result->status == RI_CHECK_NOTE)
			result->status = RI_CHECK_WARN;
		result->unfit |= required;
	}
}

void ri_check_hold_skips(struct ri_checking *checking)
{
	const struct ri_demand *demand = ri_demands_check(checking->demands, checking->number,
		false);
	size_t count = checking->count < RI_CHECK_RESULTS ? checking->count : RI_CHECK_RESULTS;

	if (!ri_demand_is_firm(demand))
		return;
	for (size_t i = 0; i < count; i++)
		if (checking->results[i].status != RI_CHECK_SKIP)
			return;
	for (size_t i = 0; i < count; i++) {
		struct ri_check_result *result = &checking->results[i];

		result->status = RI_CHECK_UNKNOWN;
		result->code = RI_CODE_CHECK_SKIPPED;
		result->problem = result->unfit = true;
		snprintf(result->expected, sizeof(result->expected), "a pass (%s)",
			demand->subject);
	}
}

void ri_check_expected(struct ri_checking *checking, const char *format, ...)
{
	FILL(last(checking), expected, format);
}

void ri_check_asked_count(struct ri_checking *checking, const struct ri_demand *demand)
{
	ri_check_asked(checking, demand);
	if (demand != NULL)
		ri_check_expected(checking, "%llu (%s)",
			demand->count == 0 ? 1ull : (unsigned long long)demand->count,
			demand->subject);
}

void ri_check_hint(struct ri_checking *checking, const char *format, ...)
{
	FILL(last(checking), hint, format);
}

void ri_check_advise(struct ri_checking *checking)
{
	struct ri_check_result *result = last(checking);
	const struct ri_check *check = ri_check_at(checking->number);

	ri_text_copy(result->hint, sizeof(result->hint),
		check->in_slurm != NULL && ri_check_is_slurm(checking) ? check->in_slurm
								       : check->advice);
}

enum { END_SIZE = 24, NAME_COLUMNS = 40 };

void ri_row_add(struct ri_row *row, const char *name)
{
	RI_TEXT(shown, 4 * NAME_COLUMNS + 8);
	size_t room = sizeof(row->bytes) - row->used;

	ri_text_add_shown(&shown, name, NAME_COLUMNS);
	row->count++;
	if (row->shown + 1 != row->count || shown.length + 2 + END_SIZE > room)
		return;
	row->used += (size_t)snprintf(row->bytes + row->used, room, "%s%s",
		row->shown++ == 0 ? "" : ", ", shown.bytes);
}

const char *ri_row_end(struct ri_row *row)
{
	if (row->shown < row->count)
		snprintf(row->bytes + row->used, sizeof(row->bytes) - row->used, "%s%zu more",
			row->shown == 0 ? "" : " and ", row->count - row->shown);
	return row->bytes;
}
