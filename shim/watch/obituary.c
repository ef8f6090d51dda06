/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/obituary.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/path.h"
#include "base/signals.h"
#include "base/text.h"
#include "redact/redact.h"
#include "system/log.h"

enum { SHOWN = 200 };	/* bytes of an exception */

void ri_verdict_watch(struct ri_oom *oom)
{
	oom->host = (struct ri_host){ .root = AT_FDCWD, .live = true };
	oom->known = ri_cgroup_oom_find(&oom->host, &oom->file, &oom->kills) == 0;
}

bool ri_verdict_is_oom(struct ri_oom *oom)
{
	uint64_t kills;

	return oom->known && ri_cgroup_oom_read(&oom->host, &oom->file, &kills) == 0 &&
		kills > oom->kills;
}

int ri_verdict_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

static void add_memory(struct ri_text *out, long kib)
{
	if (kib >= 1024 * 1024)
		ri_text_addf(out, "; peak memory %.1f GiB", (double)kib / (1024 * 1024));
	else if (kib >= 1024)
		ri_text_addf(out, "; peak memory %ld MiB", kib / 1024);
	else
		ri_text_addf(out, "; peak memory %ld KiB", kib);
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

static void add_stop(struct ri_text *out, const struct ri_end *end)
{
	ri_text_addf(out, "; %lld ms after a stop from ",
		(long long)(end->child->ended_ms - end->stop.at_ms));
	if (end->stop.by_terminal)
		ri_text_add(out, "the terminal");
	else if (end->stop.sender == 0)
		ri_text_add(out, "outside this container");
	else
		ri_text_addf(out, "pid %d of uid %u", (int)end->stop.sender,
			(unsigned)end->stop.sender_uid);
}

static void add_end(struct ri_text *out, const struct ri_end *end, struct ri_oom *oom)
{
	int status = end->child->wait_status, number = WTERMSIG(status);
	char name[RI_SIGNAL_NAME];

	ri_text_addf(out, " was killed by %s (%d)", ri_signal_name(number, name), number);
	if (WCOREDUMP(status))
		ri_text_add(out, ", core dumped");
	if (number == SIGKILL)
		add_oom(out, oom);
	add_memory(out, end->child->peak_kib);
}

void ri_verdict_obituary(const struct ri_end *end, struct ri_oom *oom)
{
	char buffer[RI_MAX_LINE];
	struct ri_text out;

	if (!WIFSIGNALED(end->child->wait_status))
		return;
	ri_text_init(&out, buffer, sizeof(buffer));
	if (end->rank >= 0)
		ri_text_addf(&out, "rank %lld", (long long)end->rank);
	else
		ri_text_addf(&out, "%.64s", ri_path_name(end->command));
	ri_text_addf(&out, " (pid %d)", (int)end->child->pid);
	add_end(&out, end, oom);
	if (end->stop.asked && end->stop.at_ms <= end->child->ended_ms)
		add_stop(&out, end);
	ri_log(RI_LEVEL_ALWAYS, "%s", buffer);
}

void ri_verdict_lingers(const char *who, struct ri_span exception, unsigned seconds,
	const char *held, bool ended)
{
	char shown[SHOWN];
	struct ri_text text;

	ri_text_init(&text, shown, sizeof(shown));
	ri_redact(&text, exception);
	ri_text_replace_controls(shown);
	ri_log(RI_LEVEL_ALWAYS, "%s raised %s and has not ended for %u s%s%s%s", who, shown,
		seconds, held[0] == '\0' ? "" : ": ", held, ended ? "; --linger stops it now" : "");
}

void ri_verdict_more_linger(unsigned count)
{
	ri_log(RI_LEVEL_ALWAYS, "and so have %u more ranks", count);
}

void ri_verdict_orphan(pid_t pid, int wait_status, bool warn)
{
	const enum ri_level level = warn ? RI_LEVEL_WARNING : RI_LEVEL_NOTE;
	char name[RI_SIGNAL_NAME];

	if (WIFSIGNALED(wait_status))
		ri_log(level, "reaped pid %d, killed by %s", (int)pid,
			ri_signal_name(WTERMSIG(wait_status), name));
	else
		ri_log(level, "reaped pid %d, exit status %d", (int)pid,
			WEXITSTATUS(wait_status));
}
