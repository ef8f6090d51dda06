/* SPDX-License-Identifier: Apache-2.0 */
/*
 * startbench [ROUNDS [WARM-UP [LOOSE]]] < VARIANTS: what an init adds to the
 * start of a command. Each round runs every variant once, in a new random
 * order, as PID 1 of a fresh PID namespace. Tab-separated medians in
 * nanoseconds:
 *
 *	name  rounds  failed  total  total_q1  total_q3  main  cpu
 *
 * total: exec of the init to its end; main: to the payload's main(); cpu:
 * the init and what it waited for. Making the namespace is in none of them.
 * Everything runs on one CPU, which is steadier, unless LOOSE is 1: then all
 * CPUs may be used, as several ranks do, and nobody has to write a stamp (a
 * launcher need not hand descriptor 3 on).
 */
#include "bench.h"

struct series {
	uint64_t *total, *main, *cpu;
	int count, failures;
};

static struct bench_stamp *stamp;
static int out[2];
static int loose;
static volatile pid_t running;

/* An init that hangs is a failed run, not a benchmark that hangs. */
static void give_up(int sig)
{
	(void)sig;
	kill(running, SIGKILL);
}

static uint64_t cpu_time(const struct rusage *usage)
{
	uint64_t us = (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;
	uint64_t s = (uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;

	return s * 1000000000u + us * 1000u;
}

/* Several ranks write several stamps: the last one counts. */
static int read_stamp(uint64_t *at)
{
	while (read(out[0], at, sizeof(*at)) == sizeof(*at))
		;
	return *at > 0;
}

/* One run; adds to the series unless it is only a warm-up. */
static void run(struct variant *variant, struct series *series, int keep)
{
	struct bench_child child = bench_start(variant, out[1], stamp);
	struct rusage usage;
	uint64_t end, at = 0;
	int status = 0, n = series->count;

	running = child.pid;
	alarm(loose ? 10 : 3);
	bench_release(&child);
	while (wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	end = bench_now();
	alarm(0);
	bench_close(&child);
	if ((!read_stamp(&at) && !loose) || status) {
		variant->failed = status ? status : -1;
		series->failures++;
		return;
	}
	if (!keep)
		return;
	series->total[n] = end - stamp->exec_ns;
	series->main[n] = at ? at - stamp->exec_ns : 0;
	series->cpu[n] = cpu_time(&usage) - stamp->cpu_ns;
	series->count++;
}

static struct series *series_new(int variants, int rounds)
{
	struct series *all = calloc((size_t)variants, sizeof(*all));
	size_t count = (size_t)rounds;

	for (int i = 0; all && i < variants; i++) {
		all[i].total = calloc(count, sizeof(uint64_t));
		all[i].main = calloc(count, sizeof(uint64_t));
		all[i].cpu = calloc(count, sizeof(uint64_t));
		if (!all[i].total || !all[i].main || !all[i].cpu)
			bench_die("calloc");
	}
	return all;
}

static void print(const struct variant *variant, struct series *s)
{
	printf("%s\t%d\t%d\t%llu\t%llu\t%llu\t%llu\t%llu\n", variant->name, s->count,
		variant->failed, (unsigned long long)bench_quartile(s->total, s->count, 2),
		(unsigned long long)bench_quartile(s->total, s->count, 1),
		(unsigned long long)bench_quartile(s->total, s->count, 3),
		(unsigned long long)bench_quartile(s->main, s->count, 2),
		(unsigned long long)bench_quartile(s->cpu, s->count, 2));
}

int main(int argc, char **argv)
{
	int rounds = bench_argument(argv, argc, 1, 300);
	int warmup = bench_argument(argv, argc, 2, 10);
	struct variant *variants;
	int count = bench_read_variants(&variants);
	struct series *series = series_new(count, rounds);
	int order[BENCH_VARIANTS];

	signal(SIGALRM, give_up);
	loose = bench_argument(argv, argc, 3, 0);
	if (!loose)
		bench_pin();
	stamp = bench_shared(sizeof(*stamp));
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK))
		bench_die("pipe2");
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int round = -warmup; round < rounds; round++) {
		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			/* What fails again and again is not worth the time. */
			if (series[order[i]].failures < 3)
				run(&variants[order[i]], &series[order[i]], round >= 0);
	}
	for (int i = 0; i < count; i++)
		print(&variants[i], &series[i]);
	return 0;
}
