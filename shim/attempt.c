/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/signalling.h"
#include "launch/master.h"
#include "link/link.h"
#include "report/restarts.h"
#include "say/report_file.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/kept_fds.h"
#include "run.h"

enum {
	FIRST_FD = 3,
	MOST_FD = 1048576,
	GONE_MS = 1000,		/* for what SIGKILL has reached already */
	STEP_MS = 10,
	SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
};

static struct {
	int program, folder;	/* O_PATH; of no use before ri_attempt_prepare */
	int memory;		/* what is carried, sealed, */
	char **envp;		/* and the environment that names it */
	struct ri_carried *next;
	pid_t self;		/* PID 1's number and name, which are not the judge's */
	char name[RI_CARRIED_NAME];
	bool remains;		/* what the ranks left is still there */
	int error;		/* for which this program cannot be executed again; 0: none */
	bool alone;		/* what ran here has no rank */
	enum ri_again why;
	struct ri_again_case failed;
} own;

/* Where this process has left it for itself, and no other process could have changed it. */
static bool read_carried(struct ri_carried *out, int fd)
{
	struct stat info;
	char *bytes;
	int seals = fcntl(fd, F_GET_SEALS);
	bool ours;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &info) < 0 ||
		info.st_size < 1 || info.st_size > RI_CARRIED_SIZE)
		return false;
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	ours = ri_carried_read(out, bytes, (size_t)info.st_size) && out->pid == getpid();
	munmap(bytes, (size_t)info.st_size);
	return ours;
}

int ri_attempt_take(struct ri_run *run)
{
	const struct ri_range fds = { FIRST_FD, MOST_FD };
	const char *value = ri_env_get(&run->found.env, RI_CARRIED_VARIABLE);
	struct ri_carried *carried;
	uint64_t fd;

	carried = ri_pages(sizeof(*carried));
	if (carried == NULL)
		return ri_fail(&run->err, RI_CODE_MEMORY, RI_CARRIED_VARIABLE,
			"no memory left for what it names");
	if (ri_number_read(value, fds, &fd, NULL) != RI_NUMBER_OK ||
		!read_carried(carried, (int)fd)) {
		ri_finding_hint(ri_warn(&run->findings, RI_CODE_RESTARTS_FOREIGN,
			RI_CARRIED_VARIABLE,
			"is ignored: it names nothing that this rankinit has left for itself"),
			"unset it");
		return 0;
	}
	close((int)fd);
	fcntl(carried->program, F_SETFD, FD_CLOEXEC);
	if (carried->link.place > 0)
		fcntl(carried->link.place, F_SETFD, FD_CLOEXEC);
	if (carried->port.name > 0)
		fcntl(carried->port.name, F_SETFD, FD_CLOEXEC);
	ri_kept_fds_add(carried->port.name);
	ri_port_held = carried->port;
	ri_mask_inherited = carried->mask;
	prctl(PR_SET_NAME, carried->name, 0, 0, 0);
	run->found.carried = carried;
	return 0;
}

bool ri_attempt_may_be(const struct ri_found *found)
{
	return !found->options.disabled && ri_found_attempt(found) < found->options.restarts;
}

