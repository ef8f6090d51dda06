/* SPDX-License-Identifier: Apache-2.0 */
/* What the words alone say: whether an exception has left the program, whether it lacks a rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/read_words.h"

#define HEADER "Traceback (most recent call last):\n"
#define FRAME(function) "  File \"/app/train.py\", line 9, in " function "\n    go()\n"
#define LAST "ValueError: bad batch 17\n"

struct row {
	const char *text;
	bool uncaught;
};

static const struct row rows[] = {
	{ HEADER FRAME("<module>") FRAME("main") LAST, true },
	{ HEADER FRAME("main") FRAME("step") LAST, false },
	/* its line behind it is another one's */
	{ HEADER FRAME("main") LAST "in <module>\n", false },
	{ "[rank1]: " HEADER "[rank1]:   File \"a.py\", line 1, in <module>\n"
	  "[rank1]: ValueError: bad batch 17\n", true },
	{ "[rank1]: " HEADER "[rank1]:   File \"a.py\", line 1, in f\n"
	  "[rank1]: ValueError: bad batch 17\n", false },
	/* python -m */
	{ HEADER "  File \"<frozen runpy>\", line 198, in _run_module_as_main\n" FRAME("<module>")
	  LAST, true },
	/* of a chain the last one counts */
	{ HEADER FRAME("step") "KeyError: 3\n\n"
	  "The above exception was the direct cause of the following exception:\n\n"
	  HEADER FRAME("<module>") FRAME("main") LAST, true },
	{ HEADER FRAME("<module>") "KeyError: 3\n\n"
	  "During handling of the above exception, another exception occurred:\n\n"
	  HEADER FRAME("main") LAST, false },
	/* a loop that prints the same: the last one */
	{ HEADER FRAME("<module>") LAST "epoch 2\n" HEADER FRAME("step") LAST, false },
	{ "  + Exception Group Traceback (most recent call last):\n"
	  "  |   File \"a.py\", line 1, in <module>\n"
	  "  | ExceptionGroup: two (1 sub-exception)\n"
	  "  +-+---------------- 1 ----------------\n"
	  "    | Traceback (most recent call last):\n"
	  "    |   File \"a.py\", line 1, in f\n"
	  "    | ValueError: bad batch 17\n"
	  "    +------------------------------------\n", true },
	{ "  + Exception Group Traceback (most recent call last):\n"
	  "  |   File \"a.py\", line 1, in f\n"
	  "  | ExceptionGroup: two (1 sub-exception)\n"
	  "  +-+---------------- 1 ----------------\n"
	  "    | ValueError: bad batch 17\n"
	  "    +------------------------------------\n", false },
	{ "Error executing job with overrides: []\n" HEADER FRAME("main") LAST
	  "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n", true },
	{ HEADER, false },
	{ "no traceback\n", false },
};

static void an_exception_left_the_program(void **state)
{
	struct ri_words words;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ri_words_read((struct ri_span){ rows[i].text, strlen(rows[i].text) }, &words);
		if (words.uncaught != rows[i].uncaught)
			fail_msg("uncaught is %d: %s", words.uncaught, rows[i].text);
	}
}

#define ENVIRON(file) \
	"  File \"" file "\", line 685, in __getitem__\n    raise KeyError(key) from None\n"
#define TORCH "ValueError: Error initializing torch.distributed using "
#define UNSET(name) TORCH "env:// rendezvous: environment variable " name " expected, but not set\n"

static const struct {
	const char *text;
	bool lacks_rank;
} asking[] = {
	{ HEADER FRAME("<module>") UNSET("RANK"), true },
	{ "[rank0]: " HEADER "[rank0]:   File \"a.py\", line 1, in f\n"
	  "[rank0]: " UNSET("WORLD_SIZE"), true },
	{ HEADER FRAME("<module>") ENVIRON("/usr/lib/python3.11/os.py") "KeyError: 'LOCAL_RANK'\n",
		true },
	{ HEADER FRAME("<module>") ENVIRON("<frozen os>") "KeyError: 'RANK'\n", true },
	/* another variable, another dictionary, torch's other error, one that was lived through */
	{ HEADER FRAME("<module>") UNSET("MASTER_ADDR"), false },
	{ HEADER FRAME("<module>") ENVIRON("<frozen os>") "KeyError: 'HOME'\n", false },
	{ HEADER FRAME("<module>") "KeyError: 'RANK'\n", false },
	{ HEADER FRAME("<module>") TORCH "tcp:// rendezvous: rank parameter missing\n", false },
	{ HEADER FRAME("<module>") UNSET("RANK") HEADER FRAME("<module>") LAST, false },
};

static void a_program_without_a_rank(void **state)
{
	struct ri_words words;

	(void)state;
	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		ri_words_read((struct ri_span){ asking[i].text, strlen(asking[i].text) }, &words);
		if (words.lacks_rank != asking[i].lacks_rank)
			fail_msg("lacks_rank is %d: %s", words.lacks_rank, asking[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exception_left_the_program),
		cmocka_unit_test(a_program_without_a_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
