/* SPDX-License-Identifier: Apache-2.0 */
/* Options about the launch, and about the checks before it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "link/seal.h"
#include "link/secret.h"
#include "options/table.h"
#include "options/value.h"

int ri_read_restarts(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 0, RI_MAX_RESTARTS };

	return ri_value_number(&options->restarts, range, given, err);
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

int ri_read_link(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	bool yes = true, tell = given.value != NULL && strcmp(given.value, "tell") == 0;

	if (given.value != NULL && !tell && !ri_bool_read(given.value, &yes))
		return ri_option_bad_value(given, "yes, no or tell", err);
	options->link = tell ? RI_LINK_MODE_TELL : yes ? RI_LINK_MODE_STOP : RI_LINK_MODE_NO;
	return 0;
}

/* The twin is the secret itself, which no message shows. */
int ri_read_link_key(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	size_t length = given.twin ? strlen(given.value) : 0;
	const char *flaw = ri_secret_flaw(given.value, length);

	(void)options;
	if (!given.twin || (length >= RI_SEAL_SECRET && flaw == NULL))
		return 0;
	if (length < RI_SEAL_SECRET)
		ri_fail(err, RI_CODE_LINK_KEY, given.subject, "it has %zu bytes; expected %d or "
			"more", length, RI_SEAL_SECRET);
	else
		ri_fail(err, RI_CODE_LINK_KEY, given.subject, "it is no random secret: it %s",
			flaw);
	return ri_fail_hint(err, "make one: head -c 32 /dev/urandom | base64; to name a file use "
		"--link-key=FILE");
}

int ri_read_link_port(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, 65535 };
	uint64_t port;

	if (ri_number_read(given.value, range, &port, NULL) != RI_NUMBER_OK)
		return ri_option_bad_value(given, "a port from 1 to 65535", err);
	options->link_port = (uint16_t)port;
	return 0;
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

/* Not one that means something else to rankinit, or never reaches it. */
int ri_read_autopsy_signal(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	static const int taken[] = {
		SIGTERM, SIGINT, SIGKILL, SIGSTOP, SIGCHLD, SIGIO, SIGTSTP, SIGCONT,
	};
	int number = ri_signal_read(given.value);

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (number == taken[i])
			number = -1;
	if (number < 0)
		return ri_option_bad_value(given, "a signal that has no other meaning, as USR1",
			err);
	options->autopsy_signal = number;
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

int ri_read_require(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_REQUIRE, given, err);
}

int ri_read_expect(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_demands(&options->checks, RI_ASKER_EXPECT, given, err);
}

int ri_read_checks(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_check_read_pick(&options->checks, given, err);
}
