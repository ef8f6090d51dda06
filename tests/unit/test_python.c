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

#include "../python/image.h"

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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct image image;
static char text[65536];
static struct ri_python python;
static struct ri_python_threads threads;
static struct ri_python_frame frames[32];

static void open_image(const char *name)
{
	char path[128];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/python/%s", name);
	file = fopen(path, "rbe");
	assert_non_null(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	assert_int_equal(fclose(file), 0);
	image_open(&image, text, size);
}

static enum ri_python_answer find(void)
{
	const struct ri_python_memory memory = { image_read, &image };

	return ri_python_find(&python, &memory, &image.maps);
}

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

/* The bytes of an image from an address on. */
static unsigned char *at(uint64_t address)
{
	for (size_t i = 0; i < image.count; i++)
		if (address - image.pieces[i].address < image.pieces[i].size)
			return image.pieces[i].bytes + (address - image.pieces[i].address);
	fail_msg("nothing at %#lx", (unsigned long)address);
	return NULL;
}

static void put(uint64_t address, uint64_t value)
{
	memcpy(at(address), &value, sizeof(value));
}

static void open_found(const char *name)
{
	open_image(name);
	assert_int_equal(find(), RI_PYTHON_OK);
	assert_int_equal(ri_python_threads(&python, NULL, &threads), RI_PYTHON_OK);
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

/* --- exceptions in hand: tests/python/raises.py */

static const char *const raising[] = {
	"raises-3.9-x86_64", "raises-3.11-x86_64", "raises-3.12-x86_64", "raises-3.13-x86_64",
	"raises-3.14-x86_64",
};

/* Its threads, the newest first: only the main thread's leaves the program. */
static const struct {
	const char *outermost, *handler;
	bool leaves;
} in_hand[] = {
	{ "an_except_that_raises_another", "an_except_that_raises_another", false },
	{ "a_choice", "a_finally", false },
	{ "<module>", "a_finally", true },
};

static struct ri_python_stack held;
static struct ri_python_raised raised;

/* The exception of a thread, and its stack. */
static void look_in_hand(size_t thread)
{
	held = (struct ri_python_stack){ .frames = frames, .room = COUNT(frames) };
	assert_int_equal(ri_python_stack(&python, &threads.list[thread], &held), RI_PYTHON_OK);
	assert_int_equal(ri_python_raised(&python, &threads.list[thread], &raised), RI_PYTHON_OK);
}

static void compare_raised(void)
{
	assert_string_equal(raised.type, "ValueError");
	assert_string_equal(raised.message, "bad batch 17\n(20 left)");
	assert_string_equal(raised.at.file, "/tmp/job/train.py");
	assert_string_equal(raised.at.function, "step");
	assert_int_equal(raised.at.line, 27);
}

static void the_exception_in_hand_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(raising); i++) {
		open_found(raising[i]);
		assert_int_equal(threads.count, 3);
		for (size_t thread = 0; thread < 3; thread++) {
			const char *handler = NULL;

			look_in_hand(thread);
			assert_string_equal(frames[held.count - 1].function,
				in_hand[thread].outermost);
			compare_raised();
			for (size_t k = 0; k < held.count; k++)
				if (frames[k].address == raised.handler)
					handler = frames[k].function;
			assert_string_equal(handler, in_hand[thread].handler);
			assert_int_equal(ri_python_leaves(&python, &held, &raised),
				in_hand[thread].leaves && python.minor >= 11);
			/* C code calls the outermost frame alone */
			for (size_t k = 0; k < held.count; k++)
				assert_int_equal(frames[k].entered,
					k == held.count - 1 && python.minor >= 11);
		}
		/* it has not left yet */
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		assert_int_equal(raised.exception, 0);
		assert_int_equal(raised.handler, 0);
		assert_string_equal(raised.type, "");
	}
}

/* Where a frame is not known, or what handles it is not on the stack, it may be caught. */
static void of_a_part_of_a_stack_it_is_not_known(void **state)
{
	(void)state;
	open_found("raises-3.12-x86_64");
	look_in_hand(2);
	assert_true(ri_python_leaves(&python, &held, &raised));
	held.count--;
	assert_false(ri_python_leaves(&python, &held, &raised));
	held.count++;
	held.cut = true;
	assert_false(ri_python_leaves(&python, &held, &raised));
	held.cut = false;
	raised.handler++;
	assert_false(ri_python_leaves(&python, &held, &raised));
	held.count = held.depth = 0;
	assert_false(ri_python_leaves(&python, &held, &raised));
}

