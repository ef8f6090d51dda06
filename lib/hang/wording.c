/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

#include "redact/redact.h"

enum {
	SHOWN = 100,		/* columns of a path, a name */
	RUNS = 12,		/* "0-3, 5" of a list of ranks */
	FRAMES = 7,		/* of a group of ranks */
	FRAMES_FEW = 3,		/* of one of many */
	FRAMES_THREAD = 3,	/* of a thread beside the main one */
	MANY = 5,
	GROUPS = 12,
	PIDS = 4,
};

static size_t count_group(const struct ri_hang_look *look, int group)
{
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++)
		count += look->processes[i].group == group;
	return count;
}

/* The numbers of the ranks of a group, in their order. */
static void add_ranks(struct ri_text *out, const struct ri_hang_look *look, int group)
{
	struct ri_ranges list = { .out = out, .between = ", ", .most = RUNS };
	int64_t next = -1;

	for (;;) {
		int64_t least = INT64_MAX;

		for (size_t i = 0; i < look->count; i++)
			if (look->processes[i].group == group &&
				look->processes[i].rank > next && look->processes[i].rank < least)
				least = look->processes[i].rank;
		if (least == INT64_MAX)
			break;
		ri_ranges_add(&list, least);
		next = least;
	}
	ri_ranges_end(&list);
}

static void add_name(struct ri_text *out, const struct ri_hang_look *look, int group)
{
	const struct ri_hang_process *process = &look->processes[group];
	size_t count = count_group(look, group), said = 0;

	if (process->is_rank) {
		ri_text_add(out, count == 1 ? "rank " : "ranks ");
		if (process->rank >= 0)
			add_ranks(out, look, group);
		if (count > 1)
			ri_text_addf(out, " (%zu)", count);
		else
			ri_text_addf(out, " (pid %d)", (int)process->pid);
		return;
	}
	if (count > 1)
		ri_text_addf(out, "%zu processes ", count);
	ri_text_add_shown(out, process->name, SHOWN);
	ri_text_add(out, count == 1 ? " (pid " : " (pids ");
	for (size_t i = 0; i < look->count && said < PIDS; i++)
		if (look->processes[i].group == group)
			ri_text_addf(out, "%s%d", said++ == 0 ? "" : ", ",
				(int)look->processes[i].pid);
	ri_text_add(out, count > PIDS ? ", ...)" : ")");
	if (process->rank >= 0) {
		ri_text_add(out, " below rank ");
		add_ranks(out, look, group);
	}
}

const char *ri_hang_short_file(const char *path)
{
	static const char packages[] = "-packages/", library[] = "/lib/python3.";
	const char *file = ri_hang_redact_file(path), *inner = strstr(file, packages);

	if (inner != NULL)
		return inner + strlen(packages);
	inner = strstr(file, library);
	inner = inner == NULL ? NULL : strchr(inner + strlen(library), '/');
	return inner == NULL ? file : inner + 1;
}

static void add_frame(struct ri_text *out, const struct ri_hang_frame *frame)
{
	ri_text_add_shown(out, ri_hang_short_file(frame->file), SHOWN);
	if (frame->line > 0)
		ri_text_addf(out, ":%u", frame->line);
	ri_text_add(out, " in ");
	ri_text_add_shown(out, frame->function, SHOWN);
}

struct page {
	struct ri_text *out;
	size_t lines;
};

static bool end_line(struct page *page)
{
	ri_text_add(page->out, "\n");
	return ++page->lines < RI_HANG_LINES - 2;
}

/* The main thread's frames, then a line for each other thread that runs Python. */
static bool add_stacks(struct page *page, const struct ri_hang_process *process, size_t most)
{
	for (uint32_t i = 0; process->stack_count > 0 && i < process->stacks[0].count; i++) {
		const struct ri_hang_stack *stack = &process->stacks[0];

		ri_text_add(page->out, "    ");
		if (i == most) {
			ri_text_addf(page->out, "and %u frames more", stack->depth - i);
			if (!end_line(page))
				return false;
			break;
		}
		add_frame(page->out, &stack->frames[i]);
		if (!end_line(page))
			return false;
	}
	for (uint32_t i = 1; i < process->stack_count; i++) {
		if (process->stacks[i].count == 0)
			continue;
		ri_text_addf(page->out, "    thread %d: ", (int)process->stacks[i].tid);
		for (uint32_t k = 0; k < process->stacks[i].count && k < FRAMES_THREAD; k++) {
			ri_text_add(page->out, k == 0 ? "" : " < ");
			add_frame(page->out, &process->stacks[i].frames[k]);
		}
		if (!end_line(page))
			return false;
	}
	return true;
}

static bool add_group(struct page *page, struct ri_hang *hang, int group, size_t frames)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	const struct ri_hang_process *process = &look->processes[group];
	size_t before;

	add_name(page->out, look, group);
	ri_text_add(page->out, count_group(look, group) > 1 ? ": each " : ": ");
	ri_hang_add_activity(page->out, look, (size_t)group, true);
	if (!end_line(page))
		return false;
	before = page->out->length;
	ri_text_add(page->out, "    ");
	ri_hang_add_no_stack(page->out, hang, process);
	if (page->out->length == before + 4) {
		page->out->length = before;
		page->out->bytes[before] = '\0';
	} else if (!end_line(page)) {
		return false;
	}
	/* a launcher's own stack does not help to understand the ranks */
	if (process->rank < 0 && ri_hang_has_ranks(look))
		return true;
	return add_stacks(page, process, frames);
}

