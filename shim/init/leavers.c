/* SPDX-License-Identifier: Apache-2.0 */
#include "init/leavers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "hang/course.h"
#include "init/descendants.h"
#include "system/clock.h"
#include "system/own_proc.h"

enum { SHARE = 64 };	/* of the time, at most, goes into looking */

/*
 * Does its first thread wait for a signal that it has blocked? While it does, the kernel shows that
 * as not blocked (kernel/signal.c, do_sigtimedwait; proc(5), wchan).
 */
static bool waits_for_signal(pid_t pid)
{
	static const char function[] = "do_sigtimedwait";
	char path[32], text[sizeof(function)] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strcmp(text, function) == 0;
}

void ri_leavers_look(struct ri_children *children, bool always)
{
	static int64_t next;
	int64_t begun = ri_now_us();
	struct timespec now;

	if (children->count < 2 || (begun < next && !always) || !ri_descendants_are_shown())
		return;
	ri_clock_read(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		if (!child->lives || child->told || child->gone_at.tv_sec != 0 ||
			!ri_proc_read(child->pid, &process))
			continue;
		if (process.dying)
			child->gone_at = now;
	}
	next = begun + SHARE * (ri_now_us() - begun);
}

void ri_leavers_prepare_stop(struct ri_children *children, const struct ri_output *output,
	int number)
{
	if (children->count < 2 || !ri_descendants_are_shown())
		return;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		struct ri_procstat process;

		if (!child->lives || !ri_proc_read(child->pid, &process))
			continue;
		/* one that its program does not hear of ends it at once, or does nothing */
		child->unheeding = number == 0 ||
			(((process.caught | process.blocked) >> (number - 1) & 1) == 0 &&
			(ri_output_traceback(output, i).tv_sec == 0 ||
			!waits_for_signal(child->pid)));
	}
}

/* One of those that the judge has doubts about is looked at, where that can be. */
void ri_leavers_ask(struct ri_children *children, const uint8_t *doubtful)
{
	if (ri_course_is_asked() || !ri_descendants_are_shown())
		return;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		child->doubtful = child->lives && !child->told && doubtful[i] != 0;
	}
	ri_course_ask(children, NULL, 0);
}

bool ri_leavers_find(struct ri_children *children, const struct ri_output *output)
{
	uint8_t doubtful[RI_MAX_LOCAL] = { 0 };
	bool found = false;

	/* what had left its program may have executed another one since */
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		struct timespec since = ri_children_first_failure(children),
			at = ri_output_traceback(output, i);

		doubtful[i] = (child->course == RI_COURSE_LEFT &&
				!ri_child_was_looked_at(child, since)) ||
			(at.tv_sec != 0 && !ri_child_was_looked_at(child, at));
	}
	ri_leavers_ask(children, doubtful);
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];

		child->leaving = child->lives && !child->told && child->course == RI_COURSE_LEFT;
		found = found || child->leaving;
	}
	return found;
}
