/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rankinit whose judge goes wrong of certain bytes of what a rank wrote, as a fault in a parser
 * would have it: linked with --wrap in place of the real functions (ld(1)), so that nothing else
 * of it differs. None of these bytes is one of UTF-8.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/judged.h"
#include "words/words.h"

enum harm {
	SEGFAULT = 0xf8, ABORT, OVERFLOW, SILENCE, SCRIBBLE, FLOOD, GARBAGE, ENDLESS,
};

extern char __bss_start[], _end[];	/* ld(1): what begins as zeroes */

void __real_ri_words_read(struct ri_span text, struct ri_words *out);
void __wrap_ri_words_read(struct ri_span text, struct ri_words *out);
void __real_ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run);
void __wrap_ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run);

static struct ri_judged *page;
static volatile char *volatile nowhere;

static int go_deeper(volatile int depth)
{
	volatile char much[65536];

	much[0] = (char)depth;
	/* where a stack has no limit: after a gigabyte */
	return depth == 1 << 14 ? 1 : go_deeper(depth + 1) + much[0];
}

static void fill_with_garbage(void)
{
	unsigned state = 1;

	for (size_t i = 0; i < sizeof(*page); i++) {
		state = state * 1103515245 + 12345;
		((char *)page)[i] = (char)(state >> 16);
	}
	page->stage = RI_JUDGED_WHOLE;
	_exit(0);
}

static void harm(unsigned char byte)
{
	switch (byte) {
	case SEGFAULT:
		*nowhere = 1;
		break;
	case ABORT:
		abort();
	case OVERFLOW:
		exit(go_deeper(0));
	case SILENCE:
		_exit(0);
	case SCRIBBLE:
		memset(__bss_start, 0xff, (size_t)(_end - __bss_start));
		break;
	case FLOOD:
		memset(page, 0xff, sizeof(*page));
		break;
	case GARBAGE:
		fill_with_garbage();
		break;
	case ENDLESS:
		for (;;)
			pause();
	}
}

void __wrap_ri_words_read(struct ri_span text, struct ri_words *out)
{
	for (size_t i = 0; i < text.length; i++)
		harm((unsigned char)text.at[i]);
	__real_ri_words_read(text, out);
}

void __wrap_ri_judge_answer(enum ri_question question, struct ri_judged *out, void *run)
{
	page = out;
	__real_ri_judge_answer(question, out, run);
}
