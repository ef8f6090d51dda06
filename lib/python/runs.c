/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "python/python.h"

enum {
	READINGS = 4,		/* that agree: a stack that changes may seem to end too early */
	TRIES = 16,
};

/*
 * "python FILE", "python -c" and what multiprocessing starts; "python -m" (Lib/runpy.py); what
 * the interpreter imports before any of them (Lib/importlib/_bootstrap.py).
 */
static bool is_program(const char *function)
{
	static const char *const names[] = { "<module>", "_run_module_as_main", "_find_and_load" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

static enum ri_python_answer read_once(struct ri_python *python, bool *runs)
{
	struct ri_python_stack stack = { .frames = NULL, .room = 0 };
	struct ri_python_threads threads;
	char function[RI_PYTHON_NAME];
	enum ri_python_answer answer = ri_python_threads(python, NULL, &threads);

	if (answer != RI_PYTHON_OK)
		return answer;
	if (threads.count == 0)
		return RI_PYTHON_CHANGED;
	answer = ri_python_stack(python, &threads.list[threads.count - 1], &stack);
	if (answer != RI_PYTHON_OK || stack.cut)
		return RI_PYTHON_CHANGED;
	*runs = false;
	if (stack.outermost == 0)
		return RI_PYTHON_OK;
	if (!ri_python_function(python, stack.outermost, function))
		return RI_PYTHON_CHANGED;
	*runs = is_program(function);
	return RI_PYTHON_OK;
}

enum ri_python_answer ri_python_runs(struct ri_python *python, bool *runs)
{
	int left = 0;
	bool now;

	for (int i = 0; i < TRIES; i++) {
		if (read_once(python, &now) != RI_PYTHON_OK)
			continue;
		left += !now;
		if (!now && left < READINGS)
			continue;
		*runs = now;
		return RI_PYTHON_OK;
	}
	return RI_PYTHON_CHANGED;
}
