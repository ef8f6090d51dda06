/* SPDX-License-Identifier: Apache-2.0 */
/* Options about the launch and what is said of it. */
#include "options/value.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "output/pattern.h"

int ri_read_root(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	options->root = ri_value_stated(given, "--root", "RANKINIT_ROOT");
	return 0;
}

int ri_read_launch(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_MODE_AUTO] = "auto", [RI_MODE_PROCESS] = "process", [RI_MODE_NODE] = "node",
		[RI_MODE_NONE] = "none", NULL,
	};
	unsigned mode;

	if (ri_value_choice(&mode, words, given, err) < 0)
		return -1;
	options->launch = (enum ri_mode)mode;
	return 0;
}

int ri_read_nproc_per_node(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_NPROC_GPU] = "gpu", [RI_NPROC_CPU] = "cpu", [RI_NPROC_AUTO] = "auto",
	};
	const struct ri_range range = { 1, RI_MAX_LOCAL };
	struct ri_wishes *wishes = &options->wishes;
	char expected[64];

	wishes->nproc = ri_value_stated(given, "--nproc-per-node", "RANKINIT_NPROC_PER_NODE");
	wishes->nproc_count = 0;
	for (options->nproc = RI_NPROC_GPU; options->nproc <= RI_NPROC_AUTO; options->nproc++)
		if (strcmp(words[options->nproc], given.value) == 0)
			return 0;
	options->nproc = RI_NPROC_STATED;
	if (ri_number_read(given.value, range, &wishes->nproc_count, NULL) == RI_NUMBER_OK)
		return 0;
	snprintf(expected, sizeof(expected), "a number from 1 to %d, gpu, cpu or auto",
		RI_MAX_LOCAL);
	return ri_option_bad_value(given, expected, err);
}

int ri_read_expand(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_EXPAND_AUTO] = "auto", [RI_EXPAND_ALL] = "all", [RI_EXPAND_OFF] = "off", NULL,
	};
	unsigned how;

	if (ri_value_choice(&how, words, given, err) < 0)
		return -1;
	options->expand = (enum ri_expand)how;
	return 0;
}

int ri_read_supervise(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "auto", "always", "never" };

	return ri_value_switch(&options->supervise, words, given, err);
}

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

int ri_read_bind_to(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_BIND_NONE] = "none", [RI_BIND_NUMA] = "numa", [RI_BIND_CORE] = "core", NULL,
	};
	unsigned how;

	if (ri_value_choice(&how, words, given, err) < 0)
		return -1;
	options->place.bind = (enum ri_bind)how;
	options->place.bind_subject =
		ri_value_stated(given, "--bind-to", "RANKINIT_BIND_TO").subject;
	return 0;
}

int ri_read_omp_threads(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	const struct ri_range range = { 1, RI_MAX_CPUS };
	struct ri_place_wish *place = &options->place;
	char expected[64];

	place->omp_subject =
		ri_value_stated(given, "--omp-threads", "RANKINIT_OMP_THREADS").subject;
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

int ri_read_gpu_bind(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = {
		[RI_GPU_BIND_NONE] = "none", [RI_GPU_BIND_SINGLE] = "single", NULL,
	};
	unsigned how;

	if (ri_value_choice(&how, words, given, err) < 0)
		return -1;
	options->place.gpu_bind = (enum ri_gpu_bind)how;
	options->place.gpu_subject =
		ri_value_stated(given, "--gpu-bind", "RANKINIT_GPU_BIND").subject;
	return 0;
}

int ri_read_grace(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_seconds(&options->grace_ms, given, err);
}

int ri_read_signal_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	options->maps_signals = true;
	ri_signal_map_init(&options->signal_map);
	return ri_signal_map_read(&options->signal_map, given.value, given.subject, err);
}

int ri_read_signal_group(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	return ri_value_flag(&options->signal_group, given, err);
}

int ri_read_exit_map(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	options->maps_exits = true;
	ri_exit_map_init(&options->exit_map);
	return ri_exit_map_read(&options->exit_map, given.value, given.subject, err);
}

int ri_read_user(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return ri_value_word(&options->user, given, RI_OPTION_user);
}

int ri_read_cap_drop(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return ri_value_word(&options->cap_drop, given, RI_OPTION_cap_drop);
}

int ri_read_cap_keep(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return ri_value_word(&options->cap_keep, given, RI_OPTION_cap_keep);
}

int ri_read_no_new_privs(struct ri_options *options, struct ri_given given,
	struct ri_error *err)
{
	return ri_value_flag(&options->no_new_privs, given, err);
}

int ri_read_log_prefix(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->log_prefix, given, err);
}

static int keep_pattern(struct ri_given *word, struct ri_given given, int option,
	struct ri_error *err)
{
	struct ri_pattern_use use;

	if (!ri_pattern_read(given.value, &use))
		return ri_option_bad_value(given, "a name with %r, %l, %n, %h or %% only", err);
	return ri_value_word(word, given, option);
}

int ri_read_log_dir(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return keep_pattern(&options->log_dir, given, RI_OPTION_log_dir, err);
}

int ri_read_log_file(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return keep_pattern(&options->log_file, given, RI_OPTION_log_file, err);
}

int ri_read_log_mode(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "tee", "redirect", NULL };
	unsigned mode;

	if (ri_value_choice(&mode, words, given, err) < 0)
		return -1;
	return ri_value_word(&options->log_mode, given, RI_OPTION_log_mode);
}

int ri_read_report(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return ri_value_word(&options->report, given, RI_OPTION_report);
}

int ri_read_state(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	(void)err;
	return ri_value_word(&options->state, given, RI_OPTION_state);
}

int ri_read_wait_master(
	struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_seconds(&options->wait_master_ms, given, err);
}

int ri_read_quiet(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->quiet, given, err);
}

int ri_read_verbose(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	return ri_value_flag(&options->verbose, given, err);
}

int ri_read_color(struct ri_options *options, struct ri_given given, struct ri_error *err)
{
	static const char *const words[] = { "auto", "always", "never" };

	return ri_value_switch(&options->color, words, given, err);
}
