/* SPDX-License-Identifier: Apache-2.0 */
#include "found.h"

#include <signal.h>
#include <string.h>

#include "init/output.h"
#include "launch/launch.h"
#include "model/topology.h"
#include "say/torch_file.h"
#include "say/two_rankinits.h"
#include "say/whole_file.h"
#include "to/to.h"

uint64_t ri_found_attempt(const struct ri_found *found)
{
	return found->carried == NULL ? 0 : found->carried->attempt;
}

static int set_variable(struct ri_found *found, const char *name, const char *value,
	struct ri_error *err)
{
	if (value == NULL)
		return ri_fail(err, RI_CODE_MEMORY, name, "no memory left to set it");
	return ri_env_edits_add(&found->common, (struct ri_env_edit){ name, value },
		found->context.arena, err);
}

/* The same, unless it is set by this name, or by an older one that is not NULL. */
static int set_new(struct ri_found *found, const char *name, const char *older,
	const char *value, struct ri_error *err)
{
	const struct ri_env *env = found->context.env;

	return ri_env_get(env, name) != NULL || (older != NULL && ri_env_get(env, older) != NULL)
		? 0 : set_variable(found, name, value, err);
}

/* What torchrun, or what is made of it, is told by its own variables. */
static int tell_torchrun(struct ri_found *found, struct ri_error *err)
{
	const struct ri_options *options = &found->options;
	struct ri_arena *arena = found->context.arena;
	uint64_t seconds = options->grace_ms / 1000;
	bool first = false, second = false;

	if (options->link == RI_LINK_MODE_STOP && options->link_grace_ms / 1000 > seconds)
		seconds = options->link_grace_ms / 1000;
	/*
	 * 2.12 and later (torch/distributed/launcher/api.py, LaunchConfig) kills its workers
	 * that long after it passed on a stop, by default after 30 s: that is to come just
	 * before the deadline of ours.
	 */
	if (seconds > 0 && set_new(found, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", NULL,
		ri_arena_number(arena, seconds < 4 ? 1 : seconds - 2), err) < 0)
		return -1;
	/*
	 * 2.9 and later (torch/distributed/run.py, --signals-to-handle, which takes this for
	 * its default and overwrites TORCHELASTIC_SIGNALS_TO_HANDLE) passes on these signals,
	 * and ends by any other: those that --signal-map makes come on top.
	 */
	for (int from = 1; from <= RI_SIGNAL_MAX; from++) {
		first |= options->signal_map.to[from] == SIGUSR1 && from != SIGUSR1;
		second |= options->signal_map.to[from] == SIGUSR2 && from != SIGUSR2;
	}
	return !first && !second ? 0 : set_new(found, "PET_SIGNALS_TO_HANDLE", NULL,
		ri_arena_format(arena, "SIGTERM,SIGINT,SIGHUP,SIGQUIT%s%s",
			first ? ",SIGUSR1" : "", second ? ",SIGUSR2" : ""), err);
}

/*
 * When NCCL's watchdog gives up, torch writes what its Flight Recorder kept into a file of this
 * name and the rank's number (torch/csrc/distributed/c10d/FlightRecorder.cpp and FlightRecorder.hpp
 * of torch 2.13): beside the report, where torchfrtrace reads it. torch warns of the older names of
 * both, which therefore are not set. Nor is TORCH_NCCL_DUMP_ON_TIMEOUT (ProcessGroupNCCL.cpp),
 * which is on by default where these names are read: a torch that knows neither might wait at each
 * time-out for a dump of nothing.
 */
static int tell_recorder(struct ri_found *found, struct ri_error *err)
{
	const struct ri_given *option = &found->options.given.report;
	struct ri_arena *arena = found->context.arena;
	struct ri_error ignored;	/* who writes the report says so */
	const char *report;
	uint64_t ranks = 1;

	ri_topology_get(&found->topology, RI_FACT_WORLD_SIZE, &ranks);
	if ((ranks < 2 && found->context.command->mode != RI_MODE_NODE) ||
		option->value == NULL || strncmp(option->value, "fd:", 3) == 0)
		return 0;
	report = ri_whole_file_name(option, &found->topology, arena, &ignored);
	/* no device either, or none that is known */
	if (report == NULL || strncmp(report, "/dev/", 5) == 0 || strncmp(report, "/proc/", 6) == 0)
		return 0;
	if (set_new(found, "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
		ri_arena_format(arena, "%s.flight_", report), err) < 0)
		return -1;
	return set_new(found, "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", err);
}

