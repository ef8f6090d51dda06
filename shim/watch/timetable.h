/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RI_SHIM_TIMETABLE_H
#define RI_SHIM_TIMETABLE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What somebody else has to do at its time, while the loop runs. */
struct ri_timetable {
	int64_t (*due)(void *context);	/* CLOCK_MONOTONIC ms; INT64_MAX: nothing more */
	void (*act)(void *context);	/* it must not wait */
	bool (*took)(void *context, const siginfo_t *info);	/* a signal of its own; or NULL */
	void *context;
};

/* Both take NULL for no timetable. */

static inline int64_t ri_timetable_due(const struct ri_timetable *table)
{
	return table == NULL ? INT64_MAX : table->due(table->context);
}

static inline bool ri_timetable_took(const struct ri_timetable *table, const siginfo_t *info)
{
	return table != NULL && table->took != NULL && table->took(table->context, info);
}

#endif
