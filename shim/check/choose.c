/* SPDX-License-Identifier: Apache-2.0 */
#include "check/choose.h"

/* Not one of those that only their name brings in, or --deep. */
static bool is_common(const struct ri_check_wishes *wishes, size_t number)
{
	enum ri_check_runs runs = ri_check_at(number)->runs;

	return runs != RI_CHECK_EXTRA && (runs != RI_CHECK_DEEP || wishes->deep);
}

/* Are all checks off that look after the topic? */
static bool is_topic_off(const struct ri_check_wishes *wishes, unsigned topic)
{
	for (size_t i = 0; i < ri_check_count(); i++)
		if ((ri_check_at(i)->topics & 1u << topic) != 0 && is_common(wishes, i) &&
			wishes->levels[i] != RI_CHECK_LEVEL_OFF)
			return false;
	return true;
}

const char *ri_checks_turned_off(const struct ri_check_wishes *wishes)
{
	const struct ri_demand *demand;

	for (size_t i = 0; i < ri_check_count(); i++) {
		demand = ri_demands_check(&wishes->demands, i);
		if (demand != NULL && demand->asker == RI_ASKER_REQUIRE &&
			wishes->levels[i] == RI_CHECK_LEVEL_OFF)
			return ri_check_at(i)->id;
	}
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if (wishes->demands.topics[RI_ASKER_REQUIRE][topic].subject != NULL &&
			is_topic_off(wishes, topic))
			return ri_topic_name((enum ri_topic)topic);
	return NULL;
}

int ri_checks_hold_deep(const struct ri_check_wishes *wishes, struct ri_error *err)
{
	const struct ri_demand *demand;
	const struct ri_check *check;

	for (size_t i = 0; (check = ri_check_at(i)) != NULL; i++) {
		demand = ri_demands_check(&wishes->demands, i);
		if (wishes->deep || check->runs != RI_CHECK_DEEP || demand == NULL ||
			wishes->levels[i] == RI_CHECK_LEVEL_OFF)
			continue;
		ri_fail(err, RI_CODE_OPTION_VALUE, demand->subject,
			"\"%s\": this check needs --deep", check->id);
		return ri_fail_hint(err, "add --deep, with which rankinit-probe loads the image's "
			"own libraries, or leave the check out");
	}
	return 0;
}

/* A list of checks takes nothing from what is required. */
static bool is_required(const struct ri_check_wishes *wishes, size_t number)
{
	const struct ri_demand *demands = wishes->demands.topics[RI_ASKER_REQUIRE];

	if (wishes->levels[number] == RI_CHECK_LEVEL_FAIL)
		return true;
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if ((ri_check_at(number)->topics & 1u << topic) != 0 &&
			demands[topic].subject != NULL)
			return true;
	return false;
}

static bool is_picked(const struct ri_check_wishes *wishes, size_t number)
{
	const bool common = is_common(wishes, number);

	if (wishes->levels[number] == RI_CHECK_LEVEL_OFF || wishes->pick == RI_CHECK_PICK_NONE)
		return false;
	if (ri_demands_check(&wishes->demands, number) != NULL)
		return true;
	if (wishes->pick == RI_CHECK_PICK_LIST)
		return ri_check_set_has(&wishes->picked, number) ||
			(common && is_required(wishes, number));
	return wishes->pick == RI_CHECK_PICK_ALL || common;
}

/* By an option for checks, or as one that looks after what is asked for. */
static bool is_asked(const struct ri_check_plan *plan, size_t number)
{
	const struct ri_demands *demands = plan->checking.demands;

	if (plan->wishes->pick == RI_CHECK_PICK_ALL || plan->wishes->pick == RI_CHECK_PICK_LIST ||
		plan->wishes->levels[number] >= RI_CHECK_LEVEL_WARN ||
		ri_demands_check(demands, number) != NULL)
		return true;
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if ((ri_check_at(number)->topics & 1u << topic) != 0 &&
			ri_demands_find(demands, (enum ri_topic)topic) != NULL)
			return true;
	return false;
}

bool ri_checks_choose(struct ri_check_plan *plan, bool before_launch)
{
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		enum ri_check_runs runs = ri_check_at(i)->runs;
		bool asked = !before_launch || is_asked(plan, i);

		if (!is_picked(plan->wishes, i) ||
			(!asked && runs != RI_CHECK_LAUNCH && runs != RI_CHECK_DEEP))
			continue;
		ri_check_set_add(&plan->chosen, i);
		if (asked)
			ri_check_set_add(&plan->asked, i);
		some = true;
	}
	return some;
}
