/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal names and the two maps. A map that is accepted is what its pairs say
 * one by one, and reads the same when written out in numbers.
 */
#include <signal.h>

#include "base/signals.h"
#include "fuzz.h"

static void check_name(const char *text)
{
	char name[RI_SIGNAL_NAME];
	int number = ri_signal_read(text);

	CHECK(number == -1 || (number >= 1 && number <= RI_SIGNAL_MAX));
	if (number < 0 || number == 32 || number == 33)
		return;
	CHECK(ri_signal_read(ri_signal_name(number, name)) == number);
	CHECK(ri_signal_read(name + 3) == number);
}

static void check_refusal(const struct ri_error *err)
{
	CHECK(err->code == RI_CODE_OPTION_VALUE);
	CHECK(strcmp(err->subject, "--map") == 0);
	CHECK(err->text[0] == '"' && fuzz_is_printable(err->text));
	CHECK(strlen(err->text) < sizeof(err->text) - 1);
}

/* Every "A:B" of text into map; false where there is another thing. */
static bool plain_signal_map(const char *text, struct ri_signal_map *map)
{
	char *copy = fuzz_string(text, strlen(text)), *rest = copy, *pair, *to;
	bool good = true;

	while (good && (pair = strsep(&rest, ",")) != NULL) {
		int from, target;

		to = strchr(pair, ':');
		if (to == NULL) {
			good = false;
			break;
		}
		*to++ = '\0';
		from = ri_signal_read(pair);
		target = strcmp(to, "0") == 0 ? 0 : ri_signal_read(to);
		good = from > 0 && target >= 0 && from != SIGKILL && from != SIGSTOP &&
			from != SIGCHLD && target != SIGCHLD;
		if (good)
			map->to[from] = (uint8_t)target;
	}
	free(copy);
	return good;
}

static void check_signal_map(const char *text)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_signal_map map, expected, again;
	char shown[RI_SIGNAL_MAX * 8] = "";
	size_t length = 0;

	ri_signal_map_init(&map);
	ri_signal_map_init(&expected);
	ri_signal_map_init(&again);
	if (ri_signal_map_read(&map, text, "--map", &err) < 0) {
		check_refusal(&err);
		CHECK(memcmp(&map, &again, sizeof(map)) == 0);
		return;
	}
	CHECK(err.code == RI_CODE_NONE);
	CHECK(plain_signal_map(text, &expected));
	CHECK(memcmp(&map, &expected, sizeof(map)) == 0);
	for (int i = 1; i <= RI_SIGNAL_MAX; i++)
		if (map.to[i] != i)
			length += (size_t)snprintf(shown + length, sizeof(shown) - length,
				"%s%d:%d", length > 0 ? "," : "", i, map.to[i]);
	if (length > 0)
		CHECK(ri_signal_map_read(&again, shown, "--map", &err) == 0);
	CHECK(memcmp(&map, &again, sizeof(map)) == 0);
}

static void check_exit_map(const char *text)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_signal_map map, again;
	char shown[256 * 8] = "";
	size_t length = 0;

	ri_signal_map_init(&map);
	ri_signal_map_init(&again);
	if (ri_exit_map_read(&map, text, "--map", &err) < 0) {
		check_refusal(&err);
		CHECK(memcmp(&map, &again, sizeof(map)) == 0);
		return;
	}
	CHECK(err.code == RI_CODE_NONE);
	CHECK(strspn(text, "0123456789:, \t\n\r\v\f") == strlen(text));
	for (int i = 0; i < 256; i++)
		if (map.to[i] != i)
			length += (size_t)snprintf(shown + length, sizeof(shown) - length,
				"%s%d:%d", length > 0 ? "," : "", i, map.to[i]);
	if (length > 0)
		CHECK(ri_exit_map_read(&again, shown, "--map", &err) == 0);
	CHECK(memcmp(&map, &again, sizeof(map)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	check_name(text);
	check_signal_map(text);
	check_exit_map(text);
	free(text);
	return 0;
}
