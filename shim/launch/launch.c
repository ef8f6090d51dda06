/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/image.h"
#include "launch/children.h"
#include "redact/redact.h"
#include "system/apart.h"
#include "system/held_path.h"
#include "system/mask.h"
#include "system/raw_call.h"

enum {
	STACK_SIZE = 16384,
	PID_DIGITS = 11,
	LOOK_MS = 100,		/* how long a stop may wait for a command that is not there yet */
};

enum step {
	STEP_GROUP,
	STEP_INPUT,
	STEP_AFFINITY,
	STEP_OUTPUT,
	STEP_PRIVILEGES,
	STEP_PARENT_GONE,
	STEP_EXEC,	/* exec_failure.c says why */
};

/* What a step is about; its failure is "cannot ...: ENOENT". */
static const struct {
	enum ri_code code;
	const char *what;	/* NULL: the step of the change says it, or it is said apart */
	const char *hint;
} steps[] = {
	[STEP_GROUP] = { RI_CODE_SPAWN_REFUSED, "lead a process group", NULL },
	[STEP_INPUT] = { RI_CODE_SPAWN_REFUSED, "get /dev/null as stdin", NULL },
	[STEP_AFFINITY] = { RI_CODE_PLACEMENT_REFUSED, "be bound to its CPUs",
		"allow sched_setaffinity in the seccomp profile, or leave --bind-to out" },
	[STEP_OUTPUT] = { RI_CODE_SPAWN_REFUSED, "get its stdout and stderr", NULL },
	[STEP_PRIVILEGES] = { RI_CODE_PRIVILEGE_REFUSED, NULL,
		"run the container as root, or without --user and --cap-*" },
	[STEP_PARENT_GONE] = { RI_CODE_SPAWN_REFUSED, NULL, NULL },
	[STEP_EXEC] = { RI_CODE_EXEC_DENIED, NULL, NULL },
};

/*
 * All that the child needs, made before the clone. The child runs in our
 * memory: it calls system calls only and writes here and nowhere else.
 */
struct child {
	const struct ri_launch *launch;
	enum step failed;	/* where sys_errno is not 0 */
	const char *privilege;	/* the step of that which failed */
	const char *volatile trying;	/* the candidate that it executes */
	int sys_errno;
	struct ri_error *err;	/* for us, once it has failed */
};

static const char *value_of(char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return *envp + length + 1;
	return NULL;
}

/*
 * The paths that execvp(3) would try. A command with a slash is its own only
 * candidate; an empty element of PATH is the current directory (POSIX).
 */
static char *list_candidates(const struct ri_launch *launch, struct ri_arena *arena)
{
	const char *command = launch->argv[0], *path = launch->path;
	size_t command_length = strlen(command), elements = 1;
	char *list, *end;

	if (strchr(command, '/') != NULL || command[0] == '\0')
		path = NULL;
	for (const char *p = path; p != NULL && *p != '\0'; p++)
		elements += *p == ':';
	list = ri_arena_alloc(arena, (path == NULL ? 0 : strlen(path)) +
			elements * (command_length + 2) + 1);
	if (list == NULL)
		return NULL;
	end = list;
	while (path != NULL) {
		size_t length = strcspn(path, ":");

		end += sprintf(end, "%.*s%s%s", (int)length, path, length == 0 ? "" : "/", command);
		end++;
		path = path[length] == ':' ? path + length + 1 : NULL;
	}
	if (end == list && command[0] != '\0')
		memcpy(end, command, command_length);
	return list;
}

