/* SPDX-License-Identifier: Apache-2.0 */
#include "check/worth.h"

#include <errno.h>
#include <sys/stat.h>

/* Not one of those that only their name brings in, or --deep. */
static bool is_common(const struct ri_check_wishes *wishes, size_t number)
{
	const unsigned unpicked = RI_CHECK_EXTRA | (wishes->deep ? 0 : RI_CHECK_DEEP);

	return (ri_check_at(number)->when & unpicked) == 0;
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
		if (wishes->deep || (check->when & RI_CHECK_DEEP) == 0 || demand == NULL ||
			wishes->levels[i] == RI_CHECK_LEVEL_OFF)
			continue;
		ri_fail(err, RI_CODE_OPTION_VALUE, demand->subject,
			"\"%s\": this check needs --deep", check->id);
		return ri_fail_hint(err, "add --deep, with which rankinit-probe loads the image's "
			"own libraries, or leave it out");
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

/* Is something asked for that the check looks after? */
static bool is_asked(const struct ri_check_plan *plan, size_t number)
{
	const struct ri_demands *demands = plan->checking.demands;

	if (ri_demands_check(demands, number) != NULL ||
		plan->wishes->levels[number] >= RI_CHECK_LEVEL_WARN)
		return true;
	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if ((ri_check_at(number)->topics & 1u << topic) != 0 &&
			ri_demands_find(demands, (enum ri_topic)topic) != NULL)
			return true;
	return false;
}

/*
 * Nodes in /dev and folders of sysfs are names in the kernel's memory: to ask
 * for one does not hang, as to ask for a file of a dead mount does. A link
 * could lead to such a file, and is not followed. In doubt it is here.
 */
static bool is_here(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* Is one of the things here? seen and looked: bits of those that are, of those asked for. */
static bool has_one(unsigned things, unsigned *seen, unsigned *looked)
{
	static const struct {
		unsigned thing;
		const char *path;
	} paths[] = {
		{ RI_CHECK_NVIDIA, "/dev/nvidiactl" },
		{ RI_CHECK_AMD, "/dev/kfd" },
		{ RI_CHECK_WSL, "/dev/dxg" },
		{ RI_CHECK_RDMA, "/sys/class/infiniband" },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if ((things & paths[i].thing) == 0)
			continue;
		if ((*looked & paths[i].thing) == 0 && is_here(paths[i].path))
			*seen |= paths[i].thing;
		*looked |= paths[i].thing;
		if ((*seen & paths[i].thing) != 0)
			return true;
	}
	return false;
}

/* The bits of enum ri_check_when that hold here. */
static unsigned find_when(const struct ri_checking *checking)
{
	unsigned when = RI_CHECK_ALWAYS;

	if (checking->ranks > 1)
		when |= RI_CHECK_SEVERAL;
	if (ri_topology_is_wide(checking->topology))
		when |= RI_CHECK_WIDE;
	return when;
}

/* Before a launch: could it say more than a note, or a note that is shown and to the point? */
static bool may_speak(const struct ri_check_plan *plan, size_t number, unsigned when)
{
	static unsigned seen, looked;
	const struct ri_checking *checking = &plan->checking;
	const struct ri_check *check = ri_check_at(number);

	if (is_asked(plan, number) ||
		(checking->verbose && plan->wishes->pick == RI_CHECK_PICK_LIST))
		return true;
	if (check->concerns != NULL && !check->concerns(checking))
		return false;
	if (checking->verbose)
		return (check->when & RI_CHECK_APART) == 0;
	if ((check->when & when) == 0)
		return false;
	return check->things == 0 || !checking->host->live ||
		has_one(check->things, &seen, &looked);
}

bool ri_checks_choose(struct ri_check_plan *plan, bool before_launch)
{
	unsigned when = find_when(&plan->checking);
	bool some = false;

	for (size_t i = 0; i < ri_check_count(); i++) {
		if (!is_picked(plan->wishes, i) || (before_launch && !may_speak(plan, i, when)))
			continue;
		ri_check_set_add(&plan->chosen, i);
		some = true;
	}
	return some;
}
