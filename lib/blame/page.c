/* SPDX-License-Identifier: Apache-2.0 */
/* One page for people: which rank, why, the victims, the nodes without a report, what differs. */
#include "blame/sheet.h"

#include <string.h>

#include "base/error.h"

enum {
	COLUMNS = 200,
	NAMED = 10,	/* of a list; the rest is counted */
	RANGES = 12,
	SUSPECTS = 8,
	REASON = 6,	/* lines of it, where several are suspected */
};

static void add_name(struct ri_sheet *sheet, const struct ri_witness *witness)
{
	char name[512];
	struct ri_text text;

	ri_text_init(&text, name, sizeof(name));
	if (witness->node >= 0)
		ri_text_add(&text, "node ");
	ri_witness_name(&text, witness);
	ri_sheet_add_shown(sheet, name, COLUMNS);
}

static void add_time(struct ri_sheet *sheet, int64_t at)
{
	char buffer[64];
	struct ri_text text;

	ri_text_init(&text, buffer, sizeof(buffer));
	ri_time_show(&text, at);
	ri_sheet_addf(sheet, "%s", buffer);
}

/* "1 node", "3 nodes" */
static void add_count(struct ri_sheet *sheet, size_t count, const char *what)
{
	ri_sheet_addf(sheet, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

/* "rank 13 (node 1 (gpu-0514))", "node 1 (gpu-0514)" */
static void add_who(struct ri_sheet *sheet, const struct ri_case_suspect *suspect)
{
	int64_t rank = ri_case_rank(suspect);

	if (rank >= 0)
		ri_sheet_addf(sheet, "rank %lld of ", (long long)rank);
	add_name(sheet, suspect->witness);
}

static void add_how(struct ri_sheet *sheet, const struct ri_case_suspect *suspect)
{
	const struct ri_witness *witness = suspect->witness;

	if (suspect->rank == NULL && witness->failure.class == RI_CLASS_NONE)
		ri_sheet_addf(sheet, "exit status %d", witness->exit_status);
	else
		ri_sheet_add_shown(sheet, witness->failure.how, COLUMNS);
	ri_sheet_addf(sheet, ", at ");
	add_time(sheet, suspect->at);
	ri_sheet_addf(sheet, witness->compared ? ", by the clock of node 0\n" : "\n");
}

static void add_lines(struct ri_sheet *sheet, const char *const *lines, size_t count, size_t most)
{
	for (size_t i = 0; i < count && i < most; i++) {
		ri_sheet_addf(sheet, "    ");
		ri_sheet_add_shown(sheet, lines[i], COLUMNS);
		ri_sheet_addf(sheet, "\n");
	}
}

static void add_report(struct ri_sheet *sheet, const struct ri_case_suspect *suspect)
{
	ri_sheet_addf(sheet, "    report: ");
	ri_sheet_add_shown(sheet, suspect->witness->file, COLUMNS);
	ri_sheet_addf(sheet, "\n");
}

static void add_reason(struct ri_sheet *sheet, const struct ri_case_suspect *suspect, size_t most)
{
	const struct ri_witness_failure *failure = &suspect->witness->failure;

	add_lines(sheet, failure->lines, failure->line_count, most);
	add_report(sheet, suspect);
}

/* ", at 2026-11-23T17:29:19.689Z: it sleeps, train.py:55 in step", and the lines about that */
static void add_deed(struct ri_sheet *sheet, const struct ri_case_suspect *suspect, size_t most)
{
	const struct ri_witness_autopsy *autopsy = &suspect->witness->autopsy;

	ri_sheet_addf(sheet, ", at ");
	add_time(sheet, suspect->at);
	ri_sheet_addf(sheet, ": it ");
	ri_sheet_add_shown(sheet, autopsy->did, RI_WITNESS_DEED);
	ri_sheet_addf(sheet, "\n");
	add_lines(sheet, autopsy->lines, autopsy->line_count, most);
	add_report(sheet, suspect);
}

/* Whether this is the life of the node in which it failed. */
static void add_life(struct ri_sheet *sheet, const struct ri_case_suspect *suspect)
{
	if (suspect->life == RI_CASE_EARLIER_LIFE)
		ri_sheet_addf(sheet, "    but this report ended before any other began: its clock "
			"is slow, or it is of an attempt before\n");
	if (suspect->life == RI_CASE_LATER_LIFE)
		ri_sheet_addf(sheet, "    but it began after others had lost a peer: its clock is "
			"fast, or its node had failed before, and was started again\n");
}

static void add_first(const struct ri_case *c, struct ri_sheet *sheet)
{
	add_who(sheet, &c->suspects[0]);
	ri_sheet_addf(sheet, c->finding == RI_CASE_REFUSED ? " refused to start: "
		: " failed first: ");
	add_how(sheet, &c->suspects[0]);
	add_reason(sheet, &c->suspects[0], RI_WITNESS_LINES);
	add_life(sheet, &c->suspects[0]);
}

/* Do all of several give the same first line as their reason? */
static bool is_one_reason(const struct ri_case *c)
{
	const struct ri_witness_failure *first = &c->suspects[0].witness->failure;

	for (size_t i = 0; i < c->suspect_count; i++) {
		const struct ri_witness_failure *failure = &c->suspects[i].witness->failure;

		if (failure->line_count == 0 || first->line_count == 0 ||
			strcmp(failure->lines[0], first->lines[0]) != 0)
			return false;
	}
	return c->suspect_count > 2;
}

static void add_heading(const struct ri_case *c, struct ri_sheet *sheet)
{
	size_t all = c->suspect_count + c->more_suspects;
	bool fit = false;

	for (size_t i = 0; i < c->suspect_count; i++)
		fit |= c->suspects[i].witness->exit_status != ri_code_status(RI_CODE_CHECK_UNFIT);
	if (c->finding == RI_CASE_REFUSED)
		ri_sheet_addf(sheet, "%zu nodes %s:\n", all,
			fit ? "refused to start" : "were not fit");
	else
		ri_sheet_addf(sheet, "one of %zu failed first, and the clocks do not tell which:\n",
			all);
}

static void add_tie(const struct ri_case *c, struct ri_sheet *sheet)
{
	bool same = is_one_reason(c);

	add_heading(c, sheet);
	if (same)
		add_reason(sheet, &c->suspects[0], REASON);
	for (size_t i = 0; i < c->suspect_count && i < SUSPECTS; i++) {
		ri_sheet_addf(sheet, "  ");
		add_who(sheet, &c->suspects[i]);
		ri_sheet_addf(sheet, ": ");
		add_how(sheet, &c->suspects[i]);
		if (!same)
			add_reason(sheet, &c->suspects[i], REASON);
		add_life(sheet, &c->suspects[i]);
	}
	if (c->suspect_count > SUSPECTS)
		ri_sheet_addf(sheet, "  and %zu more%s\n",
			c->suspect_count + c->more_suspects - SUSPECTS,
			same && c->more_suspects == 0 ? ", with the same first line" : "");
}

static void add_list(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 0; i < c->suspect_count && i < SUSPECTS; i++) {
		if (i > 0)
			ri_sheet_addf(sheet, " or ");
		add_who(sheet, &c->suspects[i]);
	}
	if (c->suspect_count > SUSPECTS)
		ri_sheet_addf(sheet, " or %zu more",
			c->suspect_count + c->more_suspects - SUSPECTS);
}

/* "5, 17-18" */
static void add_missing(struct ri_sheet *sheet, const struct ri_case_roll *roll)
{
	size_t ranges = 0, left = roll->missing, end;

	for (size_t i = 0; i < roll->all && left > 0; i = end + 1) {
		for (end = i; end < roll->all && ri_case_is_missing(roll, end); end++)
			;
		if (end == i)
			continue;
		if (ranges == RANGES) {
			ri_sheet_addf(sheet, " and %zu more", left);
			return;
		}
		ri_sheet_addf(sheet, "%s%zu", ranges++ == 0 ? "" : ", ", i);
		if (end - i > 1)
			ri_sheet_addf(sheet, "-%zu", end - 1);
		left -= end - i;
	}
}

static void add_silent(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_roll *roll = c->nodes.missing > 0 ? &c->nodes : &c->ranks;

	ri_sheet_addf(sheet, roll->missing == 1 ? "one " : "some of ");
	if (roll->missing > 1)
		ri_sheet_addf(sheet, "%zu ", roll->missing);
	/* one of the files that were skipped may have been its report */
	ri_sheet_addf(sheet, "%s%s left no %sreport and may have gone first: ",
		roll == &c->nodes ? "node" : "rank", roll->missing == 1 ? "" : "s",
		c->skip_count > 0 ? "readable " : "");
	add_missing(sheet, roll);
	ri_sheet_addf(sheet, "\n");
	ri_sheet_addf(sheet, "    the other ranks %s; look whether %s up, and what the platform "
		"says of it\n", c->victims.lost > 0 ? "lost a peer" : "were stopped",
		roll->missing == 1 ? "that machine is" : "those machines are");
	if (c->later.witness == NULL)
		return;
	ri_sheet_addf(sheet, "later ");
	add_who(sheet, &c->later);
	ri_sheet_addf(sheet, " failed: ");
	add_how(sheet, &c->later);
	add_reason(sheet, &c->later, REASON);
}

static void add_told(const struct ri_case *c, struct ri_sheet *sheet)
{
	ri_sheet_addf(sheet, "node %lld failed first, as the link said; it left no report:\n",
		(long long)c->verdict_node);
	ri_sheet_addf(sheet, "    ");
	ri_sheet_add_shown(sheet, c->verdict->verdict, COLUMNS);
	ri_sheet_addf(sheet, "\n");
}

/* Where to look further, where no end of its own is shown. */
static void add_reports(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 0; i < c->suspect_count && i < SUSPECTS; i++)
		add_report(sheet, &c->suspects[i]);
}

