/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/obituary.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/path.h"
#include "base/signals.h"
#include "base/text.h"
#include "system/log.h"

void ri_oom_watch(struct ri_oom *oom)
{
	oom->host = (struct ri_host){ .root = AT_FDCWD, .live = true };
	oom->known = ri_cgroup_oom_find(&oom->host, &oom->file, &oom->kills) == 0;
}

bool ri_oom_is_counted(struct ri_oom *oom)
{
	uint64_t kills;

	return oom->known && ri_cgroup_oom_read(&oom->host, &oom->file, &kills) == 0 &&
		kills > oom->kills;
}

/* Only a SIGKILL can come from the out-of-memory killer. */
static void add_oom(struct ri_text *out, struct ri_oom *oom)
{
	uint64_t kills;

	if (!oom->known || ri_cgroup_oom_read(&oom->host, &oom->file, &kills) < 0)
		ri_text_add(out, "; the cgroup does not show whether memory ran out");
	else if (kills > oom->kills)
		ri_text_addf(out, ": out of memory (the cgroup's oom_kill count rose from %llu to "
			"%llu)",
			(unsigned long long)oom->kills, (unsigned long long)kills);
	else
		ri_text_add(out, ", not for lack of memory, by the cgroup's count");
}

void ri_obituary_say(const struct ri_child *child, const char *command, int64_t rank,
	const struct ri_stop *stop, struct ri_oom *oom)
{
	int status = child->wait_status, number = WTERMSIG(status);
	char buffer[RI_MAX_LINE], name[RI_SIGNAL_NAME];
	long kib = child->peak_kib;
	struct ri_text out;

	if (!WIFSIGNALED(status))
		return;
	ri_text_init(&out, buffer, sizeof(buffer));
	if (rank >= 0)
		ri_text_addf(&out, "rank %lld", (long long)rank);
	else
		ri_text_addf(&out, "%.64s", ri_path_name(command));
	ri_text_addf(&out, " (pid %d) was killed by %s (%d)", (int)child->pid,
		ri_signal_name(number, name), number);
	if (WCOREDUMP(status))
		ri_text_add(&out, ", core dumped");
	if (number == SIGKILL)
		add_oom(&out, oom);
	if (kib >= 1024 * 1024)
		ri_text_addf(&out, "; peak memory %.1f GiB", (double)kib / (1024 * 1024));
	else if (kib >= 1024)
		ri_text_addf(&out, "; peak memory %ld MiB", kib / 1024);
	else
		ri_text_addf(&out, "; peak memory %ld KiB", kib);
	if (stop->asked && stop->at_ms <= child->ended_ms) {
		ri_text_addf(&out, "; %lld ms after a stop from ",
			(long long)(child->ended_ms - stop->at_ms));
		if (stop->by_terminal)
			ri_text_add(&out, "the terminal");
		else if (stop->sender == 0)
			ri_text_add(&out, "outside this container");
		else
			ri_text_addf(&out, "pid %d of uid %u", (int)stop->sender,
				(unsigned)stop->sender_uid);
	}
	ri_log(RI_LEVEL_ALWAYS, "%s", buffer);
}
