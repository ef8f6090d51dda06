/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running checks in a child, which may hang, crash or be killed without harm:
 * what it did until then counts, the check that it was at becomes unknown, and
 * another child goes on with the next one.
 */
#ifndef RI_SHIM_CHECK_RUNNER_H
#define RI_SHIM_CHECK_RUNNER_H

#include "check/check.h"
#include "model/json.h"
#include "report/outcome.h"

enum {
	/*
	 * For all of them, but those that run a program. One of them may take a third of
	 * what is left, and no more than its own limit: those that hang leave time
	 * for the others.
	 */
	RI_CHECKS_MS = 2000,
	RI_CHECKS_SHARE = 3,
	RI_CHECK_MEMORY = 512 << 20,	/* what a check may take */
	/* what the checks of a machine with sixteen adapters come to, and more */
	RI_CHECKS_RESULTS = 1024,
};

/* What to run, and what with; of the checking what it has for its own functions is not read. */
struct ri_check_plan {
	struct ri_checking checking;
	struct ri_check_set chosen;
	struct ri_check_set asked;	/* those of them that are asked for */
	const struct ri_check_wishes *wishes;	/* not NULL */
	bool image;		/* the host is an image alone: see ri_machine_is_image */
	bool keeps_all;		/* passes and skips too: for --check and the report */
};

struct ri_check_report {
	bool ran;		/* for a launch: else the rest of it says nothing */
	const struct ri_check_result *items;	/* in the order of the table */
	size_t count;
	size_t dropped;		/* what there was no room for */
	bool unfit;		/* some result is unfit */
	int stop;		/* the signal that ended it all, or 0 */
	const struct ri_node_facts *facts;	/* for --check; NULL: none was looked for */
};

/*
 * Run them, one after the other. Returns 0, or -1 with RI_CODE_MEMORY. What
 * was found is static: it lasts, but for one run only. SIGCHLD must be at its
 * default. When it returns, no child of it is left that can be ended.
 */
int ri_checks_run(const struct ri_check_plan *plan, struct ri_check_report *out,
	struct ri_error *err);

/* A result of a check that was not begun: no fault of the check, and the same for all of them. */
bool ri_check_was_begun(const struct ri_check_result *result);

/* --- print.c: what they found, as a table, as JSON, and as lines of our own ----- */

/* For people: a line or more for each result, skips together unless -v asks, and the sum. */
void ri_check_print_text(const struct ri_check_report *report, struct ri_text *out, bool color);

/* {"schema": "rankinit-check-1", "fit": ..., "checks": [...], ...}; NULL: out of memory. */
json_t *ri_check_json(struct ri_json *json, const struct ri_check_report *report);

/*
 * On stderr before a launch: what is wrong, and with -v what there is to note. As text: the lines
 * of it that make the node unfit, without what begins them. Among the findings of --explain:
 * all but the notes.
 */
void ri_check_log(const struct ri_check_report *report);
void ri_check_words(const struct ri_check_report *report, struct ri_text *out);
void ri_check_explain(const struct ri_check_report *report, struct ri_findings *findings);

enum { RI_CHECK_REASONS = 272 };

/*
 * What makes the node unfit in a few words, to go on with after a sentence:
 * ": gpu.count (GPUs: a program sees 0; expected 8), shm.size". Returns out.
 */
const char *ri_check_reasons(const struct ri_check_report *report, char out[RI_CHECK_REASONS]);

void ri_check_list(struct ri_text *out);	/* for --list */

/*
 * node_facts.c: what this node has, which is good to know and never a problem: for --check, and for
 * the report since the nodes of a job may differ in it. Without either, rankinit reads none of it.
 */
enum { RI_NODE_FACTS = 128 };

struct ri_node_facts {
	struct ri_node_fact items[RI_NODE_FACTS];
	size_t count;
};

struct ri_node_facts_plan {
	struct ri_checking checking;		/* host, env and arena alone */
	const struct ri_env_edits *edits;	/* what the first rank gets; NULL: nothing more */
	bool is_init;				/* rankinit is PID 1 */
	bool looks;	/* into the image's libraries and at device files, as --check does */
};

/* Each fact of the table in node_facts.c. What cannot be found, or does not fit, is left out. */
void ri_node_facts_find(struct ri_node_facts *out, const struct ri_node_facts_plan *plan);

void ri_node_facts_list(struct ri_text *out);	/* for --list */

#endif
