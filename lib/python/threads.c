/* SPDX-License-Identifier: Apache-2.0 */
#include "python/python.h"
#include "python/remote.h"

/*
 * Where the C library keeps the kernel's id of a thread, from pthread_self() on: glibc's struct
 * pthread (nptl/descr.h) after a header of 704 bytes on x86-64, of 192 on aarch64, and a list;
 * musl's (src/internal/pthread_impl.h) after its pointers. Neither is promised, so it counts
 * only if it is a thread of the process.
 */
static const uint32_t tid_places[] = { 720, 208, 48, 32 };

static int32_t find_tid(
	struct ri_python *python, uint64_t pthread, const struct ri_python_tasks *tasks)
{
	int32_t tid;

	for (size_t i = 0; i < sizeof(tid_places) / sizeof(tid_places[0]); i++) {
		if (!ri_python_read(python, pthread + tid_places[i], &tid, sizeof(tid)))
			continue;
		for (size_t task = 0; task < tasks->count; task++)
			if (tid == tasks->ids[task])
				return tid;
	}
	return 0;
}

static enum ri_python_answer walk_threads(struct ri_python *python, uint64_t interpreter,
	uint64_t state, struct ri_python_threads *out)
{
	const struct ri_python_layout *layout = &python->layout;
	struct ri_python_walk walk = { .steps = 0 };

	while (state != 0) {
		struct ri_python_word words[] = { { .offset = layout->thread_next },
			{ .offset = layout->thread_pthread }, { .offset = layout->thread_tid } };

		if (out->all >= RI_PYTHON_CROWD ||
			!ri_python_walk_on(&walk, state, RI_PYTHON_CROWD) ||
			!ri_python_words(python, state, words, 3))
			return RI_PYTHON_CHANGED;
		/* where there is no room any more, the last one is replaced: the oldest stays */
		out->all++;
		out->count += out->count < RI_PYTHON_THREADS;
		out->list[out->count - 1] = (struct ri_python_thread){ .state = state,
			.interpreter = interpreter, .pthread = words[1].value,
			.tid = words[2].value > INT32_MAX ? 0 : (int32_t)words[2].value };
		state = words[0].value;
	}
	return RI_PYTHON_OK;
}

enum ri_python_answer ri_python_threads(struct ri_python *python,
	const struct ri_python_tasks *tasks, struct ri_python_threads *out)
{
	const struct ri_python_layout *layout = &python->layout;
	enum ri_python_answer answer = RI_PYTHON_OK;
	struct ri_python_walk walk = { .steps = 0 };
	uint64_t interpreter;

	python->reads = 0;
	out->count = out->all = 0;
	if (!ri_python_read(python, python->runtime + layout->interpreters, &interpreter,
		sizeof(interpreter)))
		return RI_PYTHON_CHANGED;
	while (interpreter != 0 && answer == RI_PYTHON_OK) {
		struct ri_python_word words[] = { { .offset = layout->interpreter_next },
			{ .offset = layout->threads } };

		if (!ri_python_walk_on(&walk, interpreter, RI_PYTHON_INTERPRETERS) ||
			!ri_python_words(python, interpreter, words, 2))
			answer = RI_PYTHON_CHANGED;
		else
			answer = walk_threads(python, interpreter, words[1].value, out);
		interpreter = words[0].value;
	}
	for (size_t i = 0; layout->thread_tid == RI_PYTHON_NO && tasks != NULL && i < out->count;
		i++)
		if (out->list[i].pthread != 0)
			out->list[i].tid = find_tid(python, out->list[i].pthread, tasks);
	return answer;
}
