// SPDX-License-Identifier: Apache-2.0
/*
 * probe: what an init under test is made to run.
 *
 *   probe LOG STEP...
 *
 * LOG is a named pipe; every process of the probe writes whole lines to it,
 * "NAME WORD ...". The steps are done in order:
 *
 *   name=NAME        how the lines of this process begin, "main" at first
 *   info             write what was inherited: mask, descriptors, groups
 *   ready            write "ready"
 *   allow=SIGNAL     leave this signal to its default action from here on
 *   linger=MS        members started later need so long to end
 *   member=KIND:NAME start a process that writes each signal, ends on TERM;
 *                    KIND is same, group, session or orphan
 *   orphans=N        N orphans that end at once
 *   held=N           N orphans that end with this process
 *   kill=PID:SIGNAL  send a signal
 *   stop             stop oneself
 *   serve=SIGNAL     write each signal that comes, go on after this one (or
 *                    never, with 0)
 *   raise=SIGNAL     die of a signal
 *   exit=CODE
 *
 * Every signal is blocked and taken by sigtimedwait from start to end: that
 * shows also those which are ignored by default and those which a libc keeps
 * for itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KERNEL_SIGSET 8

static struct {
	int log;
	char name[32];
	uint64_t allowed;
	long linger;
	uint64_t mask_at_start;
} probe = { .name = "main" };

/* One write per line: lines of many writers then never mix in a pipe. */
__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
	char line[2048];
	va_list args;
	int head, tail;

	head = snprintf(line, sizeof(line), "%s ", probe.name);
	va_start(args, format);
	tail = vsnprintf(line + head, sizeof(line) - head - 1, format, args);
	va_end(args);
	if (tail > (int)sizeof(line) - head - 2)
		tail = sizeof(line) - head - 2;
	line[head + tail] = '\n';
	if (write(probe.log, line, head + tail + 1) < 0)
		_exit(99);
}

static uint64_t bit(long signal_number)
{
	return UINT64_C(1) << (signal_number - 1);
}

static uint64_t block_all(void)
{
	uint64_t set = ~probe.allowed, before = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &before, KERNEL_SIGSET);
	return before;
}

static void read_ignored(char *text, size_t size)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	snprintf(text, size, "?");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "SigIgn:\t", 8))
			snprintf(text, size, "%.16s", line + 8);
	}
	if (file)
		fclose(file);
}

static void list_descriptors(char *text, size_t size)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t used = 0;

	text[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == probe.log ||
		    fd == dirfd(folder) || used + 16 > size)
			continue;
		used += snprintf(text + used, size - used, "%s%d",
				 used ? "," : "", fd);
	}
	if (folder)
		closedir(folder);
}

static void step_info(const char *value)
{
	const char *listen = getenv("LISTEN_PID");
	char fds[512], cwd[512], ignored[32];

	(void)value;
	read_ignored(ignored, sizeof(ignored));
	list_descriptors(fds, sizeof(fds));
	if (!getcwd(cwd, sizeof(cwd)))
		strcpy(cwd, "?");
	say("info pid=%d ppid=%d pgrp=%d sid=%d foreground=%d blocked=%016llx "
	    "ignored=%s fds=%s listen=%s cwd=%s", getpid(), getppid(),
	    getpgrp(), getsid(0), tcgetpgrp(0),
	    (unsigned long long)probe.mask_at_start, ignored, fds,
	    listen ? listen : "-", cwd);
}

static void step_name(const char *value)
{
	snprintf(probe.name, sizeof(probe.name), "%s", value);
}

static void step_ready(const char *value)
{
	(void)value;
	say("ready");
}

static void step_allow(const char *value)
{
	probe.allowed |= bit(atol(value));
	block_all();
}

static void step_linger(const char *value)
{
	probe.linger = atol(value);
}

