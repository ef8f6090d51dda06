/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/autopsy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang/hang.h"
#include "hang/look.h"
#include "hang/together.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/log.h"

enum {
	AGAIN_MS = 10000,	/* between two by signal */
	ROOM = 16 << 20,	/* many times what a look at a hundred processes takes */
	LOSS_LINES = 14,	/* of a verdict that has lines of its own */
	WATCHES = 4,		/* in the time of --stall */
	BLIND_REASONS = 4,	/* that are told to people at most */
};

static const struct reason {
	const char *name;	/* for programs */
	int64_t interval_ms, most_ms;
	bool takes_time;	/* a person who sent the signal, or set --stall, waits for it */
	const char *headline;	/* of its lines; NULL: no lines are said */
} reasons[] = {
	[RI_AUTOPSY_ASKED] = { "asked", 200, 20000, true, "what the processes do:" },
	/* the stop waits half a second for the look */
	[RI_AUTOPSY_STOP] = { "stop", 40, 450, false,
		"the job had been silent; what its processes did before this stop:" },
	/* the other ranks are stopped two seconds after the loss at most */
	[RI_AUTOPSY_LOSS] = { "loss", 200, 1500, false, NULL },
	[RI_AUTOPSY_STALL] = { "stall", 200, 20000, true,
		"no rank moves any more; what its processes do:" },
	[RI_AUTOPSY_WATCH] = { "watch", 200, 20000, false, NULL },
	/* node 0's helper waits for both by link/centre.h, and says what was found */
	[RI_AUTOPSY_JOB] = { "job", 200, 1500, false, NULL },
	[RI_AUTOPSY_JOB_SOON] = { "job", 40, 450, false, NULL },
};

/* The page that a process that looks shares with PID 1, which trusts none of it. */
struct answer {
	volatile bool whole;	/* all of the rest was written */
	bool no_room;		/* or nothing: the memory of the cgroup is about to end */
	bool moved;		/* a rank has, since the look before, or that cannot be known */
	bool has_document;	/* in documents, at the place that free_document gives */
	struct ri_hang_moment moments[RI_MAX_LOCAL];	/* for the next one that asks this */
	char groups[RI_GROUPS_MAX];	/* for the other nodes of the job */
	char lines[RI_HANG_SHOWN];	/* or why a watch cannot see a rank, "" where it can */
	char documents[2][1 << 20];	/* one of them is kept while the other is written */
};

static struct {
	const struct ri_options *options;
	const struct ri_children *children;	/* NULL: ri_autopsy_plan was not called */
	const struct ri_stop *stop;
	struct answer *answer;
	pid_t helper;		/* 0: none */
	enum ri_autopsy_why why;	/* of the helper, or the last one */
	int64_t watch_at;	/* --stall: the next look whether a rank moves, a watch; 0: never */
	int64_t since;		/* ... since then no rank has moved */
	unsigned blind;		/* ... watches in a row that could not see a rank */
	size_t blind_count;	/* ... how many blind_reasons were told to people */
	bool told_blind;	/* ... and not yet that watches see all ranks again */
	int64_t asked;		/* when a signal was followed last; 0: never */
	char *document;		/* the last one that was whole; NULL: there is none */
	bool refused;
	bool has_link;
	bool stalled;		/* a watch found that, and the other nodes were not asked yet */
	bool told;		/* --autopsy-signal came, and the other nodes were not asked yet */
	bool stall_waits;	/* its own look follows that of all nodes */
	bool job_waits;		/* ... and that one follows the watch */
	bool has_groups;	/* that were not taken */
	/* behind what each start writes: these are large */
	char blind_reasons[BLIND_REASONS][RI_HANG_COLUMNS];	/* of watches */
	char loss[RI_HANG_SHOWN];
	char groups[RI_GROUPS_MAX];
} own;

bool ri_autopsy_is_wanted(const struct ri_options *options)
{
	return options->autopsy_signal != 0 || options->stall_ms > 0 ||
		(options->given.autopsy_after.subject != NULL && options->autopsy_after_ms > 0);
}

bool ri_autopsy_needs_admission(const struct ri_options *options)
{
	return ri_autopsy_is_wanted(options) && ri_look_yama() == 1;
}

void ri_autopsy_plan(const struct ri_options *options, const struct ri_children *children,
	const struct ri_stop *stop, bool has_link)
{
	own.options = options;
	own.has_link = has_link;
	own.children = children;
	own.stop = stop;
}

static int64_t next_watch(void)
{
	return ri_now_ms() + (int64_t)(own.options->stall_ms / WATCHES) + 1;
}

