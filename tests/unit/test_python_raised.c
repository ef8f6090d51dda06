/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions that a thread has in hand, or that have left the program: recorded images. */
#include "../python/changed.h"
#include "python/python.h"

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
	assert_string_equal(raised.path[raised.path_count - 1].function, "step");
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
		assert_in_range(python.reads, 100, 400);
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
		/* an object of the type is not the type */
		only_so(in_sys("last_type"), exception);
		only_so(in_sys("last_type"), 0);
		only_so(in_sys("last_traceback"), exception);
		only_so(in_sys("last_traceback"), 0);
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

static void has_left(void)
{
	assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
	assert_int_equal(raised.exception, word_at(in_sys("last_value")));
}

/* A program that is a file has no code of a text, and one that is a text none of a file. */
static void the_file_must_be_its_own(uint64_t globals, uint64_t code)
{
	static const char *const texts[] = { "<string>", "<stdin>" };
	const struct ri_python_layout *layout = &python.layout;
	uint64_t file = word_at(code + layout->code_file);
	uint64_t type = word_at(word_at(in_dict(globals, "__loader__")) + layout->object_type);
	uint64_t type_name = word_at(type + layout->type_name);
	uint64_t length = word_at(file + layout->str_length);
	char name[32];

	only_so(in_dict(globals, "__loader__"), 0);
	memcpy(name, at(type_name), sizeof("type"));
	memcpy(at(type_name), "type", sizeof("type"));
	has_not_left();
	for (size_t i = 0; i < COUNT(texts); i++) {
		memcpy(at(type_name), "type", sizeof("type"));
		memcpy(at(file + layout->str_ascii), texts[i], strlen(texts[i]));
		put(file + layout->str_length, strlen(texts[i]));
		has_left();
		/* what C code runs in a thread beside the program */
		memcpy(at(type_name), name, sizeof("type"));
		has_not_left();
	}
	memcpy(at(file + layout->str_ascii), "/tmp/job/", strlen("/tmp/job/"));
	put(file + layout->str_length, length);
	has_left();
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
		the_file_must_be_its_own(word_at(frame + layout->frame_globals), code);
		/* 3.9: it runs; 3.10: it has returned; later: a thread has it */
		only_so_byte(frame + (layout->frame_state != RI_PYTHON_NO ? layout->frame_state :
			layout->frame_owner), python.minor < 11);
	}
}

/* In front of what the image has there. */
static void add_piece(uint64_t address, void *bytes, size_t size)
{
	memmove(image.pieces + 1, image.pieces, image.count++ * sizeof(image.pieces[0]));
	image.pieces[0].address = address;
	image.pieces[0].size = size;
	image.pieces[0].bytes = bytes;
}

/* A program that sets sys.last_value itself and ends well ends by another instruction. */
static void it_must_have_ended_by_an_exception(void **state)
{
	const struct ri_python_layout *layout = &python.layout;
	static uint64_t bytes = 0x10000, handlers = 0x20000;
	/* a bytes object; one range of it is all instructions, and its handler within that */
	static uint64_t table[RI_PYTHON_PIECE / 8];
	static const unsigned char all[] = { 0x80, 0x7f, 0x3f, 0, 0 };
	unsigned char instruction[2] = { 9, 0 };
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
			table[layout->bytes_size / 8] = 0;
			memcpy((char *)table + layout->bytes_data, all, sizeof(all));
			add_piece(code + layout->code_handlers, &handlers, sizeof(handlers));
			add_piece(handlers, table, sizeof(table));
		}
		/* an image has what was read, and nothing reads where the instructions agree */
		is_not_known();
		add_piece(first, instruction, sizeof(instruction));
		instruction[0] = 9;
		has_not_left();
		instruction[0] = (unsigned char)layout->raises;
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
		/* a raise of another: SystemExit, maybe */
		instruction[1] = 1;
		has_not_left();
		instruction[0] = (unsigned char)layout->raises_again;
		assert_int_equal(ri_python_left(&python, &raised), RI_PYTHON_OK);
		compare_raised();
		instruction[1] = 0;
		/* where something there may have caught it, a raise again may be that of another */
		table[layout->bytes_size / 8] = sizeof(all);
		if (python.minor >= 11)
			has_not_left();
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
	uint64_t dict, keys, exception, handler, trace, globals;

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
		put(in_sys("last_traceback"), nowhere);
		is_unknown_with(exception + layout->exception_traceback, nowhere);
		put(in_sys("last_traceback"), trace);
		is_unknown_with(handler + layout->frame_globals, nowhere);
		globals = word_at(handler + layout->frame_globals);
		is_unknown_with(in_dict(globals, "__loader__"), nowhere);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
