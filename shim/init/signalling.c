/* SPDX-License-Identifier: Apache-2.0 */
#include "init/signalling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command/command.h"
#include "init/others.h"
#include "link/link.h"
#include "system/helper.h"

enum {
	GENERATIONS = 512,	/* between a descendant and rankinit, that are walked at most */
	SLOTS = 32768,		/* a power of two */
	MOST = SLOTS / 4 * 3,	/* so that a search ends soon */
	PASSES = 16,		/* over /proc, until a pass finds no new process */
	NAMED_MAX = 8,
	SPARING_PASSES = 10,	/* of killing, so that helpers live */
};

/* --- which processes are ours --- */

static pid_t self;
static bool spares_others;		/* what is not the job's */
static uint64_t begun;		/* when the first rank was started; 0: that is not known */

void ri_descendants_init(pid_t own_pid)
{
	self = own_pid;
}

void ri_descendants_spare_others(pid_t first_rank)
{
	struct ri_procstat rank;

	spares_others = true;
	begun = ri_descendants_are_shown() && ri_proc_read(first_rank, &rank) ? rank.started : 0;
}

/* Are there such, or may there be? Only where /proc shows them. */
static bool have_others(void)
{
	return self == 1 && spares_others && ri_descendants_are_shown();
}

bool ri_descendants_are_shown(void)
{
	return ri_proc_is_ours(self);
}

/* *process may be *out. False also where the parent has ended. */
static bool read_parent(const struct ri_procstat *process, struct ri_procstat *out)
{
	struct ri_procstat parent;

	/* one that began after its child got the number of a parent that has ended */
	if (!ri_proc_read(process->parent, &parent) || parent.started > process->started)
		return false;
	*out = parent;
	return true;
}

/* Of PID 1's namespace; the header has the rule. */
static bool is_of_job(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	for (int depth = 0; depth < GENERATIONS; depth++) {
		if (at.parent == 0 || at.started < begun)
			return false;
		if (at.parent != self) {
			/* it may have become an orphan meanwhile */
			if (!read_parent(&at, &at) && !ri_proc_read(at.pid, &at))
				return true;
			continue;
		}
		if (at.session == at.pid || at.session == getsid(0))
			return true;
		if (at.session == 0)
			return false;
		/* the kernel gives no process the number of a session that has members */
		if (!ri_proc_read(at.session, &at))
			return true;
	}
	return true;
}

/* PID 1 owns each process of its namespace, or of its job; else descendants alone are ours. */
static bool is_ours(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	/* rankinit's own helpers and their children end with it */
	if (process->pid == self || ri_helper_is_one(process->pid) ||
		ri_helper_is_one(process->parent))
		return false;
	if (self == 1)
		return !spares_others || is_of_job(process);
	for (int depth = 0; depth < GENERATIONS && at.parent > 1; depth++) {
		if (at.parent == self)
			return true;
		if (!read_parent(&at, &at))
			return false;
	}
	return at.parent == self;
}

bool ri_descendants_next(struct ri_proc_list *list, struct ri_procstat *out)
{
	pid_t pid;

	while ((pid = ri_proc_list_next(list)) != 0)
		if (ri_proc_read(pid, out) && is_ours(out))
			return true;
	return false;
}

/* --- which of them had their SIGTERM --- */

struct told {
	pid_t pid;		/* 0: the slot is free */
	pid_t group;
	uint64_t started;
	unsigned pass;		/* 0: forgotten */
};

static struct told table[SLOTS];
static size_t count;
static unsigned pass_now = 1;
static bool told_groups;

static struct told *find(pid_t pid)
{
	size_t at = (size_t)pid % SLOTS;

	while (table[at].pid != 0 && table[at].pid != pid)
		at = (at + 1) % SLOTS;
	return &table[at];
}

/* It had one: this process, not an earlier one of its number. */
static bool was_told(const struct ri_procstat *process)
{
	const struct told *found = find(process->pid);

	return found->pass != 0 && found->started == process->started;
}

/* The process of this number had one, before this pass began. */
static bool was_told_before(pid_t pid)
{
	const struct told *found = find(pid);

	return found->pass != 0 && found->pass < pass_now;
}

/* It gets one. Returns false where there is no room to remember it. */
static bool note_told(const struct ri_procstat *process)
{
	struct told *found = find(process->pid);

	if (found->pid == 0 && count++ >= MOST) {
		count = MOST;
		return false;
	}
	*found = (struct told){ process->pid, process->group, process->started, pass_now };
	return true;
}

/*
 * By pidfd, so that a pid reused since we read about it is not hit: the start
 * time is checked again once the pidfd holds the process. Kernels before 5.3
 * and some seccomp profiles have none.
 */
