/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strike HOW JUDGE CALL -- PROGRAM ARGUMENT...: run the program, and when its judge of that number
 * (1: the first) begins the system call of that number, strike it: HOW is "segv", "kill", or
 * "hang", after which it never goes on. "refuse 0 0": no process can be forked that has memory of
 * its own. Nothing else of the program is disturbed: other children are let go when they are named.
 *
 * Ends as the program does, and says on the descriptor $STRIKE_TOLD "struck", or "N calls" of a
 * judge that made less; then "left" if the one that was struck has not been reaped when the program
 * ends. ptrace(2), "PTRACE_SEIZE"; PTRACE_GET_SYSCALL_INFO is there since Linux 5.3.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "rankinit-judge"

enum how { SEGV, KILL, HANG, REFUSE };

static enum how how;
static int judge, call;		/* that is struck */
static int told;
static int judges, calls;	/* so far; calls of the one that is watched */
static pid_t program, watched;	/* the judge that is to be struck, while it lives; or 0 */
static pid_t struck;

static void die(const char *what)
{
	fprintf(stderr, "strike: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void say(const char *text)
{
	if (write(told, text, strlen(text)) < 0)
		die("STRIKE_TOLD");
}

static long trace(int request, pid_t pid, void *address, unsigned long data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

static struct ptrace_syscall_info info_of(pid_t pid)
{
	struct ptrace_syscall_info info = { .op = PTRACE_SYSCALL_INFO_NONE };

	trace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), (unsigned long)&info);
	return info;
}

/* Of its general registers, as NT_PRSTATUS has them: the call's number, and where it goes on. */
#ifdef __x86_64__
enum { REGISTERS = 27, NUMBER = 15, PLACE = 16 };	/* sys/user.h: orig_rax, rip */
#else
enum { REGISTERS = 34, PLACE = 32 };	/* asm/ptrace.h, struct user_pt_regs: pc */
#endif

/* The call is not made, and fails: the kernel takes -1 for one that there is not. */
static void drop_call(pid_t pid, bool crash)
{
	unsigned long registers[REGISTERS];
	struct iovec where = { registers, sizeof(registers) };

	if (trace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, (unsigned long)&where) < 0)
		die("registers");
	if (crash)
		registers[PLACE] = 0;
#ifdef __x86_64__
	registers[NUMBER] = -1UL;
#else
	int none = -1;
	struct iovec number = { &none, sizeof(none) };

	registers[0] = (unsigned long)-ENOSYS;	/* else its first argument is what it returns */
	trace(PTRACE_SETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, (unsigned long)&number);
#endif
	trace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, (unsigned long)&where);
}

static bool is_judge(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	if (fgets(name, sizeof(name), file) == NULL)
		name[0] = '\0';
	fclose(file);
	return strcmp(name, NAME "\n") == 0;
}

/* A crash is a jump to nowhere: a signal alone would be blocked. */
static void strike(pid_t pid)
{
	say("struck\n");
	watched = 0;
	struck = pid;
	if (how == SEGV)
		drop_call(pid, true);
	else if (how == KILL)
		kill(pid, SIGKILL);
	/* one that hangs stays in this stop until somebody kills it */
	if (how != HANG)
		trace(PTRACE_CONT, pid, NULL, 0);
}

/*
 * A child of the program begins or ends a call. Its name is its first word: what has none after
 * some calls is no judge.
 */
static void take_child(pid_t pid)
{
	struct ptrace_syscall_info info = info_of(pid);

	if (pid != watched && is_judge(pid)) {
		judges++;
		if (judges != judge) {
			trace(PTRACE_DETACH, pid, NULL, 0);
			return;
		}
		watched = pid;
		calls = 0;
	} else if (pid != watched && info.op == PTRACE_SYSCALL_INFO_EXIT) {
		trace(PTRACE_DETACH, pid, NULL, 0);
		return;
	}
	if (pid == watched && info.op == PTRACE_SYSCALL_INFO_ENTRY && ++calls == call)
		strike(pid);
	else
		trace(PTRACE_SYSCALL, pid, NULL, 0);
}

static void take_program(void)
{
	struct ptrace_syscall_info info = info_of(program);

	if (how == REFUSE && info.op == PTRACE_SYSCALL_INFO_ENTRY &&
		info.entry.nr == SYS_clone && (info.entry.args[0] & CLONE_VM) == 0)
		drop_call(program, false);
	trace(how == REFUSE ? PTRACE_SYSCALL : PTRACE_CONT, program, NULL, 0);
}

static void take_end(pid_t pid)
{
	char text[32];

	if (pid != watched)
		return;
	watched = 0;
	snprintf(text, sizeof(text), "%d calls\n", calls);
	say(text);
}

static void take_stop(pid_t pid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		if (pid == program)
			take_program();
		else
			take_child(pid);
	} else if (event == PTRACE_EVENT_EXIT) {
		if (pid == program && struck != 0 && kill(struck, 0) == 0)
			say("left\n");
		trace(PTRACE_CONT, pid, NULL, 0);
	} else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		trace(PTRACE_LISTEN, pid, NULL, 0);
	} else {
		/* a new child stops once before its first call */
		trace(pid == program && how != REFUSE ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL,
			event != 0 ? 0 : (unsigned long)signal);
	}
}

static pid_t begin(char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(told);
		unsetenv("STRIKE_TOLD");
		raise(SIGSTOP);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid ||
		trace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
			PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT) < 0)
		die("ptrace");
	kill(pid, SIGCONT);
	return pid;
}

int main(int argc, char **argv)
{
	static const char *const words[] = { "segv", "kill", "hang", "refuse" };
	int status, at = 0;
	pid_t pid;

	while (argc > 5 && at < 4 && strcmp(argv[1], words[at]) != 0)
		at++;
	if (argc < 6 || at == 4 || strcmp(argv[4], "--") != 0) {
		fprintf(stderr, "usage: strike segv|kill|hang|refuse JUDGE CALL -- PROGRAM...\n");
		return 98;
	}
	how = (enum how)at;
	judge = atoi(argv[2]);
	call = atoi(argv[3]);
	told = getenv("STRIKE_TOLD") == NULL ? STDOUT_FILENO : atoi(getenv("STRIKE_TOLD"));
	program = begin(argv + 5);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status)) {
			take_stop(pid, status);
			continue;
		}
		if (pid > 0)
			take_end(pid);
		if (pid == program)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	die("waitpid");
}
