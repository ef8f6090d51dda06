/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded images of every minor (tests/python/image.py), and what is made of broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../python/changed.h"

static const struct {
	const char *image, *release;
} images[] = {
	{ "3.9-x86_64", "3.9" }, { "3.9-aarch64", "3.9" }, { "3.10-x86_64", "3.10" },
	{ "3.11-x86_64", "3.11.7" }, { "3.11-aarch64", "3.11.2" }, { "3.12-x86_64", "3.12.1" },
	{ "3.13-x86_64", "3.13.0" }, { "3.13-aarch64", "3.13.5" },
	{ "3.14-x86_64", "3.14.10" }, { "3.14-aarch64", "3.14.10" },
};

/* What tests/python/program.py waits in, "FILE:LINE QUALNAME"; the names of long ones are cut. */
static const char *const main_stack[] = {
	"/job/train.py:20 wait",
	"/job/train.py:59 Trainer.batches",
	"/job/train.py:53 Trainer.batch",
	"/job/train.py:49 Trainer.epoch.<locals>.<lambda>",
	".../long/end.py:4 outer",
	"/job/\xff.py:4 outer",
	"/job/\xf0\x9f\x98\x80.py:4 outer",
	"/job/\xe6\x97\xa5\xe6\x9c\xac.py:4 outer",
	"/job/gr\xc3\xb6\xc3\x9f" "e.py:4 outer",
	"/job/train.py:35 through",
	"/job/train.py:49 Trainer.epoch",
	"/job/train.py:44 Trainer.step",
	"/job/train.py:41 Trainer.step",
	"/job/train.py:41 Trainer.step",
	"/job/train.py:41 Trainer.step",
	"/job/train.py:100 main",
	"/job/train.py:103 <module>",
	"<string>:1 <module>",
};
static const char *const far_stack[] = {
	"/job/train.py:20 wait", "/job/far.py:70304 far", "/job/train.py:81 far_down",
};
static const char *const long_stack[] = {
	"/job/train.py:20 wait", "<string>:2 nnn...", "/job/train.py:74 long_name",
};

/* A name that was cut has its whole length; the test's has less. */
static void shorten(char *name)
{
	size_t length = strlen(name);

	if (length < RI_PYTHON_NAME - 1)
		return;
	assert_int_equal(length, RI_PYTHON_NAME - 1);
	if (strncmp(name, "...", 3) == 0) {
		assert_string_equal(name + length - 12, "/long/end.py");
		strcpy(name, ".../long/end.py");
	} else {
		strcpy(name, "nnn...");
	}
}

static void compare_stack(const struct ri_python_thread *thread, const char *const *expected,
	size_t count)
{
	struct ri_python_stack stack = { .frames = frames, .room = COUNT(frames) };
	char line[RI_PYTHON_NAME * 2 + 16];

	assert_int_equal(ri_python_stack(&python, thread, &stack), RI_PYTHON_OK);
	assert_int_equal(stack.depth, count);
	assert_int_equal(stack.count, count);
	assert_false(stack.cut);
	for (size_t i = 0; i < count; i++) {
		const char *wanted = expected[i];
		char old[128];

		shorten(frames[i].file);
		shorten(frames[i].function);
		snprintf(line, sizeof(line), "%s:%u %s", frames[i].file, frames[i].line,
			frames[i].function);
		/* before 3.11 there is the name alone, and 3.9 has another line of a long call */
		if (python.minor < 11 && strrchr(wanted, '.') > strchr(wanted, ' ') &&
			strstr(wanted, "...") == NULL) {
			snprintf(old, sizeof(old), "%.*s %s",
				(int)(strchr(wanted, ' ') - wanted), wanted,
				strrchr(wanted, '.') + 1);
			wanted = old;
		}
		if (python.minor == 9 && strcmp(wanted, "/job/train.py:44 step") == 0)
			wanted = "/job/train.py:43 step";
		assert_string_equal(line, wanted);
	}
}

static void reads_the_stacks_of_every_minor(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(images); i++) {
		open_image(images[i].image);
		assert_int_equal(find(), RI_PYTHON_OK);
		assert_string_equal(python.release, images[i].release);
		assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
		assert_int_equal(threads.count, 3);
		assert_int_equal(threads.all, 3);
		for (size_t thread = 0; thread < 3; thread++) {
			assert_int_equal(threads.list[thread].interpreter,
				threads.list[0].interpreter);
			assert_true(threads.list[thread].pthread != 0);
			assert_int_equal(threads.list[thread].tid > 0, python.minor >= 11);
		}
		compare_stack(&threads.list[2], main_stack, COUNT(main_stack));
		compare_stack(&threads.list[1], far_stack, COUNT(far_stack));
		compare_stack(&threads.list[0], long_stack, COUNT(long_stack));
		/* a look at all of them, as small as it is */
		assert_in_range(python.reads, 50, 200);
		assert_in_range(image.reads, python.reads + 10, python.reads + 40);
	}
}

