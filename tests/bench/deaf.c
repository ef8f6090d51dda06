/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaf [TRIALS [LONGEST-OFFSET-us]] < VARIANTS: for how long after exec a
 * PID 1 loses SIGTERM. The kernel drops a signal that PID 1 of a namespace
 * has neither blocked nor handled, and nobody is told. Tab-separated:
 *
 *	name  trials  lost  window_ns  misfits  latest_lost_ns
 *
 * Each trial sends one SIGTERM at a random offset. A WINCH follows when the
 * payload runs: if it arrives alone, the TERM was lost. The window is the
 * offset that best parts the lost from the heard; misfits are on its wrong
 * side. trials 0: the init failed.
 */
#include "bench.h"

#include <poll.h>

enum { FAILURES = 3 }; /* so often wrong: not worth the time */

struct trial {
	uint64_t offset;
	int lost;
};

struct result {
	struct trial *trials;
	int count;
	int failures;
};

/*
 * We share one CPU with the init and preempt it when the time has come, so
 * no second CPU is needed and the init stands still while we signal.
 */
static void be_precise(void)
{
	struct sched_param param = {.sched_priority = 1};
	int policy = SCHED_FIFO | SCHED_RESET_ON_FORK;

	bench_pin();
	prctl(PR_SET_TIMERSLACK, 1);
	/* musl's wrapper refuses by design; without the right it still runs. */
	syscall(SYS_sched_setscheduler, 0, policy, &param);
}

static void sleep_until(uint64_t when)
{
	struct timespec ts = {
		.tv_sec = (time_t)(when / 1000000000u),
		.tv_nsec = (long)(when % 1000000000u),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

enum outcome { HEARD, LOST, ENDED, SILENT };

/* ENDED: the payload was never ready, so it is the init that must tell. */
static enum outcome listen_to(pid_t pid, int fd)
{
	enum outcome ended = ENDED;
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	char byte;

	while (poll(&poll_fd, 1, 2000) == 1) {
		if (read(fd, &byte, 1) != 1)
			return ended;
		if (byte == 'T')
			return HEARD;
		if (byte == 'W')
			return LOST;
		ended = HEARD;
		kill(pid, SIGWINCH);
	}
	return SILENT;
}

/* Ended by our TERM, or by an error of its own? Reaps the child. */
static enum outcome ask_status(struct bench_child *child)
{
	int status = 0, tries = 1000;

	while (!waitpid(child->pid, &status, WNOHANG) && tries--)
		usleep(1000);
	if (tries < 0)
		bench_kill(child);
	else
		bench_close(child);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)
		return HEARD;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM)
		return HEARD;
	return SILENT;
}

static void run(const struct variant *variant, struct result *result, uint64_t offset)
{
	struct trial *trial = &result->trials[result->count];
	struct bench_child child;
	enum outcome outcome;
	uint64_t start;
	int out[2];
	char byte;

	if (pipe2(out, O_CLOEXEC))
		bench_die("pipe2");
	child = bench_start(variant, out[1], NULL);
	close(out[1]);
	bench_release(&child);
	/* Our end of the gate closes in the middle of exec. */
	while (read(child.gate, &byte, 1) > 0)
		;
	start = bench_now();
	if (offset)
		sleep_until(start + offset);
	trial->offset = bench_now() - start;
	kill(child.pid, SIGTERM);
	outcome = listen_to(child.pid, out[0]);
	if (outcome == ENDED)
		outcome = ask_status(&child);
	else
		bench_kill(&child);
	close(out[0]);
	trial->lost = outcome == LOST;
	if (outcome == SILENT)
		result->failures++;
	else
		result->count++;
}

static int compare(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The cut with the fewest lost above and heard below it; sorts. */
static int find_window(struct result *result, uint64_t *window)
{
	int wrong = 0, best;

	qsort(result->trials, (size_t)result->count, sizeof(struct trial), compare);
	for (int i = 0; i < result->count; i++)
		wrong += result->trials[i].lost;
	best = wrong;
	*window = 0;
	for (int i = 0; i < result->count; i++) {
		wrong += result->trials[i].lost ? -1 : 1;
		if (wrong >= best)
			continue;
		best = wrong;
		*window = result->trials[i].offset;
	}
	return best;
}

static void print(const struct variant *variant, struct result *result)
{
	uint64_t window, latest = 0;
	int lost = 0, misfits = find_window(result, &window);

	for (int i = 0; i < result->count; i++) {
		if (!result->trials[i].lost)
			continue;
		lost++;
		latest = result->trials[i].offset;
	}
	printf("%s\t%d\t%d\t%llu\t%d\t%llu\n", variant->name,
		result->failures < FAILURES ? result->count : 0, lost, (unsigned long long)window,
		misfits, (unsigned long long)latest);
}

int main(int argc, char **argv)
{
	int trials = bench_argument(argv, argc, 1, 300);
	int longest = bench_argument(argv, argc, 2, 1500) * 1000;
	struct result results[BENCH_VARIANTS] = {0};
	int order[BENCH_VARIANTS];
	struct variant *variants;
	int count = bench_read_variants(&variants);

	be_precise();
	for (int i = 0; i < count; i++) {
		order[i] = i;
		results[i].trials = calloc((size_t)trials, sizeof(struct trial));
		if (!results[i].trials)
			bench_die("calloc");
	}
	for (int trial = 0; trial < trials; trial++) {
		/* Every other one is early: short windows need a fine comb. */
		int range = trial % 2 ? longest : longest / 10;

		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			if (results[order[i]].failures < FAILURES)
				run(&variants[order[i]], &results[order[i]],
					bench_random((uint32_t)range + 1));
	}
	for (int i = 0; i < count; i++)
		print(&variants[i], &results[i]);
	return 0;
}
