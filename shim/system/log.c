/* SPDX-License-Identifier: Apache-2.0 */
#include "system/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "system/own_proc.h"
#include "system/sink.h"

enum { FRAME = 64 };	/* room for who we are, a level, a colour */

static enum ri_level threshold = RI_LEVEL_WARNING;
static enum ri_log_color coloring = RI_LOG_PLAIN;
static bool inside;		/* a line that a rank began */
static bool (*take_line)(const char *line, size_t length);

void ri_log_init(bool quiet, bool verbose, enum ri_log_color color)
{
	threshold = verbose ? RI_LEVEL_NOTE : quiet ? RI_LEVEL_ALWAYS : RI_LEVEL_WARNING;
	coloring = color;
}

void ri_log_through(bool (*take)(const char *line, size_t length))
{
	take_line = take;
}

void ri_log_follow(bool inside_line)
{
	inside = inside_line;
}

bool ri_log_shows(enum ri_level level)
{
	return level >= threshold;
}

/*
 * stderr may be a pipe or a terminal that is not emptied, and O_NONBLOCK would
 * be seen by all processes that share it: sink.h has what can be done. A refusal
 * may come from another process that writes at the same moment: once more.
 */
static void write_line(char *line, size_t length)
{
	static enum ri_sink_kind kind;
	struct ri_sink sink = { .fd = STDERR_FILENO, .bytes = line, .end = length };

	if (kind == RI_SINK_NONE)
		kind = isatty(STDERR_FILENO) ? RI_SINK_TERMINAL : RI_SINK_PIPE;
	sink.kind = kind;
	ri_sink_flush(&sink);
	if (sink.blocked && ri_sink_is_file(STDERR_FILENO))
		sink.kind = kind = RI_SINK_FILE;
	if (sink.blocked)
		ri_sink_flush(&sink);
}

void ri_log_lines(char *bytes, size_t length)
{
	size_t line;

	for (; length > 0; bytes += line, length -= line) {
		const char *end = memchr(bytes, '\n', length);

		line = end == NULL ? length : (size_t)(end - bytes) + 1;
		if (take_line == NULL || !take_line(bytes, line))
			write_line(bytes, line);
		inside = false;
	}
}

void ri_log(enum ri_level level, const char *format, ...)
{
	static const struct {
		const char *word;
		const char *color;
	} looks[] = {
		[RI_LEVEL_NOTE] = { "", "2" },
		[RI_LEVEL_WARNING] = { "warning: ", "33" },
		[RI_LEVEL_ALWAYS] = { "", "1" },
		[RI_LEVEL_PROGRAMS] = { "", NULL },
		[RI_LEVEL_ERROR] = { "error: ", "31" },
	};
	/* what is cut here may be half a character, and nothing is cut later */
	char text[RI_MAX_LINE - FRAME], line[RI_MAX_LINE];
	/* the last byte is kept for the end of the line */
	struct ri_text out = ri_text_of(line, sizeof(line) - 1);
	int saved = errno;
	va_list args;

	if (!ri_log_shows(level))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ri_text_replace_controls(text);
	if (coloring == RI_LOG_COLOR_ON_TERMINAL)
		coloring = isatty(STDERR_FILENO) ? RI_LOG_COLOR : RI_LOG_PLAIN;
	if (inside)
		ri_text_add(&out, "\n");
	inside = false;
	if (coloring == RI_LOG_COLOR && looks[level].color != NULL)
		ri_text_addf(&out, "\033[%smrankinit: %s\033[0m%s", looks[level].color,
			looks[level].word, text);
	else
		ri_text_addf(&out, "rankinit: %s%s", looks[level].word, text);
	line[out.length] = '\n';
	if (take_line == NULL || !take_line(line, out.length + 1))
		write_line(line, out.length + 1);
	errno = saved;
}

static void log_said(enum ri_level level, const struct ri_error *said, const char *so)
{
	ri_log(level, "%s: %s%s%s%s%s [%s]", said->subject, said->text, so[0] == '\0' ? "" : "; ",
		so, said->hint[0] == '\0' ? "" : "; ", said->hint, ri_code_name(said->code));
}

void ri_log_error(const struct ri_error *err)
{
	log_said(RI_LEVEL_ERROR, err, "");
}

void ri_log_without(const struct ri_error *err, const char *so)
{
	log_said(RI_LEVEL_WARNING, err, so);
}

void ri_log_findings(const struct ri_findings *findings)
{
	static const enum ri_level levels[] = {
		[RI_SEVERITY_NOTE] = RI_LEVEL_NOTE,
		[RI_SEVERITY_WARNING] = RI_LEVEL_WARNING,
		[RI_SEVERITY_ERROR] = RI_LEVEL_ERROR,
	};

	for (size_t i = 0; i < findings->count; i++)
		log_said(levels[findings->items[i].severity], &findings->items[i], "");
	if (findings->dropped > 0)
		ri_log(RI_LEVEL_WARNING, "%zu more findings are not shown", findings->dropped);
}

/* --- what is said once in a container ---------------------------------------- */

static char path[96];	/* of the file that we have made, or "" */

bool ri_was_said(const char *word)
{
	char name[sizeof(path)];
	struct stat info;
	uint64_t born;
	int fd;

	if (!ri_proc_birth(1, &born) || stat("/proc/self/ns/pid", &info) < 0)
		return false;
	/* others may share /dev/shm, and use the number of a namespace again that has gone */
	snprintf(name, sizeof(name), "/dev/shm/rankinit-%llu-%llu.%.24s",
		(unsigned long long)info.st_ino, (unsigned long long)born, word);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST;
	close(fd);
	snprintf(path, sizeof(path), "%s", name);
	return false;
}

void ri_said_forget(void)
{
	if (path[0] != '\0' && getpid() == 1)
		unlink(path);
}
