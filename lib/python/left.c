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
};

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

/* Is the key this one? A key that is no str is none. */
static bool compare_key(struct ri_python *python, uint64_t key, struct wanted *wanted,
	size_t count, struct wanted **found)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->str_length },
		{ .offset = layout->str_state } };
	char name[LONGEST];

	*found = NULL;
	if (!ri_python_words(python, key, words, 2))
		return false;
	if (words[0].value >= LONGEST || (words[1].value & COMPACT_ASCII) != COMPACT_ASCII)
		return true;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(wanted[i].key);

		if (length != words[0].value)
			continue;
		if (!ri_python_read(python, key + layout->str_ascii, name, length))
			return false;
		if (memcmp(name, wanted[i].key, length) == 0)
			*found = &wanted[i];
	}
	return true;
}

/* What a dict has under these keys, or of a module's dict among its oldest entries. */
static bool look_up(struct ri_python *python, uint64_t dict, bool oldest, struct wanted *wanted,
	size_t count)
{
	static unsigned char entries[ENTRIES * ENTRY];
	struct keys keys;

	if (!read_keys(python, dict, &keys))
		return false;
	if (oldest && keys.count > OLDEST_ENTRIES)
		keys.count = OLDEST_ENTRIES;
	if (keys.count > ENTRIES ||
		!ri_python_read(python, keys.entries, entries, keys.count * keys.size))
		return false;
	for (size_t i = 0; i < keys.count; i++) {
		uint64_t pair[2];
		struct wanted *found;

		memcpy(pair, entries + (i + 1) * keys.size - sizeof(pair), sizeof(pair));
		if (pair[0] == 0 || pair[1] == 0)
			continue;
		if (!compare_key(python, pair[0], wanted, count, &found))
			return false;
		if (found != NULL)
			found->value = pair[1];
	}
	return true;
}

/* The answers of what follows: RI_PYTHON_OK is yes, _NONE no; _CHANGED: it could not be read. */
static enum ri_python_answer yes_or_no(bool yes)
{
	return yes ? RI_PYTHON_OK : RI_PYTHON_NONE;
}

/* What sys keeps beside its last exception: who sets a part of it alone is not the interpreter. */
static bool read_last(struct ri_python *python, const struct wanted *keys, uint64_t *exception)
{
	struct ri_python_word words[] = { { .offset = python->layout.object_type },
		{ .offset = python->layout.exception_traceback } };
	bool is;

	*exception = 0;
	if (keys[0].value == 0)
		return true;
	if (!ri_python_exception(python, keys[0].value, &is))
		return false;
	if (!is || (python->minor >= LAST_EXC && keys[1].value != keys[0].value))
		return true;
	if (!ri_python_words(python, keys[0].value, words, 2))
		return false;
	if (keys[2].value == words[0].value && keys[3].value == words[1].value)
		*exception = keys[0].value;
	return true;
}

/* What sys keeps as its last exception, 0 for none, and whether somebody types at a prompt. */
static bool read_sys(
	struct ri_python *python, uint64_t interpreter, uint64_t *exception, bool *prompts)
{
	struct wanted keys[] = { { "last_value", 0 }, { "last_exc", 0 }, { "last_type", 0 },
		{ "last_traceback", 0 }, { "ps1", 0 } };
	uint64_t sysdict;
	char type[RI_PYTHON_NAME] = "NoneType";

	if (!ri_python_word(python, interpreter, python->layout.sysdict, &sysdict) ||
		!look_up(python, sysdict, false, keys, 5) ||
		!read_last(python, keys, exception) ||
		(keys[4].value != 0 && !ri_python_type(python, keys[4].value, type)))
		return false;
	*prompts = strcmp(type, "NoneType") != 0;
	return true;
}

static bool read_function(struct ri_python *python, uint64_t code, char function[RI_PYTHON_NAME])
{
	uint64_t name;

	return ri_python_word(python, code, python->layout.code_name, &name) &&
		ri_python_name(python, name, false, function);
}

/* Are a frame's globals those of the module of this name? */
static enum ri_python_answer is_of_module(
	struct ri_python *python, uint64_t frame, const char *module)
{
	struct wanted name = { "__name__", 0 };
	char found[RI_PYTHON_NAME];
	uint64_t globals;

