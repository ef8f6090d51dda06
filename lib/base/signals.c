/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signals.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* POSIX and Linux names (signal(7)), without "SIG". */
static const char *const names[] = {
	[SIGHUP] = "HUP", [SIGINT] = "INT", [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
	[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS", [SIGFPE] = "FPE",
	[SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
	[SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU", [SIGURG] = "URG", [SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
	[SIGIO] = "IO", [SIGPWR] = "PWR", [SIGSYS] = "SYS",
};

static const struct {
	const char *name;
	int number;
} aliases[] = {
	{ "IOT", SIGABRT }, { "CLD", SIGCHLD }, { "POLL", SIGIO },
};

enum { NAME_COUNT = RI_ARRAY_SIZE(names) };

int ri_signal_read(const char *text)
{
	const struct ri_range range = { 1, RI_SIGNAL_MAX };
	const struct ri_range offsets = { 0, RI_SIGNAL_MAX - RI_SIGNAL_RTMIN };
	uint64_t number, offset = 0;
	bool from_top;

	if (ri_number_read(text, range, &number, NULL) == RI_NUMBER_OK)
		return (int)number;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < NAME_COUNT; i++)
		if (names[i] != NULL && strcasecmp(text, names[i]) == 0)
			return i;
	for (size_t i = 0; i < RI_ARRAY_SIZE(aliases); i++)
		if (strcasecmp(text, aliases[i].name) == 0)
			return aliases[i].number;
	/* "RTMIN", "RTMIN+3", "RTMAX", "RTMAX-2"; -1 if text is none of them. */
	from_top = strncasecmp(text, "RTMAX", 5) == 0;
	if (!from_top && strncasecmp(text, "RTMIN", 5) != 0)
		return -1;
	if (text[5] != '\0' && (text[5] != (from_top ? '-' : '+') ||
		ri_number_read(text + 6, offsets, &offset, NULL) != RI_NUMBER_OK))
		return -1;
	return from_top ? RI_SIGNAL_MAX - (int)offset : RI_SIGNAL_RTMIN + (int)offset;
}

const char *ri_signal_name(int number, char buffer[RI_SIGNAL_NAME])
{
	if (number > 0 && number < NAME_COUNT && names[number] != NULL)
		snprintf(buffer, RI_SIGNAL_NAME, "SIG%s", names[number]);
	else if (number == RI_SIGNAL_RTMIN)
		snprintf(buffer, RI_SIGNAL_NAME, "SIGRTMIN");
	else if (number > RI_SIGNAL_RTMIN && number <= RI_SIGNAL_MAX)
		snprintf(buffer, RI_SIGNAL_NAME, "SIGRTMIN+%d", number - RI_SIGNAL_RTMIN);
	else
		snprintf(buffer, RI_SIGNAL_NAME, "signal %d", number);
	return buffer;
}

/* One "A:B" of a list, cut out of it. */
struct pair {
	char from[24];
	char to[24];
};

/* Takes the next pair off *list; 0 at the end, 1 for a pair, -1 for neither. */
static int next_pair(const char **list, struct pair *pair)
{
	size_t length = strcspn(*list, ","), from = strcspn(*list, ":,");
	bool fits = from < length && from > 0 && from < sizeof(pair->from) &&
		length - from - 1 > 0 && length - from - 1 < sizeof(pair->to);

	if (**list == '\0')
		return 0;
	if (!fits || ((*list)[length] == ',' && (*list)[length + 1] == '\0'))
		return -1;
	snprintf(pair->from, sizeof(pair->from), "%.*s", (int)from, *list);
	snprintf(pair->to, sizeof(pair->to), "%.*s", (int)(length - from - 1), *list + from + 1);
	*list += length + ((*list)[length] == ',');
	return 1;
}

static bool read_signals(const struct pair *pair, uint64_t *from, uint64_t *to)
{
	int signal = ri_signal_read(pair->from);
	int other = strcmp(pair->to, "0") == 0 ? 0 : ri_signal_read(pair->to);

	*from = (uint64_t)signal;
	*to = (uint64_t)other;
	return signal > 0 && signal != SIGKILL && signal != SIGSTOP && signal != SIGCHLD &&
		other >= 0 && other != SIGCHLD;
}

static bool read_statuses(const struct pair *pair, uint64_t *from, uint64_t *to)
{
	const struct ri_range range = { 0, 255 };

	return ri_number_read(pair->from, range, from, NULL) == RI_NUMBER_OK &&
		ri_number_read(pair->to, range, to, NULL) == RI_NUMBER_OK;
}

void ri_signal_map_init(struct ri_signal_map *map)
{
	for (int i = 0; i < 256; i++)
		map->to[i] = (uint8_t)i;
}

/* The pairs of a list into the map, which stays as it is where one of them is wrong. */
static int read_map(struct ri_signal_map *map, const char *text,
	bool (*read)(const struct pair *pair, uint64_t *from, uint64_t *to), const char *subject,
	const char *expected, struct ri_error *err)
{
	struct ri_signal_map made;
	const char *list = text;
	struct pair pair;
	uint64_t from, to;
	int more = *text == '\0' ? -1 : 1;

	ri_signal_map_init(&made);
	while (more > 0 && (more = next_pair(&list, &pair)) > 0) {
		if (read(&pair, &from, &to))
			made.to[from] = (uint8_t)to;
		else
			more = -1;
	}
	if (more < 0)
		return ri_fail(err, RI_CODE_OPTION_VALUE, subject, "%s: expected %s",
			RI_QUOTED(text), expected);
	*map = made;
	return 0;
}

int ri_signal_map_read(struct ri_signal_map *map, const char *text, const char *subject,
	struct ri_error *err)
{
	return read_map(map, text, read_signals, subject, "pairs of signals, as TERM:INT,USR1:0 "
		"(0 drops a signal; KILL, STOP and CHLD cannot be mapped)", err);
}

int ri_exit_map_read(struct ri_signal_map *map, const char *text, const char *subject,
	struct ri_error *err)
{
	return read_map(map, text, read_statuses, subject,
		"pairs of exit statuses from 0 to 255, as 143:0,123:138", err);
}