int ri_attempt_prepare(const struct ri_found *found, struct ri_error *err)
{
	const char *subject = found->options.given.restarts.subject;
	int program;

	if (!ri_attempt_may_be(found))
		return 0;
	own.next = ri_pages(sizeof(*own.next));
	own.self = getpid();
	prctl(PR_GET_NAME, own.name, 0, 0, 0);
	if (found->carried != NULL) {
		own.program = found->carried->program;
	} else {
		program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
		if (program < 0)
			program = open((const char *)getauxval(AT_EXECFN), O_PATH | O_CLOEXEC);
		own.program = ri_fd_move_up(program);
	}
	own.folder = ri_fd_move_up(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (own.next != NULL && own.program >= 0 && own.folder >= 0)
		return 0;
	ri_fail(err, RI_CODE_RESTARTS_REFUSED, subject, "rankinit's own program or the current "
		"folder cannot be kept open: %s", strerror(errno));
	return ri_fail_hint(err, "leave it out, or mount /proc");
}

/*
 * What a rank left would meet the ranks of the next attempt. A helper that is killed leaves its own
 * workers, which die with it; they are ours for a moment.
 */
static bool all_are_gone(int64_t wait_ms)
{
	int64_t until = ri_now_ms() + wait_ms;
	siginfo_t info;
	int status;
	pid_t pid;

	while ((pid = ri_children_reap(-1, &status, WNOHANG, NULL)) >= 0) {
		if (pid == 0 && ri_leftovers_are_gone())
			return true;
		if (pid == 0 && ri_now_ms() >= until)
			return false;
		if (pid == 0)
			ri_mask_wait_for(RI_MASK_OF(SIGCHLD), &info, STEP_MS);
	}
	return errno == ECHILD;
}

static int64_t lasted_ms(const struct ri_run *run)
{
	const struct timespec *began = &run->started.at;
	struct timespec now;

	ri_clock_read(CLOCK_REALTIME, &now);
	return (now.tv_sec - began->tv_sec) * 1000 + (now.tv_nsec - began->tv_nsec) / 1000000;
}

/* What is the same in each attempt, what the last one left, and how this one has failed. */
static void begin_next(const struct ri_run *run, struct ri_restart *failed)
{
	const struct ri_carried *before = run->found.carried;
	struct ri_carried *next = own.next;
	struct ri_text text;

	if (before != NULL) {
		*next = *before;
	} else {
		next->pid = own.self;
		next->began = run->started.at;
		next->mask = ri_mask_inherited;
		next->restarts.launcher = ri_restarts_own;
		memcpy(next->name, own.name, sizeof(next->name));
	}
	failed->number = ++next->attempt;
	next->program = own.program;
	next->port = ri_port_held;
	next->lines = run->started.output.lines;
	next->quick = ri_again_quick(next->quick, lasted_ms(run));
	failed->most = run->found.options.restarts;
	ri_clock_read(CLOCK_REALTIME, &failed->at);
	next->restarts.all++;
	if (next->restarts.count < RI_RESTARTS)
		next->restarts.items[next->restarts.count++] = *failed;
	text = ri_text_of(next->failure, sizeof(next->failure));
	ri_restart_add_failure(&text, failed);
	ri_text_replace_controls(next->failure);
}

/*
 * Sealed, and out of the way of what the ranks inherit. Returns false, and errno: also where the
 * next attempt would not take it, and would be the first of an endless row.
 */
static bool leave_carried(const struct ri_judged *answer)
{
	size_t done = 0;
	ssize_t count;

	own.memory = ri_memory_file("rankinit-carried", FIRST_FD);
	while (own.memory >= 0 && done < answer->carried_length) {
		count = write(own.memory, answer->carried + done, answer->carried_length - done);
		if (count <= 0)
			return false;
		done += (size_t)count;
	}
	if (own.memory < 0 || fcntl(own.memory, F_ADD_SEALS, SEALS) < 0)
		return false;
	errno = EINVAL;
	return read_carried(own.next, own.memory);
}

/* Returns NULL where memory is out. */
static char **make_environment(struct ri_run *run)
{
	const struct ri_given *key = &run->found.options.given.link_key;
	struct ri_env_edits edits = { .count = 0 };
	const struct ri_env_edit number = {
		RI_CARRIED_VARIABLE, ri_arena_number(&run->arena, (uint64_t)own.memory),
	};
	/* its place was wiped; what is carried has it */
	const struct ri_env_edit secret = { key->subject, NULL };

	if (number.value == NULL ||
		ri_env_edits_add(&edits, number, &run->arena, &run->err) < 0 ||
		(key->twin && ri_env_edits_add(&edits, secret, &run->arena, &run->err) < 0))
		return NULL;
	return ri_env_apply(&run->found.env, &edits, &run->arena, &run->err);
}

void ri_attempt_make_room(struct ri_run *run, int status)
{
	bool together = run->started.job.part.nodes > 1;

	if (own.next == NULL || (together ? ri_link_key() == NULL : status == 0))
		return;
	own.remains = !ri_helper_end_all() || !all_are_gone(GONE_MS);
	/* on a mount that is noexec by now, say; a kernel before Linux 5.8 does not tell */
	if (syscall(SYS_faccessat2, own.program, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
		errno == EACCES)
		own.error = EACCES;
}

/* The bytes that the next attempt begins with. */
static void carry(const struct ri_run *run, const struct ri_outcome *outcome, struct ri_judged *out)
{
	struct ri_verdict verdict = out->verdict;

	verdict.restarted = true;
	if (outcome->last_line != NULL)
		ri_text_copy(own.next->last_line, sizeof(own.next->last_line),
			ri_run_make_last_line(run, &verdict));
	out->carried_length = (uint32_t)ri_carried_write(own.next, out->carried);
}

bool ri_attempt_decide(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out)
{
	const struct ri_carried *before = run->found.carried;
	const struct ri_supervised *ended = &run->started.supervised;
	static struct ri_restart restart;
	struct ri_text text;

	if (run->found.options.disabled || run->found.options.restarts == 0 || status == 0)
		return false;
	own.alone = ri_outcome_is_alone(outcome);
	own.failed = (struct ri_again_case){
		.restarts = run->found.options.restarts, .attempt = ri_found_attempt(&run->found),
		.stopped = ended->interrupted || outcome->stop.signal != 0 ||
			ri_mask_pending_stop() != 0,
		.ordered = ended->ordered, .unstarted = run->started.children.refused != 0,
		.remains = own.remains, .error = own.error,
		.why = out->verdict.why,
		.signature = "", .before = before == NULL ? "" : before->signature,
		.lines = run->started.output.lines,
		.lines_before = before == NULL ? 0 : before->lines,
		.lasted_ms = lasted_ms(run),
	};
	if (own.next != NULL) {
		ri_restart_describe(&restart, outcome);
		begin_next(run, &restart);
		text = ri_text_of(own.next->signature, sizeof(own.next->signature));
		if (restart.known)
			ri_again_sign(&text, own.failed.why.cause, &restart.first, restart.words);
		own.failed.signature = own.next->signature;
	}
	own.why = ri_again_decide(&own.failed);
	if (own.why != RI_AGAIN_YES)
		return false;
	carry(run, outcome, out);
	return true;
}

bool ri_attempt_follow(struct ri_run *run, const struct ri_outcome *outcome, int status,
	struct ri_judged *out)
{
	const struct ri_link_decision *decision = ri_link_decision();
	static struct ri_restart restart;
	struct ri_carried *next = own.next;
	struct ri_verdict verdict;

	if (next == NULL || ri_link_key() == NULL)
		return false;
	own.failed.error = own.error;
	if (own.remains || own.error != 0) {
		own.why = own.remains ? RI_AGAIN_REMAINS : RI_AGAIN_REFUSED;
		return false;
	}
	verdict = decision->verdict;
	verdict.status = status;
	verdict.retries = ri_found_attempt(&run->found);
	ri_restart_describe_job(&restart, &verdict, decision->text);
	begin_next(run, &restart);
	next->link.on = true;
	memcpy(next->link.key, ri_link_key(), sizeof(next->link.key));
	next->link.place = ri_link_place();
	next->link.verdict = out->verdict;
	next->link.verdict.status = status;
	next->link.verdict.mark = decision->verdict.mark;
	next->link.verdict.node = decision->verdict.node;
	ri_text_copy(next->link.text, sizeof(next->link.text), decision->text);
	carry(run, outcome, out);
	return true;
}

bool ri_attempt_is_alone(void)
{
	/* no node leaves behind a stop */
	return all_are_gone(own.next == NULL || ri_mask_pending_stop() != 0 ? 0 : GONE_MS);
}

void ri_attempt_say_why_not(void)
{
	RI_TEXT(line, RI_MAX_LINE);

	if (own.why == RI_AGAIN_YES)
		return;
	ri_text_add(&line, own.alone ? "the command does not start again: "
		: "the ranks do not start again: ");
	ri_again_add(&line, own.why, &own.failed);
	ri_log(RI_LEVEL_ALWAYS, "%s", line.bytes);
}

void ri_attempt_say_before(const struct ri_run *run)
{
	const struct ri_carried *carried = run->found.carried;

	if (carried != NULL)
		ri_log(RI_LEVEL_ALWAYS, "before restart %llu: %s",
			(unsigned long long)carried->attempt, carried->failure);
}

void ri_attempt_say_again(const struct ri_run *run)
{
	const struct ri_carried *carried = run->found.carried;
	bool alone = run->started.children.count == 1 &&
		!ri_topology_knows(&run->found.topology, RI_FACT_RANK);

	if (carried != NULL)
		ri_log(RI_LEVEL_ALWAYS, "%s; %s again (restart %llu of %llu)", carried->failure,
			alone ? "it starts" : "the ranks start",
			(unsigned long long)carried->attempt,
			(unsigned long long)run->found.options.restarts);
}

void ri_attempt_execute(struct ri_run *run, const struct ri_judged *answer)
{
	siginfo_t info;

	errno = ENOMEM;
	if (leave_carried(answer) && (own.envp = make_environment(run)) != NULL &&
		fchdir(own.folder) == 0 &&
		fcntl(own.memory, F_SETFD, 0) == 0 && fcntl(own.program, F_SETFD, 0) == 0) {
		if (own.next->link.place > 0)
			fcntl(own.next->link.place, F_SETFD, 0);
		if (own.next->port.name > 0)
			fcntl(own.next->port.name, F_SETFD, 0);
		ri_said_forget();
		if (run->started.output.raised)
			setrlimit(RLIMIT_NOFILE, &run->started.output.files_before);
		ri_report_hand_on();
		/* a helper's socket or its end may have sent it: the next attempt has neither */
		while (ri_mask_wait_for(RI_MASK_OF(SIGIO), &info, 0) != 0)
			;
		syscall(SYS_execveat, own.program, "", run->argv, own.envp, AT_EMPTY_PATH);
		/* a profile may deny that one; and qemu-user knows itself by this name */
		execve("/proc/self/exe", run->argv, own.envp);
	}
	own.error = errno;
}
