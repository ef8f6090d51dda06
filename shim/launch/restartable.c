/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/restartable.h"

#include "link/told.h"

static int refuse_launcher(const struct ri_restartable *asked, const char *subject,
	struct ri_error *err)
{
	const struct ri_launcher *launcher = asked->context->command->launcher;
	const char *name = launcher == NULL ? "COMMAND" : launcher->name;
	bool has_own = ri_launcher_is_torchruns(launcher);

	if (has_own && ri_told_find(asked->context, "--max-restarts",
		"PET_MAX_RESTARTS") != NULL) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "%s has --max-restarts, and starts "
			"its ranks again itself", name);
		return ri_fail_hint(err, "leave %s out", subject);
	}
	ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "%s starts the ranks, and rankinit can "
		"start again only what it started itself", name);
	return has_own ? ri_fail_hint(err, "write %s --max-restarts=%s in place of it", name,
			asked->options->given.restarts.value)
		: ri_fail_hint(err, "leave it out, or let rankinit start the ranks: "
			"--nproc-per-node=N -- python3 train.py");
}

int ri_restartable_check(const struct ri_restartable *asked, struct ri_error *err)
{
	const struct ri_options *options = asked->options;
	const char *subject = options->given.restarts.subject;
	uint64_t nodes;

	if (asked->context->command->mode != RI_MODE_PROCESS)
		return refuse_launcher(asked, subject, err);
	if (asked->rank >= 0) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "rank %lld is one of several that "
			"another program started, and alone it cannot start again",
			(long long)asked->rank);
		return ri_fail_hint(err, "leave it out, or let rankinit start the ranks of a node: "
			"--nproc-per-node=N");
	}
	if (ri_topology_get(asked->topology, RI_FACT_NNODES, &nodes) && nodes > 1 &&
		(options->link != RI_LINK_MODE_STOP ||
			(options->given.link_key.value == NULL && !asked->was_linked))) {
		ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "the job has %llu nodes, which "
			"start their ranks again together, by --link with a --link-key",
			(unsigned long long)nodes);
		return ri_fail_hint(err, "add --link=yes and give all nodes the same "
			"--link-key, or leave it out: the platform may start all of them again");
	}
	ri_findings_add(asked->context->findings, RI_SEVERITY_NOTE, RI_CODE_RESTARTS_ON,
		subject, "after a failure the ranks start again, %llu times at most",
		(unsigned long long)asked->options->restarts);
	return 0;
}
