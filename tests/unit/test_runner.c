/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that go wrong in every way that one can: the table is this file's own. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/runner.h"

#define CHUNK ((size_t)1 << 20)

static void passes(struct ri_checking *checking)
{
	ri_check_pass(checking, "passes", "all is well");
}

/* A sanitizer would say how it came to that, and exit. */
static void let_die(void)
{
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
}

/* Made before the limit of memory holds, which leaves nothing to a sanitizer's programs. */
static volatile char *forbidden, *empty;

static void segfaults(struct ri_checking *checking)
{
	let_die();
	ri_check_warn(checking, RI_CODE_SHM_FREE_SMALL, "segfaults", "is said too early");
	*forbidden = 1;
}

/* As a data loader on a full /dev/shm. */
static void reads_past_the_end(struct ri_checking *checking)
{
	(void)checking;
	let_die();
	*empty = 1;
}

static void aborts(struct ri_checking *checking)
{
	(void)checking;
	let_die();
	abort();
}

static void exits(struct ri_checking *checking)
{
	(void)checking;
	_exit(3);
}

static void floods(struct ri_checking *checking)
{
	for (int i = 0; i < 200; i++)
		ri_check_warn(checking, RI_CODE_SHM_FREE_SMALL, "floods", "number %d", i);
}

static void takes_memory(struct ri_checking *checking)
{
	size_t taken = 0;

	while (taken < 4096 && mmap(NULL, CHUNK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		MAP_FAILED)
		taken++;
	if (taken <= 512)
		ri_check_pass(checking, "takes_memory", "no more than is allowed");
	else
		ri_check_warn(checking, RI_CODE_SHM_FREE_SMALL, "takes_memory", "%zu", taken);
}

static void spins(struct ri_checking *checking)
{
	volatile bool forever = true;

	(void)checking;
	while (forever)
		;
}

static void stops(struct ri_checking *checking)
{
	(void)checking;
	raise(SIGSTOP);
}

/* What parent and child share becomes full of ones, and then it ends. */
static void runs_wild(struct ri_checking *checking)
{
	static char maps[1 << 18];
	int fd = open("/proc/self/maps", O_RDONLY);
	size_t length = 0;
	ssize_t count;

	(void)checking;
	let_die();
	while ((count = read(fd, maps + length, sizeof(maps) - 1 - length)) > 0)
		length += (size_t)count;
	for (char *line = maps, *end; *line != '\0'; line += strcspn(line, "\n") + 1) {
		uintptr_t from = strtoul(line, &end, 16), to = strtoul(end + 1, &end, 16);

		if (strncmp(end, " rw-s", 5) == 0 && to - from > CHUNK / 2)
			memset((void *)from, 0xff, to - from);
	}
	abort();
}

/* It ends before its time is over, on a busy machine too: what is probed has time of its own. */
#define ENDS .limit_ms = 60000, .probe = "patience"

static const struct ri_check table[] = {
	{ ENDS, .run = passes },
	{ ENDS, .run = segfaults },
	{ ENDS, .run = reads_past_the_end },
	{ ENDS, .run = aborts },
	{ ENDS, .run = exits },
	{ ENDS, .run = floods },
	{ ENDS, .run = takes_memory },
	{ .run = spins },
	{ .run = stops },
	{ ENDS, .run = runs_wild },
	{ ENDS, .run = passes },
};

enum { PASSES, SEGFAULTS, PAST_THE_END, ABORTS, EXITS, FLOODS, MEMORY, SPINS, STOPS, WILD, LAST };

/* In place of the real one, which has at least as many. */
const struct ri_check *ri_check_at(size_t index)
{
	const size_t last = sizeof(table) / sizeof(table[0]) - 1;

	return &table[index < last ? index : last];
}

/* On a busy machine one may end later than the runner waits, but it does end. */
static void wait_for_killed(void)
{
	int status;

	alarm(60);
	while (waitpid(-1, &status, 0) > 0)
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	alarm(0);
}

static struct ri_check_report run(const struct ri_check_wishes *wishes, size_t number, size_t last)
{
	static struct ri_host host = { .live = true };
	static struct ri_topology topology;
	struct ri_check_plan plan = {
		.checking = {
			.host = &host, .topology = &topology, .demands = &wishes->demands,
			.ranks = 1, .deep = true,
		},
		.wishes = wishes, .keeps_all = true,
	};
	struct ri_error err = RI_ERROR_INIT;
	struct ri_check_report report;

	ri_check_set_add(&plan.chosen, PASSES);
	ri_check_set_add(&plan.chosen, number);
	ri_check_set_add(&plan.chosen, last);
	assert_int_equal(ri_checks_run(&plan, &report, &err), 0);
	assert_int_equal(report.stop, 0);
	wait_for_killed();
	return report;
}

static const struct ri_check_wishes nothing;

/* One goes wrong, those before and after it are as ever. */
static void is_blamed(size_t number, enum ri_code code, const char *text)
{
	struct ri_check_report report = run(&nothing, number, LAST);

	assert_int_equal(report.count, 3);
	assert_false(report.unfit);
	assert_int_equal(report.items[0].status, RI_CHECK_PASS);
	assert_int_equal(report.items[1].status, RI_CHECK_UNKNOWN);
	assert_int_equal(report.items[1].check, number);
	assert_int_equal(report.items[1].code, code);
	assert_string_equal(report.items[1].subject, ri_check_ids()[number]);
	assert_string_equal(report.items[1].text, text);
	assert_non_null(strstr(report.items[1].hint, ri_check_ids()[number]));
	assert_int_equal(report.items[2].status, RI_CHECK_PASS);
	assert_int_equal(report.items[2].check, LAST);
}

static void crashes_are_named(void **state)
{
	(void)state;
	is_blamed(SEGFAULTS, RI_CODE_CHECK_CRASHED, "was ended by SIGSEGV");
	is_blamed(PAST_THE_END, RI_CODE_CHECK_CRASHED, "was ended by SIGBUS");
	is_blamed(ABORTS, RI_CODE_CHECK_CRASHED, "was ended by SIGABRT");
	is_blamed(EXITS, RI_CODE_CHECK_CRASHED, "was ended by an error of its own");
}

static void hangs_are_named(void **state)
{
	(void)state;
	is_blamed(SPINS, RI_CODE_CHECK_HUNG, "did not end within 500 ms and was stopped");
	is_blamed(STOPS, RI_CODE_CHECK_HUNG, "did not end within 500 ms and was stopped");
}

static void what_is_required_is_unfit(void **state)
{
	static struct ri_check_wishes wishes;
	struct ri_check_report report;

	(void)state;
	wishes.demands.of[RI_ASKER_REQUIRE].checks = (struct ri_demand){
		.subject = "--require", .asker = RI_ASKER_REQUIRE,
	};
	ri_check_set_add(&wishes.demands.of[RI_ASKER_REQUIRE].by_family, SEGFAULTS);
	report = run(&wishes, SEGFAULTS, LAST);
	assert_true(report.unfit && report.items[1].unfit);
	assert_true(ri_check_was_begun(&report.items[1]));
}

/* A flood is cut, and said to be one. */
static void a_flood_is_cut(void **state)
{
	struct ri_check_report report = run(&nothing, FLOODS, LAST);

	(void)state;
	assert_int_equal(report.count, RI_CHECK_RESULTS + 2);
	assert_true(report.dropped > 0);
	for (size_t i = 0; i < RI_CHECK_RESULTS; i++)
		assert_int_equal(report.items[i + 1].check, FLOODS);
	assert_string_equal(report.items[1].text, "number 0");
	assert_int_equal(report.items[RI_CHECK_RESULTS + 1].check, LAST);
}

static void memory_is_bounded(void **state)
{
	struct ri_check_report report = run(&nothing, MEMORY, LAST);

	(void)state;
	assert_int_equal(report.count, 3);
	assert_string_equal(report.items[1].text, "no more than is allowed");
}

/* No word of it is believed: not the count, not a string, not a number of a check. */
static void a_wild_one_is_not_believed(void **state)
{
	struct ri_check_report report = run(&nothing, WILD, LAST);
	const struct ri_check_result *last = &report.items[report.count - 1];

	(void)state;
	assert_true(report.dropped > RI_CHECKS_RESULTS);
	assert_true(report.count >= 2 && report.count <= RI_CHECKS_RESULTS);
	assert_int_equal(last[-1].code, RI_CODE_CHECK_CRASHED);
	assert_int_equal(last[-1].check, WILD);
	assert_int_equal(last->check, LAST);
	assert_int_equal(last->status, RI_CHECK_PASS);
	for (size_t i = 0; i < report.count; i++)
		assert_true(report.items[i].check < ri_check_count() &&
			report.items[i].code < RI_CODE_COUNT);
}

static int map_pages(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	empty = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	fclose(file);
	return forbidden == MAP_FAILED || empty == MAP_FAILED ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crashes_are_named),
		cmocka_unit_test(hangs_are_named),
		cmocka_unit_test(what_is_required_is_unfit),
		cmocka_unit_test(a_flood_is_cut),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_wild_one_is_not_believed),
	};

	return cmocka_run_group_tests(tests, map_pages, NULL);
}