/*
 * PyTorch torch/distributed/run.py, "Environment Variables": what torchrun tells ranks that it
 * starts again. Where one of them is set already it is the platform's own.
 */
static int tell_attempt(struct ri_found *found, struct ri_error *err)
{
	const struct ri_context *context = &found->context;
	const char *attempt = ri_arena_number(context->arena, ri_found_attempt(found));

	if (ri_env_get(context->env, RI_CARRIED_VARIABLE) != NULL &&
		ri_env_edits_add(&found->common, (struct ri_env_edit){ RI_CARRIED_VARIABLE, NULL },
			context->arena, err) < 0)
		return -1;
	if (found->options.restarts == 0)
		return 0;
	if (set_variable(found, RI_ATTEMPT_VARIABLE, attempt, err) < 0 ||
		set_new(found, "TORCHELASTIC_RESTART_COUNT", NULL, attempt, err) < 0)
		return -1;
	return set_new(found, "TORCHELASTIC_MAX_RESTARTS", NULL,
		ri_arena_number(context->arena, found->options.restarts), err);
}

int ri_ranks_find_common(struct ri_found *found, bool looks, struct ri_error *err)
{
	const struct ri_context *context = &found->context;
	const struct ri_command *command = context->command;
	uint64_t seconds = found->options.grace_ms / 1000;

	if (found->options.disabled)
		return 0;
	if (found->topology.identity != NULL && set_variable(found, "RANKINIT",
		ri_arena_format(context->arena, "%s:%s", RI_VERSION, ri_mode_name(command->mode)),
		err) < 0)
		return -1;
	if (ri_options_scrub(&found->options, context->env, looks, &found->common,
			context->arena, err) < 0)
		return -1;
	if (command->mode == RI_MODE_NODE &&
		(command->launcher == NULL || command->launcher->reads_pet) &&
		tell_torchrun(found, err) < 0)
		return -1;
	if (tell_attempt(found, err) < 0 || tell_recorder(found, err) < 0)
		return -1;
	/*
	 * Open MPI 4 kills its ranks one second after it forwarded a SIGTERM, and
	 * waits this parameter twice (orte/mca/odls/base): with a deadline of our
	 * own, ranks get what is left of it.
	 */
	return seconds == 0 ? 0 : set_new(found, "OMPI_MCA_odls_base_sigkill_timeout", NULL,
		ri_arena_number(context->arena, seconds < 4 ? 1 : (seconds - 2) / 2), err);
}

/* What the command shall find, in its environment and in its words. */
static int write_topology(struct ri_rank_view *view, const struct ri_topology *topology,
	const struct ri_found *found, const struct ri_context *context, struct ri_error *err)
{
	const struct ri_placement *placement = &found->placing.placement;
	uint64_t place = found->placing.own + view->index;
	struct ri_env_edits variables = { .count = 0 };

	if (ri_variables_render(&variables, topology, context, err) < 0 ||
		ri_variables_reduce(&view->edits, &variables, context, err) < 0 ||
		ri_placement_write(placement, place, &view->edits, context->arena, err) < 0 ||
		ri_placement_write(placement, place, &variables, context->arena, err) < 0)
		return -1;
	if (topology->identity == NULL || view->argv == NULL)
		return 0;
	view->argv = ri_expand_words(view->argv, found->options.expand, &variables,
		context->arena);
	return view->argv != NULL
		? 0
		: ri_fail(err, RI_CODE_MEMORY, "COMMAND", "no memory left for its arguments");
}

