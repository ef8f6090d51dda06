/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused as a secret, and that what generators make never is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "link/seal.h"
#include "link/secret.h"
#include "thinned.h"

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define HEX DIGITS "abcdef"

enum { DRAWS = 100000, DRAWS_BELOW = 500, MOST = 128 };

/* splitmix64 */
static uint64_t draw(void)
{
	static uint64_t state = 0x72616e6b696e6974;
	uint64_t bits = state += 0x9e3779b97f4a7c15;

	bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
	bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
	return bits ^ (bits >> 31);
}

/* The form with each '*' replaced by one of the characters; the others stay. */
static void assert_all_pass(const char *form, const char *characters)
{
	size_t length = strlen(form), count = strlen(characters);
	const size_t draws = thinned(DRAWS, DRAWS_BELOW);
	char secret[MOST];

	assert_in_range(length, RI_SEAL_SECRET, sizeof(secret));
	for (size_t i = 0; i < draws; i++) {
		for (size_t j = 0; j < length; j++)
			secret[j] = form[j] == '*' ? characters[draw() % count] : form[j];
		if (ri_secret_flaw(secret, length) != NULL)
			fail_msg("%.*s %s", (int)length, secret, ri_secret_flaw(secret, length));
	}
}

#define EIGHT "********"
#define UUID EIGHT "-****-4***-a***-" EIGHT "****"

static void test_the_end_of_a_line_does_not_count(void **state)
{
	static const struct { const char *bytes; size_t length; } cases[] = {
		{ "", 0 }, { "\n", 0 }, { "\r\n", 0 }, { "ab", 2 }, { "ab\n", 2 },
		{ "ab\r\n", 2 }, { "ab\r", 2 }, { "ab\n\n", 3 }, { "a\nb", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(ri_secret_length(cases[i].bytes, strlen(cases[i].bytes)),
			cases[i].length);
}

static void test_what_generators_make_passes(void **state)
{
	static const char base64[] = UPPER LOWER DIGITS "+/";

	(void)state;
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT EIGHT "***=", base64);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT EIGHT "***=\n", base64);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, UPPER LOWER DIGITS "-_");
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, HEX);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT, HEX);
	assert_all_pass(UUID, HEX);
	assert_all_pass(UUID UUID, HEX);
	assert_all_pass(UUID "\n" UUID "\n", HEX);
	assert_all_pass(UUID "-" UUID, HEX);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, UPPER LOWER DIGITS);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, UPPER LOWER);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, LOWER DIGITS);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, LOWER);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT "\n", LOWER);
	assert_all_pass(EIGHT EIGHT EIGHT EIGHT, DIGITS);
}

static void test_raw_bytes_pass(void **state)
{
	const size_t draws = thinned(DRAWS, DRAWS_BELOW);
	unsigned char secret[RI_SEAL_SECRET];

	(void)state;
	for (size_t i = 0; i < draws; i++) {
		for (size_t j = 0; j < sizeof(secret); j++)
			secret[j] = (unsigned char)draw();
		assert_null(ri_secret_flaw(secret, sizeof(secret)));
	}
}

static void assert_flaw(const char *secret, const char *flaw)
{
	const char *found = ri_secret_flaw(secret, strlen(secret));

	if (found == NULL || strstr(found, flaw) == NULL)
		fail_msg("%s: %s", secret, found == NULL ? "passes" : found);
}

static void test_what_repeats_itself_or_goes_on(void **state)
{
	static const char *const secrets[] = {
		"changemechangemechangemechangeme", "passwordpasswordpasswordpassword",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "                                ",
		"0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210",
		"abcdefghijklmnopqrstuvwxyz012345", "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
		"12345678901234567890123456789012", "qwertyuiopasdfghjklzxcvbnm123456",
		"QWERTYUIOPASDFGHJKLZXCVBNM!@#$%^", "01010101010101010101010101010101",
		"d08fbc5a150028b5d08fbc5a150028b5", "xxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx",
		"secret-secret-secret-secret-secret", "",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		assert_flaw(secrets[i], "repeats itself");
	assert_non_null(ri_secret_flaw((const char[64]){ 0 }, 64));
}

static void test_words(void **state)
{
	static const char *const secrets[] = {
		"my-very-secret-key-for-the-cluster", "My Very Secret Key For The Cluster",
		"MY_VERY_SECRET_KEY_FOR_THE_CLUSTER", "/run/secrets/rankinit/cluster.key",
		"correct horse battery staple, again!", "REPLACE_ME_WITH_SOMETHING_RANDOM",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		assert_flaw(secrets[i], "is made of words");
}

static void test_what_was_left_over(void **state)
{
	(void)state;
	assert_flaw("RANKINIT_LINK_KEY=d08fbc5a150028b59a73c7852451d26f", "name of the variable");
	assert_flaw("{{ .Values.rankinit.LINK_KEY | b64enc }}", "name of the variable");
	assert_flaw("d08fbc5a150028b59a73c78LINK_KEY", "name of the variable");
}

static void test_nothing_else_is_refused(void **state)
{
	static const char random[] = "d08fbc5a150028b59a73c7852451d26f";
	char text[2 * sizeof(random)] = { 0 };

	(void)state;
	assert_null(ri_secret_flaw(random, sizeof(random) - 1));
	/* one of 64 that stands twice is as good as one */
	memcpy(text, random, sizeof(random) - 1);
	memcpy(text + sizeof(random) - 1, random, sizeof(random) - 1);
	assert_null(ri_secret_flaw(text, strlen(text)));
	assert_null(ri_secret_flaw("my-very-secret-key-for-the-cluster-Q7", 37));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_end_of_a_line_does_not_count),
		cmocka_unit_test(test_what_generators_make_passes),
		cmocka_unit_test(test_raw_bytes_pass),
		cmocka_unit_test(test_what_repeats_itself_or_goes_on),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_what_was_left_over),
		cmocka_unit_test(test_nothing_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
