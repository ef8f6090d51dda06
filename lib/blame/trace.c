/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace events ("Trace Event Format", the JSON object format), which Perfetto and
 * chrome://tracing open: a process for each node, a row for each rank; "X" is a span, "i" an
 * instant, "M" a name. Times are microseconds.
 */
#include "blame/sheet.h"

#include <stdio.h>

#include "report/class.h"

enum {
	NO_RANK = 1000000000,	/* the row of a command that has no rank */
	NODE,			/* of the node itself */
};

static void begin_event(struct ri_sheet *sheet, const char *phase, size_t process, int64_t row)
{
	ri_sheet_open(sheet, NULL, '{');
	ri_sheet_string(sheet, "ph", phase);
	ri_sheet_number(sheet, "pid", (int64_t)process);
	ri_sheet_number(sheet, "tid", row);
}

static void end_event(struct ri_sheet *sheet)
{
	ri_sheet_close(sheet, '}');
	ri_sheet_addf(sheet, "\n");
}

static void put_name(struct ri_sheet *sheet, const char *kind, size_t process, int64_t row,
	const char *name)
{
	begin_event(sheet, "M", process, row);
	ri_sheet_string(sheet, "name", kind);
	ri_sheet_open(sheet, "args", '{');
	ri_sheet_string(sheet, "name", name);
	ri_sheet_close(sheet, '}');
	end_event(sheet);
}

static void put_instant(struct ri_sheet *sheet, const char *name, size_t process, int64_t row,
	int64_t at)
{
	if (at <= 0)	/* its time is unknown */
		return;
	begin_event(sheet, "i", process, row);
	ri_sheet_string(sheet, "name", name);
	ri_sheet_string(sheet, "s", "t");
	ri_sheet_number(sheet, "ts", at);
	end_event(sheet);
}

/* How a rank ended, in its span's name. */
static const char *describe(const struct ri_witness_rank *rank, char *out, size_t size)
{
	const char *told = rank->told ? "told to stop, " : "";

	switch (rank->end) {
	case RI_END_EXITED:
		snprintf(out, size, "%sexit status %d", told, rank->exit_code);
		break;
	case RI_END_SIGNALED:
		snprintf(out, size, "%skilled by %s", told,
			rank->signal == NULL ? "a signal" : rank->signal);
		break;
	case RI_END_EXEC_FAILED:
		return "could not be started";
	case RI_END_NOT_STARTED:
		return "not started";
	case RI_END_RUNNING:
		return "still running";
	}
	return out;
}

/* With a rank of NULL: the node itself, or a rank that is none of rankinit's own. */
static const struct ri_case_suspect *find_suspect(const struct ri_case *c,
	const struct ri_witness *witness, const struct ri_witness_rank *rank)
{
	for (size_t i = 0; i < c->suspect_count; i++)
		if (c->suspects[i].witness == witness && c->suspects[i].rank == rank)
			return &c->suspects[i];
	return NULL;
}

static void put_held(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_case_suspect *suspect, size_t process, int64_t row)
{
	if (suspect != NULL && suspect->seen)
		put_instant(sheet, c->suspect_count > 1 ? "may have held up the others" :
			"held up the others", process, row, suspect->at);
}

/* The instants of a rank at its end. */
static void put_end(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_witness *witness, const struct ri_witness_rank *rank, size_t process,
	int64_t row)
{
	const struct ri_case_suspect *suspect = find_suspect(c, witness, rank);
	int64_t at = ri_witness_true(witness, rank->ended);

	put_held(sheet, c, suspect, process, row);
	if (suspect != NULL && !suspect->seen)
		put_instant(sheet, c->suspect_count > 1 ? "may have failed first" :
			c->finding == RI_CASE_FIRST ? "failed first" :
			ri_case_finding_name(c->finding), process, row, at);
	else if (rank->class == RI_CLASS_LOSS)
		put_instant(sheet, "lost", process, row, at);
	else if (rank->told)
		put_instant(sheet, "stopped", process, row, at);
}

static void put_rank(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_witness *witness, const struct ri_witness_rank *rank, size_t process)
{
	int64_t row = rank->rank >= 0 ? rank->rank + 1 : NO_RANK;	/* 0 is the idle task's */
	int64_t began = ri_witness_true(witness, rank->began);
	int64_t ended = ri_witness_true(witness, rank->ended);
	char text[96];

	if (rank->rank >= 0)
		snprintf(text, sizeof(text), "rank %lld", (long long)rank->rank);
	else
		snprintf(text, sizeof(text), "command");
	put_name(sheet, "thread_name", process, row, text);
	if (rank->began == 0 || began < 0 || rank->ended < rank->began)
		return;
	begin_event(sheet, "X", process, row);
	ri_sheet_string(sheet, "name", describe(rank, text, sizeof(text)));
	ri_sheet_number(sheet, "ts", began);
	ri_sheet_number(sheet, "dur", ended - began);
	ri_sheet_open(sheet, "args", '{');
	ri_sheet_string(sheet, "class", ri_class_name(rank->class));
	ri_sheet_string(sheet, "lost", ri_loss_kind_name(rank->lost));
	ri_sheet_close(sheet, '}');
	end_event(sheet);
	put_end(sheet, c, witness, rank, process, row);
}

/* What is known of the node, and of none of its ranks. */
static void put_rankinit(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_witness *witness, size_t process)
{
	const struct ri_case_suspect *suspect = find_suspect(c, witness, NULL);

	if (witness->stopped == 0 && suspect == NULL)
		return;
	put_name(sheet, "thread_name", process, NODE, "rankinit");
	put_held(sheet, c, suspect, process, NODE);
	if (suspect != NULL && !suspect->seen)
		put_instant(sheet, ri_case_finding_name(c->finding), process, NODE, suspect->at);
	put_instant(sheet, "stop from outside", process, NODE,
		ri_witness_true(witness, witness->stopped));
}

static void put_node(struct ri_sheet *sheet, const struct ri_case *c,
	const struct ri_witness *witness, size_t process)
{
	char name[600];
	struct ri_text text;

	ri_text_init(&text, name, sizeof(name));
	ri_text_add(&text, witness->node >= 0 ? "node " : "");
	ri_witness_name(&text, witness);
	put_name(sheet, "process_name", process, 1, name);
	for (size_t i = 0; i < witness->count; i++)
		put_rank(sheet, c, witness, &witness->ranks[i], process);
	put_rankinit(sheet, c, witness, process);
}

void ri_case_trace(const struct ri_case *c, struct ri_sheet *sheet)
{
	const struct ri_case_attempt *newest = &c->attempts[0];
	size_t process = 0;

	ri_sheet_open(sheet, NULL, '{');
	ri_sheet_string(sheet, "displayTimeUnit", "ms");
	ri_sheet_open(sheet, "traceEvents", '[');
	ri_sheet_addf(sheet, "\n");
	for (size_t i = 0; i < newest->count; i++) {
		const struct ri_witness *witness = newest->witnesses[i];

		/* reports of the ranks of one node stand side by side */
		if (i == 0 || !ri_witness_is_beside(newest->witnesses[i - 1], witness))
			process++;
		put_node(sheet, c, witness, process);
	}
	ri_sheet_close(sheet, ']');
	ri_sheet_close(sheet, '}');
	ri_sheet_addf(sheet, "\n");
}
