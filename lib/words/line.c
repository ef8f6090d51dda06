/* SPDX-License-Identifier: Apache-2.0 */
#include "words/words.h"

#include <string.h>

enum {
	LONG = 4096,		/* bytes of a line that are compared */
	STILL = 3,		/* states of a bar that is only closed */
};

static const struct {
	enum ri_line_kind kind;
	const char *shape;
} rows[] = {
#define RI_LINE(kind_, shape_, source_) { RI_LINE_##kind_, shape_ },
#include "words/words.def"
};

struct ri_span ri_line_last_state(struct ri_span line)
{
	const char *last;

	while (line.length > 0 && (line.at[line.length - 1] == '\r' ||
					  ri_is_blank(line.at[line.length - 1])))
		line.length--;
	last = line.length == 0 ? NULL : memrchr(line.at, '\r', line.length);
	return last == NULL ? line : ri_span_skip(line, (size_t)(last + 1 - line.at));
}

/*
 * torch/distributed/distributed_c10d.py "[rank3]: "; c10/util/Logging.cpp "[rank3]:"; of torchrun
 * --tee "[default3]:", with the role (torch/distributed/elastic/agent/server/
 * local_elastic_agent.py).
 */
static struct ri_span skip_label(struct ri_span line)
{
	size_t at = 1, digits;

	if (!ri_span_starts(line, "["))
		return line;
	while (at < line.length && (line.at[at] == '_' ||
		(line.at[at] >= 'a' && line.at[at] <= 'z')))
		at++;
	digits = at;
	while (digits < line.length && line.at[digits] >= '0' && line.at[digits] <= '9')
		digits++;
	if (at == 1 || digits == at || !ri_span_starts(ri_span_skip(line, digits), "]:"))
		return line;
	return ri_span_trim_start(ri_span_skip(line, digits + 2));
}

/* " 30%|###   | 3/10 [00:00<00:01,  4.14it/s]" of tqdm, which ends no line of its own */
struct ri_span ri_line_past_bar(struct ri_span line)
{
	struct ri_span rest;

	line = ri_line_last_state(line);
	rest = ri_span_after(ri_span_after(ri_span_after(line, "%|"), "| "), "[");
	return ri_span_trim_start(ri_span_after(ri_span_after(rest, "<"), "]"));
}

struct ri_span ri_line_trim(struct ri_span line)
{
	struct ri_span rest;

	line = skip_label(skip_label(ri_span_trim_start(ri_line_last_state(line))));
	rest = skip_label(ri_line_past_bar(line));
	return ri_span_trim_end(rest.length > 0 ? rest : ri_span_trim_start(line));
}

static bool fits_byte(char shape, char c)
{
	return shape == '~' ? c >= '0' && c <= '9' : c == shape;
}

static bool stands_at(const char *at, const char *piece, size_t length)
{
	size_t i = 0;

	while (i < length && fits_byte(piece[i], at[i]))
		i++;
	return i == length;
}

/* The first place of a piece in a line that is not shorter; or NULL. */
static const char *find_piece(struct ri_span line, const char *piece, size_t length)
{
	const char *end = line.at + line.length - length + 1;

	for (const char *at = line.at; at < end; at++) {
		if (length > 0 && piece[0] != '~')
			at = memchr(at, piece[0], (size_t)(end - at));
		if (at == NULL || stands_at(at, piece, length))
			return at;
	}
	return NULL;
}

/*
 * Piece by piece: what stands between two of '*' and '%' is looked for once. Its first place leaves
 * most to what follows, so no other place would do where this one does not.
 */
static const char *fit(struct ri_span line, const char *shape, ri_field_take *take, void *out)
{
	const char *first = NULL, *at;

	/* most lines differ from most shapes in the first byte */
	if (*shape != '*' && *shape != '%' && line.length > 0 && !fits_byte(*shape, line.at[0]))
		return NULL;
	for (;;) {
		bool any = *shape == '*', ends;
		size_t length = 0;

		shape += any;
		while (shape[length] != '\0' && shape[length] != '*' &&
			(take == NULL || shape[length] != '%'))
			length++;
		ends = shape[length] == '\0';
		if (length > line.length)
			return NULL;
		if (any && !ends)
			at = find_piece(line, shape, length);
		else
			at = any ? line.at + line.length - length : line.at;
		if (at == NULL || !stands_at(at, shape, length))
			return NULL;
		if (first == NULL && (length > 0 || ends))
			first = at;
		line = ri_span_skip(line, (size_t)(at - line.at) + length);
		shape += length;
		if (ends)
			return line.length == 0 ? first : NULL;
		if (*shape == '%') {
			if (!take(shape[1], &line, out))
				return NULL;
			shape += 2;
		}
	}
}

const char *ri_shape_fits(struct ri_span line, const char *shape)
{
	return fit(line, shape, NULL, NULL);
}

bool ri_shape_read(struct ri_span line, const char *shape, ri_field_take *take, void *out)
{
	return fit(line, shape, take, out) != NULL;
}

enum ri_line_kind ri_line_kind(struct ri_span line)
{
	line = ri_line_trim(line);
	if (line.length == 0)
		return RI_LINE_NOTE;
	if (line.length > LONG)
		line.length = LONG;
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++)
		if (ri_shape_fits(line, rows[i].shape))
			return rows[i].kind;
	return RI_LINE_PLAIN;
}

bool ri_noise_hides(struct ri_span line)
{
	enum ri_line_kind kind = ri_line_kind(line);

	return kind > RI_LINE_PLAIN && kind < RI_LINE_WORD;
}

bool ri_noise_is(struct ri_span line)
{
	enum ri_line_kind kind = ri_line_kind(line);

	return (kind != RI_LINE_PLAIN && kind != RI_LINE_WORD) ||
		ri_span_starts(ri_line_trim(line), "File \"");
}

size_t ri_noise_count(struct ri_span text)
{
	struct ri_span line;
	size_t count = 0, states;

	while (ri_span_line(&text, &line)) {
		states = 1;
		for (size_t i = 0; i < line.length; i++)
			states += line.at[i] == '\r';
		if (states > STILL && ri_line_kind(line) == RI_LINE_PROGRESS)
			count += states;
		else
			count += !ri_noise_is(line);
	}
	return count;
}

static const struct ri_loss table[] = {
#define RI_LOSS(kind_, shape_, source_) { RI_LOSS_##kind_, RI_LOSS_LOG_NONE, shape_ },
#define RI_LOGGED(kind_, log_, shape_, source_) { RI_LOSS_##kind_, RI_LOSS_LOG_##log_, shape_ },
#include "words/words.def"
};

enum {
	LAST_LINES = 16,	/* that are looked at, noise left out */
	LINES = 512,		/* all in all */
};

const char *const ri_loss_words[] = {
	[RI_LOSS_OWN] = NULL,
	[RI_LOSS_PEER] = "peer",
	[RI_LOSS_STORE] = "store",
	[RI_LOSS_CLOCK] = "clock",
	[RI_LOSS_MISMATCH] = "mismatch",
};

/* The first row that fits, of those for an exception with its type or of the others. */
static const struct ri_loss *find_row(struct ri_span message, bool typed)
{
	for (size_t i = 0; i < RI_ARRAY_SIZE(table) && message.length > 0; i++)
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
	for (size_t i = 0; i < RI_ARRAY_SIZE(ends); i++)
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
