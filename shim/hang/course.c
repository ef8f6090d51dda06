/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/course.h"

#include <signal.h>
#include <string.h>

#include "hang/held.h"
#include "hang/look.h"
#include "base/limits.h"
#include "base/pages.h"
#include "system/clock.h"
#include "system/helper.h"

enum { MOST_S = 5 };	/* hundreds of ranks take 3; verdicts wait for --settle */

/* Of each child; shared with the helper. */
struct seen {
	unsigned char course;	/* enum ri_course */
	char held[RI_COURSE_HELD];
};

static struct {
	struct seen *seen;
	pid_t helper;		/* 0: none */
	struct timespec begun;	/* CLOCK_REALTIME */
} own;

/* Where the process's program is python itself: see ri_python_runs. */
static void look_at(pid_t pid, struct seen *seen)
{
	static struct ri_python_maps maps;
	static struct ri_python python;
	const struct ri_python_memory memory = ri_autopsy_memory(&pid);
	struct ri_text held;
	bool runs;

	if (!ri_autopsy_read_maps(pid, &maps) || strncmp(maps.objects[0].name, "python", 6) != 0 ||
		ri_python_find(&python, &memory, &maps) != RI_PYTHON_OK ||
		ri_python_runs(&python, &runs) != RI_PYTHON_OK)
		return;
	seen->course = runs ? RI_COURSE_RUNNING : RI_COURSE_ENDING;
	ri_text_init(&held, seen->held, sizeof(seen->held));
	if (!runs)
		ri_held_say(&python, &held);
}

static void look(void *context)
{
	const struct ri_children *children = context;

	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			look_at(children->items[i].pid, &own.seen[i]);
}

static pid_t find_doubtful(const struct ri_children *children)
{
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			return children->items[i].pid;
	return 0;
}

void ri_course_ask(struct ri_children *children)
{
	pid_t child = find_doubtful(children);

	if (child == 0 || own.helper != 0)
		return;
	if (own.seen == NULL)
		own.seen = ri_pages_shared(RI_MAX_LOCAL * sizeof(*own.seen));
	if (own.seen == NULL)
		return;
	ri_clock_read(CLOCK_REALTIME, &own.begun);
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].doubtful)
			own.seen[i].course = RI_COURSE_UNKNOWN;
	own.helper = ri_helper_start(&(struct ri_helper_task){
		.body = look, .context = children, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = "rankinit-look", .owned = child, .seconds = MOST_S,
	});
	if (own.helper < 0)
		own.helper = 0;
}

bool ri_course_is_asked(void)
{
	return own.helper != 0;
}

bool ri_course_take(struct ri_children *children)
{
	if (own.helper == 0 || !ri_helper_reap(own.helper, NULL))
		return false;
	own.helper = 0;
	for (size_t i = 0; i < children->started; i++) {
		struct ri_child *child = &children->items[i];
		unsigned char seen = own.seen[i].course;

		if (!child->doubtful)
			continue;
		child->doubtful = false;
		child->course = seen <= RI_COURSE_ENDING ? seen : RI_COURSE_UNKNOWN;
		child->course_at = own.begun;
	}
	return true;
}

const char *ri_course_held(size_t index)
{
	struct seen *seen = own.seen == NULL ? NULL : &own.seen[index];

	if (seen == NULL || seen->held[0] == '\0')
		return NULL;
	seen->held[sizeof(seen->held) - 1] = '\0';
	return seen->held;
}

void ri_course_end(void)
{
	if (own.helper != 0 && ri_helper_leave(own.helper))
		own.helper = 0;
}