static void what_c_code_called_may_be_taken_by_it(void **state)
{
	(void)state;
	for (size_t i = 1; i < COUNT(raising); i++) {
		open_found(raising[i]);
		look_in_hand(2);
		for (size_t k = 0; k < held.count; k++) {
			bool was = frames[k].entered;

			frames[k].entered = true;
			/* the innermost frame is called by the handler: it handles nothing */
			assert_int_equal(ri_python_leaves(&python, &held, &raised),
				k == 0 || k == held.count - 1);
			frames[k].entered = was;
		}
		assert_true(ri_python_leaves(&python, &held, &raised));
	}
}

/* A stack of a greenlet ends at the function that it runs. */
static void only_the_program_can_be_left(void **state)
{
	(void)state;
	open_found("raises-3.13-x86_64");
	look_in_hand(2);
	put(frames[held.count - 2].address + python.layout.frame_previous, 0);
	look_in_hand(2);
	assert_string_equal(frames[held.count - 1].function, "main");
	assert_false(ri_python_leaves(&python, &held, &raised));
}

/* The word at an offset of what lies at an address. */
static uint64_t word_at(uint64_t address)
{
	uint64_t word;

	memcpy(&word, at(address), sizeof(word));
	return word;
}

static void lists_of_an_exception_that_lead_in_circles_end(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	uint64_t entry, traceback;

	(void)state;
	open_found("raises-3.13-x86_64");
	look_in_hand(2);
	traceback = word_at(raised.exception + layout->exception_traceback);
	put(traceback + layout->traceback_next, traceback);
	assert_int_equal(ri_python_raised(&python, &threads.list[2], &raised), RI_PYTHON_CHANGED);
	assert_string_equal(raised.type, "ValueError");

	entry = word_at(threads.list[2].state + layout->thread_handles);
	put(entry + layout->handled_exception, 0);
	assert_int_equal(ri_python_raised(&python, &threads.list[2], &raised), RI_PYTHON_OK);
	assert_int_equal(raised.exception, 0);
	put(entry + layout->handled_previous, entry);
	assert_int_equal(ri_python_raised(&python, &threads.list[2], &raised), RI_PYTHON_CHANGED);
	put(threads.list[2].state + layout->thread_handles, 0x1234567890);
	assert_int_equal(ri_python_raised(&python, &threads.list[2], &raised), RI_PYTHON_CHANGED);
}

/* No type that is no exception's counts, and no message that is no str. */
static void what_is_no_exception_is_none(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	uint64_t type, arguments;

	(void)state;
	open_found("raises-3.11-x86_64");
	look_in_hand(2);
	arguments = word_at(raised.exception + layout->exception_args);
	put(arguments + layout->bytes_size, 0);
	look_in_hand(2);
	assert_string_equal(raised.message, "");
	put(raised.exception + layout->exception_args, 0);
	look_in_hand(2);
	assert_string_equal(raised.message, "");
	type = word_at(raised.exception + layout->object_type);
	put(type + layout->type_flags, 0);
	look_in_hand(2);
	assert_int_equal(raised.exception, 0);
}

static void a_table_that_breaks_off_lets_nothing_leave(void **state)
{
	uint64_t table, size;

	(void)state;
	open_found("raises-3.14-x86_64");
	look_in_hand(2);
	assert_true(ri_python_leaves(&python, &held, &raised));
	assert_string_equal(frames[1].function, "a_finally");
	table = word_at(frames[1].code + python.layout.code_handlers);
	size = word_at(table + python.layout.bytes_size);
	put(table + python.layout.bytes_size, size - 1);
	assert_false(ri_python_leaves(&python, &held, &raised));
	/* without the ranges of its handlers it may be caught */
	put(table + python.layout.bytes_size, 0);
	assert_false(ri_python_leaves(&python, &held, &raised));
	put(frames[1].code + python.layout.code_handlers, 0x1234567890);
	assert_false(ri_python_leaves(&python, &held, &raised));
}

/* --- exceptions that have left the program: raises.py, nothing_catches */

