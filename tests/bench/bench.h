/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the measuring programs share: variants read from standard input, and
 * one way to start a command as PID 1 of a fresh PID namespace.
 */
#ifndef BENCH_H
#define BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BENCH_VARIANTS = 64,
	BENCH_WORDS = 32,
	BENCH_ENV = 512,
	BENCH_OUT_FD = 3,	 /* where the payload writes */
	BENCH_NO_NAMESPACE = 77, /* exit status: this place forbids it */
};

/* One line of the specification: NAME, ENVIRONMENT-FILE, ARGV... by tabs. */
struct variant {
	char *name;
	char *argv[BENCH_WORDS];
	char *envp[BENCH_ENV];
	int failed; /* wait status of the run that went wrong */
};

/* Written by the child just before exec, read by the parent. */
struct bench_stamp {
	uint64_t exec_ns;
	uint64_t cpu_ns; /* spent on our own preparations */
};

struct bench_child {
	pid_t pid;
	int gate;   /* one byte lets it exec; end of file: it did */
	int mounts; /* keeps its mount namespace alive */
};

static inline void bench_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static inline uint64_t bench_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t bench_now(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

/* xorshift: the same order in every run, and no state of the C library. */
static inline uint32_t bench_random(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 16) % below);
}

static inline void bench_shuffle(int *order, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int j = (int)bench_random((uint32_t)i + 1);
		int swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
}

static inline int bench_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts in place; part is 1 to 3 quarters. */
static inline uint64_t bench_quartile(uint64_t *values, int count, int part)
{
	qsort(values, (size_t)count, sizeof(*values), bench_compare);
	return count ? values[(long)count * part / 4] : 0;
}

static inline char *bench_slurp(FILE *file)
{
	size_t size = 1 << 20;
	char *text = calloc(1, size);

	if (!text || fread(text, 1, size - 1, file) == size - 1)
		bench_die("input too long");
	return text;
}

/* NAME=value lines; '#' starts a comment line. */
static inline void bench_read_env(struct variant *variant, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text, *line, *rest;
	int count = 0;

	if (!file)
		bench_die(path);
	text = bench_slurp(file);
	fclose(file);
	line = strtok_r(text, "\n", &rest);
	for (; line && count < BENCH_ENV - 1; line = strtok_r(NULL, "\n", &rest))
		if (*line != '#')
			variant->envp[count++] = line;
}

static inline void bench_read_variant(struct variant *variant, char *line)
{
	char *rest, *word;
	int count = 0;

	variant->name = strtok_r(line, "\t", &rest);
	word = strtok_r(NULL, "\t", &rest);
	if (!word)
		bench_die("a line is NAME, ENVIRONMENT-FILE, ARGV... by tabs");
	bench_read_env(variant, word);
	while (count < BENCH_WORDS - 1 && (word = strtok_r(NULL, "\t", &rest)))
		variant->argv[count++] = word;
}

/* Reads all variants from standard input; returns how many. */
static inline int bench_read_variants(struct variant **variants)
{
	char *line, *rest, *text = bench_slurp(stdin);
	int count = 0;

	*variants = calloc(BENCH_VARIANTS, sizeof(**variants));
	if (!*variants)
		bench_die("calloc");
	line = strtok_r(text, "\n", &rest);
	for (; line && count < BENCH_VARIANTS; line = strtok_r(NULL, "\n", &rest))
		bench_read_variant(&(*variants)[count++], line);
	return count;
}

/* A number from the command line, or its default. */
static inline int bench_argument(char **argv, int argc, int at, int otherwise)
{
	return at < argc ? atoi(argv[at]) : otherwise;
}

static inline void bench_pin(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline void *bench_shared(size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		bench_die("mmap");
	return page;
}

/*
 * A container has a /proc that fits its PID namespace, and an init may read
 * it. Where mounting is forbidden the old one stays; that is still a run.
 */
static inline void bench_mount_proc(void)
{
	/* in a chroot "/" is no mount; that of /proc is the one that counts */
	if (!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		!mount(NULL, "/proc", NULL, MS_REC | MS_PRIVATE, NULL))
		mount("proc", "/proc", "proc", 0, NULL);
}

static inline void bench_redirect(int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (out == BENCH_OUT_FD)
		fcntl(out, F_SETFD, 0);
	else
		dup2(out, BENCH_OUT_FD);
}

/* The gate may sit on the payload's descriptor: move it away first. */
static inline void bench_child_main(
	const struct variant *variant, int gate, int out, struct bench_stamp *stamp)
{
	char byte = 'r';

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	gate = fcntl(gate, F_DUPFD_CLOEXEC, 10);
	out = fcntl(out, F_DUPFD_CLOEXEC, 10);
	bench_mount_proc();
	bench_redirect(out);
	for (int fd = BENCH_OUT_FD + 1; fd < 10; fd++)
		close(fd);
	if (write(gate, &byte, 1) != 1 || read(gate, &byte, 1) != 1)
		_exit(1);
	if (stamp) {
		stamp->cpu_ns = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
		stamp->exec_ns = bench_now();
	}
	execve(variant->argv[0], variant->argv, variant->envp);
	_exit(127);
}

/* Root needs no user namespace; everybody else gets one, where allowed. */
static inline pid_t bench_clone(void)
{
	unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
	long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);

	if (pid < 0 && errno == EPERM)
		pid = syscall(SYS_clone, flags | CLONE_NEWUSER, 0, 0, 0, 0);
	if (pid < 0) {
		fprintf(stderr, "no PID namespace: %s\n", strerror(errno));
		exit(BENCH_NO_NAMESPACE);
	}
	return (pid_t)pid;
}

/*
 * Starts the variant up to the point before its exec; bench_release() lets
 * it go on. Everything it costs to make a namespace is over by then, and as
 * we hold its mount namespace, taking that down is not measured either.
 */
static inline struct bench_child bench_start(
	const struct variant *variant, int out, struct bench_stamp *stamp)
{
	struct bench_child child = {.mounts = -1};
	char path[64], byte;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		bench_die("socketpair");
	child.pid = bench_clone();
	if (!child.pid)
		bench_child_main(variant, pair[1], out, stamp);
	close(pair[1]);
	child.gate = pair[0];
	if (read(child.gate, &byte, 1) != 1)
		bench_die("the child did not get ready");
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", child.pid);
	child.mounts = open(path, O_RDONLY | O_CLOEXEC);
	return child;
}

static inline void bench_release(const struct bench_child *child)
{
	if (write(child->gate, "g", 1) != 1)
		bench_die("release");
}

static inline void bench_close(struct bench_child *child)
{
	close(child->gate);
	if (child->mounts >= 0)
		close(child->mounts);
}

/* PID 1 of a namespace takes the whole namespace with it. */
static inline void bench_kill(struct bench_child *child)
{
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	bench_close(child);
}

#endif