static void signal_process(const struct ri_procstat *process, int number)
{
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct ri_procstat now;

	if (fd < 0 && errno == ESRCH)
		return;
	if (!ri_proc_read(process->pid, &now) || now.started != process->started) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd < 0 || (syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 && errno != ESRCH))
		kill(process->pid, number);
	if (fd >= 0)
		close(fd);
}

void ri_signal_wake(pid_t pid)
{
	struct ri_procstat process;

	/* if /proc cannot tell, a process that runs gets it, too */
	if (!ri_descendants_are_shown() ||
		(ri_proc_read(pid, &process) && process.state == 'T'))
		kill(pid, SIGCONT);
}

void ri_signal_recheck(void)
{
	for (struct told *told = table; told < table + SLOTS; told++) {
		struct ri_procstat now;

		if (told->pass == 0 || !ri_proc_read(told->pid, &now) ||
			now.started != told->started)
			continue;
		if (now.group != told->group)
			told->pass = 0;
		else if (now.state == 'T')
			signal_process(&now, SIGCONT);
	}
}

/*
 * The child whose group it is in, or NULL. A group keeps its number as long as it has members, even
 * if its leader, the child, was reaped; and our children are in our session. So if a process has
 * that number again, or the session is another one, the group is a stranger's.
 */
static const struct ri_child *find_leader(const struct ri_children *children,
	const struct ri_procstat *process)
{
	const struct ri_child *leader = children->items, *end = leader + children->started;
	struct ri_procstat stranger;

	while (leader < end && leader->pid != process->group)
		leader++;
	if (leader == end || process->state == 'Z')
		return NULL;
	return leader->lives || (process->session == getsid(0) &&
		!ri_proc_read(leader->pid, &stranger)) ? leader : NULL;
}

void ri_spare_children(struct ri_children *children, bool groups)
{
	struct ri_procstat process;
	struct ri_proc_list list;

	if (!ri_descendants_are_shown())
		return;
	if (groups) {
		list = ri_proc_list_open("/proc");
		while (ri_descendants_next(&list, &process))
			if (find_leader(children, &process) != NULL) {
				note_told(&process);
				told_groups = true;
			}
		return;
	}
	for (size_t i = 0; i < children->started; i++)
		if (children->items[i].lives && ri_proc_read(children->items[i].pid, &process))
			note_told(&process);
}

/* Until its leader is reaped, the kernel gives a group's number to no other process. */
void ri_signal_children(const struct ri_children *children, int number, bool groups)
{
	struct ri_procstat process;
	struct ri_proc_list list;
	bool left = false;

	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];

		left = left || !child->lives;
		if (child->lives && (!groups || kill(-child->pid, number) < 0))
			ri_children_signal(child->pid, number);
	}
	if (!groups || !left || !ri_descendants_are_shown())
		return;
	list = ri_proc_list_open("/proc");
	while (ri_descendants_next(&list, &process)) {
		const struct ri_child *leader = find_leader(children, &process);

		if (leader != NULL && !leader->lives)
			signal_process(&process, number);
	}
}

/* --- what the command left behind --- */

static bool told_some;	/* beside the command and its group */
static bool too_many;	/* a process was not told, since the memory of those that were is full */
static bool parents_stop;	/* what is a living parent's is left to that */
static bool left_to_relay;	/* a process was not told, since another passes the stop on */
static char relay[sizeof(((struct ri_procstat *)NULL)->name)];	/* "": no other one */

/* As the kernel has it, cut after 15 bytes. */
void ri_leftovers_add_relay(const char *program)
{
	ri_text_copy(relay, sizeof(relay), ri_path_name(program));
}

/*
 * Is this process its living parent's to stop? A program that outlives a SIGTERM has caught it, and
 * passes it on, as launchers do, or needs its children for a checkpoint. A shell runs its trap at
 * once where it started this process with "&", but only after the end of one that it waits for:
 * that one is not told. A shell without job control lets what it starts with "&" ignore SIGINT
 * (POSIX, Shell Command Language, 2.11), unless it ignores that itself. Where /proc does not show
 * what the parent is, all are told. Not to be asked of a child of rankinit.
 */
static bool is_left_to_parent(const struct ri_procstat *process)
{
	const uint64_t bit = UINT64_C(1) << (SIGINT - 1);
	char program[PATH_MAX];
	struct ri_procstat parent;

	/* ptrace(2): not shown of a process of another user to one without privileges */
	if (!read_parent(process, &parent) || parent.dying ||
		!ri_proc_link(program, sizeof(program), "/proc/%d/exe", (int)parent.pid))
		return false;
	return ri_word_shell(program) == NULL ||
		((process->ignored & bit) != 0 && (parent.ignored & bit) == 0);
}

