/* SPDX-License-Identifier: Apache-2.0 */

#include "hang/hang.h"
#include "redact/redact.h"
#include "report/outcome.h"

enum { LONGEST = 1024 };

/* A foreign string without its secrets. */
static json_t *foreign(struct ri_json *json, const char *value, const char *subject)
{
	RI_TEXT(text, 2 * LONGEST);
	RI_TEXT(copy, LONGEST);

	ri_text_add(&copy, value);
	ri_redact(&text, (struct ri_span){ copy.bytes, copy.length });
	return ri_json_string(json, text.bytes, subject);
}

/* null, where the value is empty. */
static json_t *foreign_or_null(struct ri_json *json, const char *value, const char *subject)
{
	return value[0] == '\0' ? json_null() : foreign(json, value, subject);
}

/* null, where it is 0: it is not known. */
static json_t *count_or_null(uint64_t count)
{
	return count == 0 ? json_null() : json_integer((json_int_t)count);
}

static json_t *describe_stack(struct ri_json *json, const struct ri_hang_stack *stack, bool main)
{
	json_t *frames = json_array();

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct ri_hang_frame *frame = &stack->frames[i];

		ri_json_append(json, frames, RI_JSON_OBJECT(json,
			{ "file", foreign(json, frame->file, "file") },
			{ "line", count_or_null(frame->line) },
			{ "function", foreign(json, frame->function, "function") }));
	}
	return RI_JSON_OBJECT(json, { "tid", count_or_null((uint64_t)stack->tid) },
		{ "main", json_boolean(main) }, { "depth", json_integer(stack->depth) },
		{ "frames", frames });
}

static json_t *sentence(struct ri_json *json, const struct ri_hang_look *look, size_t i)
{
	RI_TEXT(out, RI_HANG_COLUMNS * 4);

	ri_hang_add_activity(&out, look, i, true);
	return foreign(json, out.bytes, "text");
}

static json_t *describe_call(struct ri_json *json, const struct ri_hang_process *process)
{
	const struct ri_call_row *row = ri_call_row(&process->call);

	if (process->call.state != RI_CALL_INSIDE)
		return json_null();
	return RI_JSON_OBJECT(json, { "number", json_integer(process->call.number) },
		{ "name", row == NULL ? json_null() : json_string(row->name) },
		{ "path", foreign_or_null(json, process->path, "path") },
		{ "mount", foreign_or_null(json, process->mount, "mount") },
		{ "mount_type", foreign_or_null(json, process->mount_type, "mount_type") });
}

static json_t *describe_process(struct ri_json *json, const struct ri_hang_look *look, size_t i)
{
	const struct ri_hang_process *process = &look->processes[i];
	const char state[2] = { process->state, '\0' };

	return RI_JSON_OBJECT(json, { "pid", json_integer(process->pid) },
		{ "parent", json_integer(process->parent) },
		{ "name", foreign(json, process->name, "name") },
		{ "rank", ri_json_number(process->rank) },
		{ "is_rank", json_boolean(process->is_rank) },
		{ "group", json_integer(process->group) },
		{ "class", json_string(ri_hang_class_name(process->class)) },
		{ "state", foreign_or_null(json, state, "state") },
		{ "wchan", foreign_or_null(json, process->wchan, "wchan") },
		{ "call", describe_call(json, process) },
		{ "tracer", count_or_null((uint64_t)process->tracer) },
		{ "waits_for", process->child < 0 ? json_null()
			: json_integer(look->processes[process->child].pid) },
		{ "threads", json_integer(process->threads) },
		{ "cpu_ms", !process->has_cpu ? json_null() : json_integer(process->cpu_ms) },
		{ "io_bytes", !process->has_io ? json_null()
			: json_integer((json_int_t)process->io_bytes) },
		{ "still", json_boolean(process->still) });
}

static json_t *describe_group(struct ri_json *json, const struct ri_hang *hang,
	const struct ri_hang_look *look, size_t i)
{
	const struct ri_hang_process *process = &look->processes[i];
	json_t *ranks = json_array(), *stacks = json_array();
	RI_TEXT(no_stack, 256);

	for (size_t k = 0; k < look->count; k++)
		if (look->processes[k].group == (int)i && look->processes[k].is_rank)
			ri_json_append(json, ranks, ri_json_number(look->processes[k].rank));
	for (uint32_t k = 0; k < process->stack_count; k++)
		ri_json_append(json, stacks, describe_stack(json, &process->stacks[k], k == 0));
	ri_hang_add_no_stack(&no_stack, hang, process);
	return RI_JSON_OBJECT(json, { "group", json_integer((json_int_t)i) }, { "ranks", ranks },
		{ "class", json_string(ri_hang_class_name(process->class)) },
		{ "text", sentence(json, look, i) },
		{ "python", foreign_or_null(json, process->release, "python") },
		{ "no_stack", foreign_or_null(json, no_stack.bytes, "no_stack") },
		{ "threads", stacks });
}

static json_t *describe_suspect(struct ri_json *json, const struct ri_hang_look *look)
{
	const struct ri_hang_process *one = &look->processes[look->suspect < 0 ? 0 : look->suspect];

	if (look->suspect < 0)
		return json_null();
	return RI_JSON_OBJECT(json, { "rank", ri_json_number(one->rank) },
		{ "pid", json_integer(one->pid) },
		{ "class", json_string(ri_hang_class_name(one->class)) },
		{ "text", sentence(json, look, (size_t)look->suspect) });
}

json_t *ri_hang_json(struct ri_json *json, struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	json_t *groups = json_array(), *processes = json_array(), *ended = json_array();

	for (size_t i = 0; i < look->ended_count; i++)
		ri_json_append(json, ended, json_integer(look->ended[i]));
	for (size_t i = 0; i < look->count; i++) {
		if (look->processes[i].group == (int)i)
			ri_json_append(json, groups, describe_group(json, hang, look, i));
		ri_json_append(json, processes, describe_process(json, look, i));
	}
	return RI_JSON_OBJECT(json, { "schema", json_string("rankinit-autopsy-1") },
		{ "at", ri_time_json(hang->at) },
		{ "why", hang->why == NULL ? json_null() : json_string(hang->why) },
		{ "interval_ms", json_integer(hang->interval_ms) },
		{ "suspect", describe_suspect(json, look) }, { "ended", ended },
		{ "groups", groups }, { "processes", processes },
		{ "unseen", json_integer((json_int_t)ri_hang_count_unlooked(hang)) },
		{ "listed", json_boolean(look->listed) },
		{ "cut_ms", count_or_null(hang->cut_ms) },
		{ "left_out", json_integer((json_int_t)look->left_out) });
}
