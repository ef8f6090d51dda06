/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options as text for people, and for scripts. */
#include <string.h>

#include "options/table.h"

/* "-q, --quiet[=yes|no]" */
static void add_synopsis(struct ri_text *out, const struct ri_option *option)
{
	bool optional = option->form == FLAG || option->form == OPTIONAL;

	if (option->letter == 0)
		ri_text_add(out, "      ");
	else
		ri_text_addf(out, "  -%c, ", option->letter);
	ri_text_add(out, ri_option_name(option));
	if (option->form != NONE)
		ri_text_addf(out, "%s=%s%s", optional ? "[" : "", option->meta,
			optional ? "]" : "");
}

static void add_folded(struct ri_text *out, const char *words)
{
	enum { INDENT = 10, WIDTH = 79 };
	size_t column = 0;

	while (*words != '\0') {
		size_t length = strcspn(words, " ");

		if (column == 0 || column + 1 + length > WIDTH) {
			ri_text_addf(out, "%s%*s", column == 0 ? "" : "\n", INDENT, "");
			column = INDENT;
		} else {
			ri_text_add(out, " ");
			column++;
		}
		ri_text_add_bytes(out, words, length);
		column += length;
		words += length + strspn(words + length, " ");
	}
	ri_text_add(out, "\n");
}

/* In two columns; a synopsis that is too long for its own has a line. */
static void add_common(struct ri_text *out)
{
	enum { COLUMN = 34 };
	static const char *const titles[RI_OPTIONS_GROUPS] = {
		[RI_OPTIONS_START] = "Start", [RI_OPTIONS_STOP] = "Stop",
		[RI_OPTIONS_OUTPUT] = "Output", [RI_OPTIONS_FAILURES] = "Failures",
		[RI_OPTIONS_HANGS] = "Hangs", [RI_OPTIONS_NODES] = "Several nodes",
		[RI_OPTIONS_CHECKS] = "Checks", [RI_OPTIONS_FACTS] = "Facts by hand",
		[RI_OPTIONS_ANSWERS] = "Answers, without running COMMAND",
	};

	for (size_t group = 0; group < RI_OPTIONS_GROUPS; group++) {
		ri_text_addf(out, "%s%s:\n", group == 0 ? "" : "\n", titles[group]);
		for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
			const struct ri_option *option = &ri_option_table[i];
			const char *brief = option->brief == NULL ? option->help : option->brief;
			size_t begun = out->length, width;

			if (option->group != group || brief[0] == '\0')
				continue;
			add_synopsis(out, option);
			width = out->length - begun;
			if (width >= COLUMN) {
				ri_text_add(out, "\n");
				width = 0;
			}
			ri_text_addf(out, "%*s%s\n", (int)(COLUMN - width), "", brief);
		}
	}
	ri_text_add(out, "\nrankinit --help=all prints all options and says more of each, "
		"--help=WORD those\nthat have WORD in them.\n");
}

/* Those that have the word in their name, or in what is said of them; "": all that there are. */
static bool add_found(struct ri_text *out, const char *word)
{
	bool found = false;

	word += strspn(word, "-");
	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];

		if (strcasestr(ri_option_name(option), word) == NULL &&
			strcasestr(option->symbol, word) == NULL &&
			strcasestr(option->help, word) == NULL)
			continue;
		found = true;
		add_synopsis(out, option);
		ri_text_add(out, "\n");
		add_folded(out, option->help);
	}
	for (size_t i = 0; i < RI_OPTION_GONE_COUNT && word[0] != '\0'; i++) {
		const struct ri_option_gone *gone = &ri_options_gone[i];

		/* where only a value of it is gone, it is among those above */
		if (gone->value != NULL || strcasestr(gone->name, word) == NULL)
			continue;
		found = true;
		ri_text_addf(out, "      %s, which is no option any more\n", gone->name);
		add_folded(out, gone->hint);
	}
	return found;
}

bool ri_options_help(struct ri_text *out, const char *word)
{
	static const char intro[] =
		"usage: rankinit [OPTION]... [--] COMMAND [ARG]...\n\n"
		"Run COMMAND as the init of a GPU training container, with the variables that\n"
		"training frameworks expect, derived from what the orchestrator left in the\n"
		"environment.\n\n";
	static const char outro[] =
		"\nOptions end at the first non-option word or at --. Every setting also has a\n"
		"RANKINIT_ variable: RANKINIT_GRACE=25 is --grace=25. RANKINIT_DISABLE=1 makes\n"
		"rankinit a plain init.\n\n"
		"Exit status: that of COMMAND, or 128 + N if signal N killed it; 127 there is no\n"
		"such command, 126 it cannot be executed, 125 rankinit refused the launch,\n"
		"124 a deadline passed, 123 this node is not fit, 122 another node failed.\n";

	bool all = word != NULL && strcmp(word, "all") == 0;

	if (word != NULL && !all && strcmp(word, "common") != 0)
		return add_found(out, word);
	ri_text_add(out, intro);
	if (all)
		add_found(out, "");
	else
		add_common(out);
	ri_text_add(out, outro);
	return true;
}

void ri_options_list(struct ri_text *out)
{
	static const char *const forms[] = {
		[NONE] = "none", [FLAG] = "flag", [OPTIONAL] = "optional", [REQUIRED] = "required",
	};

	for (size_t i = 0; i < RI_OPTION_COUNT; i++) {
		const struct ri_option *option = &ri_option_table[i];

		ri_text_addf(out, "%s\t%c\t%s\t%s\t%s\t%s\t%s\n", ri_option_name(option),
			option->letter == 0 ? '-' : option->letter, forms[option->form],
			option->form == NONE ? "-" : option->meta,
			option->fallback[0] == '\0' ? "-" : option->fallback,
			option->kind == ACTION ? "-" : ri_option_twin(option),
			option->help);
	}
}
