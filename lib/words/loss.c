/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <string.h>

static const struct ri_loss table[] = {
#define RI_LOSS(kind_, shape_, source_) { RI_LOSS_##kind_, RI_LOSS_LOG_NONE, shape_ },
#define RI_LOGGED(kind_, log_, shape_, source_) { RI_LOSS_##kind_, RI_LOSS_LOG_##log_, shape_ },
#include "words/words.def"
};

enum {
	LAST_LINES = 16,	/* that are looked at, noise left out */
	LINES = 512,		/* all in all */
};

const char *ri_loss_kind_name(enum ri_loss_kind kind)
{
	static const char *const names[] = {
		[RI_LOSS_OWN] = NULL,
		[RI_LOSS_PEER] = "peer",
		[RI_LOSS_STORE] = "store",
		[RI_LOSS_CLOCK] = "clock",
		[RI_LOSS_MISMATCH] = "mismatch",
	};

	return names[kind];
}

/* The first row that fits, of those for an exception with its type or of the others. */
static const struct ri_loss *find_row(struct ri_span message, bool typed)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && message.length > 0; i++)
		if ((table[i].shape[0] == '=') == typed &&
			ri_shape_fits(message, table[i].shape + typed))
			return &table[i];
	return NULL;
}

const struct ri_loss *ri_loss_row(struct ri_span message)
{
	return find_row(message, false);
}

static const struct ri_loss *find(struct ri_span message, bool typed)
{
	const struct ri_loss *row = find_row(message, typed);

	return row == NULL || row->kind == RI_LOSS_OWN ? NULL : row;
}

/*
 * What bindings make of a C++ exception (pybind11, include/pybind11/detail/
 * internals.h), torch's own types (torch/csrc/Exceptions.cpp), those of Horovod
 * (horovod/common/exceptions.py), TensorFlow (python/framework/errors_impl.py),
 * JAX (jaxlib/xla_client.py) and mpi4py. A program's own types and ValueError,
 * say, are for its own mistakes.
 */
static bool may_be_raised(struct ri_span type)
{
	static const char *const ends[] = {
		"RuntimeError", "DistError", "DistBackendError", "DistStoreError",
		"DistNetworkError", "DistQueueEmptyError", "HorovodInternalError", "MPI.Exception",
		"RendezvousConnectionError", "RendezvousTimeoutError", "TimeoutError",
		"ConnectionResetError", "ConnectionRefusedError", "ConnectionError",
		"BrokenPipeError", "EOFError", "NcclError",
	};

	if (ri_span_has(type, ".errors_impl."))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ri_span_ends(type, ends[i]))
			return true;
	return false;
}

const struct ri_loss *ri_loss_of_exception(struct ri_span exception)
{
	const struct ri_loss *found = find(exception, true);
	struct ri_span type = { exception.at, 0 };

	while (type.length < exception.length && exception.at[type.length] != ':' &&
		exception.at[type.length] != '\n')
		type.length++;
	if (found != NULL || !may_be_raised(type))
		return found;
	return find(ri_span_trim_start(ri_span_skip(exception, type.length + 1)), false);
}

const struct ri_loss *ri_loss_of_lines(struct ri_span text)
{
	const struct ri_loss *found;
	struct ri_span line;
	int telling = 0;

	for (int i = 0; i < LINES && telling < LAST_LINES && ri_span_last_line(&text, &line); i++) {
		if (ri_line_kind(line) == RI_LINE_NOTE)
			continue;
		found = find(line, false);
		if (found != NULL)
			return found;
		telling += !ri_noise_is(line);
	}
	return NULL;
}

/* "[ADDRESS]:PORT", as gloo's and c10d's addresses are written. */
static bool find_address(struct ri_span text, struct ri_span *out)
{
	static const char bytes[] = "0123456789abcdef.:";
	const char *open = text.at, *end = text.at + text.length;

	while ((open = memchr(open, '[', (size_t)(end - open))) != NULL) {
		const char *close = ++open;

		while (close < end && memchr(bytes, *close, sizeof(bytes) - 1) != NULL)
			close++;
		if (close - open < 3 || close - open >= RI_LOSS_ADDRESS || end - close < 3 ||
			close[0] != ']' || close[1] != ':' || close[2] < '0' || close[2] > '9')
			continue;
		*out = (struct ri_span){ open, (size_t)(close - open) };
		return true;
	}
	return false;
}

bool ri_loss_peer(struct ri_span text, const struct ri_loss *loss, struct ri_span *out)
{
	struct ri_span line;

	for (int i = 0; i < LINES && ri_span_last_line(&text, &line); i++)
		if (find(line, false) == loss && find_address(line, out))
			return true;
	return false;
}
