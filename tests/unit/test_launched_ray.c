/* SPDX-License-Identifier: Apache-2.0 */
/* Actors of Ray: which of them the last exception of their driver names, and what is told then. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/culprit.h"
#include "report/launched.h"
#include "report/outcome.h"
#include "report/verdict.h"

enum { EXIT_1 = 1 << 8, EXIT_3 = 3 << 8 };

#define HEAD \
	"2026-11-27 15:47:15,392\tINFO worker.py:2038 -- Started a local Ray instance.\n" \
	"Traceback (most recent call last):\n" \
	"  File \"/job/driver.py\", line 24, in <module>\n" \
	"    ray.get([worker.train.remote() for worker in workers])\n"
#define TASK(who, pid, ip, repr) \
	"ray.exceptions.RayTaskError(ValueError): \x1b[36mray::" who "()\x1b[39m (pid=" pid \
	", ip=" ip ", actor_id=4db7, repr=" repr ")\n" \
	"  File \"/job/driver.py\", line 17, in train\n" \
	"    step(17)\n"
#define OBJECT "<job.Rank7Worker object at 0x7fd68eb87150>"
#define DIED(pid, ip) \
	"ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n" \
	"\tclass_name: create.<locals>.Worker\n\tactor_id: 6c97\n\tpid: " pid "\n\tip: " ip "\n" \
	"The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR\n"
#define RAYLET(pid) \
	"\x1b[33m(raylet)\x1b[0m A worker died. Worker IP address: 192.0.2.2 Worker port: 36727 " \
	"Worker PID: " pid " Worker exit type: SYSTEM_ERROR\n"
#define END "ValueError: bad batch 17\n"

/* What Ray 2.60 wrote. */
static const struct {
	const char *file, *actor;
} recorded[] = {
	{ "ray-2.60-raise", "Worker pid 23934 on 192.0.2.2 rank -1 raised" },
	{ "ray-2.60-kill", "Worker pid 24725 on 192.0.2.2 rank -1 died" },
};

static const struct {
	const char *text;
	const char *actor;	/* what is told of it; NULL: none is named */
} texts[] = {
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END,
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", "Worker(rank=3)") END,
		"Worker pid 11 on 192.0.2.2 rank 3 raised" },
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", "<Rank 3>") END,
		"Worker pid 11 on 192.0.2.2 rank 3 raised" },
	/* the greatest rank that a job has, and what is none */
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", "Worker(rank=1048575)") END,
		"Worker pid 11 on 192.0.2.2 rank 1048575 raised" },
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", "Worker(rank=1048576)") END,
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", "rank=99999999999999999999") END,
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	{ HEAD TASK("train", "11", "192.0.2.2", OBJECT) END,
		"task train pid 11 on 192.0.2.2 rank -1 raised" },
	/* the innermost */
	{ HEAD TASK("Runner.run", "10", "192.0.2.2", OBJECT)
		TASK("Worker.train", "11", "192.0.2.2", OBJECT) END,
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	{ HEAD TASK("Runner.run", "10", "192.0.2.2", OBJECT) DIED("11", "192.0.2.2"),
		"Worker pid 11 on 192.0.2.2 rank -1 died" },
	{ HEAD DIED("11", "192.0.2.2"), "Worker pid 11 on 192.0.2.2 rank -1 died" },
	/* raylet tells of others, too */
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END RAYLET("12"),
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	/* the last exception alone counts */
	{ HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END "retrying\n\n"
		"Traceback (most recent call last):\n  File \"/job/driver.py\", line 30\n"
		"KeyError: 'loss'\n", NULL },
	{ "(Worker pid=11) " HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END,
		"Worker pid 11 on 192.0.2.2 rank -1 raised" },
	{ TASK("Worker.train", "11", "192.0.2.2", OBJECT) END, NULL },
	{ RAYLET("12"), NULL },
	{ HEAD "ValueError: bad batch 17\n", NULL },
	{ "", NULL },
};

