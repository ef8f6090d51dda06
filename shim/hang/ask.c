/* SPDX-License-Identifier: Apache-2.0 */
/* --autopsy PID: what the processes below PID do, as far as the user of rankinit may see it. */
#include "hang/look.h"

#include <errno.h>
#include <string.h>

#include "hang/hang.h"
#include "say/print.h"
#include "system/clock.h"

enum {
	INTERVAL_MS = 200,
	MOST_MS = 20000,	/* hundreds of processes take a second; dead ones their patience */
	DOCUMENT = 8 << 20,
};

static int read_pid(const struct ri_options *options, pid_t *pid, struct ri_error *err)
{
	static const struct ri_range pids = { 1, INT32_MAX };
	char *const *words = options->command;
	uint64_t number;

	if (words == NULL || words[0] == NULL) {
		ri_fail(err, RI_CODE_AUTOPSY_PID, "--autopsy", "no process was given");
		return ri_fail_hint(err, "name one: rankinit --autopsy 1");
	}
	if (words[1] != NULL || ri_number_read(words[0], pids, &number, NULL) != RI_NUMBER_OK) {
		ri_fail(err, RI_CODE_AUTOPSY_PID, "--autopsy", "%s: expected the number of one "
			"process", RI_QUOTED(words[words[1] != NULL]));
		return ri_fail_hint(err, "name one: rankinit --autopsy 1");
	}
	*pid = (pid_t)number;
	return 0;
}

int ri_autopsy_print(const struct ri_options *options, struct ri_error *err)
{
	struct ri_look_wish wish = {
		.why = "asked", .interval_ms = INTERVAL_MS, .most_ms = MOST_MS, .takes_time = true,
		.now_ms = ri_now_ms,
	};
	bool as_json = options->action_value != NULL && strcmp(options->action_value, "json") == 0;
	struct ri_json json = { .escapes = 0 };
	struct ri_look_region *region;
	struct ri_text out;
	char *room;

	if (read_pid(options, &wish.root, err) < 0)
		return -1;
	region = ri_look_open();
	room = ri_pages(DOCUMENT);
	if (region == NULL || room == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "--autopsy", "no memory left for it: %s",
			strerror(errno));
	if (!ri_look_examine(region, &wish)) {
		ri_fail(err, RI_CODE_AUTOPSY_PID, "--autopsy", "there is no process %d",
			(int)wish.root);
		return ri_fail_hint(err, "look for it: ps -e");
	}
	if (region->hang.cut_errno != 0 &&
		ri_hang_count_unlooked(&region->hang) == ri_hang_newer(&region->hang)->count)
		return ri_fail(err, RI_CODE_SPAWN_REFUSED, "--autopsy", "there is no process "
			"to look with: %s", strerror(region->hang.cut_errno));
	out = ri_text_of(room, DOCUMENT);
	if (!as_json)
		ri_hang_say(&region->hang, &out);
	else if (ri_json_end(&json, ri_hang_json(&json, &region->hang), RI_JSON_LOOK, &out) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--autopsy", "no memory left for the answer");
	return ri_print_text(&out, err);
}
