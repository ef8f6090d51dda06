/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/signals.h"

static void test_every_name_round_trip(void **state)
{
	char name[RI_SIGNAL_NAME] = "", lower[RI_SIGNAL_NAME], number[12];

	(void)state;
	for (int n = 1; n <= RI_SIGNAL_MAX; n++) {
		snprintf(number, sizeof(number), "%d", n);
		assert_int_equal(ri_signal_read(number), n);
		assert_ptr_equal(ri_signal_name(n, name), name);
		if (n == 32 || n == 33) {
			assert_int_equal(ri_signal_read(name), -1);
			continue;
		}
		assert_memory_equal(name, "SIG", 3);
		assert_int_equal(ri_signal_read(name), n);
		assert_int_equal(ri_signal_read(name + 3), n);
		for (size_t i = 0; i < sizeof(lower); i++)
			lower[i] = (char)tolower((unsigned char)name[i]);
		assert_int_equal(ri_signal_read(lower), n);
		assert_int_equal(ri_signal_read(lower + 3), n);
	}
}

static void test_names(void **state)
{
	char name[RI_SIGNAL_NAME];

	(void)state;
	assert_string_equal(ri_signal_name(SIGTERM, name), "SIGTERM");
	assert_string_equal(ri_signal_name(SIGIO, name), "SIGIO");
	assert_string_equal(ri_signal_name(31, name), "SIGSYS");
	assert_string_equal(ri_signal_name(32, name), "signal 32");
	assert_string_equal(ri_signal_name(33, name), "signal 33");
	assert_string_equal(ri_signal_name(34, name), "SIGRTMIN");
	assert_string_equal(ri_signal_name(36, name), "SIGRTMIN+2");
	assert_string_equal(ri_signal_name(64, name), "SIGRTMIN+30");
	assert_string_equal(ri_signal_name(0, name), "signal 0");
	assert_string_equal(ri_signal_name(65, name), "signal 65");
	assert_string_equal(ri_signal_name(-1, name), "signal -1");
	assert_true(strlen(ri_signal_name(INT_MIN, name)) < RI_SIGNAL_NAME);
}

static void test_read(void **state)
{
	(void)state;
	assert_int_equal(ri_signal_read("TERM"), SIGTERM);
	assert_int_equal(ri_signal_read("SIGTERM"), SIGTERM);
	assert_int_equal(ri_signal_read("sigterm"), SIGTERM);
	assert_int_equal(ri_signal_read("15"), 15);
	assert_int_equal(ri_signal_read("IOT"), SIGABRT);
	assert_int_equal(ri_signal_read("SIGCLD"), SIGCHLD);
	assert_int_equal(ri_signal_read("poll"), SIGIO);
	assert_int_equal(ri_signal_read("RTMIN"), 34);
	assert_int_equal(ri_signal_read("SIGRTMIN+2"), 36);
	assert_int_equal(ri_signal_read("RTMIN+30"), 64);
	assert_int_equal(ri_signal_read("RTMAX"), 64);
	assert_int_equal(ri_signal_read("sigrtmax-1"), 63);
	assert_int_equal(ri_signal_read("RTMAX-30"), 34);
}

static void test_read_refused(void **state)
{
	static const char *const texts[] = { "", "0", "65", "-1", "SIG", "SIGSIGTERM", "SIG15",
		"TERMS", "TER", "TERM ", "RTMIN-1", "RTMAX+1", "RTMIN+31", "RTMAX-31", "RTMIN+",
		"RTMIN2", "RTMIN+-1", "RTMIN+0x1", "RT", "18446744073709551631", "4294967311",
		"9,15", "SIGTERM\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(ri_signal_read(texts[i]), -1);
}

static void test_map_starts_as_it_is(void **state)
{
	struct ri_signal_map map;

	(void)state;
	ri_signal_map_init(&map);
	for (int i = 0; i < 256; i++)
		assert_int_equal(map.to[i], i);
}

static void test_map(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_signal_map map;

	(void)state;
	ri_signal_map_init(&map);
	assert_int_equal(ri_signal_map_read(&map,
		"TERM:INT,USR1:0,10:SIGKILL,rtmin+1:RTMAX,64:STOP", "--signal-map", &err), 0);
	assert_int_equal(err.code, RI_CODE_NONE);
	assert_int_equal(map.to[SIGTERM], SIGINT);
	assert_int_equal(map.to[SIGUSR1], SIGKILL);
	assert_int_equal(map.to[35], 64);
	assert_int_equal(map.to[64], SIGSTOP);
	assert_int_equal(map.to[SIGINT], SIGINT);
	assert_int_equal(ri_signal_map_read(&map, "TERM:0", "--signal-map", &err), 0);
	assert_int_equal(map.to[SIGTERM], 0);
	assert_int_equal(map.to[SIGUSR1], SIGUSR1);
}

static void map_refused(const char *text)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_signal_map map, before;

	ri_signal_map_init(&map);
	before = map;
	assert_int_equal(ri_signal_map_read(&map, text, "RANKINIT_SIGNAL_MAP", &err), -1);
	assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
	assert_string_equal(err.subject, "RANKINIT_SIGNAL_MAP");
	assert_true(strlen(err.text) < sizeof(err.text) - 1);
	assert_memory_equal(&map, &before, sizeof(map));
}

