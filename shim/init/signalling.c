/* SPDX-License-Identifier: Apache-2.0 */
#include "init/signalling.h"

#include <signal.h>

#include "init/leftovers.h"

/* Until its leader is reaped, the kernel gives a group's number to no other process. */
static void signal_groups(const struct ri_children *children, int number)
{
	bool left = false;

	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];

		left = left || !child->lives;
		if (child->lives && kill(-child->pid, number) < 0)
			ri_children_signal(child->pid, number);
	}
	if (left)
		ri_leftovers_signal_groups(children, number);
}

void ri_signal_children(const struct ri_children *children, int number, bool groups)
{
	if (groups) {
		signal_groups(children, number);
		return;
	}
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives)
			ri_children_signal(children->items[i].pid, number);
}

void ri_spare_children(struct ri_children *children, bool groups)
{
	if (groups) {
		ri_leftovers_spare_groups(children);
		return;
	}
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives)
			ri_leftovers_spare(children->items[i].pid);
}