/* By the losses, or by what its node's autopsy saw; of several nodes' there may be more. */
static void add_held(const struct ri_case *c, struct ri_sheet *sheet)
{
	if (c->suspect_count > 1) {
		ri_sheet_addf(sheet, "one of %zu held up the others, and what their nodes saw does "
			"not tell which:\n", c->suspect_count + c->more_suspects);
		for (size_t i = 0; i < c->suspect_count && i < SUSPECTS; i++) {
			ri_sheet_addf(sheet, "  ");
			add_who(sheet, &c->suspects[i]);
			add_deed(sheet, &c->suspects[i], REASON);
		}
		if (c->suspect_count > SUSPECTS)
			ri_sheet_addf(sheet, "  and %zu more\n",
				c->suspect_count + c->more_suspects - SUSPECTS);
		return;
	}
	add_who(sheet, &c->suspects[0]);
	if (c->suspects[0].seen) {
		ri_sheet_addf(sheet, " held up the others");
		add_deed(sheet, &c->suspects[0], RI_WITNESS_DEEDS);
		return;
	}
	ri_sheet_addf(sheet, " did not come when all others waited for it: look at what it did "
		"last\n");
	add_report(sheet, &c->suspects[0]);
}

/* Of nodes whose ranks all ended well, and which nevertheless did not. */
static void add_statuses(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_attempt *attempt = &c->attempts[0];
	size_t count = 0;

	for (size_t i = 0; i < attempt->count; i++) {
		const struct ri_witness *witness = attempt->witnesses[i];

		if (witness->exit_status == 0 || count++ >= SUSPECTS)
			continue;
		ri_sheet_addf(sheet, "    but of ");
		add_name(sheet, witness);
		ri_sheet_addf(sheet, " the exit status is %d\n", witness->exit_status);
	}
	if (count > SUSPECTS)
		ri_sheet_addf(sheet, "    and so of %zu more\n", count - SUSPECTS);
}