	if (!ri_python_word(python, frame, python->layout.frame_globals, &globals) ||
		!look_up(python, globals, true, &name, 1))
		return RI_PYTHON_CHANGED;
	/* what is no str has no name */
	return yes_or_no(name.value != 0 && ri_python_name(python, name.value, false, found) &&
		strcmp(found, module) == 0);
}

/* Is a frame with this code object that of a function of a module? */
static enum ri_python_answer is_of(struct ri_python *python, uint64_t frame, uint64_t code,
	const char *function, const char *module)
{
	char found[RI_PYTHON_NAME];

	if (!read_function(python, code, found))
		return RI_PYTHON_CHANGED;
	return strcmp(found, function) == 0 ? is_of_module(python, frame, module) : RI_PYTHON_NONE;
}

/*
 * What a C extension runs by PyRun_SimpleString in a thread of its own is <module> of __main__,
 * too. Its file is "<string>", as that of a program by -c. A program that is a file has another,
 * and a loader that is an object; before it begins, and where it is none, the loader is the class
 * BuiltinImporter (Python/pylifecycle.c, add_main_module; Python/pythonrun.c, set_main_loader).
 * __file__ does not tell: it is deleted where the exception has been printed (_PyRun_SimpleFile).
 */
static enum ri_python_answer is_own_file(struct ri_python *python, uint64_t frame, uint64_t code)
{
	struct wanted loader = { "__loader__", 0 };
	char file[RI_PYTHON_NAME], type[RI_PYTHON_NAME];
	uint64_t globals, name;

	if (!ri_python_word(python, frame, python->layout.frame_globals, &globals) ||
		!look_up(python, globals, true, &loader, 1) ||
		!ri_python_word(python, code, python->layout.code_file, &name) ||
		!ri_python_name(python, name, true, file))
		return RI_PYTHON_CHANGED;
	if (loader.value == 0)
		return RI_PYTHON_NONE;
	if (!ri_python_type(python, loader.value, type))
		return RI_PYTHON_CHANGED;
	return yes_or_no((strcmp(type, "type") == 0) ==
		(strcmp(file, "<string>") == 0 || strcmp(file, "<stdin>") == 0));
}

/* The program's frame is that of __main__, or of what "python -m" begins with (Lib/runpy.py). */
static enum ri_python_answer is_program(struct ri_python *python, uint64_t frame, uint64_t code)
{
	enum ri_python_answer answer = is_of(python, frame, code, "<module>", "__main__");

	if (answer == RI_PYTHON_OK)
		return is_own_file(python, frame, code);
	return answer != RI_PYTHON_NONE ? answer :
		is_of(python, frame, code, "_run_module_as_main", "runpy");
}

/* Is it on no stack any more? */
static enum ri_python_answer has_ended(
	struct ri_python *python, const struct ri_python_place *frame)
{
	const struct ri_python_layout *layout = &python->layout;
	unsigned char state;

	if (layout->frame_state == RI_PYTHON_NO)
		return yes_or_no(frame->owner == layout->frame_ended);
	if (!ri_python_read(python, frame->address + layout->frame_state, &state, sizeof(state)))
		return RI_PYTHON_CHANGED;
	return yes_or_no(state == layout->frame_ended ||
		(python->minor == 10 && state == FRAME_CLEARED));
}

/*
 * Where a program sets sys.last_value itself and ends well, it ends by a return, or by a SystemExit
 * that it raises: then that is what has an operand, and is no entry of the other's traceback.
 */
static enum ri_python_answer has_raised(
	struct ri_python *python, const struct ri_python_place *frame, int64_t instruction)
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t first = frame->code + layout->code_first, bytes;
	const struct ri_python_frame raiser = {
		.code = frame->code, .instruction = (uint32_t)instruction };
	unsigned char code[2];

	if (frame->instruction == instruction)
		return RI_PYTHON_OK;
	if (frame->instruction < 0)
		return RI_PYTHON_NONE;
	if (!ri_python_word(python, frame->code, layout->code_bytes, &bytes))
		return RI_PYTHON_CHANGED;
	if (layout->code_first == RI_PYTHON_NO)
		first = bytes + layout->bytes_data;
	if (!ri_python_read(python, first + (uint64_t)frame->instruction, code, sizeof(code)))
		return RI_PYTHON_CHANGED;
	if (code[0] != layout->raises_again &&
		(code[0] != layout->raises || code[1] != RAISES_HANDLED))
		return RI_PYTHON_NONE;
	return yes_or_no(layout->code_handlers == RI_PYTHON_NO ||
		ri_python_leaves_frame(python, &raiser, false));
}