/*
 * Launchers that pass a SIGTERM on to what they started, each in its own time:
 * Open MPI 4 and 5 (mpirun is a link to orterun or prterun) and their daemons,
 * MPICH's Hydra, torchrun, and another rankinit, which may have another name.
 */
bool ri_leftovers_is_relay(const struct ri_procstat *process)
{
	/* as the kernel has them, cut after 15 bytes */
	static const char *const names[] = {
		"mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec", "mpiexec.openmpi",
		"mpiexec.mpich", "mpiexec.hydra", "orterun", "orted", "prterun", "prted",
		"hydra_pmi_proxy", "hydra_bstrap_pr", "torchrun", "rankinit",
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (strcmp(process->name, names[i]) == 0)
			return process->state != 'Z';
	return relay[0] != '\0' && strcmp(process->name, relay) == 0 && process->state != 'Z';
}

/* Does its launcher live? Then that passes SIGTERM on, and ours would be a second one. */
static bool has_relay(const struct ri_procstat *process)
{
	struct ri_procstat at = *process;

	for (int depth = 0; depth < GENERATIONS && at.parent > 1 && at.parent != self; depth++) {
		if (!read_parent(&at, &at))
			return false;
		if (ri_leftovers_is_relay(&at))
			return true;
	}
	return false;
}

static bool have_relay(void)
{
	struct ri_proc_list list = ri_proc_list_open("/proc");
	struct ri_procstat process;
	bool found = false;

	while (ri_descendants_next(&list, &process))
		found |= ri_leftovers_is_relay(&process);
	return found;
}

/* Its SIGTERM, unless another process passes that on. Returns whether it got it. */
static bool tell(const struct ri_procstat *process)
{
	if (has_relay(process) || (parents_stop && process->parent != self &&
					  is_left_to_parent(process))) {
		left_to_relay = true;
		return false;
	}
	if (!note_told(process)) {
		too_many = true;
		return false;
	}
	ri_log(RI_LEVEL_NOTE, "SIGTERM to %s (pid %d)", process->name, (int)process->pid);
	signal_process(process, SIGTERM);
	if (process->state == 'T')
		signal_process(process, SIGCONT);
	return true;
}

/* children_of_told: in the first pass; later ones look for processes that it missed. */
static void tell_one_by_one(bool children_of_told)
{
	struct ri_procstat process;
	struct ri_proc_list list;
	bool said = too_many, found = true;

	told_some = true;
	left_to_relay = false;
	for (int pass = 0; pass < PASSES && found; pass++) {
		found = false;
		pass_now++;
		list = ri_proc_list_open("/proc");
		while (ri_descendants_next(&list, &process))
			if (process.state != 'Z' && !was_told(&process) &&
				((pass == 0 && children_of_told) ||
				!was_told_before(process.parent)))
				found |= tell(&process);
		if (list.refused)
			ri_log(RI_LEVEL_WARNING, "cannot look for remaining processes: /proc "
						 "cannot be listed: %s", strerror(errno));
	}
	if (too_many && !said)
		ri_log(RI_LEVEL_WARNING, "more processes remain than rankinit can signal one by "
					 "one; the others are not signalled");
}

/* All had a SIGTERM at once: none is to get another one, and one that is stopped is to see it. */
static void note_all(void)
{
	struct ri_proc_list list = ri_proc_list_open("/proc");
	struct ri_procstat process;

	while (ri_descendants_next(&list, &process)) {
		note_told(&process);
		if (process.state == 'T')
			signal_process(&process, SIGCONT);
	}
}

void ri_leftovers_stop(bool command_lives, bool passes_on)
{
	bool ours = ri_descendants_are_shown();
	bool at_once = !command_lives && !told_some && !told_groups && !have_others() &&
		!(ours && have_relay());

	parents_stop = command_lives && passes_on;
	/* a seccomp profile may deny it */
	if (self == 1 && (at_once || !ours) && (kill(-1, SIGTERM) == 0 || errno == ESRCH)) {
		told_some = true;
		if (ours)
			note_all();
		else
			kill(-1, SIGCONT);
		return;
	}
	if (ours)
		tell_one_by_one(true);
	else
		ri_log(RI_LEVEL_WARNING, "cannot look for remaining processes: /proc belongs to "
					 "another PID namespace; mount a new one there");
}

void ri_leftovers_stop_orphans(void)
{
	if (left_to_relay && ri_descendants_are_shown())
		tell_one_by_one(false);
}

/* A process that lives? */
static bool has_child(pid_t parent)
{
	struct ri_proc_list list = ri_proc_list_open("/proc");
	struct ri_procstat process;
	bool found = false;

	while (ri_descendants_next(&list, &process))
		found |= process.parent == parent && process.state != 'Z';
	return found;
}

void ri_leftovers_say_shell(const struct ri_children *children)
{
	for (size_t i = 0; i < children->started; i++) {
		const struct ri_child *child = &children->items[i];
		struct ri_procstat process;
		char program[PATH_MAX];
		const char *name;

		if (!child->lives || !ri_descendants_are_shown() ||
			!ri_proc_read(child->pid, &process))
			continue;
		/*
		 * A script has its own name there, so the file that is executed decides, and the
		 * name only where the kernel does not show that file.
		 */
		name = ri_word_shell(ri_proc_link(program, sizeof(program), "/proc/%d/exe",
			(int)child->pid) ? program : process.name);
		if (name == NULL || !has_child(child->pid))
			continue;
		ri_log(RI_LEVEL_WARNING, "waiting for %s (pid %d), which handles SIGTERM only "
			"after the program that it runs has ended; with --grace=25 rankinit stops "
			"that program too", name, (int)child->pid);
		return;
	}
}

void ri_leftovers_kill(void)
{
	static int passes;
	struct ri_procstat process;
	struct ri_proc_list list;
	/*
	 * The link's helper tells the other nodes how this ends, and that of others' ranks sees how
	 * those do; after some passes they die, too.
	 */
	bool spares = (ri_link_is_on() || ri_others_are_watched()) && passes++ < SPARING_PASSES &&
		ri_descendants_are_shown();

	if (self == 1 && !spares && !have_others() &&
		(kill(-1, SIGKILL) == 0 || errno == ESRCH))
		return;
	if (!ri_descendants_are_shown())
		return;
	list = ri_proc_list_open("/proc");
	while (ri_descendants_next(&list, &process))
		if (process.state != 'Z')
			signal_process(&process, SIGKILL);
}

bool ri_leftovers_are_gone(void)
{
	struct ri_procstat process;
	struct ri_proc_list list;
	bool found;

	if (!have_others())
		return false;
	list = ri_proc_list_open("/proc");
	found = ri_descendants_next(&list, &process);
	ri_proc_list_close(&list);
	return !found && !list.refused;
}

/* "python3 (12)", "sh (13, zombie of 12)" */
static void add_name(struct ri_text *out, const struct ri_procstat *process)
{
	ri_text_addf(out, "%s%s (%d", out->length > 0 ? ", " : "", process->name,
		(int)process->pid);
	if (process->state == 'Z')
		ri_text_addf(out, ", zombie of %d", (int)process->parent);
	else if (process->state == 'D')
		ri_text_add(out, ", uninterruptible");
	ri_text_add(out, ")");
}

void ri_leftovers_say(enum ri_level level, const char *what)
{
	RI_TEXT(names, 512);
	struct ri_procstat process;
	struct ri_proc_list list;
	int named = 0;

	if (!ri_descendants_are_shown()) {
		ri_log(level, "%s: /proc does not show which", what);
		return;
	}
	list = ri_proc_list_open("/proc");
	while (ri_descendants_next(&list, &process))
		/* our own zombies are about to be reaped */
		if ((process.state != 'Z' || process.parent != self) && named++ < NAMED_MAX)
			add_name(&names, &process);
	if (named > NAMED_MAX)
		ri_text_addf(&names, " and %d more", named - NAMED_MAX);
	if (named > 0)
		ri_log(level, "%s: %s", what, names.bytes);
}

/* --- by a Slurm step ------------------------------------------------------- */

/*
 * Do the signals reach more than the task? ".../job_7/step_0/..." is how
 * proctrack/cgroup names its groups, in version 1 and 2 alike (Slurm
 * src/plugins/cgroup). Where it cannot be read a signal that comes twice is
 * better than none.
 */
bool ri_step_tells_all(const struct ri_env *env)
{
	static char text[16384];
	const char *job, *step;

	/* set for every task of a step (Slurm src/common/env.c) */
	if (ri_env_get(env, "SLURM_STEP_ID") == NULL)
		return false;
	ri_proc_text(text, sizeof(text), "/proc/self/cgroup");
	for (job = strstr(text, "/job_"); job != NULL; job = strstr(job + 1, "/job_")) {
		step = strstr(job, "/step_");
		if (step != NULL && memchr(job, '\n', (size_t)(step - job)) == NULL)
			return false;
	}
	return text[0] != '\0';
}

bool ri_step_sent(const siginfo_t *info)
{
	char name[32];

	/* 0: a process of another PID namespace sent it, and which cannot be known */
	return info->si_code == SI_USER && info->si_pid != 0 &&
		ri_proc_text(name, sizeof(name), "/proc/%d/comm", (int)info->si_pid) > 0 &&
		strcmp(name, "slurmstepd\n") == 0;
}