static void add_finding(const struct ri_case *c, struct ri_sheet *sheet)
{
	switch (c->finding) {
	case RI_CASE_WELL:
		ri_sheet_addf(sheet, "no rank failed\n");
		add_statuses(c, sheet);
		break;
	case RI_CASE_STOPPED:
		ri_sheet_addf(sheet, "no rank failed of its own: the job was stopped from "
			"outside\n");
		break;
	case RI_CASE_FIRST:
	case RI_CASE_REFUSED:
		if (c->suspect_count == 1)
			add_first(c, sheet);
		else
			add_tie(c, sheet);
		break;
	case RI_CASE_EVICTED:
		add_list(c, sheet);
		ri_sheet_addf(sheet, " was stopped from outside, at ");
		add_time(sheet, c->suspects[0].at);
		ri_sheet_addf(sheet, ", before the others lost it: ask the platform why\n");
		add_reports(c, sheet);
		break;
	case RI_CASE_LEFT:
		add_list(c, sheet);
		ri_sheet_addf(sheet, " had ended with 0 before the others lost it: compare how "
			"many steps each rank has\n");
		add_reports(c, sheet);
		break;
	case RI_CASE_HELD:
		add_held(c, sheet);
		break;
	case RI_CASE_SILENT:
		add_silent(c, sheet);
		break;
	case RI_CASE_TOLD:
		add_told(c, sheet);
		break;
	case RI_CASE_NOBODY:
		ri_sheet_addf(sheet, "it cannot be told which rank failed first: all that failed "
			"lost a peer or waited for one\n");
		break;
	}
}

