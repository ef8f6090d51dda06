/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: an image of a CPython (tests/python/image.h). It is read as it is, and many times with
 * something in it changed: bits, lengths, pointers that lead elsewhere in it and in circles.
 */
#include "../python/image.h"
#include "fuzz.h"

enum { CHANGES = 1000, ROOM = 16 };

static struct image image;
static struct ri_python_threads threads;
static struct ri_python_frame frames[ROOM];
static uint64_t seed;

/* xorshift64* (S. Vigna, 2016) */
static uint64_t draw(uint64_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * 0x2545f4914f6cdd1d >> 16) % below;
}

static void check_string(const char *name, bool end_matters)
{
	size_t length = strnlen(name, RI_PYTHON_NAME);

	CHECK(length < RI_PYTHON_NAME);
	/* cut at the end of a character: less than the widest is left free */
	if (length >= RI_PYTHON_NAME - 4 && !end_matters && name[length - 1] == '.')
		CHECK((name[length - 4] & 0xc0) != 0xc0);
}

static void check_exception(enum ri_python_answer answer, const struct ri_python_raised *raised)
{
	CHECK(answer == RI_PYTHON_OK || answer == RI_PYTHON_CHANGED);
	CHECK(answer != RI_PYTHON_OK || raised->exception == 0 || raised->type[0] != '\0');
	CHECK(strnlen(raised->type, RI_PYTHON_NAME) < RI_PYTHON_NAME);
	check_string(raised->message, false);
	check_string(raised->at.file, true);
}

static void check_left(struct ri_python *python)
{
	static struct ri_python_raised left;
	enum ri_python_answer answer = ri_python_left(python, &left);

	check_exception(answer, &left);
	/* what has left came from a frame; what is not known says nothing */
	CHECK((left.exception != 0) == (left.type[0] != '\0'));
	CHECK((left.exception != 0) == (left.handler != 0));
	CHECK(answer == RI_PYTHON_OK || left.exception == 0);
}

static void check_raised(struct ri_python *python, const struct ri_python_thread *thread,
	const struct ri_python_stack *stack)
{
	static struct ri_python_raised raised;

	check_exception(ri_python_raised(python, thread, &raised), &raised);
	CHECK(!ri_python_leaves(python, stack, &raised) ||
		(raised.handler != 0 && stack->count == stack->depth));
}

static void check_stack(struct ri_python *python, const struct ri_python_thread *thread)
{
	struct ri_python_stack stack = { .frames = frames, .room = ROOM };
	enum ri_python_answer answer = ri_python_stack(python, thread, &stack);

	CHECK(answer == RI_PYTHON_OK || answer == RI_PYTHON_CHANGED);
	CHECK(stack.count <= ROOM && stack.depth <= RI_PYTHON_WALK);
	CHECK(stack.count == (stack.depth < ROOM ? stack.depth : ROOM));
	for (size_t i = 0; i < stack.count; i++) {
		check_string(frames[i].file, true);
		check_string(frames[i].function, false);
		CHECK(frames[i].line <= INT32_MAX);
	}
	check_raised(python, thread, &stack);
}

static void look(void)
{
	const struct ri_python_memory memory = { image_read, &image };
	const int32_t ids[] = { 1, 2, 3 };
	const struct ri_python_tasks tasks = { ids, 3 };
	struct ri_python python;
	enum ri_python_answer answer = ri_python_find(&python, &memory, &image.maps);

	CHECK(strnlen(python.release, sizeof(python.release)) < sizeof(python.release));
	CHECK(answer != RI_PYTHON_UNKNOWN || python.release[0] != '\0');
	if (answer == RI_PYTHON_OK) {
		bool runs;

		answer = ri_python_runs(&python, &runs);
		CHECK(answer == RI_PYTHON_OK || answer == RI_PYTHON_CHANGED);
		CHECK(python.minor >= RI_PYTHON_OLDEST && python.minor <= RI_PYTHON_NEWEST);
		answer = ri_python_threads(&python, &tasks, &threads);
		CHECK(answer == RI_PYTHON_OK || answer == RI_PYTHON_CHANGED);
		CHECK(threads.count <= RI_PYTHON_THREADS && threads.all >= threads.count);
		for (size_t i = 0; i < threads.count; i++)
			check_stack(&python, &threads.list[i]);
		CHECK(python.reads <= RI_PYTHON_READS);
		check_left(&python);
	}
	CHECK(python.reads <= RI_PYTHON_READS);
}

/* A word of memory, to be put back. */
struct change {
	unsigned char *at;
	unsigned char saved[8];
	size_t size;
};

static struct change change_something(void)
{
	size_t piece = draw(image.count), size = image.pieces[piece].size;
	struct change change = { .size = size < 8 ? size : 8 };
	uint64_t word = 0;

	change.at = image.pieces[piece].bytes + (size < 16 ? 0 : draw(size - 7) & ~(uint64_t)7);
	memcpy(change.saved, change.at, change.size);
	memcpy(&word, change.at, change.size);
	switch (draw(4)) {
	case 0:
		word ^= 1ULL << draw(64);
		break;
	case 1:
		word = UINT64_MAX >> draw(64);
		break;
	case 2:
		word = image.pieces[draw(image.count)].address + draw(64) * 8;
		break;
	default:
		word = draw(256);
	}
	memcpy(change.at, &word, change.size);
	return change;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	image_open(&image, text, size);
	look();
	seed = size + 1;
	for (int i = 0; i < CHANGES && image.count > 0; i++) {
		struct change change = change_something();

		look();
		/* some stay: a memory with several faults, until little of it is left */
		if (i % 100 != 0)
			memcpy(change.at, change.saved, change.size);
	}
	free(text);
	return 0;
}