int ri_launch_prepare(struct ri_launch *launch, struct ri_arena *arena, struct ri_error *err)
{
	static const char name[] = "LISTEN_PID=";
	const char *value = value_of(launch->envp, "LISTEN_PID");
	char own[PID_DIGITS + 1], *text = NULL;

	/* one that means us (sd_listen_fds(3)) must mean the command */
	snprintf(own, sizeof(own), "%d", (int)launch->self);
	if (value != NULL && strcmp(value, own) == 0)
		text = ri_arena_format(arena, "%s%0*d", name, PID_DIGITS, 0);
	for (char **envp = launch->envp; text != NULL && *envp != NULL; envp++)
		if (*envp + strlen(name) == value)
			*envp = text;
	launch->listen_pid = text == NULL ? NULL : text + strlen(name);
	launch->path = value_of(launch->envp, "PATH");
	if (launch->path == NULL)
		launch->path = ri_default_path;
	launch->candidates = list_candidates(launch, arena);
	if (launch->candidates == NULL)
		return ri_fail(err, RI_CODE_MEMORY, launch->argv[0],
			"no memory left to search for it");
	return 0;
}

static void write_pid(char *out, pid_t pid)
{
	char digits[PID_DIGITS];
	int count = 0;

	for (; pid > 0; pid /= 10)
		digits[count++] = (char)('0' + pid % 10);
	while (count > 0)
		*out++ = digits[--count];
	*out = '\0';
}

/* Not there: glibc's execvp(3) too goes on past stale and dead mounts. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
		error == ETIMEDOUT;
}

/*
 * Try the candidates in turn. Like the shells, go on past what is not there,
 * and remember that something was there but not for us. This may take long,
 * and errno is not ours alone.
 */
static void execute(struct child *child)
{
	const struct ri_launch *launch = child->launch;
	int error = ENOENT, denied = 0;

	for (const char *path = launch->candidates; *path != '\0'; path += strlen(path) + 1) {
		child->trying = path;
		error = (int)-ri_raw_call(SYS_execve, ri_raw(path), ri_raw(launch->argv),
			ri_raw(launch->envp), 0, 0);
		if (error == EACCES)
			denied = EACCES;
		else if (!is_absent(error))
			break;
	}
	child->failed = STEP_EXEC;
	child->sys_errno = is_absent(error) && denied ? denied : error;
}

/* The order is a contract of its own: each line says why it stands there. */
static void become_command(struct child *child)
{
	const struct ri_launch *launch = child->launch;
	pid_t own = 0;

	if (launch->terminal >= 0 || launch->listen_pid != NULL)
		own = (pid_t)syscall(SYS_getpid);
	child->failed = STEP_GROUP;
	if (launch->new_group && setpgid(0, 0) < 0)
		goto out;
	child->failed = STEP_INPUT;
	if (launch->input >= 0 && syscall(SYS_dup3, launch->input, STDIN_FILENO, 0) < 0)
		goto out;
	/* needs the group; any error means that there is no such terminal */
	if (launch->terminal >= 0)
		ioctl(launch->terminal, TIOCSPGRP, &own);
	child->failed = STEP_AFFINITY;
	if (launch->cpus != NULL && syscall(SYS_sched_setaffinity, 0, sizeof(*launch->cpus),
					    launch->cpus->words) < 0)
		goto out;
	if (launch->word > 0)
		fcntl(launch->word, F_SETFD, 0);
	if (launch->outer > 0)
		close(launch->outer);
	/* after it: the terminal may be what is replaced */
	child->failed = STEP_OUTPUT;
	for (int i = 0; i < 2; i++)
		if (launch->outputs[i] >= 0 && dup2(launch->outputs[i], STDOUT_FILENO + i) < 0)
			goto out;
	if (launch->files_before != NULL)
		syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, launch->files_before, NULL);
	child->failed = STEP_PRIVILEGES;
	if (ri_privileges_apply(launch->privileges, &child->privilege) < 0)
		goto out;
	/* a change of user clears it, so only now; we may be gone since */
	child->failed = STEP_PARENT_GONE;
	if (launch->die_with_us && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
		syscall(SYS_getppid) != launch->self) {
		errno = ESRCH;
		goto out;
	}
	/* Linux Documentation/admin-guide/LSM/Yama.rst; it lasts until its end, execs included */
	if (launch->admits_us)
		prctl(PR_SET_PTRACER, launch->self, 0, 0, 0);
	if (launch->listen_pid != NULL)
		write_pid(launch->listen_pid, own);
	/* last: from here on a signal reaches the command, not our code */
	ri_mask_set(ri_mask_inherited);
	execute(child);
	return;
