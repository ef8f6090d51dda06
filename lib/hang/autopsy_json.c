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

/* A member that is null where the value is empty; the same of a number that is not known. */
static void put_foreign(struct ri_json *json, json_t *object, const char *name, const char *value)
{
	ri_json_put(json, object, name,
		value[0] == '\0' ? json_null() : foreign(json, value, name));
}

static json_t *number_or_null(bool known, uint64_t number)
{
	return known ? json_integer((json_int_t)number) : json_null();
}

/* Below 0 it is not known. */
static json_t *rank_of(const struct ri_hang_process *process)
{
	return number_or_null(process->rank >= 0, (uint64_t)process->rank);
}

static json_t *describe_stack(struct ri_json *json, const struct ri_hang_stack *stack, bool main)
{
	json_t *object = json_object(), *frames = json_array();

	ri_json_put(json, object, "tid", number_or_null(stack->tid > 0, (uint64_t)stack->tid));
	ri_json_put(json, object, "main", json_boolean(main));
	ri_json_put(json, object, "depth", json_integer(stack->depth));
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct ri_hang_frame *frame = &stack->frames[i];
		json_t *one = json_object();

		ri_json_put(json, one, "file", foreign(json, frame->file, "file"));
		ri_json_put(json, one, "line", number_or_null(frame->line > 0, frame->line));
		ri_json_put(json, one, "function", foreign(json, frame->function, "function"));
		ri_json_append(json, frames, one);
	}
	ri_json_put(json, object, "frames", frames);
	return object;
}

static json_t *sentence(struct ri_json *json, const struct ri_hang_look *look, size_t i)
{
	RI_TEXT(out, RI_HANG_COLUMNS * 4);

	ri_hang_add_activity(&out, look, i, true);
	return foreign(json, out.bytes, "text");
}

static json_t *describe_process(struct ri_json *json, const struct ri_hang_look *look, size_t i)
{
	const struct ri_hang_process *process = &look->processes[i];
	const struct ri_call_row *row = ri_call_row(&process->call);
	bool inside = process->call.state == RI_CALL_INSIDE;
	json_t *object = json_object(), *call = inside ? json_object() : json_null();
	char state[2] = { process->state, '\0' };

	if (inside) {
		ri_json_put(json, call, "number", json_integer(process->call.number));
		ri_json_put(json, call, "name", row == NULL ? json_null() : json_string(row->name));
		put_foreign(json, call, "path", process->path);
		put_foreign(json, call, "mount", process->mount);
		put_foreign(json, call, "mount_type", process->mount_type);
	}
	ri_json_put(json, object, "pid", json_integer(process->pid));
	ri_json_put(json, object, "parent", json_integer(process->parent));
	ri_json_put(json, object, "name", foreign(json, process->name, "name"));
	ri_json_put(json, object, "rank", rank_of(process));
	ri_json_put(json, object, "is_rank", json_boolean(process->is_rank));
	ri_json_put(json, object, "group", json_integer(process->group));
	ri_json_put(json, object, "class", json_string(ri_hang_class_name(process->class)));
	put_foreign(json, object, "state", state);
	put_foreign(json, object, "wchan", process->wchan);
	ri_json_put(json, object, "call", call);
	ri_json_put(json, object, "tracer",
		number_or_null(process->tracer > 0, (uint64_t)process->tracer));
	ri_json_put(json, object, "waits_for", process->child < 0 ? json_null()
		: json_integer(look->processes[process->child].pid));
	ri_json_put(json, object, "threads", json_integer(process->threads));
	ri_json_put(json, object, "cpu_ms", number_or_null(process->has_cpu, process->cpu_ms));
	ri_json_put(json, object, "io_bytes", number_or_null(process->has_io, process->io_bytes));
	ri_json_put(json, object, "still", json_boolean(process->still));
	return object;
}

static json_t *describe_group(struct ri_json *json, const struct ri_hang *hang,
	const struct ri_hang_look *look, size_t i)
{
	const struct ri_hang_process *process = &look->processes[i];
	json_t *object = json_object(), *ranks = json_array(), *stacks = json_array();
	RI_TEXT(no_stack, 256);

	for (size_t k = 0; k < look->count; k++)
		if (look->processes[k].group == (int)i && look->processes[k].is_rank)
			ri_json_append(json, ranks, rank_of(&look->processes[k]));
	ri_hang_add_no_stack(&no_stack, hang, process);
	ri_json_put(json, object, "group", json_integer((json_int_t)i));
	ri_json_put(json, object, "ranks", ranks);
	ri_json_put(json, object, "class", json_string(ri_hang_class_name(process->class)));
	ri_json_put(json, object, "text", sentence(json, look, i));
	put_foreign(json, object, "python", process->release);
	put_foreign(json, object, "no_stack", no_stack.bytes);
	for (uint32_t k = 0; k < process->stack_count; k++)
		ri_json_append(json, stacks, describe_stack(json, &process->stacks[k], k == 0));
	ri_json_put(json, object, "threads", stacks);
	return object;
}

json_t *ri_hang_json(struct ri_json *json, struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	const struct ri_hang_process *one = &look->processes[look->suspect < 0 ? 0 : look->suspect];
	json_t *object = json_object(), *groups = json_array(), *processes = json_array();
	json_t *ended = json_array(), *suspect = look->suspect < 0 ? json_null() : json_object();

	if (look->suspect >= 0) {
		ri_json_put(json, suspect, "rank", rank_of(one));
		ri_json_put(json, suspect, "pid", json_integer(one->pid));
		ri_json_put(json, suspect, "class", json_string(ri_hang_class_name(one->class)));
		ri_json_put(json, suspect, "text", sentence(json, look, (size_t)look->suspect));
	}
	ri_json_put(json, object, "schema", json_string("rankinit-autopsy-1"));
	ri_json_put(json, object, "at", ri_time_json(hang->at));
	ri_json_put(json, object, "why", hang->why == NULL ? json_null()
		: json_string(hang->why));
	ri_json_put(json, object, "interval_ms", json_integer(hang->interval_ms));
	ri_json_put(json, object, "suspect", suspect);
	for (size_t i = 0; i < look->ended_count; i++)
		ri_json_append(json, ended, json_integer(look->ended[i]));
	ri_json_put(json, object, "ended", ended);
	for (size_t i = 0; i < look->count; i++) {
		if (look->processes[i].group == (int)i)
			ri_json_append(json, groups, describe_group(json, hang, look, i));
		ri_json_append(json, processes, describe_process(json, look, i));
	}
	ri_json_put(json, object, "groups", groups);
	ri_json_put(json, object, "processes", processes);
	ri_json_put(json, object, "unseen",
		json_integer((json_int_t)ri_hang_count_unlooked(hang)));
	ri_json_put(json, object, "listed", json_boolean(look->listed));
	ri_json_put(json, object, "cut_ms", number_or_null(hang->cut_ms > 0, hang->cut_ms));
	ri_json_put(json, object, "left_out", json_integer((json_int_t)look->left_out));
	return object;
}