void ri_autopsy_begin(void)
{
	if (own.options->stall_ms == 0)
		return;
	own.since = ri_now_ms();
	own.watch_at = next_watch();
}

/* statx(2), and struct statx of linux/stat.h, which C libraries have not had for long. */
enum {
	EMPTY_PATH = 0x1000, DONT_SYNC = 0x4000,
	MASK_TYPE = 0x1, MASK_MTIME = 0x40,
};

struct status {
	uint32_t mask, block_size;
	uint64_t attributes;
	uint32_t links, uid, gid;
	uint16_t mode, spare;
	uint64_t others[10];	/* up to the fourth of the times, which is of the content */
	int64_t seconds;
	uint32_t nanoseconds;
	unsigned char rest[256 - 124];
};

_Static_assert(sizeof(struct status) == 256, "struct statx");

/*
 * When a process last wrote to what standard output or error is (CLOCK_REALTIME): the kernel notes
 * it for pipes and files, and for terminals every eight seconds. It asks no server of a file, so
 * that it never waits. False where it cannot be known, as of a socket or /dev/null.
 */
static bool find_last_output(struct timespec *last)
{
	bool known = false;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		struct status status = { .mask = 0 };

		if (syscall(SYS_statx, fd, "", EMPTY_PATH | DONT_SYNC, MASK_TYPE | MASK_MTIME,
			    &status) < 0 || (status.mask & MASK_MTIME) == 0)
			continue;
		if (!S_ISFIFO(status.mode) && !S_ISREG(status.mode) &&
			(!S_ISCHR(status.mode) || !isatty(fd)))
			continue;
		if (!known || status.seconds > last->tv_sec)
			*last = (struct timespec){ .tv_sec = status.seconds,
				.tv_nsec = status.nanoseconds };
		known = true;
	}
	return known;
}

