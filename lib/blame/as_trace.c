/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace events ("Trace Event Format", the JSON object format), which Perfetto and
 * chrome://tracing open: a process for each node, a row for each rank; "X" is a span, "i" an
 * instant, "M" a name. Times are microseconds.
 */
#include "blame/writer.h"

#include <stdio.h>

#include "report/class.h"

enum {
	NO_RANK = 1000000000,	/* the row of a command that has no rank */
	NODE,			/* of the node itself */
};

static void begin_event(struct ri_writer *writer, const char *phase, size_t process, int64_t row)
{
	ri_writer_open(writer, NULL, '{');
	ri_writer_string(writer, "ph", phase);
	ri_writer_number(writer, "pid", (int64_t)process);
	ri_writer_number(writer, "tid", row);
}

static void end_event(struct ri_writer *writer)
{
	ri_writer_close(writer, '}');
	ri_writer_addf(writer, "\n");
}

static void put_name(struct ri_writer *writer, const char *kind, size_t process, int64_t row,
	const char *name)
{
	begin_event(writer, "M", process, row);
	ri_writer_string(writer, "name", kind);
	ri_writer_open(writer, "args", '{');
	ri_writer_string(writer, "name", name);
	ri_writer_close(writer, '}');
	end_event(writer);
}

static void put_instant(struct ri_writer *writer, const char *name, size_t process, int64_t row,
	int64_t at)
{
	if (at <= 0)	/* its time is unknown */
		return;
	begin_event(writer, "i", process, row);
	ri_writer_string(writer, "name", name);
	ri_writer_string(writer, "s", "t");
	ri_writer_number(writer, "ts", at);
	end_event(writer);
}

/* How a rank ended, in its span's name. */
static const char *describe(const struct ri_reported_rank *rank, char *out, size_t size)
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
static const struct ri_suspect *find_suspect(const struct ri_reports *job,
	const struct ri_node_report *report, const struct ri_reported_rank *rank)
{
	for (size_t i = 0; i < job->suspect_count; i++)
		if (job->suspects[i].report == report && job->suspects[i].rank == rank)
			return &job->suspects[i];
	return NULL;
}

/* What it did is told, and not how it ended. */
static bool is_held(const struct ri_suspect *suspect)
{
	return suspect->seen || suspect->found != NULL;
}

static void put_held(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_suspect *suspect, size_t process, int64_t row)
{
	if (suspect != NULL && is_held(suspect))
		put_instant(writer, job->suspect_count > 1 ? "may have held up the others" :
			"held up the others", process, row, suspect->at);
}

/* The instants of a rank at its end. */
static void put_end(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_node_report *report, const struct ri_reported_rank *rank, size_t process,
	int64_t row)
{
	const struct ri_suspect *suspect = find_suspect(job, report, rank);
	int64_t at = ri_time_align(report, rank->ended);

	put_held(writer, job, suspect, process, row);
	if (suspect != NULL && !is_held(suspect))
		put_instant(writer, job->suspect_count > 1 ? "may have failed first" :
			job->conclusion == RI_CONCLUSION_FIRST ? "failed first" :
			ri_conclusion_name(job->conclusion), process, row, at);
	else if (rank->class == RI_CLASS_LOSS)
		put_instant(writer, "lost", process, row, at);
	else if (rank->told)
		put_instant(writer, "stopped", process, row, at);
}

static void put_rank(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_node_report *report, const struct ri_reported_rank *rank, size_t process)
{
	int64_t row = rank->rank >= 0 ? rank->rank + 1 : NO_RANK;	/* 0 is the idle task's */
	int64_t began = ri_time_align(report, rank->began);
	int64_t ended = ri_time_align(report, rank->ended);
	char text[96];

	if (rank->rank >= 0)
		snprintf(text, sizeof(text), "rank %lld", (long long)rank->rank);
	else
		snprintf(text, sizeof(text), "command");
	put_name(writer, "thread_name", process, row, text);
	if (rank->began == 0 || began < 0 || rank->ended < rank->began)
		return;
	begin_event(writer, "X", process, row);
	ri_writer_string(writer, "name", describe(rank, text, sizeof(text)));
	ri_writer_number(writer, "ts", began);
	ri_writer_number(writer, "dur", ended - began);
	ri_writer_open(writer, "args", '{');
	ri_writer_string(writer, "class", ri_class_name(rank->class));
	ri_writer_string(writer, "lost", ri_loss_kind_name(rank->lost));
	ri_writer_close(writer, '}');
	end_event(writer);
	put_end(writer, job, report, rank, process, row);
}

/* What is known of the node, and of none of its ranks. */
static void put_rankinit(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_node_report *report, size_t process)
{
	const struct ri_suspect *suspect = find_suspect(job, report, NULL);

	if (report->stopped == 0 && suspect == NULL)
		return;
	put_name(writer, "thread_name", process, NODE, "rankinit");
	put_held(writer, job, suspect, process, NODE);
	if (suspect != NULL && !is_held(suspect))
		put_instant(writer, ri_conclusion_name(job->conclusion), process, NODE,
			suspect->at);
	put_instant(writer, "stop from outside", process, NODE,
		ri_time_align(report, report->stopped));
}

static void put_node(struct ri_writer *writer, const struct ri_reports *job,
	const struct ri_node_report *report, size_t process)
{
	char name[RI_NODE_SHOWN];

	put_name(writer, "process_name", process, 1, ri_node_report_name(name, report));
	for (size_t i = 0; i < report->count; i++)
		put_rank(writer, job, report, &report->ranks[i], process);
	put_rankinit(writer, job, report, process);
}

void ri_reports_write_trace(const struct ri_reports *job, struct ri_writer *writer)
{
	const struct ri_attempt *newest = &job->attempts[0];
	size_t process = 0;

	ri_writer_open(writer, NULL, '{');
	ri_writer_string(writer, "displayTimeUnit", "ms");
	ri_writer_open(writer, "traceEvents", '[');
	ri_writer_addf(writer, "\n");
	for (size_t i = 0; i < newest->count; i++) {
		const struct ri_node_report *report = newest->reports[i];

		/* reports of the ranks of one node stand side by side */
		if (i == 0 || !ri_node_report_is_beside(newest->reports[i - 1], report))
			process++;
		put_node(writer, job, report, process);
	}
	ri_writer_close(writer, ']');
	ri_writer_close(writer, '}');
	ri_writer_addf(writer, "\n");
}
