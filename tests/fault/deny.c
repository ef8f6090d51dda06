/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny: run a program to which the kernel refuses some system calls.
 *
 *   deny CALL[:ARGUMENT=VALUE]...=ERRNO... -- PROGRAM [ARG]...
 *
 *   deny openat2=ENOSYS prctl:0=36=EPERM -- rankinit true
 *
 * A rule with arguments holds only for calls that have all these values (low
 * 32 bits): number 0 is the first one. The first rule that fits counts. This
 * is what container runtimes do with a seccomp profile, and it holds for
 * everything that PROGRAM starts, too.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { USAGE = 94, FILTER_MAX = 512, ARGUMENTS = 6 };

struct name {
	const char *text;
	uint32_t number;
};

#define CALL(name) { #name, SYS_ ## name }
static const struct name calls[] = {
	CALL(accept4), CALL(bind), CALL(capget), CALL(capset), CALL(chdir), CALL(clock_gettime),
	CALL(clone), CALL(close), CALL(close_range), CALL(dup3), CALL(epoll_create1),
	CALL(epoll_ctl), CALL(epoll_pwait), CALL(execve), CALL(fcntl), CALL(futex),
#ifdef SYS_fork
	CALL(fork), CALL(poll),
#endif
	CALL(getdents64), CALL(getpid), CALL(getppid), CALL(getrandom), CALL(ioctl), CALL(kill),
	CALL(madvise), CALL(mprotect), CALL(openat2), CALL(pidfd_open), CALL(pidfd_send_signal),
	CALL(pipe2), CALL(ppoll), CALL(prctl), CALL(prlimit64), CALL(process_vm_readv),
	CALL(pwritev2), CALL(readlink),
	CALL(rt_sigaction), CALL(rt_sigpending), CALL(rt_sigprocmask), CALL(rt_sigtimedwait),
	CALL(sched_getaffinity), CALL(setgroups), CALL(setpgid), CALL(setresgid),
	CALL(setresuid), CALL(signalfd4), CALL(socket), CALL(socketpair), CALL(uname),
	CALL(wait4), CALL(waitid),
	{ NULL, 0 },
};

#define ERROR(name) { #name, name }
static const struct name errors[] = {
	ERROR(EACCES), ERROR(EAGAIN), ERROR(EINTR), ERROR(EINVAL), ERROR(EMFILE), ERROR(ENOMEM),
	ERROR(ENOSYS), ERROR(EOPNOTSUPP), ERROR(EPERM),
	{ NULL, 0 },
};

static struct {
	struct sock_filter code[FILTER_MAX];
	unsigned short length;
} filter;

__attribute__((noreturn)) static void usage(const char *what)
{
	fprintf(stderr, "deny: %s: expected CALL[:ARGUMENT=VALUE]...=ERRNO... -- PROGRAM\n", what);
	exit(USAGE);
}

static uint32_t look_up(const struct name *names, const char *text, size_t length)
{
	for (; names->text != NULL; names++)
		if (strlen(names->text) == length && strncmp(names->text, text, length) == 0)
			return names->number;
	usage(text);
}

static struct sock_filter *add(unsigned short code, uint32_t k)
{
	if (filter.length == FILTER_MAX)
		usage("too many rules");
	filter.code[filter.length] = (struct sock_filter){ .code = code, .k = k };
	return &filter.code[filter.length++];
}

/* Load a word of struct seccomp_data and go on if it is value, else past the rule. */
static void add_test(size_t offset, uint32_t value)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
	add(BPF_JMP | BPF_JEQ | BPF_K, value);
}

static void add_rule(char *text)
{
	char *last = strrchr(text, '='), *at;
	unsigned short start = filter.length;
	uint32_t error;

	if (last == NULL)
		usage(text);
	error = look_up(errors, last + 1, strlen(last + 1));
	at = text + strcspn(text, ":=");
	add_test(offsetof(struct seccomp_data, nr), look_up(calls, text, (size_t)(at - text)));
	while (*at == ':') {
		unsigned long index = strtoul(at + 1, &at, 10);

		if (index >= ARGUMENTS || *at != '=')
			usage(text);
		add_test(offsetof(struct seccomp_data, args) + index * sizeof(uint64_t),
			(uint32_t)strtol(at + 1, &at, 0));
	}
	if (at != last)
		usage(text);
	add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	for (unsigned short i = start; i < filter.length; i++)
		if (BPF_CLASS(filter.code[i].code) == BPF_JMP)
			filter.code[i].jf = (uint8_t)(filter.length - i - 1);
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = filter.code };
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		add_rule(argv[i]);
	if (i + 1 >= argc)
		usage("no program");
	add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = filter.length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("deny: seccomp");
		return USAGE;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return USAGE;
}
