/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "command/command.h"
#include "out_of_memory.h"

#define LIST(...) ((char *const *)(uintptr_t)(const char *const[]){ __VA_ARGS__, NULL })

static struct ri_arena arena;
static struct ri_env_edit items[] = {
	{ "RANK", "13" },
	{ "MASTER_ADDR", "10.0.0.4" },
	{ "LOCAL_RANK", NULL },
	{ "_A1", "$RANK" },
	{ "0", "no name" },
	{ "9", "no name" },
};
static const struct ri_env_edits variables = { .items = items, .count = 6 };

static int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	return 0;
}

static const struct {
	const char *word;
	const char *by_auto;
	const char *by_all;	/* NULL: the same */
} words[] = {
	{ "$RANK", "13", NULL },
	{ "${RANK}", "13", NULL },
	{ "--rank=$RANK", "--rank=13", NULL },
	{ "--rank=${RANK}", "--rank=13", NULL },
	{ "a=b=$RANK", "a=b=13", NULL },
	{ "=$RANK", "=13", NULL },
	{ "--master_addr=$MASTER_ADDR", "--master_addr=10.0.0.4", NULL },
	/* text around it */
	{ "x$RANK", "x$RANK", "x13" },
	{ "$RANK.log", "$RANK.log", "13.log" },
	{ "--log=rank$RANK", "--log=rank$RANK", "--log=rank13" },
	{ "--log=${RANK}x", "--log=${RANK}x", "--log=13x" },
	{ "$RANK=$RANK", "$RANK=13", "13=13" },
	{ "$RANK$RANK", "$RANK$RANK", "1313" },
	{ "${RANK}${MASTER_ADDR}", "${RANK}${MASTER_ADDR}", "1310.0.0.4" },
	{ "echo $RANK; exit $?", "echo $RANK; exit $?", "echo 13; exit $?" },
	{ "$$RANK", "$$RANK", "$13" },
	{ "\\$RANK", "\\$RANK", "\\13" },
	{ "tcp://$MASTER_ADDR:1", "tcp://$MASTER_ADDR:1", "tcp://10.0.0.4:1" },
	/* not a variable of ours */
	{ "$HOME", "$HOME", NULL },
	{ "$RANKS", "$RANKS", NULL },
	{ "$RAN", "$RAN", NULL },
	{ "$rank", "$rank", NULL },
	{ "$LOCAL_RANK", "$LOCAL_RANK", NULL },
	{ "${local_rank}", "${local_rank}", NULL },
	/* not a reference */
	{ "RANK", "RANK", NULL },
	{ "$", "$", NULL },
	{ "${", "${", NULL },
	{ "${}", "${}", NULL },
	{ "${RANK", "${RANK", NULL },
	{ "$RANK}", "$RANK}", "13}" },
	{ "${RANK:-0}", "${RANK:-0}", NULL },
	{ "$(RANK)", "$(RANK)", NULL },
	{ "$1RANK", "$1RANK", NULL },
	{ "$0", "$0", NULL },
	{ "${9}", "${9}", NULL },
	{ "$ RANK", "$ RANK", NULL },
	{ "", "", NULL },
	{ "=", "=", NULL },
	{ "=$", "=$", NULL },
	/* what was put in is not looked at again */
	{ "$_A1", "$RANK", NULL },
	{ "x$_A1", "x$_A1", "x$RANK" },
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char *const *argv = LIST("x", words[i].word);
		const char *all = words[i].by_all == NULL ? words[i].by_auto : words[i].by_all;

		assert_string_equal(ri_expand_words(argv, RI_EXPAND_AUTO, &variables, &arena)[1],
			words[i].by_auto);
		assert_string_equal(ri_expand_words(argv, RI_EXPAND_ALL, &variables, &arena)[1],
			all);
		assert_ptr_equal(ri_expand_words(argv, RI_EXPAND_OFF, &variables, &arena), argv);
	}
}

static void test_only_what_changes_is_copied(void **state)
{
	char *const *argv = LIST("$RANK", "a", "$HOME", "$RANK"), *const *made;

	(void)state;
	made = ri_expand_words(argv, RI_EXPAND_ALL, &variables, &arena);
	assert_ptr_equal(made[0], argv[0]);
	assert_ptr_equal(made[1], argv[1]);
	assert_ptr_equal(made[2], argv[2]);
	assert_string_equal(made[3], "13");
	assert_null(made[4]);
	argv = LIST("$RANK", "$HOME");
	assert_ptr_equal(ri_expand_words(argv, RI_EXPAND_AUTO, &variables, &arena), argv);
	argv = LIST("x", "a", "b");
	assert_ptr_equal(ri_expand_words(argv, RI_EXPAND_ALL, &variables, &arena), argv);
}

static void test_later_variable_wins(void **state)
{
	struct ri_env_edit twice[] = { { "RANK", "1" }, { "RANK", "2" } };
	const struct ri_env_edits edits = { .items = twice, .count = 2 };

	(void)state;
	assert_string_equal(ri_expand_words(LIST("x", "$RANK"), RI_EXPAND_AUTO, &edits,
		&arena)[1], "2");
}

static void test_what_has_no_reference(void **state)
{
	char *const *lists[] = { LIST("$x", "y"), LIST(NULL), NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_ptr_equal(ri_expand_words(lists[i], RI_EXPAND_ALL, &variables, &arena),
			lists[i]);
}

static int expand_without_memory(void)
{
	void *last = &arena;

	if (!memory_exhaust(&arena))
		return 99;
	while (last != NULL)
		last = ri_arena_alloc(&arena, 16);
	return ri_expand_words(LIST("x", "$RANK"), RI_EXPAND_AUTO, &variables, &arena) == NULL
		? 0
		: 98;
}

static void test_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(expand_without_memory), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words),
		TEST(test_only_what_changes_is_copied),
		TEST(test_later_variable_wins),
		TEST(test_what_has_no_reference),
		TEST(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