static void the_outermost_frames_are_left_out_where_there_is_no_room(void **state)
{
	struct ri_python_stack few = { .frames = frames, .room = 5 },
		none = { .frames = NULL, .room = 0 };

	(void)state;
	open_image("3.13-x86_64");
	assert_int_equal(find(), RI_PYTHON_OK);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &few), RI_PYTHON_OK);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &none), RI_PYTHON_OK);
	assert_int_equal(few.count, 5);
	assert_int_equal(few.depth, COUNT(main_stack));
	assert_string_equal(frames[0].function, "wait");
	assert_int_equal(none.count, 0);
	assert_int_equal(none.depth, COUNT(main_stack));
	/* all frames count, those without room too */
	assert_true(few.hash == none.hash);
	assert_int_equal(ri_python_stack(&python, &threads.list[0], &none), RI_PYTHON_OK);
	assert_true(few.hash != none.hash);
}

static void another_version_is_named(void **state)
{
	static const struct {
		uint32_t version;
		const char *release;
	} versions[] = {
		{ 0x030f00a1, "3.15.0a1" }, { 0x030f01f0, "3.15.1" }, { 0x030800f0, "3.8.0" },
		{ 0x030d00b3, "3.13.0b3" }, { 0x030e00a7, "3.14.0a7" }, { 0x040000f0, "4.0.0" },
		{ 0xfffffff0, "255.255.255" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		static const uint32_t said = 0x030d00f0;
		unsigned changed = 0;

		open_image("3.13-x86_64");
		/* Py_Version is a piece of its own */
		for (size_t piece = 0; piece < image.count; piece++)
			if (image.pieces[piece].size == 4 &&
				memcmp(image.pieces[piece].bytes, &said, 4) == 0) {
				memcpy(image.pieces[piece].bytes, &versions[i].version, 4);
				changed++;
			}
		assert_int_equal(changed, 1);
		assert_int_equal(find(), RI_PYTHON_UNKNOWN);
		assert_string_equal(python.release, versions[i].release);
	}
}

static void a_build_without_a_gil_is_named(void **state)
{
	(void)state;
	open_found("3.14-x86_64");
	put(python.runtime + 16, 1);
	assert_int_equal(find(), RI_PYTHON_UNKNOWN);
	assert_string_equal(python.release, "3.14.10 (free-threaded)");
}

static void an_interpreter_that_has_not_started_is_none(void **state)
{
	(void)state;
	open_found("3.12-x86_64");
	put(python.runtime + python.layout.interpreters, 0);
	assert_int_equal(find(), RI_PYTHON_NONE);
	image.maps.count = 0;
	assert_int_equal(find(), RI_PYTHON_NONE);
}

static void memory_that_cannot_be_read_is_told_apart(void **state)
{
	(void)state;
	open_image("3.12-x86_64");
	image.count = 0;
	assert_int_equal(find(), RI_PYTHON_UNREADABLE);
	open_found("3.13-x86_64");
	at(python.runtime)[0] = 'X';
	assert_int_equal(find(), RI_PYTHON_CHANGED);
	at(python.runtime)[0] = 'x';
	put(python.runtime + 40, UINT64_MAX);
	assert_int_equal(find(), RI_PYTHON_CHANGED);
}

/* The images were taken of a program that runs; it has left its module where no frame is left. */
static void sees_whether_the_program_runs(void **state)
{
	bool runs = false;

	(void)state;
	for (size_t i = 0; i < COUNT(images); i++) {
		open_image(images[i].image);
		assert_int_equal(find(), RI_PYTHON_OK);
		assert_int_equal(ri_python_runs(&python, &runs), RI_PYTHON_OK);
		assert_true(runs);
	}
	/* a thread that runs no Python any more, and one that leads nowhere */
	open_found("3.13-x86_64");
	put(threads.list[2].state + python.layout.thread_frame, 0);
	assert_int_equal(ri_python_runs(&python, &runs), RI_PYTHON_OK);
	assert_false(runs);
	put(threads.list[2].state + python.layout.thread_frame, 0x1234567890);
	assert_int_equal(ri_python_runs(&python, &runs), RI_PYTHON_CHANGED);
}

static void lists_that_lead_in_circles_end(void **state)
{
	uint64_t main_state, first;

	(void)state;
	open_found("3.12-x86_64");
	main_state = threads.list[2].state;
	first = threads.list[0].state;
	put(main_state + python.layout.thread_next, first);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_CHANGED);
	assert_in_range(threads.count, 3, 16);
	assert_in_range(python.reads, 4, 20);

	open_found("3.12-x86_64");
	put(threads.list[0].interpreter + python.layout.interpreter_next,
		threads.list[0].interpreter);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_CHANGED);
	assert_int_equal(threads.count, 3);
}

