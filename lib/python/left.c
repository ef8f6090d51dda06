/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has an uncaught exception left the program? CPython keeps it as sys.last_value before it prints
 * it (Python/pythonrun.c, _PyErr_PrintEx, 3.9 to 3.14), with its type and its traceback beside it,
 * until the modules are cleared at the very end (Python/pylifecycle.c, finalize_modules). Test
 * runners, prompts and C extensions keep theirs there, too, and go on. The exception's own
 * traceback tells them apart: its first entry is the outermost frame that it left, which must be
 * the program's, called by none, and ended by it.
 *
 * One thing cannot be told before 3.11: a program that keeps there, with all that belongs to it, an
 * exception that its own outermost frame caught, and that ends by a SystemExit which comes through
 * the same try, or out of its except. To the last RERAISE of that frame both are alike. From 3.11
 * on the exception tables tell whether anything there may have caught it: then nothing is proved.
 */
#include <string.h>

#include "python/python.h"

enum {
	TRIES = 4,
	READINGS = 4,		/* that agree: a stack that changes may seem to end too early */
	READINGS_MOST = 16,
	ENTRIES = 1024,		/* of the dict of sys; a new one of 3.14 has 115 */
	OLDEST_ENTRIES = 8,	/* of a module's: __name__ is the first of any */
	LONGEST = 16,		/* bytes of a key that is looked for, '\0' included */
	KEYS_HEADER = 40,	/* bytes of a dict's keys before their indices */
	ENTRY = 24,		/* hash, key and value */
	STR_ENTRY = 16,		/* key and value, where all keys are str */
	/* Objects/dict-common.h, Include/internal/pycore_dict.h: enum DictKeysKind */
	KIND_GENERAL = 0,
	KIND_STR = 1,
	/* bits of PyASCIIObject.state (Include/cpython/unicodeobject.h) */
	COMPACT_ASCII = 3 << 5,
	FRAME_CLEARED = 4,	/* Include/cpython/frameobject.h of 3.10 */
	LAST_EXC = 12,		/* the first minor with sys.last_exc */
	RAISES_HANDLED = 0,	/* the operand of RAISE_VARARGS for a raise without an exception */
	FIRST_THREAD = 1,	/* Python/pystate.c, new_threadstate */
	DEEPEST = 256,		/* generators and coroutines that handle one within another's */
	ARGUMENTS = 2,		/* OSError has a number before its text */
	/* Include/object.h, Py_TPFLAGS_BASE_EXC_SUBCLASS and Py_TPFLAGS_UNICODE_SUBCLASS */
	IS_EXCEPTION = 1 << 30,
	IS_STRING = 1 << 28,
};

/*
 * What follows goes on where something could not be read, which counts as 0 or nothing then:
 * python->lost says so, and no answer is one.
 */
static uint64_t word(struct ri_python *python, uint64_t address, uint32_t offset)
{
	struct ri_python_word word = { .offset = offset };

	python->lost |= !ri_python_words(python, address, &word, 1);
	return word.value;
}

static void read_name(struct ri_python *python, uint64_t address, bool end_matters,
	char name[RI_PYTHON_NAME])
{
	python->lost |= !ri_python_name(python, address, end_matters, name);
}

static bool has_flag(struct ri_python *python, uint64_t object, uint64_t flag)
{
	uint64_t type = word(python, object, python->layout.object_type);

	return (word(python, type, python->layout.type_flags) & flag) != 0;
}

/* A generator that handles none has an entry without one: then that outside of it counts. */
static uint64_t find_exception(struct ri_python *python, uint64_t entry)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };

	for (; entry != 0; entry = word(python, entry, layout->handled_previous)) {
		uint64_t exception = word(python, entry, layout->handled_exception);

		python->lost |= !ri_python_walk_on(&walk, entry, DEEPEST);
		if (python->lost)
			return 0;
		/* None, in some minors */
		if (exception != 0 && has_flag(python, exception, IS_EXCEPTION))
			return exception;
	}
	return 0;
}

/* A string of C, whose end may lie before a page that is not there. */
static void read_type(struct ri_python *python, uint64_t object, char name[RI_PYTHON_NAME])
{
	uint64_t type = word(python, object, python->layout.object_type);
	uint64_t address = word(python, type, python->layout.type_name);
	size_t got;

	memset(name, 0, RI_PYTHON_NAME);
	got = ri_python_read_some(python, address, name, 1, RI_PYTHON_NAME - 1);
	if (got < RI_PYTHON_NAME - 1 && got > 0 && memchr(name, '\0', got) == NULL)
		got = ri_python_read_some(python, address + got, name + got, 1,
			RI_PYTHON_NAME - 1 - got);
	python->lost |= got == 0 || name[0] == '\0';
}

