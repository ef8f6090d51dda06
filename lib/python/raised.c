/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "python/python.h"

enum {
	DEEPEST = 256,		/* generators and coroutines that handle one within another's */
	ARGUMENTS = 2,		/* OSError has a number before its text */
	/* Include/object.h, Py_TPFLAGS_BASE_EXC_SUBCLASS and Py_TPFLAGS_UNICODE_SUBCLASS */
	IS_EXCEPTION = 1 << 30,
	IS_STRING = 1 << 28,
};

static bool read_flags(struct ri_python *python, uint64_t object, uint64_t *flags)
{
	uint64_t type;

	return ri_python_word(python, object, python->layout.object_type, &type) &&
		ri_python_word(python, type, python->layout.type_flags, flags);
}

bool ri_python_exception(struct ri_python *python, uint64_t object, bool *is)
{
	uint64_t flags;

	if (!read_flags(python, object, &flags))
		return false;
	*is = (flags & IS_EXCEPTION) != 0;
	return true;
}

/* A generator that handles none has an entry without one: then that outside of it counts. */
static enum ri_python_answer find_exception(
	struct ri_python *python, uint64_t entry, uint64_t *exception)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };
	bool is;

	for (*exception = 0; entry != 0; ) {
		struct ri_python_word words[] = { { .offset = layout->handled_exception },
			{ .offset = layout->handled_previous } };

		if (!ri_python_walk_on(&walk, entry, DEEPEST) ||
			!ri_python_words(python, entry, words, 2))
			return RI_PYTHON_CHANGED;
		/* None, in some minors */
		if (words[0].value != 0 &&
			ri_python_exception(python, words[0].value, &is) && is) {
			*exception = words[0].value;
			return RI_PYTHON_OK;
		}
		entry = words[1].value;
	}
	return RI_PYTHON_OK;
}

/* A string of C, whose end may lie before a page that is not there. */
bool ri_python_type(struct ri_python *python, uint64_t object, char name[RI_PYTHON_NAME])
{
	uint64_t type, address;
	size_t got;

	memset(name, 0, RI_PYTHON_NAME);
	if (!ri_python_word(python, object, python->layout.object_type, &type) ||
		!ri_python_word(python, type, python->layout.type_name, &address))
		return false;
	got = ri_python_read_some(python, address, name, 1, RI_PYTHON_NAME - 1);
	if (got < RI_PYTHON_NAME - 1 && got > 0 && memchr(name, '\0', got) == NULL)
		return ri_python_read_some(python, address + got, name + got, 1,
			RI_PYTHON_NAME - 1 - got) > 0;
	return name[0] != '\0';
}

/* A tuple's size lies where that of a bytes object does (PyVarObject). */
static void read_message(struct ri_python *python, uint64_t tuple, char message[RI_PYTHON_NAME])
{
	const struct ri_python_layout *layout = &python->layout;
	uint64_t size, argument, flags;

	message[0] = '\0';
	if (tuple == 0 || !ri_python_word(python, tuple, layout->bytes_size, &size))
		return;
	for (uint64_t i = 0; i < size && i < ARGUMENTS; i++)
		if (ri_python_read(python, tuple + layout->tuple_items + 8 * i, &argument,
			    sizeof(argument)) &&
			read_flags(python, argument, &flags) && (flags & IS_STRING) != 0) {
			ri_python_name(python, argument, false, message);
			return;
		}
}

uint64_t ri_python_frame_of(struct ri_python *python, uint64_t object)
{
	uint64_t frame;

	if (python->layout.frame_data == RI_PYTHON_NO)
		return object;
	return ri_python_word(python, object, python->layout.frame_data, &frame) ? frame : 0;
}

/* The first entry is of the frame that handles it, the last one of that which raised it. */
static bool read_traceback(struct ri_python *python, uint64_t entry, struct ri_python_raised *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };
	bool whole = true;
	struct ri_python_word kept[RI_PYTHON_PATH][2];	/* its frame, its instruction */
	struct ri_python_word words[] = { { .offset = layout->traceback_next },
		{ .offset = layout->traceback_frame },
		{ .offset = layout->traceback_instruction } };

	for (; entry != 0; entry = words[0].value) {
		if (!ri_python_walk_on(&walk, entry, RI_PYTHON_WALK) ||
			!ri_python_words(python, entry, words, 3))
			return false;
		if (out->handler == 0)
			out->handler = ri_python_frame_of(python, words[1].value);
		memcpy(kept[(walk.steps - 1) % RI_PYTHON_PATH], words + 1, sizeof(kept[0]));
	}
	/* of an outer frame, unlike the innermost, a name may be missing */
	for (size_t i = walk.steps > RI_PYTHON_PATH ? walk.steps - RI_PYTHON_PATH : 0;
		i < walk.steps; i++) {
		const struct ri_python_word *one = kept[i % RI_PYTHON_PATH];
		uint64_t code;

		whole = ri_python_word(python, ri_python_frame_of(python, one[0].value),
				layout->frame_code, &code) &&
			ri_python_describe(python, code & ~(uint64_t)layout->code_tag,
				(int32_t)one[1].value, &out->at);
		if (whole)
			out->path[out->path_count++] = out->at;
	}
	return whole;
}

bool ri_python_tell(struct ri_python *python, uint64_t exception, struct ri_python_raised *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_word words[] = { { .offset = layout->exception_args },
		{ .offset = layout->exception_traceback } };

	*out = (struct ri_python_raised){ .exception = exception };
	if (!ri_python_type(python, exception, out->type) ||
		!ri_python_words(python, exception, words, 2))
		return false;
	read_message(python, words[0].value, out->message);
	return read_traceback(python, words[1].value, out);
}

enum ri_python_answer ri_python_raised(struct ri_python *python,
	const struct ri_python_thread *thread, struct ri_python_raised *out)
{
	enum ri_python_answer answer;
	uint64_t handles, exception;

	*out = (struct ri_python_raised){ .exception = 0 };
	if (!ri_python_word(python, thread->state, python->layout.thread_handles, &handles))
		return RI_PYTHON_CHANGED;
	answer = find_exception(python, handles, &exception);
	if (answer != RI_PYTHON_OK || exception == 0)
		return answer;
	return ri_python_tell(python, exception, out) ? RI_PYTHON_OK : RI_PYTHON_CHANGED;
}