int ri_rank_view(struct ri_rank_view *out, const struct ri_found *found, size_t index,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_topology topology = found->topology;
	struct ri_context context = found->context;
	struct ri_findings *findings = context.findings;
	size_t said = findings->count, dropped = findings->dropped;

	context.arena = arena;
	*out = (struct ri_rank_view){ .index = index, .argv = found->options.command };
	if (found->options.disabled)
		return 0;
	if (index > 0)
		ri_topology_go_to(&topology, index);
	/* who starts the whole job is no part of it */
	if (context.command->mode != RI_MODE_NONE &&
		write_topology(out, &topology, found, &context, err) < 0)
		return -1;
	/* the first rank has said it for all */
	if (index > 0) {
		findings->count = said;
		findings->dropped = dropped;
	}
	for (size_t i = 0; i < found->common.count; i++)
		if (ri_env_edits_add(&out->edits, found->common.items[i], arena, err) < 0)
			return -1;
	return 0;
}

int ri_rank_name_torch_file(struct ri_rank_view *view, const struct ri_found *found,
	struct ri_arena *arena, struct ri_error *err)
{
	struct ri_env_edit edit = { .name = RI_TORCH_FILE };

	if (found->torch_files == NULL || found->torch_files->folder == NULL)
		return 0;
	edit.value = ri_torch_files_path(found->torch_files, view->index, arena);
	if (edit.value == NULL)
		return ri_fail(err, RI_CODE_MEMORY, edit.name, "no memory left to set it");
	return ri_env_edits_add(&view->edits, edit, arena, err);
}

/* A list in memory that stays; what the first rank has in the same place is shared with it. */
static char **keep(char *const *own, char *const *first, struct ri_arena *arena)
{
	size_t count = 0;
	char **kept;

	while (own[count] != NULL)
		count++;
	kept = ri_arena_array(arena, count + 1, sizeof(*kept));
	for (size_t i = 0; kept != NULL && i < count; i++) {
		if (*first != NULL && (own[i] == *first || strcmp(own[i], *first) == 0))
			kept[i] = *first;
		else
			kept[i] = ri_arena_copy(arena, own[i], strlen(own[i]));
		if (kept[i] == NULL)
			return NULL;
		first += *first != NULL;
	}
	return kept;
}

static int describe(struct ri_rank *out, const struct ri_found *found, size_t index,
	const struct ri_launch *first, struct ri_error *err)
{
	static struct ri_arena scratch;
	const struct ri_env_edit own_word = { RI_OUTER_VARIABLE, ri_outer_ranks };
	struct ri_rank_view view;
	char **envp = NULL;

	if (ri_rank_view(&view, found, index, &scratch, err) == 0 &&
		ri_rank_name_torch_file(&view, found, &scratch, err) == 0 &&
		ri_env_edits_add(&view.edits, own_word, &scratch, err) == 0)
		envp = ri_env_apply(&found->env, &view.edits, &scratch, err);
	if (envp != NULL) {
		out->argv = keep(view.argv, first->argv, found->context.arena);
		out->envp = keep(envp, first->envp, found->context.arena);
		if (out->argv == NULL || out->envp == NULL)
			ri_fail(err, RI_CODE_MEMORY, "COMMAND",
				"no memory left for the variables of rank %zu", index);
	}
	ri_arena_release(&scratch);
	return out->argv == NULL || out->envp == NULL ? -1 : 0;
}

int ri_ranks_prepare(struct ri_rank **out, const struct ri_found *found,
	const struct ri_launch *launch, struct ri_error *err)
{
	size_t count = found->context.fan_out;
	struct ri_rank *ranks = ri_arena_array(found->context.arena, count, sizeof(*ranks));

	if (ranks == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "COMMAND", "no memory left for its ranks");
	for (size_t i = 0; i < count; i++) {
		ranks[i] = (struct ri_rank){ .cpus = ri_placing_cpus(&found->placing, i) };
		if (i > 0 && describe(&ranks[i], found, i, launch, err) < 0)
			return -1;
	}
	*out = ranks;
	return 0;
}
