/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_WATCH_TIMETABLE_H
#define RI_SHIM_WATCH_TIMETABLE_H

#include <stddef.h>
#include <stdint.h>

/* What another part of rankinit has to do at its time, while the loop runs. */
struct ri_timetable {
	int64_t (*due)(void *context);	/* CLOCK_MONOTONIC ms; INT64_MAX: never */
	void (*act)(void *context);	/* it must not wait */
	void (*take)(void *context);	/* its helper may have ended; NULL: it has none */
	void *context;
	const struct ri_timetable *next;	/* another part's; NULL: there is none */
};

/* These take NULL for no timetable. */

static inline int64_t ri_timetable_due(const struct ri_timetable *table)
{
	int64_t first = INT64_MAX, due;

	for (; table != NULL; table = table->next)
		if ((due = table->due(table->context)) < first)
			first = due;
	return first;
}

static inline void ri_timetable_act(const struct ri_timetable *table, int64_t now)
{
	for (; table != NULL; table = table->next)
		if (table->due(table->context) <= now)
			table->act(table->context);
}

/* One signal may stand for several helpers, so each part looks for its own. */
static inline void ri_timetable_take(const struct ri_timetable *table)
{
	for (; table != NULL; table = table->next)
		if (table->take != NULL)
			table->take(table->context);
}

#endif
