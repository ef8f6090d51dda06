/* SPDX-License-Identifier: Apache-2.0 */
/* Which checks run, and what is said of those that do not though they are required. */
#include <string.h>

#include "command/command.h"
#include "preflight/preflight.h"
#include "system/log.h"

/* Not one of those that only their name brings in, or "deep". */
static bool is_common(size_t number, bool deep)
{
	enum ri_check_runs runs = ri_check_at(number)->runs;

	return runs != RI_CHECK_EXTRA && (runs != RI_CHECK_DEEP || deep);
}

static bool is_about(size_t number, unsigned topic)
{
	return (ri_check_at(number)->topics & 1u << topic) != 0;
}

bool ri_checks_are_deep(const struct ri_check_wishes *wishes)
{
	return wishes->demands.of[RI_ASKER_EXPECT].deep ||
		wishes->demands.of[RI_ASKER_REQUIRE].deep;
}

/*
 * What --require names and --checks leaves out, or NULL: the id of a check, of a family the
 * first, or a word such as "gpu" of which no check is left.
 */
static const char *turned_off(const struct ri_check_wishes *wishes)
{
	const struct ri_asked *required = &wishes->demands.of[RI_ASKER_REQUIRE];
	const char *first = NULL;
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		bool off = ri_check_set_has(&wishes->off, i);

		if (off && ri_check_set_has(&required->by_id, i))
			return ri_check_ids()[i];
		if (!ri_check_set_has(&required->by_family, i))
			continue;
		some = some || !off;
		first = first == NULL ? ri_check_ids()[i] : first;
	}
	if (first != NULL && !some)
		return first;
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		/* are all checks off that look after the topic? */
		some = required->topics[topic].subject == NULL;
		for (size_t i = 0; i < ri_check_count(); i++)
			some |= is_about(i, topic) && is_common(i, ri_checks_are_deep(wishes)) &&
				!ri_check_set_has(&wishes->off, i);
		if (!some)
			return ri_topic_name((enum ri_topic)topic);
	}
	return NULL;
}

int ri_checks_hold_deep(const struct ri_check_wishes *wishes, struct ri_error *err)
{
	const struct ri_demand *demand;
	const struct ri_check *check;

	for (size_t i = 0; (check = ri_check_at(i)) != NULL; i++) {
		demand = ri_demands_check(&wishes->demands, i, false);
		if (ri_checks_are_deep(wishes) || check->runs != RI_CHECK_DEEP || demand == NULL ||
			ri_check_set_has(&wishes->off, i))
			continue;
		ri_fail(err, RI_CODE_OPTION_VALUE, demand->subject,
			"\"%s\": this check needs deep", ri_check_ids()[i]);
		return ri_fail_hint(err, "add deep to the list, with which rankinit-probe loads "
			"the image's own libraries, or leave the check out");
	}
	return 0;
}

static bool is_picked(const struct ri_check_plan *plan, size_t number)
{
	const struct ri_check_wishes *wishes = plan->wishes;
	const struct ri_demands *demands = plan->checking.demands;
	const struct ri_asked *required = &demands->of[RI_ASKER_REQUIRE];
	bool picked = wishes->pick == RI_CHECK_PICK_DEFAULT ||
		ri_check_set_has(&required->by_family, number);

	if (ri_check_set_has(&wishes->off, number) || wishes->pick == RI_CHECK_PICK_NONE)
		return false;
	if (ri_check_set_has(&wishes->picked, number) || wishes->pick == RI_CHECK_PICK_ALL ||
		ri_demands_check(demands, number, false) != NULL)
		return true;
	/* a list of checks takes nothing from what is required */
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		picked |= is_about(number, topic) && required->topics[topic].subject != NULL;
	return picked && is_common(number, plan->checking.deep);
}

bool ri_checks_choose(struct ri_check_plan *plan, bool before_launch)
{
	const struct ri_demands *demands = plan->checking.demands;
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		enum ri_check_runs runs = ri_check_at(i)->runs;
		bool asked = !before_launch || plan->wishes->pick == RI_CHECK_PICK_ALL ||
			ri_check_set_has(&plan->wishes->picked, i) ||
			ri_demands_check(demands, i, false) != NULL ||
			ri_demands_check(demands, i, true) != NULL;

		for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
			asked |= is_about(i, topic) &&
				ri_demands_find(demands, (enum ri_topic)topic) != NULL;
		if (!is_picked(plan, i) ||
			(!asked && runs != RI_CHECK_LAUNCH && runs != RI_CHECK_DEEP))
			continue;
		ri_check_set_add(&plan->chosen, i);
		if (asked)
			ri_check_set_add(&plan->asked, i);
		some = true;
	}
	return some;
}

/* As a command: what stands around it is a blank, a sign of the shell's, or '/' before it. */
static bool has_rankinit(const char *word)
{
	static const char name[] = "rankinit", signs[] = " \t\n;&|(){}'\"`$";
	const char *at = word;

	for (; (at = strstr(at, name)) != NULL; at++) {
		char after = at[strlen(name)];

		if ((at == word || at[-1] == '/' || strchr(signs, at[-1]) != NULL) &&
			strchr(signs, after) != NULL)	/* the end, too */
			return true;
	}
	return false;
}

void ri_unasked_say(const struct ri_options *options, const struct ri_topology *topology,
	const struct ri_command *command)
{
	const struct ri_given *require = &options->checks.require;
	bool always = !require->twin || options->action != RI_ACTION_LAUNCH;
	char *const *words = options->command;
	const char *why = "this process is not recognised as part of a job; check the node with "
		"rankinit --check, or make a job of one rank with --nproc-per-node=1";

	if (require->value == NULL || options->wishes.source.value != NULL)
		return;
	/* a shell that is given nothing to run, as in docker run -it IMAGE bash */
	if (require->twin && words != NULL && ri_word_shell(*words) != NULL) {
		for (words++; *words != NULL && (*words)[0] == '-';)
			words++;
		if (*words == NULL)
			return;
	}
	/* a rankinit among the words, the text of sh -c too: it gets what was not looked at */
	for (char *const *word = options->command; word != NULL && *word != NULL; word++)
		if (has_rankinit(*word))
			return;
	if (ri_topology_is_beside(topology))
		why = "this process is not a rank of the job; check the node with rankinit --check";
	else if (command->mode == RI_MODE_NONE)
		why = "this process starts the ranks of the whole job and is not a rank itself; "
			"put rankinit before the program that it starts";
	ri_log(always || !ri_was_said("unchecked") ? RI_LEVEL_WARNING : RI_LEVEL_NOTE,
		"%s: requirements not checked: %s [%s]", require->subject, why,
		ri_code_name(RI_CODE_CHECK_UNASKED));
}

void ri_unasked_say_off(const struct ri_check_wishes *wishes)
{
	const char *id;

	if (wishes->pick == RI_CHECK_PICK_NONE) {
		ri_log(RI_LEVEL_WARNING, "%s: requirements not checked, because %s=none turns "
			"off all checks; this node may be unfit [%s]", wishes->require.subject,
			wishes->checks.subject, ri_code_name(RI_CODE_CHECK_UNASKED));
		return;
	}
	id = turned_off(wishes);
	if (id != NULL)
		ri_log(RI_LEVEL_WARNING, "%s: %s is not checked, because %s turns it off [%s]",
			wishes->require.subject, id, wishes->checks.subject,
			ri_code_name(RI_CODE_CHECK_UNASKED));
}
