/* SPDX-License-Identifier: Apache-2.0 */
/* Options about the launch. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "options/table.h"
#include "options/value.h"

int ri_read_subreaper(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true;

	if (given.value != NULL && strcmp(given.value, "auto") == 0) {
		options->subreaper = RI_AUTO;
		return 0;
	}
	if (given.value != NULL && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "auto, yes or no", err);
	options->subreaper = yes ? RI_YES : RI_NO;
	return 0;
}

int ri_read_log_prefix(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true, node = given.value != NULL && strcmp(given.value, "node") == 0;

	if (given.value != NULL && !node && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "yes, no or node", err);
	options->log_prefix = yes;
	options->log_prefix_node = node;
	return 0;
}

int ri_read_simulate(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_simulation_read(&options->simulation, &given, err);
}

int ri_read_omp_threads(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, RI_MAX_CPUS };
	struct ri_place_wish *place = &options->place;
	char expected[64];

	place->omp = RI_OMP_STATED;
	if (strcmp(given.value, "auto") == 0)
		place->omp = RI_OMP_AUTO;
	else if (strcmp(given.value, "keep") == 0)
		place->omp = RI_OMP_KEEP;
	else if (ri_number_read(given.value, range, &place->threads, NULL) != RI_NUMBER_OK) {
		snprintf(expected, sizeof(expected), "auto, keep or a number from 1 to %d",
			RI_MAX_CPUS);
		return ri_option_bad_value(given, expected, err);
	}
	return 0;
}

int ri_read_signal_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	ri_signal_map_init(&options->signal_map);
	return ri_signal_map_read(&options->signal_map, given.value, given.subject, err);
}

int ri_read_exit_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	ri_exit_map_init(&options->exit_map);
	return ri_exit_map_read(&options->exit_map, given.value, given.subject, err);
}
