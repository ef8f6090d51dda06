/* SPDX-License-Identifier: Apache-2.0 */
#include "play/simulation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define FORM "expected NAME:NODESxRANKS, as openmpi:2x4, and faults behind commas"
#define EXAMPLE "expected it as in %s"

/* How a fault is written: NAME=WHO, the separator, SECONDS or the number of a start. */
static const struct form {
	const char *name;
	bool of_node;	/* WHO is a node; else a rank */
	char separator;	/* '\0': there are no seconds; '=': there are only seconds */
	bool at_start;	/* what follows is no time */
	const char *example;
} forms[] = {
	[RI_FAULT_ABSENT] = { "absent", true, '\0', false, "absent=1" },
	[RI_FAULT_LATE] = { "late", true, ':', false, "late=1:20" },
	[RI_FAULT_KILL] = { "kill", false, '@', false, "kill=3@10" },
	[RI_FAULT_HANG] = { "hang", false, '@', false, "hang=3@10" },
	[RI_FAULT_UNLINK] = { "unlink", true, '@', false, "unlink=1@10" },
	[RI_FAULT_UNFIT] = { "unfit", true, '@', true, "unfit=1@1" },
	[RI_FAULT_STOP] = { "stop", false, '=', false, "stop=30" },
};

struct reading {
	struct ri_simulation *out;
	const struct ri_given *given;
	struct ri_error *err;
};