/*
 * The message may be missing: then nothing is lost. A tuple's size lies where that of a bytes
 * object does (PyVarObject).
 */
static void read_message(struct ri_python *python, uint64_t tuple, char message[RI_PYTHON_NAME])
{
	const struct ri_python_layout *layout = &python->layout;
	bool lost = python->lost;
	uint64_t size = word(python, tuple, layout->bytes_size), argument;

	message[0] = '\0';
	for (uint32_t i = 0; i < size && i < ARGUMENTS; i++) {
		argument = word(python, tuple, layout->tuple_items + 8 * i);
		if (has_flag(python, argument, IS_STRING)) {
			ri_python_name(python, argument, false, message);
			break;
		}
	}
	python->lost = lost;
}

/* The address of the frame that a frame object stands for. */
static uint64_t frame_of(struct ri_python *python, uint64_t object)
{
	return python->layout.frame_data == RI_PYTHON_NO ? object
		: word(python, object, python->layout.frame_data);
}

/* The first entry is of the frame that handles it, the last one of that which raised it. */
static void read_traceback(struct ri_python *python, uint64_t entry, struct ri_python_raised *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };
	uint64_t frames[RI_PYTHON_PATH], instructions[RI_PYTHON_PATH];
	bool lost;

	for (; entry != 0; entry = word(python, entry, layout->traceback_next)) {
		size_t at = walk.steps % RI_PYTHON_PATH;

		python->lost |= !ri_python_walk_on(&walk, entry, RI_PYTHON_WALK);
		frames[at] = frame_of(python, word(python, entry, layout->traceback_frame));
		instructions[at] = word(python, entry, layout->traceback_instruction);
		if (python->lost)
			return;
		if (out->handler == 0)
			out->handler = frames[at];
	}
	lost = python->lost;
	for (size_t i = walk.steps > RI_PYTHON_PATH ? walk.steps - RI_PYTHON_PATH : 0;
		i < walk.steps; i++) {
		size_t at = i % RI_PYTHON_PATH;
		uint64_t code;

		/* of an outer frame, unlike the innermost, a name may be missing */
		python->lost = lost;
		code = word(python, frames[at], layout->frame_code) & ~(uint64_t)layout->code_tag;
		python->lost |= !ri_python_describe(python, code, (int32_t)instructions[at],
			&out->at);
		if (!python->lost)
			out->path[out->path_count++] = out->at;
	}
}

static void describe(struct ri_python *python, uint64_t exception, struct ri_python_raised *out)
{
	const struct ri_python_layout *layout = &python->layout;

	*out = (struct ri_python_raised){ .exception = exception };
	read_type(python, exception, out->type);
	read_message(python, word(python, exception, layout->exception_args), out->message);
	read_traceback(python, word(python, exception, layout->exception_traceback), out);
}

enum ri_python_answer ri_python_raised(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_raised *out)
{
	uint64_t exception;

	*out = (struct ri_python_raised){ .exception = 0 };
	python->lost = false;
	exception = find_exception(python,
		word(python, thread->state, python->layout.thread_handles));
	if (exception != 0)
		describe(python, exception, out);
	return python->lost ? RI_PYTHON_CHANGED : RI_PYTHON_OK;
}

/* --- one that has left the program ------------------------------------------- */

/* A key of a dict that is looked for, and what it has there; 0: it is not there. */
struct wanted {
	const char *key;
	uint64_t value;
};

/* A dict's keys. */
struct keys {
	uint64_t entries;	/* address of the first one, the oldest */
	uint64_t count;		/* of them, deleted ones too */
	size_t size;		/* bytes of one */
};