out:
	child->sys_errno = errno;
}

__attribute__((noreturn)) static int child_entry(void *child)
{
	become_command(child);
	for (;;)
		ri_raw_call(SYS_exit_group, 127, 0, 0, 0, 0);
}

/* What there is to be found out about why may be on a mount that does not answer. */
static int explain_failure(void *argument)
{
	const struct child *child = argument;
	const char *command = child->launch->argv[0], *what = steps[child->failed].what;

	if (child->failed == STEP_EXEC)
		return ri_exec_explain(child->launch, child->sys_errno, child->err);
	if (child->failed == STEP_PARENT_GONE)
		return ri_fail(child->err, steps[child->failed].code, command,
			"the parent rankinit has ended");
	ri_fail(child->err, steps[child->failed].code, command, "cannot %s: %s",
		what == NULL ? child->privilege : what, strerror(child->sys_errno));
	return steps[child->failed].hint == NULL ? -1
		: ri_fail_hint(child->err, "%s", steps[child->failed].hint);
}

/* By job control, as the kernel has it: Ctrl-Z, or what somebody sent. */
static bool is_stopped(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return ri_raw_call(SYS_waitid, P_PID, pid, ri_raw(&info), WSTOPPED | WNOHANG | WNOWAIT,
		0) == 0 && info.si_pid == pid;
}

/*
 * Until the child has executed the command or is gone: the pipe ends. Returns
 * false where a stop came first, which the child can be told.
 */
static bool wait_for_exec(const struct child *child, pid_t pid, int sign)
{
	const struct timespec most = { .tv_nsec = LOOK_MS * 1000000L };
	const struct ri_signal_map *map = child->launch->signal_map;
	struct pollfd end = { .fd = sign };
	ri_sigset stops;
	bool counts, stopped = false;
	char none;
	long ready;

	for (int looks = 1;; looks++) {
		struct timespec left = most;

		ready = ri_raw_call(SYS_ppoll, ri_raw(&end), 1, ri_raw(&left), 0, 0);
		if (ready > 0)
			return true;
		/* at the last look, and still no command: a shell would continue us alone */
		if (stopped)
			kill(pid, SIGCONT);
		stopped = is_stopped(pid);
		stops = ready == 0 ? ri_mask_pending() & ri_mask_stops() : 0;
		/*
		 * A signal that makes a core dump ends no process that waits for a file, and no
		 * more does what --signal-map makes of a stop for the command's own handler. A
		 * process that is no command yet has nothing to dump, and no handler.
		 */
		counts = (stops & RI_MASK_OF(SIGQUIT)) == 0;
		for (int number = 1; number <= RI_SIGNAL_MAX; number++)
			if ((stops & RI_MASK_OF(number)) != 0 && map->to[number] != number)
				counts = false;
		if (stops != 0 && !counts)
			kill(pid, SIGTERM);
		if (stops != 0)
			return false;
		if (ready == 0 && looks == RI_APART_SAY_MS / LOOK_MS && child->trying != NULL)
			ri_apart_say(child->launch->argv[0], child->trying);
		/* a seccomp profile may deny it: then without looking up */
		if (ready < 0 && ready != -EINTR)
			break;
	}
	while (ri_raw_call(SYS_read, sign, ri_raw(&none), 1, 0, 0) == -EINTR)
		;
	return true;
}