/* Returns how many faults there are. */
static unsigned compare_actor(const char *name, struct ri_span text, const char *expected)
{
	struct ri_actor actor;
	char told[128] = "-";

	if (ri_actor_find(text, &actor))
		snprintf(told, sizeof(told), "%s%.*s pid %d on %.*s rank %d %s",
			actor.is_task ? "task " : "", (int)actor.name.length, actor.name.at,
			(int)actor.pid, (int)actor.host.length, actor.host.at, (int)actor.rank,
			actor.raised ? "raised" : "died");
	if (strcmp(told, expected == NULL ? "-" : expected) == 0)
		return 0;
	print_error("%s: %s\n", name, told);
	return 1;
}

static void test_who_is_named(void **state)
{
	static char bytes[1 << 14];
	unsigned faults = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		faults += compare_actor(texts[i].text, (struct ri_span){ texts[i].text,
			strlen(texts[i].text) }, texts[i].actor);
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		char path[128];
		size_t length;
		FILE *file;

		snprintf(path, sizeof(path), "tests/fuzz/corpus/launcher_words/%s",
			recorded[i].file);
		file = fopen(path, "r");
		assert_non_null(file);
		length = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		faults += compare_actor(path, (struct ri_span){ bytes, length },
			recorded[i].actor);
	}
	assert_int_equal(faults, 0);
}

static char room[RI_LAUNCHED_WORDS];
static struct ri_rank_outcome ranks[8];
static struct ri_actor actor;

static struct ri_launched seen(pid_t pid, int64_t rank, unsigned order, int status)
{
	return (struct ri_launched){
		.pid = pid, .rank = rank, .local_rank = rank, .is_rank = true, .order = order,
		.started.tv_sec = 100, .ended.tv_sec = 200 + (time_t)order,
		.has_status = order > 0, .wait_status = status,
	};
}

static bool is_here(const char *host)
{
	return strcmp(host, "192.0.2.2") == 0;
}

/* The first lines of the verdict; "" where no rank or actor is told of. */
static const char *verdict(const struct ri_launched *items, size_t count, const char *text,
	bool of_ray)
{
	static char shown[RI_VERDICT_SIZE];
	static struct ri_reason reason;
	static struct ri_topology topology;
	const struct ri_launched_source source = {
		.seen = items, .count = count, .room = room, .text = { text, strlen(text) },
		.ended.tv_sec = 300, .traceback.tv_sec = 205, .of_ray = of_ray,
		.is_here = is_here, .actor = &actor,
	};
	struct ri_outcome outcome = {
		.topology = &topology, .ranks = ranks, .launched = true, .host = "node-a",
		.exit_status = 1, .reason = &reason,
	};
	struct ri_text out;

	memset(ranks, 0, sizeof(ranks));
	outcome.count = ri_launched_outcomes(&source, ranks, 8);
	shown[0] = '\0';
	if (outcome.count == 0)
		return shown;
	for (size_t i = 0; i < outcome.count; i++)
		ri_class_find(&ranks[i]);
	ri_culprit_find(&outcome);
	assert_true(outcome.first >= 0);
	ri_reason_find(&ranks[outcome.first], &reason);
	out = ri_text_of(shown, sizeof(shown));
	ri_verdict_render(&outcome, &out);
	return shown;
}

static void has(const char *shown, const char *words)
{
	if (strstr(shown, words) == NULL)
		fail_msg("no '%s' in:\n%s", words, shown);
}

/* Both ended because the driver did: the victim first, and one that raised is no end. */
static void test_one_that_raised(void **state)
{
	static const char text[] = "(Worker pid=11) loading\n"
		HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END;
	const struct ri_launched items[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 7, EXIT_1) };
	const char *shown;

	(void)state;
	for (int of_ray = 0; of_ray < 2; of_ray++) {
		shown = verdict(items, 2, text, of_ray);
		has(shown, "rank 1 (local rank 1, pid 11 on node-a) failed first: raised the error "
			"below (by ray's word)\n  ValueError: bad batch 17\n");
		has(shown, "\n  rank 0: told to stop, exit status 1\n");
	}
	/* the control: another launcher's ranks may use Ray */
	assert_int_equal(ranks[1].evidence.class, RI_CLASS_OWN);
	shown = verdict(items, 2, HEAD TASK("Worker.train", "11", "192.0.2.2", OBJECT) END
		"E1127 01:14:19.7 7166 torch/distributed/elastic/multiprocessing/api.py:1002] "
		"failed (exitcode: 1) local_rank: 0 (pid: 10) of binary: python\n", false);
	has(shown, "rank 0 (local rank 0, pid 10 on node-a) failed first: exit status 1");
}