/* The indices of 3.9 and 3.10 have as many bytes as one needs; later ones say how many all have. */
static bool read_keys(struct ri_python *python, uint64_t dict, struct keys *keys)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->dict_keys },
		{ .offset = layout->dict_values } };
	unsigned char head[KEYS_HEADER];
	unsigned kind = KIND_GENERAL;
	uint64_t size;

	if (!ri_python_words(python, dict, words, 2) || words[1].value != 0 ||
		!ri_python_read(python, words[0].value, head, sizeof(head)))
		return false;
	memcpy(&keys->count, head + layout->keys_count, sizeof(keys->count));
	memcpy(&size, head + layout->keys_size, sizeof(size));
	if (layout->keys_kind == RI_PYTHON_NO) {
		size *= size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
	} else {
		kind = head[layout->keys_kind];
		size = head[layout->keys_size] < 32 ? 1ULL << head[layout->keys_size] : UINT64_MAX;
	}
	keys->size = kind == KIND_STR ? STR_ENTRY : ENTRY;
	keys->entries = words[0].value + layout->keys_indices + size;
	return kind <= KIND_STR && size <= UINT32_MAX;
}

/* The one that the key is; NULL: none, as is one that is no str. */
static struct wanted *find_wanted(struct ri_python *python, uint64_t key, struct wanted *wanted,
	size_t count)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t size = word(python, key, layout->str_length);
	uint64_t state = word(python, key, layout->str_state);
	struct wanted *found = NULL;
	char name[LONGEST];

	if (size >= LONGEST || (state & COMPACT_ASCII) != COMPACT_ASCII)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (strlen(wanted[i].key) != size)
			continue;
		if (!ri_python_read(python, key + layout->str_ascii, name, size))
			python->lost = true;
		else if (memcmp(name, wanted[i].key, size) == 0)
			found = &wanted[i];
	}
	return found;
}

/* What a dict has under these keys, or of a module's dict among its oldest entries. */
static void look_up(struct ri_python *python, uint64_t dict, bool oldest, struct wanted *wanted,
	size_t count)
{
	static unsigned char entries[ENTRIES * ENTRY];
	struct keys keys = { .count = 0 };

	python->lost |= !read_keys(python, dict, &keys);
	if (oldest && keys.count > OLDEST_ENTRIES)
		keys.count = OLDEST_ENTRIES;
	python->lost |= keys.count > ENTRIES ||
		!ri_python_read(python, keys.entries, entries, keys.count * keys.size);
	for (size_t i = 0; i < keys.count && !python->lost; i++) {
		uint64_t pair[2];
		struct wanted *found;

		memcpy(pair, entries + (i + 1) * keys.size - sizeof(pair), sizeof(pair));
		if (pair[0] == 0 || pair[1] == 0)
			continue;
		found = find_wanted(python, pair[0], wanted, count);
		if (found != NULL)
			found->value = pair[1];
	}
}

/*
 * What sys keeps as its last exception, 0 for none, and whether a person types at a prompt. Where
 * a part of what belongs to it is another one's, the interpreter has not set it.
 */
static uint64_t read_sys(struct ri_python *python, uint64_t interpreter, bool *prompts)
{
	const struct ri_python_layout *layout = &python->layout;
	struct wanted keys[] = { { "last_value", 0 }, { "last_exc", 0 }, { "last_type", 0 },
		{ "last_traceback", 0 }, { "ps1", 0 } };
	uint64_t exception;
	char type[RI_PYTHON_NAME] = "NoneType";

	look_up(python, word(python, interpreter, layout->sysdict), false, keys, 5);
	exception = keys[0].value;
	if (keys[4].value != 0)
		read_type(python, keys[4].value, type);
	*prompts = strcmp(type, "NoneType") != 0;
	if (exception == 0 || !has_flag(python, exception, IS_EXCEPTION) ||
		(python->minor >= LAST_EXC && keys[1].value != exception))
		return 0;
	return keys[2].value == word(python, exception, layout->object_type) &&
		keys[3].value == word(python, exception, layout->exception_traceback)
		? exception : 0;
}

static void read_function(struct ri_python *python, uint64_t code, char function[RI_PYTHON_NAME])
{
	read_name(python, word(python, code, python->layout.code_name), false, function);
}

/* Is a frame with this code object that of a function of a module, whose globals it has? */
static bool is_of(struct ri_python *python, uint64_t frame, uint64_t code, const char *function,
	const char *module)
{
	struct wanted name = { "__name__", 0 };
	char found[RI_PYTHON_NAME];

	read_function(python, code, found);
	if (strcmp(found, function) != 0)
		return false;
	look_up(python, word(python, frame, python->layout.frame_globals), true, &name, 1);
	/* what is no str has no name */
	return name.value != 0 && ri_python_name(python, name.value, false, found) &&
		strcmp(found, module) == 0;
}