static int fail(struct child *child, struct ri_error *err)
{
	const struct ri_apart explaining = {
		.work = explain_failure, .argument = child,
		.subject = child->launch->argv[0], .path = child->launch->candidates,
		.most_ms = RI_APART_SAY_MS,
	};

	child->err = err;
	if (ri_apart(&explaining) < 0 && err->code == RI_CODE_NONE)
		ri_fail(err, RI_CODE_EXEC_DENIED, child->launch->argv[0],
			"cannot be executed: %s", strerror(child->sys_errno));
	/* HF_TOKEN=x before the command, where no shell is there to take it */
	ri_redact_word_in_place(err->subject, sizeof(err->subject));
	ri_redact_word_in_place(err->text, sizeof(err->text));
	ri_redact_word_in_place(err->hint, sizeof(err->hint));
	return ri_fail_errno(err, child->sys_errno);
}

/*
 * In our memory; where that is not possible in a copy of it, but for *child. An
 * emulator of another processor knows threads and vfork(2) only, as docker run
 * --platform has it (do_fork() in linux-user/syscall.c of qemu): EINVAL.
 */
static pid_t start_child(struct child **child, int flags)
{
	static _Alignas(64) unsigned char stack[STACK_SIZE];
	pid_t pid = clone(child_entry, stack + STACK_SIZE, CLONE_VM | flags, *child);
	struct child *both;

	if (pid >= 0 || errno != EINVAL)
		return pid;
	both = ri_pages_shared(sizeof(*both));
	if (both == NULL)
		return -1;
	*both = **child;
	*child = both;
	return clone(child_entry, stack + STACK_SIZE, flags, both);
}

pid_t ri_launch_spawn(struct ri_launch *launch, struct ri_error *err)
{
	static struct child ours;
	const struct ri_privileges *privileges = launch->privileges;
	struct child *child = &ours;
	bool signs, hidden;
	int error, status, sign[2];
	pid_t pid;

	/*
	 * While the child shares our memory, who may look into the child may change us: a process
	 * of the user that it becomes, or one with as few capabilities. The kernel marks memory at
	 * a change of user, not where capabilities go (prctl(2), PR_SET_DUMPABLE).
	 */
	hidden = (privileges->change_user || privileges->change_caps) &&
		prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 &&
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
	/*
	 * A pipe whose writing end the child's exec closes, or its end; it is out of the way of
	 * what becomes the child's own stdin, stdout and stderr.
	 */
	signs = pipe2(sign, O_CLOEXEC) == 0;
	if (signs) {
		sign[1] = ri_fd_move_up(sign[1]);
		signs = sign[1] >= 0;
		if (!signs)
			close(sign[0]);
	}
	ours = (struct child){ .launch = launch };
	pid = start_child(&child, SIGCHLD | (signs ? 0 : CLONE_VFORK));
	error = errno;
	if (signs) {
		/* while we have it open it does not end: one way or the other */
		if (syscall(SYS_close, sign[1]) < 0)
			dup3(sign[0], sign[1], O_CLOEXEC);
		launch->hangs = pid >= 0 && !wait_for_exec(child, pid, sign[0]);
		close(sign[0]);
	}
	/* or /proc/self would belong to root; not while the child is still in our memory */
	if (hidden && !launch->hangs)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (pid < 0) {
		ri_fail(err, RI_CODE_SPAWN_REFUSED, launch->argv[0],
			"the kernel refused a new process: %s", strerror(error));
		ri_fail_errno(err, error);
		return ri_fail_hint(err, "raise the limit of processes (docker run --pids-limit, "
					 "ulimit -u) or of memory");
	}
	if (launch->hangs || child->sys_errno == 0)
		return pid;
	ri_children_reap(pid, &status, 0, NULL);
	return fail(child, err);
}

int ri_launch_replace(const struct ri_launch *launch, struct ri_error *err)
{
	struct child child = { .launch = launch };

	become_command(&child);
	/* a message to a pipe without a reader must not end us now */
	ri_mask_set(RI_MASK_ALL);
	return fail(&child, err);
}
