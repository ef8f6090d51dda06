/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency [ROUNDS] < VARIANTS: how long a signal takes through an init: from
 * kill(init, SIGUSR1) to the byte that the payload writes. All inits run at
 * the same time, pinned with us to one CPU; each round asks every one of
 * them, in a new order. Tab-separated, in nanoseconds:
 *
 *	name  rounds  median  q1  q3
 *
 * rounds 0: the payload never got ready, or did not answer within a second.
 */
#include "bench.h"

#include <poll.h>

struct line {
	struct bench_child child;
	int in;
	int alive;
	uint64_t *values;
	int count;
};

static int expect(struct line *line, char letter)
{
	struct pollfd poll_fd = {.fd = line->in, .events = POLLIN};
	char byte = 0;

	line->alive =
		poll(&poll_fd, 1, 1000) == 1 && read(line->in, &byte, 1) == 1 && byte == letter;
	return line->alive;
}

static void start(const struct variant *variant, struct line *line, int rounds)
{
	int out[2];

	line->values = calloc((size_t)rounds, sizeof(uint64_t));
	if (!line->values || pipe2(out, O_CLOEXEC))
		bench_die("pipe2");
	line->child = bench_start(variant, out[1], NULL);
	close(out[1]);
	line->in = out[0];
	bench_release(&line->child);
	expect(line, 'R');
}

/* The payload writes before we read: one poll() would be measured too. */
static void ask(struct line *line)
{
	uint64_t begin = bench_now();
	char byte;

	kill(line->child.pid, SIGUSR1);
	if (read(line->in, &byte, 1) != 1) {
		line->alive = 0;
		return;
	}
	line->values[line->count++] = bench_now() - begin;
}

/* A read that never returns would hold the whole run: ask gently first. */
static void try_once(struct line *line)
{
	if (!line->alive)
		return;
	usleep(1000);
	kill(line->child.pid, SIGUSR1);
	expect(line, 'U');
}

static void print(const struct variant *variant, struct line *line)
{
	int count = line->alive ? line->count : 0;

	printf("%s\t%d\t%llu\t%llu\t%llu\n", variant->name, count,
		(unsigned long long)bench_quartile(line->values, count, 2),
		(unsigned long long)bench_quartile(line->values, count, 1),
		(unsigned long long)bench_quartile(line->values, count, 3));
}

int main(int argc, char **argv)
{
	int rounds = bench_argument(argv, argc, 1, 1000);
	struct line lines[BENCH_VARIANTS] = {0};
	int order[BENCH_VARIANTS];
	struct variant *variants;
	int count = bench_read_variants(&variants);

	bench_pin();
	alarm(60);
	for (int i = 0; i < count; i++) {
		order[i] = i;
		start(&variants[i], &lines[i], rounds);
		try_once(&lines[i]);
	}
	for (int round = 0; round < rounds; round++) {
		bench_shuffle(order, count);
		for (int i = 0; i < count; i++)
			if (lines[order[i]].alive)
				ask(&lines[order[i]]);
	}
	for (int i = 0; i < count; i++) {
		print(&variants[i], &lines[i]);
		bench_kill(&lines[i].child);
	}
	return 0;
}