static void test_one_that_died(void **state)
{
	static const char text[] = HEAD DIED("11", "192.0.2.2")
		"(Worker pid=11) terminate called after throwing an instance of 'E'\n"
		"\x1b[36m(Worker pid=11)\x1b[0m   what():  CUDA error: device-side assert "
		"triggered\n";
	struct ri_launched items[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 1, SIGABRT) };
	const char *shown = verdict(items, 2, text, true);

	(void)state;
	has(shown, "rank 1 (local rank 1, pid 11 on node-a) failed first: killed by SIGABRT (6), ");
	has(shown, "CUDA error: device-side assert triggered\n");
	has(shown, "\n  rank 0: told to stop, exit status 1\n");
	items[1] = seen(11, 1, 1, EXIT_3);
	shown = verdict(items, 2, HEAD DIED("11", "192.0.2.2"), true);
	has(shown, "rank 1 (local rank 1, pid 11 on node-a) failed first: exit status 3, ");
	assert_null(strstr(shown, "The actor died"));
	/* an older kernel does not tell how */
	items[1].has_status = false;
	shown = verdict(items, 2, HEAD DIED("11", "192.0.2.2"), true);
	has(shown, "rank 1 (local rank 1, pid 11 on node-a) failed first: ended, how is not known "
		"(by ray's word)");
}

/* It was not seen, or ran on another node, where the pid is another's. */
static void test_one_that_is_no_rank(void **state)
{
	static const char text[] = HEAD TASK("Worker.train", "11", "198.51.100.7", OBJECT) END;
	const struct ri_launched items[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 7, EXIT_1) };

	(void)state;
	has(verdict(items, 2, text, true), "the actor Worker (pid 11 on 198.51.100.7) failed: "
		"raised the error below (by ray's word)\n  ValueError: bad batch 17\n");
	has(verdict(items, 1, HEAD TASK("train", "11", "192.0.2.2", OBJECT) END, true),
		"the task train (pid 11 on 192.0.2.2) failed: raised");
	has(verdict(items, 0, HEAD TASK("W.f", "11", "192.0.2.2", "W(rank=3)") END, true),
		"rank 3 (the actor W, pid 11 on 192.0.2.2) failed: raised");
	has(verdict(items, 0, HEAD DIED("11", "192.0.2.2"), true), "the actor Worker (pid 11 on "
		"192.0.2.2) failed: ended, how is not known (by ray's word)");
}

/* The one that is named lost another one, which had died before. */
static void test_a_victim_is_not_named(void **state)
{
	static const char text[] = HEAD TASK("Worker.train", "10", "192.0.2.2", OBJECT)
		"RuntimeError: Connection closed by peer [192.0.2.2]:3\n";
	const struct ri_launched items[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 1, SIGSEGV) };
	const struct ri_launched living[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 7, EXIT_1) };

	(void)state;
	has(verdict(items, 2, text, true), "rank 1 (local rank 1, pid 11 on node-a) failed first: "
		"killed by SIGSEGV (11), ");
	assert_string_equal(verdict(items, 1, text, true), "");
	assert_string_equal(verdict(items, 0, text, true), "");
	has(verdict(living, 2, text, true), "cannot tell which rank failed first: rank 0 lost a "
		"peer");
}

/* Its own exception: that all actors ended of it names none of them. */
static void test_a_driver_that_fails_itself(void **state)
{
	static const char text[] = HEAD "KeyError: 'loss'\n";
	const struct ri_launched items[] = { seen(10, 0, 6, EXIT_1), seen(11, 1, 7, EXIT_1) };

	(void)state;
	assert_string_equal(verdict(items, 2, text, true), "");
	/* the control: of a launcher these are its ranks */
	has(verdict(items, 2, text, false), "rank 0 (local rank 0, pid 10 on node-a) failed first");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_named),
		cmocka_unit_test(test_one_that_raised),
		cmocka_unit_test(test_one_that_died),
		cmocka_unit_test(test_one_that_is_no_rank),
		cmocka_unit_test(test_a_victim_is_not_named),
		cmocka_unit_test(test_a_driver_that_fails_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