/*
 * What a C extension runs by PyRun_SimpleString in a thread of its own is <module> of __main__,
 * too. Its file is "<string>", as that of a program by -c. A program that is a file has another,
 * and a loader that is an object; before it begins, and where it is none, the loader is the class
 * BuiltinImporter (Python/pylifecycle.c, add_main_module; Python/pythonrun.c, set_main_loader).
 * __file__ does not tell: it is deleted where the exception has been printed (_PyRun_SimpleFile).
 */
static bool is_own_file(struct ri_python *python, uint64_t frame, uint64_t code)
{
	struct wanted loader = { "__loader__", 0 };
	char file[RI_PYTHON_NAME], type[RI_PYTHON_NAME] = "";

	look_up(python, word(python, frame, python->layout.frame_globals), true, &loader, 1);
	read_name(python, word(python, code, python->layout.code_file), true, file);
	if (loader.value == 0)
		return false;
	read_type(python, loader.value, type);
	return (strcmp(type, "type") == 0) ==
		(strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0);
}

/* The program's frame is that of __main__, or of what "python -m" begins with (Lib/runpy.py). */
static bool is_program(struct ri_python *python, uint64_t frame, uint64_t code)
{
	return is_of(python, frame, code, "<module>", "__main__")
		? is_own_file(python, frame, code)
		: is_of(python, frame, code, "_run_module_as_main", "runpy");
}

/* Is it on no stack any more? */
static bool has_ended(struct ri_python *python, const struct ri_python_place *frame)
{
	const struct ri_python_layout *layout = &python->layout;
	unsigned char state = 0;

	if (layout->frame_state == RI_PYTHON_NO)
		return frame->owner == layout->frame_ended;
	python->lost |= !ri_python_read(python, frame->address + layout->frame_state, &state,
		sizeof(state));
	return state == layout->frame_ended || (python->minor == 10 && state == FRAME_CLEARED);
}

/*
 * Where a program sets sys.last_value itself and ends well, it ends by a return, or by a SystemExit
 * that it raises: then that is what has an operand, and is no entry of the other's traceback.
 */
static bool has_raised(struct ri_python *python, const struct ri_python_place *frame,
	int64_t instruction)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t first = frame->code + layout->code_first, bytes;
	const struct ri_python_frame raiser = {
		.code = frame->code, .instruction = (uint32_t)instruction };
	unsigned char code[2] = { 0 };

	if (frame->instruction == instruction)
		return true;
	if (frame->instruction < 0)
		return false;
	bytes = word(python, frame->code, layout->code_bytes);
	if (layout->code_first == RI_PYTHON_NO)
		first = bytes + layout->bytes_data;
	python->lost |= !ri_python_read(python, first + (uint64_t)frame->instruction, code,
		sizeof(code));
	if (code[0] != layout->raises_again &&
		(code[0] != layout->raises || code[1] != RAISES_HANDLED))
		return false;
	return layout->code_handlers == RI_PYTHON_NO ||
		ri_python_leaves_frame(python, &raiser, false);
}

/* Is the outermost frame that it left the program's, called by none, and ended by it? */
static bool has_left_program(struct ri_python *python, uint64_t exception)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t trace = word(python, exception, layout->exception_traceback), object;
	struct ri_python_place frame;

	if (trace == 0)
		return false;
	object = word(python, trace, layout->traceback_frame);
	if (word(python, object, layout->frame_caller) != 0 || python->lost)
		return false;
	if (!ri_python_place(python, frame_of(python, object), &frame)) {
		python->lost = true;
		return false;
	}
	return is_program(python, frame.address, frame.code) && has_ended(python, &frame) &&
		has_raised(python, &frame,
			(int32_t)word(python, trace, layout->traceback_instruction));
}

/* NULL: no reading of the threads was whole. */
static const struct ri_python_thread *find_main(struct ri_python *python)
{
	static struct ri_python_threads threads;
	enum ri_python_answer answer = ri_python_threads(python, NULL, &threads);

	return answer != RI_PYTHON_OK || threads.count == 0 ? NULL
		: &threads.list[threads.count - 1];
}

/* The outermost function of a thread; "": it runs no Python. False: it could not be read. */
static bool read_outermost(struct ri_python *python, const struct ri_python_thread *thread,
	char function[RI_PYTHON_NAME])
{
	struct ri_python_stack stack = { .frames = NULL, .room = 0 };

	python->lost = ri_python_stack(python, thread, &stack) != RI_PYTHON_OK || stack.cut;
	function[0] = '\0';
	if (stack.outermost != 0)
		read_function(python, stack.outermost, function);
	return !python->lost;
}