static void test_map_refused(void **state)
{
	static const char *const texts[] = { "", ",", ":", "TERM", "TERM:", ":INT", "TERM:INT,",
		",TERM:INT", "TERM:INT,,USR1:0", "TERM:INT:USR1", "TERM:NONE", "NONE:TERM",
		"0:TERM", "TERM:00", "TERM:65", "TERM:-1", "TERM:INT;USR1:0", "TERM: INT",
		"TERM:INT, USR1:0", "TERM:INT,USR1", "KILL:TERM", "STOP:TERM", "CHLD:TERM",
		"CLD:TERM", "9:TERM", "TERM:CHLD", "TERM:17", "TERM:INT,KILL:0", "TERM\n:INT",
		"SIGTERMSIGTERMSIGTERMSIGTERM:INT", "TERM:00000000000000000000000000000000015" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		map_refused(texts[i]);
}

/* The message names what was given, quoted, and says what was expected. */
static void test_map_message(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	char text[400];
	struct ri_signal_map map;

	(void)state;
	ri_signal_map_init(&map);
	ri_signal_map_read(&map, "\x1b[2J", "--signal-map", &err);
	assert_memory_equal(err.text, "\"\\x1b[2J\": expected pairs of signals", 35);
	memset(text, 1, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	map_refused(text);
}

static void test_long_map(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	static char text[9 * 20000];
	struct ri_signal_map map;

	(void)state;
	for (size_t i = 0; i < 20000; i++)
		memcpy(text + 9 * i, "TERM:INT,", 9);
	text[sizeof(text) - 1] = '\0';
	ri_signal_map_init(&map);
	assert_int_equal(ri_signal_map_read(&map, text, "x", &err), 0);
	assert_int_equal(map.to[SIGTERM], SIGINT);
}

static void test_exit_map(void **state)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_signal_map map;

	(void)state;
	ri_signal_map_init(&map);
	assert_int_equal(ri_exit_map_read(&map, "143:0,123:138, 0:255 ", "--exit-map", &err), 0);
	assert_int_equal(map.to[143], 0);
	assert_int_equal(map.to[123], 138);
	assert_int_equal(map.to[0], 255);
	assert_int_equal(map.to[138], 138);
	assert_int_equal(ri_exit_map_read(&map, "143:1", "--exit-map", &err), 0);
	assert_int_equal(map.to[143], 1);
	assert_int_equal(map.to[123], 123);	/* it replaces the first */
}

static void test_exit_map_refused(void **state)
{
	static const char *const texts[] = { "", "143", "143:", ":0", "256:0", "0:256", "-1:0",
		"143:0,", "143:0:1", "TERM:0", "0x1:0", "143:0,123", "143:0\n,,", "1:1.5",
		"18446744073709551616:0" };
	struct ri_signal_map map, before;

	(void)state;
	ri_signal_map_init(&map);
	before = map;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ri_error err = RI_ERROR_INIT;

		assert_int_equal(ri_exit_map_read(&map, texts[i], "--exit-map", &err), -1);
		assert_int_equal(err.code, RI_CODE_OPTION_VALUE);
		assert_string_equal(err.subject, "--exit-map");
		assert_memory_equal(&map, &before, sizeof(map));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_round_trip),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_refused),
		cmocka_unit_test(test_map_starts_as_it_is),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_refused),
		cmocka_unit_test(test_map_message),
		cmocka_unit_test(test_long_map),
		cmocka_unit_test(test_exit_map),
		cmocka_unit_test(test_exit_map_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