static const char *const leaving[] = {
	"left-3.9-x86_64", "left-3.10-x86_64", "left-3.11-x86_64", "left-3.12-x86_64",
	"left-3.13-x86_64", "left-3.14-x86_64",
};

/* The address of the value that a dict has under a key. */
static uint64_t in_dict(uint64_t dict, const char *key)
{
	const struct ri_python_layout *layout = &python.layout;
	uint64_t keys = word_at(dict + layout->dict_keys);
	uint64_t size = word_at(keys + layout->keys_size) & 0xff, entry, length = strlen(key);
	uint64_t count = word_at(keys + layout->keys_count), each = 24;

	if (layout->keys_kind == RI_PYTHON_NO) {
		size = word_at(keys + layout->keys_size);
		size *= size <= UINT8_MAX ? 1 : 2;
	} else {
		size = 1ULL << size;
		each = at(keys)[layout->keys_kind] == 1 ? 16 : 24;
	}
	entry = keys + layout->keys_indices + size + each - 16;
	for (uint64_t i = 0; i < count; i++, entry += each) {
		uint64_t name = word_at(entry);

		if (name != 0 && word_at(name + layout->str_length) == length &&
			memcmp(at(name + layout->str_ascii), key, length) == 0)
			return entry + 8;
	}
	fail_msg("%s has no %s", python.release, key);
	return 0;
}

static uint64_t in_sys(const char *key)
{
	return in_dict(word_at(threads.list[0].interpreter + python.layout.sysdict), key);
}

static void open_left(size_t i)
{
	open_found(leaving[i]);
	assert_int_equal(threads.count, 2);
}

static void has_not_left(void)
{
	assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
	assert_int_equal(raised.exception, 0);
	assert_string_equal(raised.type, "");
}

static void is_not_known(void)
{
	assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_CHANGED);
	assert_int_equal(raised.exception, 0);
	assert_string_equal(raised.type, "");
}

static void an_exception_that_has_left_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		assert_int_equal(raised.exception, word_at(in_sys("last_value")));
		compare_raised();
		assert_in_range(python.reads, 100, 300);
	}
}

/* One word is another for a moment: then it has not left. */
static void only_so(uint64_t address, uint64_t value)
{
	uint64_t was = word_at(address);

	put(address, value);
	has_not_left();
	put(address, was);
	assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
	compare_raised();
}

static void sys_must_say_so(void **state)
{
	uint64_t exception, key;

	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		exception = word_at(in_sys("last_value"));
		only_so(in_sys("last_value"), 0);
		only_so(word_at(exception + python.layout.object_type) + python.layout.type_flags,
			0);
		if (python.minor >= 12)
			only_so(in_sys("last_exc"), 0);
		/* a prompt: sys has ps1, and it is no None */
		key = word_at(in_sys("excepthook") - 8);
		put(in_sys("excepthook"), exception);
		memcpy(at(key + python.layout.str_ascii), "ps1", 3);
		only_so(key + python.layout.str_length, 3);
	}
}

static void only_so_byte(uint64_t address, unsigned char value)
{
	unsigned char was = *at(address);

	*at(address) = value;
	has_not_left();
	*at(address) = was;
	assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
	compare_raised();
}

/* What a test runner's, a prompt's or a host's last exception lacks. */
static void the_programs_own_frame_must_have_ended(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	uint64_t trace, frame, code, name;

	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		trace = word_at(raised.exception + layout->exception_traceback);
		frame = raised.handler;
		code = word_at(frame + layout->frame_code) & ~(uint64_t)layout->code_tag;
		only_so(raised.exception + layout->exception_traceback, 0);
		only_so(word_at(trace + layout->traceback_frame) + layout->frame_caller, frame);
		only_so_byte(word_at(code + layout->code_name) + layout->str_ascii, 'X');
		name = word_at(in_dict(word_at(frame + layout->frame_globals), "__name__"));
		only_so_byte(name + layout->str_ascii, 'X');
		/* 3.9: it runs; 3.10: it has returned; later: a thread has it */
		only_so_byte(frame + (layout->frame_state != RI_PYTHON_NO ? layout->frame_state :
			layout->frame_owner), python.minor < 11);
	}
}

static void add_piece(uint64_t address, void *bytes, size_t size)
{
	image.pieces[image.count].address = address;
	image.pieces[image.count].size = size;
	image.pieces[image.count++].bytes = bytes;
}