static void a_stack_that_leads_in_a_circle_ends(void **state)
{
	struct ri_python_stack stack = { .frames = frames, .room = COUNT(frames) };
	uint64_t frame;

	(void)state;
	open_found("3.13-x86_64");
	memcpy(&frame, at(threads.list[2].state + python.layout.thread_frame), sizeof(frame));
	put(frame + python.layout.frame_previous, frame);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_CHANGED);
	assert_in_range(stack.count, 1, 3);
	assert_string_equal(frames[0].function, "wait");

	/* and one that leads out of the memory */
	put(frame + python.layout.frame_previous, 0x1234567890);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_CHANGED);
	assert_int_equal(stack.count, 1);
	put(threads.list[2].state + python.layout.thread_frame, 0);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_OK);
	assert_int_equal(stack.depth, 0);
}

/* What can still be told of a frame is. */
static void a_frame_with_a_broken_name_is_partly_there(void **state)
{
	struct ri_python_stack stack = { .frames = frames, .room = COUNT(frames) };
	uint64_t code, name;

	(void)state;
	open_found("3.11-aarch64");
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_OK);
	code = frames[0].code;
	memcpy(&name, at(code + python.layout.code_name), sizeof(name));
	put(name + python.layout.str_length, UINT64_MAX);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_CHANGED);
	assert_int_equal(stack.depth, COUNT(main_stack));
	assert_string_equal(frames[0].function, "");
	assert_string_equal(frames[0].file, "/job/train.py");
	assert_int_equal(frames[0].line, 20);
	assert_string_equal(frames[1].function, "Trainer.batches");
}

/* A made-up crowd of threads, newer than those of the image. */
enum { CROWD_STEP = 4096 };
static const uint64_t crowd = 0x100000000000;
static uint64_t crowd_size, behind_crowd;

static bool read_crowd(void *context, uint64_t address, void *out, size_t size)
{
	uint64_t which = (address - crowd) / CROWD_STEP, from = (address - crowd) % CROWD_STEP;
	uint64_t next = which + 1 == crowd_size ? behind_crowd : crowd + (which + 1) * CROWD_STEP;
	uint64_t place = python.layout.thread_next;

	if (address < crowd || which >= crowd_size)
		return image_read(context, address, out, size);
	memset(out, 0, size);
	if (from <= place && place + sizeof(next) <= from + size)
		memcpy((char *)out + place - from, &next, sizeof(next));
	return true;
}

static void the_main_thread_stands_behind_a_crowd(void **state)
{
	bool runs = false;

	(void)state;
	for (size_t i = 0; i < COUNT(images); i++) {
		uint64_t head, main_state;

		open_found(images[i].image);
		assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
		main_state = threads.list[2].state;
		head = threads.list[0].interpreter + python.layout.threads;
		behind_crowd = word_at(head);
		put(head, crowd);
		python.memory.read = read_crowd;
		for (crowd_size = 4096; crowd_size <= 65533; crowd_size += 61437) {
			assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
			assert_int_equal(threads.all, crowd_size + 3);
			assert_int_equal(threads.count, RI_PYTHON_THREADS);
			assert_int_equal(threads.list[RI_PYTHON_THREADS - 1].state, main_state);
			compare_stack(&threads.list[RI_PYTHON_THREADS - 1], main_stack,
				COUNT(main_stack));
			assert_int_equal(ri_python_runs(&python, &runs), RI_PYTHON_OK);
			assert_true(runs);
		}
		crowd_size = 65534;
		assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_CHANGED);
	}
}

/* Reads of one look are counted, and past the limit nothing is read any more. */
static void the_reads_of_a_look_are_bounded(void **state)
{
	struct ri_python_stack stack = { .frames = frames, .room = COUNT(frames) };

	(void)state;
	open_found("3.10-x86_64");
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
	assert_in_range(python.reads, 4, 10);
	python.reads = RI_PYTHON_READS - 2;
	image.reads = 0;
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_CHANGED);
	assert_int_equal(image.reads, 2);
	/* another look */
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
	assert_int_equal(ri_python_stack(&python, &threads.list[2], &stack), RI_PYTHON_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_main_thread_stands_behind_a_crowd),
		cmocka_unit_test(reads_the_stacks_of_every_minor),
		cmocka_unit_test(sees_whether_the_program_runs),
		cmocka_unit_test(the_outermost_frames_are_left_out_where_there_is_no_room),
		cmocka_unit_test(another_version_is_named),
		cmocka_unit_test(a_build_without_a_gil_is_named),
		cmocka_unit_test(an_interpreter_that_has_not_started_is_none),
		cmocka_unit_test(memory_that_cannot_be_read_is_told_apart),
		cmocka_unit_test(lists_that_lead_in_circles_end),
		cmocka_unit_test(a_stack_that_leads_in_a_circle_ends),
		cmocka_unit_test(a_frame_with_a_broken_name_is_partly_there),
		cmocka_unit_test(the_reads_of_a_look_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