static void step_serve(const char *value)
{
	uint64_t set = ~probe.allowed;
	long wanted = atol(value), number;
	siginfo_t info;

	for (;;) {
		number = syscall(SYS_rt_sigtimedwait, &set, &info, NULL,
				 KERNEL_SIGSET);
		if (number < 0)
			continue;
		/* Our own children are of no interest; what others send is. */
		if (number == SIGCHLD && info.si_code != SI_USER)
			continue;
		say("signal %ld", number);
		if (number == wanted)
			return;
	}
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		say("error fork: %s", strerror(errno));
		_exit(98);
	}
	return pid;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

__attribute__((noreturn))
static void be_member(void)
{
	struct timespec pause = {
		.tv_sec = probe.linger / 1000,
		.tv_nsec = probe.linger % 1000 * 1000000,
	};

	say("ready ppid=%d", getppid());
	step_serve("15");
	nanosleep(&pause, NULL);
	say("done");
	_exit(0);
}

/* Orphaned means that somebody else has become the parent by now. */
static void leave_parent(void)
{
	pid_t parent = getpid();

	if (fork_or_die() != 0)
		_exit(0);
	while (getppid() == parent)
		sched_yield();
}

static void step_member(const char *value)
{
	char kind[16] = "", name[32] = "";
	pid_t pid;

	sscanf(value, "%15[^:]:%31s", kind, name);
	pid = fork_or_die();
	if (pid == 0) {
		step_name(name);
		if (!strcmp(kind, "group"))
			setpgid(0, 0);
		if (!strcmp(kind, "session"))
			setsid();
		if (!strcmp(kind, "orphan"))
			leave_parent();
		be_member();
	}
	if (!strcmp(kind, "orphan"))
		reap(pid);
}

static void step_orphans(const char *value)
{
	long count = atol(value);
	pid_t middle = fork_or_die();

	if (middle == 0) {
		for (long i = 0; i < count; i++) {
			if (fork_or_die() == 0)
				_exit(0);
		}
		_exit(0);
	}
	reap(middle);
	say("orphans %ld", count);
}

/* They wait for the end of a pipe whose other end only this process has. */
static void step_held(const char *value)
{
	long count = atol(value);
	char byte;
	int ends[2];
	pid_t middle;

	if (pipe2(ends, O_CLOEXEC))
		_exit(97);
	middle = fork_or_die();
	if (middle == 0) {
		close(ends[1]);
		for (long i = 0; i < count; i++) {
			if (fork_or_die() == 0)
				_exit(read(ends[0], &byte, 1) < 0);
		}
		_exit(0);
	}
	close(ends[0]);
	reap(middle);
}

static void step_kill(const char *value)
{
	int pid = 0, number = 0;

	sscanf(value, "%d:%d", &pid, &number);
	if (kill(pid, number))
		say("error kill: %s", strerror(errno));
}

static void step_stop(const char *value)
{
	(void)value;
	kill(getpid(), SIGSTOP);
}

static void step_raise(const char *value)
{
	int number = atoi(value);

	probe.allowed = bit(number);
	block_all();
	kill(getpid(), number);
	say("error survived %d", number);
	_exit(96);
}

static void step_exit(const char *value)
{
	_exit(atoi(value));
}

static const struct step {
	const char *name;
	void (*run)(const char *value);
} steps[] = {
	{ "name", step_name },
	{ "info", step_info },
	{ "ready", step_ready },
	{ "allow", step_allow },
	{ "linger", step_linger },
	{ "member", step_member },
	{ "orphans", step_orphans },
	{ "held", step_held },
	{ "kill", step_kill },
	{ "stop", step_stop },
	{ "serve", step_serve },
	{ "raise", step_raise },
	{ "exit", step_exit },
};

static void run_step(const char *text)
{
	size_t length = strcspn(text, "=");
	const char *value = text[length] ? text + length + 1 : "";

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strlen(steps[i].name) == length &&
		    !strncmp(steps[i].name, text, length)) {
			steps[i].run(value);
			return;
		}
	}
	say("error step %s", text);
	_exit(95);
}

int main(int argc, char **argv)
{
	probe.mask_at_start = block_all();
	if (argc < 2)
		return 94;
	probe.log = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (probe.log < 0) {
		perror(argv[1]);
		return 93;
	}
	for (int i = 2; i < argc; i++)
		run_step(argv[i]);
	return 0;
}
