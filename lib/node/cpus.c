/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <string.h>

#define BLANKS " \t\n"

/* Every other CPU of RI_MAX_CPUS, which is the longest list, takes 10 KiB. */
enum { LIST_SIZE = 16384, WORDS = RI_MAX_CPUS / 64 };

void ri_cpus_set(struct ri_cpus *cpus, unsigned cpu)
{
	if (cpu < RI_MAX_CPUS)
		cpus->words[cpu / 64] |= 1ull << cpu % 64;
}

bool ri_cpus_has(const struct ri_cpus *cpus, unsigned cpu)
{
	return cpu < RI_MAX_CPUS && (cpus->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

int ri_cpus_next(const struct ri_cpus *cpus, unsigned from)
{
	for (unsigned cpu = from; cpu < RI_MAX_CPUS; cpu++) {
		if (cpu % 64 == 0 && cpus->words[cpu / 64] == 0)
			cpu += 63;
		else if (ri_cpus_has(cpus, cpu))
			return (int)cpu;
	}
	return -1;
}

size_t ri_cpus_size(const struct ri_cpus *cpus)
{
	size_t count = 0;

	for (int i = 0; i < WORDS; i++)
		count += (size_t)__builtin_popcountll(cpus->words[i]);
	return count;
}

bool ri_cpus_equal(const struct ri_cpus *a, const struct ri_cpus *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

size_t ri_cpus_and(struct ri_cpus *into, const struct ri_cpus *other)
{
	for (int i = 0; i < WORDS; i++)
		into->words[i] &= other->words[i];
	return ri_cpus_size(into);
}

bool ri_cpus_read(const char *text, struct ri_cpus *out)
{
	struct ri_cpus cpus = { { 0 } };
	uint64_t from = 0, to;

	text += strspn(text, BLANKS);
	for (bool more = *text != '\0'; more; text += more) {
		size_t digits = ri_digits_read(text, &from);

		to = from;
		text += digits;
		/* "3" or "0-3" */
		if (digits > 0 && *text == '-') {
			digits = ri_digits_read(text + 1, &to);
			text += 1 + digits;
		}
		if (digits == 0 || from > to || to >= RI_MAX_CPUS)
			return false;
		while (from <= to)
			ri_cpus_set(&cpus, (unsigned)from++);
		more = *text == ',';
	}
	if (text[strspn(text, BLANKS)] != '\0')
		return false;
	*out = cpus;
	return true;
}

bool ri_cpus_read_file(struct ri_host *host, const char *path, struct ri_cpus *out)
{
	char text[LIST_SIZE];

	return ri_host_read(host, path, text, sizeof(text)) >= 0 && ri_cpus_read(text, out);
}

void ri_cpus_add(struct ri_text *text, const struct ri_cpus *cpus)
{
	const char *comma = "";
	int last;

	for (int cpu = ri_cpus_next(cpus, 0); cpu >= 0;
		cpu = ri_cpus_next(cpus, (unsigned)last + 1)) {
		for (last = cpu; ri_cpus_has(cpus, (unsigned)last + 1);)
			last++;
		ri_text_addf(text, last == cpu ? "%s%d" : "%s%d-%d", comma, cpu, last);
		comma = ",";
	}
}

bool ri_cpus_read_allowed(struct ri_host *host, const char *path, struct ri_cpus *out)
{
	char text[LIST_SIZE], line[LIST_SIZE];
	const char *list = ri_host_read(host, path, text, sizeof(text)) < 0 ? NULL
		: ri_proc_field(text, "Cpus_allowed_list", ':');

	if (list == NULL)
		return false;
	ri_sysfile_rest(list, line, sizeof(line));
	return ri_cpus_read(line, out);
}