static void add_job(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_attempt *newest = &c->attempts[0];
	const struct ri_witness *one = newest->witnesses[0];

	ri_sheet_addf(sheet, "job");
	if (one->job != NULL) {
		ri_sheet_addf(sheet, " ");
		ri_sheet_add_shown(sheet, one->job, COLUMNS);
	}
	if (one->attempt >= 0)
		ri_sheet_addf(sheet, ", attempt %lld", (long long)one->attempt);
	ri_sheet_addf(sheet, ": ");
	add_count(sheet, newest->count, "report");
	if (c->nodes.all > 0)
		ri_sheet_addf(sheet, " of %zu node%s", c->nodes.all, c->nodes.all == 1 ? "" : "s");
	if (c->ranks.all > 0)
		ri_sheet_addf(sheet, ", %zu rank%s", c->ranks.all, c->ranks.all == 1 ? "" : "s");
	ri_sheet_addf(sheet, ", ");
	add_time(sheet, newest->began);
	ri_sheet_addf(sheet, " to ");
	add_time(sheet, newest->ended);
	ri_sheet_addf(sheet, "\n");
}

static void add_victims(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_victims *victims = &c->victims;
	const char *before = ": ";

	if (victims->ranks == 0)
		return;
	ri_sheet_addf(sheet, c->finding == RI_CASE_STOPPED ? "that is " : "victims: ");
	add_count(sheet, victims->ranks, "rank");
	ri_sheet_addf(sheet, " on ");
	add_count(sheet, victims->nodes, "node");
	if (victims->lost > 0) {
		ri_sheet_addf(sheet, "%s%zu lost a peer or waited in vain", before, victims->lost);
		before = ", ";
	}
	if (victims->stopped > 0) {
		ri_sheet_addf(sheet, "%s%zu told to stop", before, victims->stopped);
		before = ", ";
	}
	if (victims->failed > 0)
		ri_sheet_addf(sheet, "%s%zu failed later", before, victims->failed);
	ri_sheet_addf(sheet, "\n");
}

static void add_rolls(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_roll *roll = c->nodes.missing > 0 ? &c->nodes : &c->ranks;

	if (roll->missing == 0)
		return;
	ri_sheet_addf(sheet, "no %sreport from %zu of %zu %ss: ",
		c->skip_count > 0 ? "readable " : "", roll->missing, roll->all,
		roll == &c->nodes ? "node" : "rank");
	add_missing(sheet, roll);
	ri_sheet_addf(sheet, "\n");
}

/* Of a missing node there may be a report that a wrong clock has put among older ones. */
static void add_older(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_witness *newest = c->attempts[0].witnesses[0], *one;
	size_t count = 0;

	if (newest->attempt >= 0)
		return;
	for (size_t i = 1; i < c->attempt_count && c->nodes.missing > 0; i++)
		for (size_t k = 0; k < c->attempts[i].count; k++) {
			one = c->attempts[i].witnesses[k];
			if (c->attempts[i].job_ended != c->attempts[0].job_ended ||
				one->node < 0 || one->nodes != newest->nodes ||
				!ri_case_is_missing(&c->nodes, (size_t)one->node) ||
				count++ >= NAMED)
				continue;
			ri_sheet_addf(sheet, "    but by its clock there is an older report of ");
			add_name(sheet, one);
			ri_sheet_addf(sheet, ": ");
			ri_sheet_add_shown(sheet, one->file, COLUMNS);
			ri_sheet_addf(sheet, "\n");
		}
}

static void add_verdicts(const struct ri_case *c, struct ri_sheet *sheet)
{
	if (c->verdicts_differ)
		ri_sheet_addf(sheet, "the link's verdicts in these reports differ, so they were "
			"not used\n");
}

