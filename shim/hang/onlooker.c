/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/onlooker.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/mask.h"
#include "system/own_proc.h"
#include "system/kept_fds.h"

/* Where memory ends, this goes before any rank does (proc(5), oom_score_adj). */
static bool offer_itself(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	bool offered = fd >= 0 && write(fd, "1000", 4) == 4;

	if (fd >= 0)
		close(fd);
	return offered;
}

/*
 * To look at a process takes its user (ptrace(2), "Ptrace access mode checking"), and no right
 * beside that. Its folder in /proc belongs to that user (proc(5)).
 */
static void take_user_of(pid_t child)
{
	char path[32];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d", (int)child);
	if (geteuid() != 0 || stat(path, &info) < 0 || info.st_uid == 0)
		return;
	if (setgroups(0, NULL) < 0 || setresgid(info.st_gid, info.st_gid, info.st_gid) < 0 ||
		setresuid(info.st_uid, info.st_uid, info.st_uid) < 0)
		_exit(1);
}

void ri_autopsy_become_onlooker(pid_t child, pid_t parent, int64_t most_ms)
{
	prctl(PR_SET_NAME, "rankinit-look", 0, 0, 0);
	offer_itself();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	take_user_of(child);
	/* a change of user takes it away: afterwards */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || !ri_proc_is_ours(getpid()))
		_exit(1);
	ri_close_between(0, ~0u);
	sigaction(SIGALRM, &(const struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	ri_mask_set(~RI_MASK_OF(SIGALRM));
	alarm((unsigned)(most_ms / 1000) + 2);
}

static void render(struct ri_hang *hang, const struct ri_autopsy_job *job,
	struct ri_autopsy_answer *answer)
{
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

static size_t list_living(const struct ri_children *children, pid_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives)
			out[count++] = children->items[i].pid;
	return count;
}

void ri_autopsy_help(const struct ri_autopsy_job *job, struct ri_autopsy_answer *answer)
{
	static pid_t own[RI_MAX_LOCAL];
	struct ri_autopsy_wish wish = job->wish;
	struct ri_autopsy_region *region;

	wish.own = own;
	wish.own_count = list_living(job->children, own);
	ri_autopsy_become_onlooker(own[0], wish.root, wish.most_ms);
	region = ri_autopsy_open();
	if (region == NULL || !ri_autopsy_examine(region, &wish))
		_exit(1);
	if (wish.once)
		watch(&region->hang, answer);
	else
		render(&region->hang, job, answer);
	answer->whole = true;
	_exit(0);
}
