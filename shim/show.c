/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "model/topology.h"
#include "redact/redact.h"
#include "say/print.h"

/*
 * --local-rank names the rank whose variables are printed, where several are
 * started here; it does not state a fact then. As part of a whole tuple it does.
 */
int ri_run_print_env(struct ri_run *run)
{
	struct ri_wishes *wishes = &run->found.options.wishes;
	struct ri_given *stated = &wishes->facts[RI_FACT_LOCAL_RANK];
	const struct ri_range range = { 0, RI_MAX_LOCAL - 1 };
	bool chooses = wishes->nproc.value != NULL && stated->value != NULL &&
		wishes->facts[RI_FACT_RANK].value == NULL;
	struct ri_rank_view view;
	uint64_t index = 0, ranks;

	if (chooses) {
		if (ri_number_read(stated->value, range, &index, NULL) != RI_NUMBER_OK)
			index = RI_MAX_LOCAL;
		stated->value = NULL;
	}
	if (ri_found_fill(&run->found, &run->arena, &run->findings, &run->err) < 0)
		return -1;
	ranks = run->found.context.fan_out;
	if (chooses && ranks > 0 && index >= ranks)
		return ri_fail(&run->err, RI_CODE_OPTION_VALUE, stated->subject,
			"expected one of the ranks started here, 0 to %d", (int)ranks - 1);
	ri_log_findings(&run->findings);
	if (ri_rank_view(&view, &run->found, ranks == 0 ? 0 : index, &run->arena, &run->err) < 0)
		return -1;
	return ri_print_env(run->found.options.action_value, &view.edits, &run->err);
}

static void describe_rank(struct ri_run *run, struct ri_explained_rank *out,
	struct ri_topology *topology, const struct ri_rank_view *view)
{
	static char dots[] = "...";
	static char *const no_memory[] = { dots, NULL };
	uint64_t value;

	*out = (struct ri_explained_rank){ .rank = -1, .local_rank = -1, .edits = &view->edits };
	if (ri_topology_get(topology, RI_FACT_RANK, &value))
		out->rank = (int64_t)value;
	if (ri_topology_get(topology, RI_FACT_LOCAL_RANK, &value))
		out->local_rank = (int64_t)value;
	/* what people paste into a bug report has no secret of the command's */
	if (view->argv != NULL)
		out->argv = ri_redact_words(view->argv, &run->arena);
	if (view->argv != NULL && out->argv == NULL)
		out->argv = no_memory;
	ri_placing_explain(&run->found.placing, view->index, out, &run->arena);
}

/* Why nothing was read, or NULL. */
static const char *find_off(const struct ri_found *found)
{
	if (found->options.disabled)
		return "RANKINIT_DISABLE is set: a plain init, rankinit reads and sets nothing";
	if (ri_wishes_refuse_all(&found->options.wishes))
		return "--source=none: a plain init, rankinit reads and sets nothing";
	/* in a launcher's container what was read says so */
	if (found->command.mode == RI_MODE_NONE && found->topology.source_count == 0)
		return "the command starts the whole job: rankinit reads and sets nothing";
	return NULL;
}

/* Print it. Returns 0, -1 and an error, or the exit status of a stop. */
static int explain(struct ri_run *run, struct ri_error *err)
{
	static struct ri_explained_rank ranks[RI_MAX_LOCAL];
	static struct ri_rank_view views[RI_MAX_LOCAL];
	struct ri_explain explained = {
		.topology = &run->found.topology,
		.env = &run->found.env, .findings = &run->findings,
		.err = &run->err, .ranks = ranks, .rank_count = 1, .launch = "process",
	};
	struct ri_topology topology;
	size_t count;
	int stop = 0;

	if (run->err.code != RI_CODE_NONE)
		explained.off = "the options are wrong, so rankinit read nothing";
	else if (ri_found_fill(&run->found, &run->arena, &run->findings, &run->err) == 0 &&
		ri_privileges_prepare(&run->started.privileges, &run->found.options,
			&run->found.host, &run->arena, &run->err) == 0)
		stop = ri_run_preflight(run);
	if (ri_apart_stop() != 0)
		stop = 128 + ri_apart_stop();
	if (stop > 0)
		return stop;
	if (run->found.first.argv == NULL)
		run->found.first.argv = run->found.options.command;
	describe_rank(run, &ranks[0], &run->found.topology, &run->found.first);
	/* the ranks beside the first one */
	topology = run->found.topology;
	count = run->err.code == RI_CODE_NONE ? run->found.context.fan_out : 0;
	for (size_t i = 1; i < count && run->err.code == RI_CODE_NONE; i++) {
		if (ri_rank_view(&views[i], &run->found, i, &run->arena, &run->err) < 0)
			break;
		ri_topology_go_to(&topology, i);
		describe_rank(run, &ranks[i], &topology, &views[i]);
	}
	if (run->err.code == RI_CODE_NONE && count > 1)
		explained.rank_count = count;
	if (run->found.command.mode != RI_MODE_AUTO)
		explained.launch = ri_mode_name(run->found.command.mode);
	if (explained.off == NULL)
		explained.off = find_off(&run->found);
	return ri_print_explain(run->found.options.action_value, &explained,
		ri_found_color(&run->found), err);
}

int ri_run_explain(struct ri_run *run)
{
	struct ri_error err = RI_ERROR_INIT;
	int stop = explain(run, &err);
	int status;

	if (stop > 0)
		return ri_run_leave(run, stop, RI_RETRY_SAME);
	if (stop < 0) {
		run->err = err;
		return ri_run_fail(run);
	}
	status = ri_code_status(run->err.code);
	return ri_run_status(run, status, ri_why_of_refusal(status).retry);
}

int ri_run_check(struct ri_run *run)
{
	struct ri_check_report *checked = &run->checked;
	struct ri_preflight preflight;

	if (ri_found_fill(&run->found, &run->arena, &run->findings, &run->err) < 0)
		return ri_run_fail(run);
	preflight = ri_run_plan_preflight(run);
	ri_log_findings(&run->findings);
	if (ri_preflight_check(&preflight, checked, &run->err) < 0)
		return ri_run_fail(run);
	if (checked->stop != 0)
		return ri_run_leave(run, 128 + checked->stop, RI_RETRY_SAME);
	if (ri_print_check(run->found.options.action_value, checked,
		    ri_found_color(&run->found), &run->err) < 0)
		return ri_run_fail(run);
	return checked->unfit ? ri_run_status(run, ri_code_status(RI_CODE_CHECK_UNFIT),
			RI_RETRY_OTHER_NODE) : ri_run_status(run, 0, RI_RETRY_SAME);
}