/* Shall a reader see it? Not an idle worker or launcher. */
static bool is_news(const struct ri_hang *hang, const struct ri_hang_process *process)
{
	if (ri_hang_is_lost(hang, process))
		return false;
	return process->is_rank || (process->class != RI_HANG_WORK &&
		process->class != RI_HANG_UNLOOKED);
}

static void add_suspect(struct page *page, const struct ri_hang_look *look)
{
	const struct ri_hang_process *suspect = &look->processes[look->suspect];
	const struct ri_hang_process *crowd = &look->processes[look->crowd];
	bool differ = suspect->class == RI_HANG_COLLECTIVE;
	struct ri_text *out = page->out;

	/* where the ranks are in two collectives, either may be the wrong one: both are told */
	ri_text_add(out, differ ? "the ranks differ: " : "suspect: ");
	if (suspect->rank >= 0)
		ri_text_addf(out, "rank %lld ", (long long)suspect->rank);
	ri_text_addf(out, "(pid %d) ", (int)suspect->pid);
	ri_hang_add_activity(out, look, (size_t)look->suspect, true);
	ri_text_add(out, differ ? "; the others in " : "; the others wait for it");
	if (differ)
		ri_text_add_shown(out,
			ri_wait_name(crowd->stacks[0].frames[crowd->waits_at].function), SHOWN);
	end_line(page);
}

static void add_ended(struct page *page, const struct ri_hang_look *look)
{
	struct ri_ranges list = { .out = page->out, .between = ", ", .most = RUNS };

	if (look->ended_count == 0)
		return;
	ri_text_add(page->out, look->ended_count == 1 ? "rank " : "ranks ");
	for (size_t i = 0; i < look->ended_count; i++)
		ri_ranges_add(&list, look->ended[i]);
	ri_ranges_end(&list);
	ri_text_addf(page->out, " %s ended", look->ended_count == 1 ? "has" : "have");
	if (look->all_wait)
		ri_text_add(page->out, "; the others wait for the other ranks");
	end_line(page);
}

size_t ri_hang_count_unlooked(struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	size_t count = 0;

	for (size_t i = 0; i < look->count; i++)
		count += look->processes[i].unlooked || (look->processes[i].unread &&
			look->processes[i].python == RI_HANG_NOT_ASKED);
	return count;
}

static void add_cut(struct page *page, struct ri_hang *hang)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	size_t count = ri_hang_count_unlooked(hang);

	if (hang->cut_ms == 0 || (count == 0 && look->listed))
		return;
	if (hang->cut_errno != 0)
		ri_text_addf(page->out, "no process to look with (%s): ",
			strerror(hang->cut_errno));
	else
		ri_text_addf(page->out, "cut short after %u ms: ", hang->cut_ms);
	if (look->listed)
		ri_text_addf(page->out, "%zu of %zu processes were not looked at", count,
			look->count);
	else if (look->count == 0)
		ri_text_add(page->out, "no process was looked at");
	else
		ri_text_addf(page->out, "%zu of the %zu processes that rankinit started were "
			"looked at, and no other one", look->count - count, look->count);
	end_line(page);
}

static void render(struct ri_hang *hang, struct ri_text *out)
{
	const struct ri_hang_look *look = ri_hang_newer(hang);
	struct page page = { .out = out };
	size_t ranks = 0, groups = 0, shown = 0;

	for (size_t i = 0; i < look->count; i++) {
		ranks += look->processes[i].is_rank;
		groups += look->processes[i].group == (int)i && is_news(hang, &look->processes[i]);
	}
	add_cut(&page, hang);
	if (look->suspect >= 0)
		add_suspect(&page, look);
	add_ended(&page, look);
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < look->count; i++) {
			const struct ri_hang_process *process = &look->processes[i];

			if (process->group != (int)i || !is_news(hang, process) ||
				process->is_rank != (pass == 0))
				continue;
			if (shown == GROUPS || !add_group(&page, hang, (int)i,
				groups > MANY ? FRAMES_FEW : FRAMES)) {
				ri_text_addf(out, "and %zu groups more\n", groups - shown);
				return;
			}
			shown++;
		}
	if (look->left_out > 0)
		ri_text_addf(out, "and %zu processes more\n", look->left_out);
	if (look->count == 0 && hang->cut_ms == 0)
		ri_text_add(out, "no process is there\n");
}

void ri_hang_say(struct ri_hang *hang, struct ri_text *out)
{
	static char lines[RI_HANG_SHOWN];
	struct ri_text text = ri_text_of(lines, sizeof(lines));

	render(hang, &text);
	ri_redact(out, (struct ri_span){ text.bytes, text.length });
}

void ri_hang_say_unreadable(const struct ri_hang *hang, const struct ri_hang_process *process,
	struct ri_text *out)
{
	RI_TEXT(text, RI_HANG_COLUMNS);
	size_t before;

	if (process->rank >= 0)
		ri_text_addf(&text, "rank %lld", (long long)process->rank);
	else
		ri_text_addf(&text, "process %d", (int)process->pid);
	ri_text_add(&text, " (");
	ri_text_add_shown(&text, process->name, SHOWN);
	ri_text_add(&text, "): ");
	before = text.length;
	ri_hang_add_no_stack(&text, hang, process);
	if (text.length == before)
		ri_text_add(&text, "it runs no Python");
	ri_redact(out, (struct ri_span){ text.bytes, text.length });
}
