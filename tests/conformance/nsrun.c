// SPDX-License-Identifier: Apache-2.0
/*
 * nsrun: start INIT as process 1 of a new PID namespace, in a chosen state.
 *
 * What the test driver needs to know goes to the report descriptor, one line
 * each: "init PID" just before INIT is executed, with the PID as seen outside
 * the namespace, and "status RAW" with what wait reported for it.
 *
 * With -n INIT is not process 1: a keeper is, which stays after INIT has gone,
 * so that what INIT left behind can be looked at. The namespace ends when
 * nsrun is killed; nothing survives it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SETUP 125

/* The size of a signal set as the kernel sees it, whatever libc thinks. */
#define KERNEL_SIGSET 8

struct config {
	int report;
	int go;
	int extra_fd;
	bool nested;
	bool background;
	bool prechild;
	bool close_stdin;
	const char *tty;
	const char *stdin_tty;
	uint64_t ignored;
	uint64_t blocked;
	char **argv;
	int procfs;
};

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	fputs("nsrun: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(error));
	_exit(EXIT_SETUP);
}

static void report(const struct config *config, const char *word, long value)
{
	if (dprintf(config->report, "%s %ld\n", word, value) < 0)
		die("report");
}

/* "all", or numbers with commas between them, as a bit set: 1 is bit 0. */
static uint64_t parse_signals(const char *text)
{
	uint64_t set = 0;
	char *end;

	if (!strcmp(text, "all"))
		return UINT64_MAX;
	while (*text) {
		long number = strtol(text, &end, 10);

		if (end == text || number < 1 || number > 64) {
			errno = EINVAL;
			die("signals: %s", text);
		}
		set |= UINT64_C(1) << (number - 1);
		text = *end ? end + 1 : end;
	}
	return set;
}

/*
 * Dispositions and mask are exactly what was asked for, whatever the driver
 * itself was started with. Raw calls, since a libc hides its own signals.
 */
static void set_signals(const struct config *config)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} action = { 0 };

	for (int number = 1; number <= 64; number++) {
		bool ignore = config->ignored >> (number - 1) & 1;

		if (number == SIGKILL || number == SIGSTOP)
			continue;
		action.handler = ignore ? SIG_IGN : SIG_DFL;
		syscall(SYS_rt_sigaction, number, &action, NULL, KERNEL_SIGSET);
	}
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &config->blocked, NULL,
		    KERNEL_SIGSET))
		die("rt_sigprocmask");
}

static void take_terminal(const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY);

	if (fd < 0)
		die("%s", path);
	if (ioctl(fd, TIOCSCTTY, 0))
		die("TIOCSCTTY on %s", path);
	for (int target = 0; target < 3; target++)
		dup2(fd, target);
	if (fd > 2)
		close(fd);
}

static void set_stdin(const struct config *config)
{
	int fd;

	if (config->close_stdin)
		close(0);
	if (!config->stdin_tty)
		return;
	fd = open(config->stdin_tty, O_RDWR | O_NOCTTY);
	if (fd < 0)
		die("%s", config->stdin_tty);
	dup2(fd, 0);
	if (fd > 0)
		close(fd);
}

/* An open descriptor that INIT was handed by somebody else. */
static void set_extra_fd(int target)
{
	int fd = open("/dev/null", O_RDONLY);

	if (fd < 0 || dup2(fd, target) < 0)
		die("descriptor %d", target);
	if (fd != target)
		close(fd);
}

/*
 * A child that INIT did not start. It waits for the driver to kill it, by
 * which time the program around it has become INIT.
 */
static void add_prechild(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		for (;;)
			pause();
	}
}

/* The old /proc still counts in the namespace of the driver. */
static long outside_pid(const struct config *config)
{
	char text[32];
	ssize_t size = readlinkat(config->procfs, "self", text, sizeof(text) - 1);

	if (size < 0)
		die("/proc/self");
	text[size] = '\0';
	return strtol(text, NULL, 10);
}

static void wait_for_go(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

__attribute__((noreturn))
static void become_init(const struct config *config)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	if (config->background && setpgid(0, 0))
		die("setpgid");
	if (config->prechild)
		add_prechild();
	if (config->extra_fd >= 0)
		set_extra_fd(config->extra_fd);
	set_signals(config);
	report(config, "init", outside_pid(config));
	if (config->go >= 0)
		wait_for_go(config->go);
	set_stdin(config);
	execvp(config->argv[0], config->argv);
	die("%s", config->argv[0]);
}

/* Process 1 where INIT is not: adopts and reaps what INIT does not. */
__attribute__((noreturn))
static void keep_namespace(const struct config *config)
{
	int status;
	pid_t init, pid;

	init = fork();
	if (init < 0)
		die("fork");
	if (init == 0)
		become_init(config);
	for (;;) {
		pid = waitpid(-1, &status, 0);
		if (pid == init)
			report(config, "status", status);
		if (pid < 0 && errno == ECHILD)
			pause();
	}
}

__attribute__((noreturn))
static void enter_namespace(struct config *config)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	config->procfs = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config->procfs < 0)
		die("/proc");
	/* in a chroot "/" is no mount; that of /proc is the one that counts */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL))
		die("private mounts");
	if (mount("proc", "/proc", "proc", 0, NULL))
		die("mount /proc");
	if (setsid() < 0)
		die("setsid");
	if (config->tty)
		take_terminal(config->tty);
	if (config->nested)
		keep_namespace(config);
	become_init(config);
}

static void parse(struct config *config, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+r:g:f:nBCzt:T:i:b:")) >= 0) {
		switch (option) {
		case 'r': config->report = atoi(optarg); break;
		case 'g': config->go = atoi(optarg); break;
		case 'f': config->extra_fd = atoi(optarg); break;
		case 'n': config->nested = true; break;
		case 'B': config->background = true; break;
		case 'C': config->prechild = true; break;
		case 'z': config->close_stdin = true; break;
		case 't': config->tty = optarg; break;
		case 'T': config->stdin_tty = optarg; break;
		case 'i': config->ignored = parse_signals(optarg); break;
		case 'b': config->blocked = parse_signals(optarg); break;
		default: _exit(EXIT_SETUP);
		}
	}
	config->argv = argv + optind;
	if (!*config->argv || config->report < 0) {
		fputs("usage: nsrun -r FD [OPTION]... -- INIT...\n", stderr);
		_exit(EXIT_SETUP);
	}
	fcntl(config->report, F_SETFD, FD_CLOEXEC);
	if (config->go >= 0)
		fcntl(config->go, F_SETFD, FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct config config = { .report = -1, .go = -1, .extra_fd = -1 };
	long pid;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	parse(&config, argc, argv);
	/* A SIGCHLD that was ignored on the way here would hide the status. */
	signal(SIGCHLD, SIG_DFL);
	/* A bare clone without a stack of its own behaves as fork does. */
	pid = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD,
		      0L, 0L, 0L, 0L);
	if (pid < 0)
		die("new PID namespace");
	if (pid == 0)
		enter_namespace(&config);
	while (waitpid((pid_t)pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("wait");
	}
	if (!config.nested)
		report(&config, "status", status);
	return 0;
}