/* "node 2 (gpu-0002) began 360 s after most others: ..." */
static void add_astray(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 0; i < c->astray_count && i < NAMED; i++) {
		const struct ri_witness *one = c->astray[i];
		int64_t by = (ri_witness_true(one, one->began) - c->usual_start) / 1000000;

		add_name(sheet, one);
		ri_sheet_addf(sheet, " began %lld s %s %s: its clock or its start is that "
			"far off\n", (long long)(by < 0 ? -by : by), by < 0 ? "before" : "after",
			c->attempts[0].count == 2 ? "the other one" : "most others");
	}
	if (c->astray_count > NAMED)
		ri_sheet_addf(sheet, "and so did %zu more\n", c->astray_count - NAMED);
}

static void add_value(struct ri_sheet *sheet, const char *value)
{
	enum { VALUE = 80 };

	if (value == NULL)
		ri_sheet_addf(sheet, "not there");
	else if (value[0] == '\0')
		ri_sheet_addf(sheet, "empty");
	else
		ri_sheet_add_shown(sheet, value, VALUE);
}

static void add_oddities(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 0; i < c->oddity_count && i < NAMED; i++) {
		const struct ri_case_oddity *oddity = &c->oddities[i];

		ri_sheet_addf(sheet, "differs: ");
		ri_sheet_add_shown(sheet, oddity->fact, COLUMNS);
		ri_sheet_addf(sheet, " is ");
		add_value(sheet, oddity->value);
		ri_sheet_addf(sheet, " on ");
		for (size_t k = 0; k < oddity->count && k < NAMED; k++) {
			if (k > 0)
				ri_sheet_addf(sheet, ", ");
			add_name(sheet, oddity->who[k]);
		}
		if (oddity->count > NAMED)
			ri_sheet_addf(sheet, " and %zu more", oddity->count - NAMED);
		ri_sheet_addf(sheet, ", ");
		add_value(sheet, oddity->usual);
		ri_sheet_addf(sheet, " on %zu others\n", oddity->usual_count);
	}
	if (c->oddity_count > NAMED)
		ri_sheet_addf(sheet, "differs: %zu more; --blame=json has all\n",
			c->oddity_count - NAMED);
}

static void add_attempts(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 1; i < c->attempt_count && i <= NAMED; i++) {
		const struct ri_case_attempt *attempt = &c->attempts[i];
		const struct ri_witness *one = attempt->witnesses[0];

		ri_sheet_addf(sheet, "not judged: ");
		add_count(sheet, attempt->count, "report");
		ri_sheet_addf(sheet, " of another attempt or job");
		if (one->job != NULL) {
			ri_sheet_addf(sheet, ", ");
			ri_sheet_add_shown(sheet, one->job, COLUMNS);
		}
		if (one->attempt >= 0)
			ri_sheet_addf(sheet, ", attempt %lld", (long long)one->attempt);
		ri_sheet_addf(sheet, ", ended ");
		add_time(sheet, attempt->ended);
		ri_sheet_addf(sheet, ": ");
		ri_sheet_add_shown(sheet, one->file, COLUMNS);
		ri_sheet_addf(sheet, attempt->count > 1 ? " and others\n" : "\n");
	}
	if (c->attempt_count > NAMED + 1)
		ri_sheet_addf(sheet, "not judged: %zu more attempts; --blame=json has all\n",
			c->attempt_count - NAMED - 1);
}

static void add_skips(const struct ri_case *c, struct ri_sheet *sheet)
{
	for (size_t i = 0; i < c->skip_count && i < NAMED; i++) {
		ri_sheet_addf(sheet, "skipped: ");
		ri_sheet_add_shown(sheet, c->skips[i].file, COLUMNS);
		ri_sheet_addf(sheet, ": ");
		ri_sheet_add_shown(sheet, c->skips[i].why, COLUMNS);
		ri_sheet_addf(sheet, "\n");
	}
	if (c->skip_count > NAMED)
		ri_sheet_addf(sheet, "skipped: %zu more files; --blame=json has all\n",
			c->skip_count - NAMED);
}

void ri_case_page(const struct ri_case *c, struct ri_sheet *sheet)
{
	add_finding(c, sheet);
	add_victims(c, sheet);
	if (c->finding != RI_CASE_SILENT)
		add_rolls(c, sheet);
	add_older(c, sheet);
	add_verdicts(c, sheet);
	add_astray(c, sheet);
	add_oddities(c, sheet);
	add_job(c, sheet);
	add_attempts(c, sheet);
	add_skips(c, sheet);
}