/* "python FILE", "python -c" and what multiprocessing starts; "python -m" (Lib/runpy.py). */
static bool is_programs(const char *function)
{
	return strcmp(function, "<module>") == 0 || strcmp(function, "_run_module_as_main") == 0;
}

/*
 * Does the main thread run nothing that is the program's, or comes before a prompt (Lib/site.py,
 * register_readline)? And is it the one that began? A child that another thread has forked has that
 * thread alone, and its parent's sys.last_value.
 */
static bool is_outside(struct ri_python *python, const struct ri_python_thread *thread)
{
	char function[RI_PYTHON_NAME];
	const char *name;

	if (word(python, thread->state, python->layout.thread_number) != FIRST_THREAD ||
		!read_outermost(python, thread, function))
		return false;
	/* "enablerlcompleter.<locals>.register_readline", from 3.11 on */
	name = strrchr(function, '.') != NULL ? strrchr(function, '.') + 1 : function;
	return !is_programs(name) && strcmp(name, "register_readline") != 0;
}

/* The exception that has left, or 0. */
static uint64_t look(struct ri_python *python, struct ri_python_raised *out)
{
	const struct ri_python_thread *thread = find_main(python);
	uint64_t exception;
	bool prompts;

	python->lost = thread == NULL;
	exception = thread == NULL ? 0 : read_sys(python, thread->interpreter, &prompts);
	if (exception == 0 || prompts || !has_left_program(python, exception) || python->lost ||
		!is_outside(python, thread))
		return 0;
	describe(python, exception, out);
	return exception;
}

enum ri_python_answer ri_python_left(struct ri_python *python, struct ri_python_raised *out)
{
	for (int i = 0; i < TRIES; i++) {
		if (look(python, out) == 0 || python->lost)
			*out = (struct ri_python_raised){ .exception = 0 };
		if (!python->lost)
			return RI_PYTHON_OK;
	}
	return RI_PYTHON_CHANGED;
}

/*
 * Do the frame's exceptions go on to the frame that called it? C code between them may take them:
 * hasattr, a ctypes callback, the end of a generator, __del__. That of exec() does not (Python/
 * bltinmodule.c, builtin_exec_impl), by which "python -m" runs a module (Lib/runpy.py, _run_code).
 */
static bool reaches_caller(struct ri_python *python, const struct ri_python_frame *frame)
{
	return !frame->entered || (strcmp(frame->function, "<module>") == 0 &&
		is_of(python, frame[1].address, frame[1].code, "_run_code", "runpy"));
}

bool ri_python_leaves(struct ri_python *python, const struct ri_python_stack *stack,
	const struct ri_python_raised *raised)
{
	const struct ri_python_frame *frame = stack->frames, *last;
	bool prompts;

	python->lost = false;
	if (raised->handler == 0 || stack->cut || stack->count < stack->depth || stack->depth == 0)
		return false;
	last = frame + stack->count - 1;
	while (frame->address != raised->handler && frame < last)
		frame++;
	if (frame->address != raised->handler || !ri_python_leaves_frame(python, frame, true))
		return false;
	for (; frame < last; frame++)
		if (!reaches_caller(python, frame) ||
			!ri_python_leaves_frame(python, frame + 1, false))
			return false;
	/* the outermost frame of a greenlet, or of a thread, is another */
	if (!is_program(python, last->address, last->code))
		return false;
	read_sys(python, stack->interpreter, &prompts);
	/* where that could not be read, a person may type at a prompt, too */
	return !prompts && !python->lost;
}

enum ri_python_answer ri_python_runs(struct ri_python *python, bool *runs)
{
	const struct ri_python_thread *thread;
	char function[RI_PYTHON_NAME];
	int left = 0;
	bool now;

	for (int i = 0; i < READINGS_MOST; i++) {
		thread = find_main(python);
		if (thread == NULL || !read_outermost(python, thread, function))
			continue;
		/* what the interpreter imports before the program (Lib/importlib/_bootstrap.py) */
		now = is_programs(function) || strcmp(function, "_find_and_load") == 0;
		left += !now;
		if (!now && left < READINGS)
			continue;
		*runs = now;
		return RI_PYTHON_OK;
	}
	return RI_PYTHON_CHANGED;
}