/* Is the outermost frame that it left the program's, called by none, and ended by it? */
static enum ri_python_answer has_left_program(struct ri_python *python, uint64_t exception)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->traceback_frame },
		{ .offset = layout->traceback_instruction } };
	enum ri_python_answer answer;
	struct ri_python_place frame;
	uint64_t trace, caller;

	if (!ri_python_word(python, exception, layout->exception_traceback, &trace))
		return RI_PYTHON_CHANGED;
	if (trace == 0)
		return RI_PYTHON_NONE;
	if (!ri_python_words(python, trace, words, 2) ||
		!ri_python_word(python, words[0].value, layout->frame_caller, &caller))
		return RI_PYTHON_CHANGED;
	if (caller != 0)
		return RI_PYTHON_NONE;
	if (!ri_python_place(python, ri_python_frame_of(python, words[0].value), &frame))
		return RI_PYTHON_CHANGED;
	answer = is_program(python, frame.address, frame.code);
	if (answer == RI_PYTHON_OK)
		answer = has_ended(python, &frame);
	return answer != RI_PYTHON_OK ? answer :
		has_raised(python, &frame, (int32_t)words[1].value);
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

	function[0] = '\0';
	return ri_python_stack(python, thread, &stack) == RI_PYTHON_OK && !stack.cut &&
		(stack.outermost == 0 || read_function(python, stack.outermost, function));
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
static enum ri_python_answer is_outside(
	struct ri_python *python, const struct ri_python_thread *thread)
{
	char function[RI_PYTHON_NAME];
	uint64_t number;
	const char *name;

	if (!ri_python_word(python, thread->state, python->layout.thread_number, &number) ||
		!read_outermost(python, thread, function))
		return RI_PYTHON_CHANGED;
	/* "enablerlcompleter.<locals>.register_readline", from 3.11 on */
	name = strrchr(function, '.') != NULL ? strrchr(function, '.') + 1 : function;
	return yes_or_no(number == FIRST_THREAD && !is_programs(name) &&
		strcmp(name, "register_readline") != 0);
}

static enum ri_python_answer look(struct ri_python *python, struct ri_python_raised *out)
{
	const struct ri_python_thread *thread = find_main(python);
	enum ri_python_answer answer;
	uint64_t exception;
	bool prompts;

	if (thread == NULL || !read_sys(python, thread->interpreter, &exception, &prompts))
		return RI_PYTHON_CHANGED;
	if (exception == 0 || prompts)
		return RI_PYTHON_NONE;
	answer = has_left_program(python, exception);
	if (answer == RI_PYTHON_OK)
		answer = is_outside(python, thread);
	if (answer == RI_PYTHON_OK && !ri_python_tell(python, exception, out))
		answer = RI_PYTHON_CHANGED;
	return answer;
}

enum ri_python_answer ri_python_left(struct ri_python *python, struct ri_python_raised *out)
{
	for (int i = 0; i < TRIES; i++) {
		enum ri_python_answer answer = look(python, out);

		if (answer == RI_PYTHON_OK)
			return answer;
		*out = (struct ri_python_raised){ .exception = 0 };
		if (answer == RI_PYTHON_NONE)
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
		is_of(python, frame[1].address, frame[1].code, "_run_code", "runpy") ==
			RI_PYTHON_OK);
}

bool ri_python_leaves(struct ri_python *python, const struct ri_python_stack *stack,
	const struct ri_python_raised *raised)
{
	const struct ri_python_frame *frame = stack->frames, *last;
	uint64_t exception;
	bool prompts;

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
	return is_program(python, last->address, last->code) == RI_PYTHON_OK &&
		/* where it could not be read, somebody may type at a prompt, too */
		read_sys(python, stack->interpreter, &exception, &prompts) && !prompts;
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
