/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/onlooker.h"

#include <signal.h>
#include <unistd.h>

#include "system/helper.h"

static void render(struct ri_hang *hang, const struct ri_autopsy_job *job)
{
	struct ri_autopsy_answer *answer = job->answer;
	char *place = answer->documents[job->place];
	struct ri_json json = { .escapes = 0 };
	struct ri_text out;
	json_t *document;

	ri_text_init(&out, answer->lines, sizeof(answer->lines));
	ri_hang_say(hang, &out);
	answer->has_document = false;
	if (!job->reports)
		return;
	document = ri_hang_json(&json, hang);
	ri_text_init(&out, place, sizeof(answer->documents[0]));
	answer->has_document = !json.incomplete &&
		ri_json_dump(document, JSON_COMPACT, &out) == 0 && !out.cut;
}

static void watch(struct ri_hang *hang, struct ri_autopsy_answer *answer)
{
	const struct ri_hang_process *unseen = ri_hang_find_unreadable(hang);
	struct ri_text out;

	ri_text_init(&out, answer->lines, sizeof(answer->lines));
	if (unseen != NULL)
		ri_hang_say_unreadable(hang, unseen, &out);
	answer->moved = ri_hang_has_moved(hang, answer->moments, RI_MAX_LOCAL);
}

static void help(void *context)
{
	const struct ri_autopsy_job *job = context;
	struct ri_autopsy_region *region = ri_autopsy_open();

	if (region == NULL || !ri_autopsy_examine(region, &job->wish))
		_exit(1);
	if (job->wish.once)
		watch(&region->hang, job->answer);
	else
		render(&region->hang, job);
	job->answer->whole = true;
}

pid_t ri_autopsy_start(struct ri_autopsy_job *job)
{
	static pid_t own[RI_MAX_LOCAL];
	struct ri_autopsy_wish *wish = &job->wish;

	wish->own = own;
	wish->own_count = 0;
	for (size_t i = 0; i < job->children->started; i++)
		if (job->children->items[i].lives)
			own[wish->own_count++] = job->children->items[i].pid;
	return ri_helper_start(&(struct ri_helper_task){
		.body = help, .context = job, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = RI_ONLOOKER, .owned = own[0], .seconds = ri_onlooker_seconds(wish->most_ms),
	});
}