/* Was the job silent for so long? False where that cannot be known. */
static bool is_silent(uint64_t ms)
{
	struct timespec now, last;

	if (!find_last_output(&last))
		return false;
	if (last.tv_sec < own.children->items[0].started.tv_sec)
		last = own.children->items[0].started;
	ri_clock_read(CLOCK_REALTIME, &now);
	return (now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 >=
		(int64_t)ms;
}

bool ri_autopsy_is_silent(void)
{
	return own.children != NULL && own.options->autopsy_after_ms > 0 &&
		is_silent(own.options->autopsy_after_ms);
}

/* The place of the next document: the last one is kept. */
static char *free_document(void)
{
	return own.answer->documents[own.document == own.answer->documents[0]];
}

/* --- in the process that looks -------------------------------------------- */

static void look(void *context)
{
	const struct ri_look_wish *wish = context;
	struct ri_look_region *region = ri_look_open();
	struct ri_host host = { .root = AT_FDCWD, .live = true };
	static struct ri_cgroup_oom file;
	uint64_t kills, room;
	struct ri_json json = { .escapes = 0 };
	const struct ri_hang_process *unseen;
	struct ri_text out;

	/*
	 * If the memory of a cgroup ends, the kernel kills its largest process, even if a smaller
	 * one asked for more: our look would cost a rank.
	 */
	own.answer->no_room = ri_cgroup_oom_find(&host, &file, &kills) == 0 &&
		ri_cgroup_room(&host, &file, &room) == 0 && room < ROOM;
	if (own.answer->no_room)
		return;
	if (region == NULL || !ri_look_examine(region, wish))
		_exit(1);
	out = ri_text_of(own.answer->lines, sizeof(own.answer->lines));
	if (wish->once) {
		unseen = ri_hang_find_unreadable(&region->hang);
		if (unseen != NULL)
			ri_hang_say_unreadable(&region->hang, unseen, &out);
		own.answer->moved = ri_hang_has_moved(&region->hang, own.answer->moments,
			RI_MAX_LOCAL);
	} else {
		ri_hang_say(&region->hang, &out);
		out = ri_text_of(free_document(), sizeof(own.answer->documents[0]));
		own.answer->has_document = own.options->given.report.value != NULL &&
			ri_json_end(&json, ri_hang_json(&json, &region->hang), JSON_COMPACT,
				&out) == 0;
		if (own.has_link)
			ri_groups_write(&region->hang, own.answer->groups);
	}
	own.answer->whole = true;
}

/* --- in PID 1 -------------------------------------------------------------- */

static pid_t start(enum ri_autopsy_why why)
{
	static pid_t living[RI_MAX_LOCAL];
	const struct reason *reason = &reasons[why];
	struct ri_look_wish wish = {
		.root = getpid(), .own = living, .now_ms = ri_now_ms, .why = reason->name,
		.interval_ms = reason->interval_ms, .most_ms = reason->most_ms,
		.takes_time = reason->takes_time, .once = why == RI_AUTOPSY_WATCH,
		.after_loss = why == RI_AUTOPSY_LOSS,
	};

	for (size_t i = 0; i < own.children->started; i++)
		if (own.children->items[i].lives)
			living[wish.own_count++] = own.children->items[i].pid;
	return ri_helper_start(&(struct ri_helper_task){
		.body = look, .context = &wish, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = "rankinit-look", .owned = living[0],
		.seconds = (unsigned)(reason->most_ms / 1000) + 2,
	});
}

static bool refuse(void)
{
	if (!own.refused)
		ri_log(RI_LEVEL_WARNING, "autopsy: there is no process or no memory for it: %s; "
			"the job goes on without it [%s]", strerror(errno),
			ri_code_name(RI_CODE_AUTOPSY_REFUSED));
	own.refused = true;
	return false;
}

static bool is_of_job(void)
{
	return own.why == RI_AUTOPSY_JOB || own.why == RI_AUTOPSY_JOB_SOON;
}

bool ri_autopsy_ask(enum ri_autopsy_why why)
{
	if (own.children == NULL || own.children->living == 0)
		return false;
	ri_autopsy_take(NULL);
	if (own.helper != 0) {
		/* the other nodes heard of the stop first, and asked for this look: it will do */
		if (why != RI_AUTOPSY_STOP || !ri_autopsy_is_together())
			return false;
		own.why = why;
		return true;
	}
	if (own.answer == NULL)
		own.answer = ri_pages_shared(sizeof(*own.answer));
	if (own.answer == NULL)
		return refuse();
	own.why = why;
	own.answer->whole = own.answer->no_room = false;
	own.answer->groups[0] = '\0';
	own.helper = start(why);
	return own.helper != 0 || refuse();
}

bool ri_autopsy_ask_again(const siginfo_t *info)
{
	int64_t now = ri_now_ms();

	if (own.children == NULL)
		return false;
	if ((own.asked != 0 && now - own.asked < AGAIN_MS) || !ri_autopsy_ask(RI_AUTOPSY_ASKED))
		return true;
	own.asked = now;
	own.told = own.has_link;
	ri_log(RI_LEVEL_NOTE, "autopsy: %s from pid %d of uid %u",
		RI_SIGNAL_SHOWN(info->si_signo), (int)info->si_pid, (unsigned)info->si_uid);
	return true;
}

static void say(void)
{
	struct ri_span rest = ri_span_of(own.answer->lines), line;
	const char *headline = reasons[own.why].headline;
	struct timespec last;

	if (own.why == RI_AUTOPSY_STALL && find_last_output(&last))
		headline = "no rank moves any more, and the job is silent; what its processes do:";
	ri_log(RI_LEVEL_ALWAYS, "autopsy: %s", headline);
	while (ri_span_line(&rest, &line))
		ri_log(RI_LEVEL_ALWAYS, "  %.*s", (int)line.length, line.at);
}

/* The first lines of it, where it stands below the verdict. */
static void keep_loss(void)
{
	const char *end = own.answer->lines;

	for (int lines = 0; lines < LOSS_LINES && *end != '\0'; lines++) {
		end += strcspn(end, "\n");
		end += *end == '\n';
	}
	memcpy(own.loss, own.answer->lines, (size_t)(end - own.answer->lines));
	own.loss[end - own.answer->lines] = '\0';
}

/*
 * A watch is over, or its process ended without an answer. Returns whether no rank has moved for
 * --stall, and the job was silent or that cannot be known.
 */
static bool note_watch(void)
{
	const char *why = own.answer->lines;
	bool told = own.blind_count == BLIND_REASONS;
	int64_t now = ri_now_ms();
	struct timespec last;

	own.answer->lines[sizeof(own.blind_reasons[0]) - 1] = '\0';
	if (!own.answer->whole)
		why = "the process that looks ends before it has an answer";
	own.blind = *why == '\0' ? 0 : own.blind + 1;
	/* each reason is told once, and BLIND_REASONS of them at most */
	for (size_t i = 0; i < own.blind_count; i++)
		told = told || strcmp(own.blind_reasons[i], why) == 0;
	/* a program may still start, so the warning comes only after a whole time of --stall */
	if (own.blind >= WATCHES && !told) {
		ri_text_copy(own.blind_reasons[own.blind_count++],
			sizeof(own.blind_reasons[0]), why);
		own.told_blind = true;
		ri_log(RI_LEVEL_WARNING, "autopsy: --stall cannot see whether a rank moves: %s "
			"[%s]", why, ri_code_name(RI_CODE_AUTOPSY_BLIND));
	} else if (own.blind == 0 && own.told_blind) {
		own.told_blind = false;
		if (ri_log_shows(RI_LEVEL_WARNING))
			ri_log(RI_LEVEL_ALWAYS, "autopsy: --stall sees all ranks again");
	}
	if (!own.answer->whole || own.answer->moved)
		own.since = now;
	return now - own.since >= (int64_t)own.options->stall_ms &&
		(is_silent(own.options->stall_ms) || !find_last_output(&last));
}

static void conclude(int status)
{
	struct answer *answer = own.answer;

	if (answer->no_room) {
		errno = ENOMEM;
		refuse();
	}
	if (own.why == RI_AUTOPSY_WATCH) {
		/* one report is enough: --stall watches no more, even if a look fails */
		if (!answer->no_room && note_watch()) {
			own.watch_at = 0;
			own.stalled = own.has_link;
			own.stall_waits = true;
		}
		if (own.stalled || own.job_waits)
			own.has_groups = !ri_autopsy_ask(RI_AUTOPSY_JOB);
		own.job_waits = false;
		return;
	}
	if (!answer->whole)
		answer->groups[0] = '\0';
	answer->groups[sizeof(answer->groups) - 1] = '\0';
	memcpy(own.groups, answer->groups, sizeof(own.groups));
	own.has_groups = own.has_link;
	if (!answer->whole) {
		if (reasons[own.why].takes_time && !answer->no_room)
			ri_log(RI_LEVEL_WARNING, "autopsy: the process that looks %s before it had "
				"an answer; look from outside: rankinit --autopsy %d [%s]",
				!WIFSIGNALED(status) ? "ended" : WTERMSIG(status) == SIGALRM
				? "ran out of time" : "was killed", (int)getpid(),
				ri_code_name(RI_CODE_AUTOPSY_UNFINISHED));
		return;
	}
	answer->lines[sizeof(answer->lines) - 1] = '\0';
	if (answer->has_document) {
		own.document = free_document();
		own.document[sizeof(answer->documents[0]) - 1] = '\0';
	}
	if (own.why == RI_AUTOPSY_LOSS)
		keep_loss();
	else if (!is_of_job() &&
		(own.why == RI_AUTOPSY_ASKED || ri_log_shows(RI_LEVEL_WARNING)))
		say();
}

void ri_autopsy_take(void *context)
{
	int status = 0;

	(void)context;
	if (!ri_helper_reap(&own.helper, &status))
		return;
	conclude(status);
	if (own.helper != 0 || !own.stall_waits)
		return;
	own.stall_waits = false;
	ri_autopsy_ask(RI_AUTOPSY_STALL);
}

bool ri_autopsy_look_together(bool soon)
{
	bool begins = ri_autopsy_ask(soon ? RI_AUTOPSY_JOB_SOON : RI_AUTOPSY_JOB);

	own.job_waits = !begins && own.helper != 0 && own.why == RI_AUTOPSY_WATCH;
	return own.helper != 0;
}

const char *ri_autopsy_take_groups(void)
{
	bool has_groups = own.has_groups;

	own.has_groups = false;
	return has_groups ? own.groups : NULL;
}

bool ri_autopsy_wants_others(bool known)
{
	bool wants = (own.stalled && !known) || own.told;

	own.stalled = own.told = false;
	return wants;
}

bool ri_autopsy_is_looking(void)
{
	return own.helper != 0 && own.why == RI_AUTOPSY_STOP;
}

bool ri_autopsy_is_together(void)
{
	return own.helper != 0 && is_of_job();
}

/* Does --stall watch, and do all ranks run, as they shall? */
static bool watches(void)
{
	return own.watch_at != 0 && own.stop->signal == 0 &&
		own.children->living == own.children->started;
}

int64_t ri_autopsy_due(void *context)
{
	int64_t late = ri_helper_due(own.helper);

	(void)context;
	return !watches() || late < own.watch_at ? late : own.watch_at;
}

void ri_autopsy_act(void *context)
{
	ri_autopsy_take(context);
	if (!watches() || ri_now_ms() < own.watch_at)
		return;
	own.watch_at = next_watch();
	ri_autopsy_ask(RI_AUTOPSY_WATCH);
}

void ri_autopsy_end(void)
{
	ri_autopsy_take(NULL);
	ri_helper_end(&own.helper, 0, NULL);
}

const char *ri_autopsy_of_loss(void)
{
	return own.loss[0] != '\0' ? own.loss : NULL;
}

const char *ri_autopsy_document(void)
{
	return own.document;
}
