/* SPDX-License-Identifier: Apache-2.0 */
/* What the words alone say: whether the program lacks a rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"

#define HEADER "Traceback (most recent call last):\n"
#define FRAME(function) "  File \"/app/train.py\", line 9, in " function "\n    go()\n"
#define LAST "ValueError: bad batch 17\n"

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
	{ HEADER FRAME("<module>") ENVIRON("<frozen os>") "KeyError: 'MASTER_PORT'\n", true },
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
		cmocka_unit_test(a_program_without_a_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