/* A program that sets sys.last_value itself and ends well ends by another instruction. */
static void it_must_have_ended_by_an_exception(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	static uint64_t bytes = 0x10000;
	unsigned char instruction;
	uint64_t code, first;

	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		code = word_at(raised.handler + layout->frame_code) & ~(uint64_t)layout->code_tag;
		if (python.minor < 11) {
			first = bytes + layout->bytes_data;
			add_piece(code + layout->code_bytes, &bytes, sizeof(bytes));
			memset(at(raised.handler + layout->frame_instruction), 0, 4);
		} else {
			first = code + layout->code_first;
			put(raised.handler + layout->frame_instruction, first);
		}
		/* an image has what was read, and nothing reads where the instructions agree */
		is_not_known();
		add_piece(first, &instruction, sizeof(instruction));
		instruction = 9;
		has_not_left();
		instruction = (unsigned char)layout->raises;
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
		instruction = (unsigned char)layout->raises_again;
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
	}
}

static void the_main_thread_must_be_outside(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	uint64_t main_state, code;

	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		main_state = threads.list[1].state;
		only_so(main_state + layout->thread_number, 2);
		code = word_at(raised.handler + layout->frame_code) & ~(uint64_t)layout->code_tag;
		look_in_hand(1);
		assert_int_equal(held.depth, 1);
		only_so(frames[0].code + layout->code_name, word_at(code + layout->code_name));
		/* C code may be what it waits in */
		put(layout->cframe_frame == RI_PYTHON_NO ? main_state + layout->thread_frame :
			word_at(main_state + layout->thread_frame) + layout->cframe_frame, 0);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
	}
}

/* A word leads nowhere for a moment, or says what no dict of sys has. */
static void is_unknown_with(uint64_t address, uint64_t value)
{
	uint64_t was = word_at(address);

	put(address, value);
	is_not_known();
	put(address, was);
}

static void what_cannot_be_read_is_never_a_no(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	static const uint64_t nowhere = 0x1234567890;
	uint64_t dict, keys, exception, handler, trace;

	(void)state;
	for (size_t i = 0; i < COUNT(leaving); i++) {
		open_left(i);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		dict = word_at(threads.list[0].interpreter + layout->sysdict);
		keys = word_at(dict + layout->dict_keys);
		exception = raised.exception;
		handler = raised.handler;
		trace = word_at(exception + layout->exception_traceback);
		is_unknown_with(threads.list[0].interpreter + layout->sysdict, nowhere);
		is_unknown_with(dict + layout->dict_keys, nowhere);
		is_unknown_with(dict + layout->dict_values, nowhere);
		is_unknown_with(keys + layout->keys_count, 1025);
		is_unknown_with(keys + layout->keys_count, UINT64_MAX / 16);
		is_unknown_with(in_sys("last_value"), nowhere);
		is_unknown_with(in_sys("last_value") - 8, nowhere);
		is_unknown_with(exception + layout->object_type, nowhere);
		is_unknown_with(exception + layout->exception_traceback, nowhere);
		is_unknown_with(handler + layout->frame_globals, nowhere);
		is_unknown_with(trace + layout->traceback_frame, nowhere);
		is_unknown_with(trace + layout->traceback_next, trace);
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
		if (layout->keys_kind != RI_PYTHON_NO) {
			*at(keys + layout->keys_kind) = 2;
			is_not_known();
		}
	}
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
		cmocka_unit_test(the_exception_in_hand_is_read),
		cmocka_unit_test(of_a_part_of_a_stack_it_is_not_known),
		cmocka_unit_test(what_c_code_called_may_be_taken_by_it),
		cmocka_unit_test(only_the_program_can_be_left),
		cmocka_unit_test(lists_of_an_exception_that_lead_in_circles_end),
		cmocka_unit_test(what_is_no_exception_is_none),
		cmocka_unit_test(a_table_that_breaks_off_lets_nothing_leave),
		cmocka_unit_test(an_exception_that_has_left_is_read),
		cmocka_unit_test(sys_must_say_so),
		cmocka_unit_test(the_programs_own_frame_must_have_ended),
		cmocka_unit_test(it_must_have_ended_by_an_exception),
		cmocka_unit_test(the_main_thread_must_be_outside),
		cmocka_unit_test(what_cannot_be_read_is_never_a_no),
		cmocka_unit_test(the_reads_of_a_look_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