__attribute__((format(printf, 3, 4)))
static int refuse(const struct reading *reading, const char *word, const char *format, ...)
{
	char why[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	return ri_fail(reading->err, RI_CODE_OPTION_VALUE, reading->given->subject, "%s: %s",
		RI_QUOTED(word), why);
}

/* What was perhaps meant by the name of a job; size: "2x4", as it stands behind the name. */
static int hint_at(const struct reading *reading, const char *name, const char *size)
{
	const char *names[RI_SOURCE_COUNT * 4], *nearest;
	const struct ri_shape *shape;
	RI_TEXT(begun, 200);
	size_t count = 0, length = strlen(name);

	/* those that begin with the name, as "azureml_mpi:2x4 or azureml_nodes:2x4" */
	while (count < RI_ARRAY_SIZE(names) &&
		(shape = ri_source_shape_at(count)) != NULL) {
		names[count++] = shape->name;
		if (length >= 3 && strncmp(shape->name, name, length) == 0)
			ri_text_addf(&begun, "%s%s:%s", begun.length == 0 ? "" : " or ",
				shape->name, size);
	}
	if (begun.length > 0)
		return ri_fail_hint(reading->err, "did you mean %s?", begun.bytes);
	nearest = ri_text_nearest(name, names, count);
	if (nearest != NULL)
		return ri_fail_hint(reading->err, "did you mean %s:%s?", nearest, size);
	return ri_fail_hint(reading->err, "see rankinit --list=simulations");
}

static int read_job(const struct reading *reading, char *word)
{
	struct ri_simulation *out = reading->out;
	char *size = strchr(word, ':');
	size_t first, second;
	uint64_t nodes, ranks;
	bool sized;

	if (size == NULL) {
		refuse(reading, word, FORM);
		return hint_at(reading, word, "2x4");
	}
	*size++ = '\0';
	out->shape = ri_source_shape_find(word, strlen(word));
	first = ri_digits_read(size, &nodes);
	second = first > 0 && size[first] == 'x' ? ri_digits_read(size + first + 1, &ranks) : 0;
	sized = second > 0 && size[first + 1 + second] == '\0' && nodes > 0 && ranks > 0;
	if (out->shape == NULL) {
		refuse(reading, word, "there is no simulation of this name");
		return hint_at(reading, word, sized ? size : "2x4");
	}
	if (!sized)
		return refuse(reading, size, "expected NODESxRANKS, as 2x4");
	if (nodes > RI_MAX_SIMULATED || ranks > RI_MAX_SIMULATED ||
		nodes * ranks > RI_MAX_SIMULATED)
		return refuse(reading, size, "one machine plays at most 256 ranks in all");
	out->nodes = (size_t)nodes;
	out->ranks = (size_t)ranks;
	return 0;
}

/* What stands behind the '=' of a fault. */
static int read_fault(const struct reading *reading, const char *word)
{
	const struct ri_range seconds = { 0, RI_MAX_GRACE_S }, starts = { 0, RI_MAX_RESTARTS };
	const struct form *form = NULL;
	const char *text = strchr(word, '=');
	struct ri_fault fault = { .who = 0 };
	size_t count, length = strcspn(word, "=");
	uint64_t who = 0;

	for (size_t i = 0; i < RI_ARRAY_SIZE(forms) && form == NULL; i++)
		if (strlen(forms[i].name) == length && memcmp(forms[i].name, word, length) == 0)
			form = &forms[i];
	if (form == NULL || text == NULL)
		return refuse(reading, word, "expected a fault: absent=NODE, late=NODE:SECONDS, "
			"kill=RANK@SECONDS, hang=RANK@SECONDS, unlink=NODE@SECONDS, "
			"unfit=NODE@RESTART or stop=SECONDS");
	fault.kind = (enum ri_fault_kind)(form - forms);
	if (form->separator != '=') {
		length = ri_digits_read(++text, &who);
		text += length;
		if (length == 0 || *text != form->separator)
			return refuse(reading, word, EXAMPLE, form->example);
		count = reading->out->nodes * (form->of_node ? 1 : reading->out->ranks);
		if (who >= count)
			return refuse(reading, word, "the job's %s are 0 to %zu",
				form->of_node ? "nodes" : "ranks", count - 1);
	}
	if (form->separator != '\0' && (form->at_start
			? ri_number_read(text + 1, starts, &fault.attempt, NULL)
			: ri_seconds_read(text + 1, seconds, &fault.at_ms, NULL)) != RI_NUMBER_OK)
		return refuse(reading, word, EXAMPLE, form->example);
	if (reading->out->fault_count == RI_MAX_FAULTS)
		return refuse(reading, word, "there may be 32 faults");
	fault.who = (size_t)who;
	reading->out->faults[reading->out->fault_count++] = fault;
	return 0;
}

const struct ri_fault *ri_simulation_fault_of(const struct ri_simulation *simulation,
	enum ri_fault_kind kind, size_t node)
{
	for (size_t i = 0; i < simulation->fault_count; i++)
		if (simulation->faults[i].kind == kind && simulation->faults[i].who == node)
			return &simulation->faults[i];
	return NULL;
}

/* Of a node that never comes nothing else can be said. */
static int judge_faults(const struct reading *reading)
{
	const struct ri_simulation *out = reading->out;
	size_t absent = 0;

	for (size_t i = 0; i < out->fault_count; i++) {
		const struct ri_fault *fault = &out->faults[i];
		const struct form *form = &forms[fault->kind];
		size_t node = form->of_node ? fault->who : fault->who / out->ranks;

		for (size_t k = 0; k < i; k++)
			if (out->faults[k].kind == fault->kind && out->faults[k].who == fault->who)
				return refuse(reading, form->name,
					"the same fault stands there twice");
		if (fault->kind == RI_FAULT_ABSENT)
			absent++;
		else if (form->separator != '=' &&
			ri_simulation_fault_of(out, RI_FAULT_ABSENT, node) != NULL)
			return refuse(reading, form->name,
				"its node is absent: there is nothing to happen to it");
	}
	if (absent == out->nodes)
		return refuse(reading, "absent", "one node at least must come");
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct ri_fault *first = a, *second = b;

	return (first->at_ms > second->at_ms) - (first->at_ms < second->at_ms);
}

int ri_simulation_read(struct ri_simulation *out, const struct ri_given *given,
	struct ri_error *err)
{
	const struct reading reading = { out, given, err };
	char copy[1024], *rest = copy, *word;

	*out = (struct ri_simulation){ .nodes = 0 };
	if (strlen(given->value) >= sizeof(copy))
		return refuse(&reading, given->value, FORM);
	ri_text_copy(copy, sizeof(copy), given->value);
	while ((word = strsep(&rest, ",")) != NULL)
		if ((word == copy ? read_job(&reading, word) : read_fault(&reading, word)) < 0)
			return -1;
	qsort(out->faults, out->fault_count, sizeof(out->faults[0]), compare);
	return judge_faults(&reading);
}
