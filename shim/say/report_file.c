/* SPDX-License-Identifier: Apache-2.0 */
#include "say/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/runner.h"
#include "report/verdict.h"
#include "say/json_memory.h"
#include "say/whole_file.h"
#include "system/held_path.h"
#include "system/kept_fds.h"
#include "system/log.h"

enum {
	MAX_FD = 1048576,
	/*
	 * The document without hosts and ranks, at its largest: a traceback, 20
	 * lines and torch's file, each byte of which may take six in JSON.
	 */
	DOCUMENT_SIZE = 6 << 20,
	DOCUMENT_RANK = 8192,
	DOCUMENT_CHECKS = RI_CHECKS_RESULTS * 6 * sizeof(struct ri_check_result),
	/* jansson's own, for a file of torch's that is nothing but brackets */
	MEMORY_SIZE = 48 << 20,
	/* an autopsy, indented, and its values */
	DOCUMENT_AUTOPSY = 8 << 20,
	MEMORY_AUTOPSY = 32 << 20,
	MEMORY_RANK = 16384,
	MEMORY_HOST = 256,
	/*
	 * Of a container's last words: what Kubernetes keeps (kubernetes.io, "Determine the Reason
	 * for Pod Failure": terminationMessagePath), and what SageMaker takes for FailureReason
	 * (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker AI Processes Training Output").
	 */
	TERMINATION_SIZE = 4096,
	FAILURE_SIZE = 1024,
};

static const char termination_log[] = "/dev/termination-log";
static const char sagemaker_failure[] = "/opt/ml/output/failure";
/* which the service leaves for each job: lib/from/clouds.c */
static const char sagemaker_job[] = "/opt/ml/input/config/resourceconfig.json";

static struct {
	bool goes_on;		/* there will be another attempt */
	const struct ri_given *option;
	struct ri_whole_file file;	/* no path: a descriptor, or nothing at all */
	int fd;				/* 0: none */
	char *document;
	size_t size;
} own;

static bool read_fd(const char *text, uint64_t lowest, uint64_t *number)
{
	const struct ri_range range = { lowest, MAX_FD };

	return ri_number_read(text, range, number, NULL) == RI_NUMBER_OK;
}

static int bad_fd(const struct ri_given *option, const char *why, struct ri_error *err)
{
	return ri_fail(err, RI_CODE_OPTION_VALUE, option->subject, "%s: %s",
		RI_QUOTED(option->value), why);
}

/* The ranks do not get it: its reader waits for our own end alone. */
static int take_fd(const struct ri_given *option, uint64_t number, struct ri_error *err)
{
	int flags = fcntl((int)number, F_GETFL);

	if (flags < 0)
		return bad_fd(option, "rankinit was started without this file descriptor", err);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return bad_fd(option, "this file descriptor is not open for writing", err);
	own.fd = (int)number;
	if (own.fd > STDERR_FILENO)
		fcntl(own.fd, F_SETFD, FD_CLOEXEC);
	ri_kept_fds_add(own.fd);
	own.option = option;
	return 0;
}

int ri_report_prepare(const struct ri_report_plan *plan, struct ri_arena *arena,
	struct ri_error *err)
{
	const struct ri_given *option = &plan->options->given.report;
	char suffix[24] = ".before";
	const char *path;
	uint64_t number;

	if (strncmp(option->value, "fd:", 3) == 0)
		return read_fd(option->value + 3, 1, &number)
			? take_fd(option, number, err)
			: bad_fd(option, "expected fd: and the number of a file descriptor", err);
	/* what a shell makes of >(COMMAND): by its name it would be gone by then */
	if (strncmp(option->value, "/dev/fd/", 8) == 0 &&
		read_fd(option->value + 8, STDERR_FILENO + 1, &number))
		return take_fd(option, number, err);
	path = ri_whole_file_name(option, plan->topology, arena, err);
	if (path == NULL ||
		ri_whole_file_find(&own.file, path, option->subject, arena, err) < 0)
		return -1;
	if (plan->attempt > 0)
		snprintf(suffix, sizeof(suffix), ".%llu", (unsigned long long)plan->attempt);
	ri_whole_file_set_aside(&own.file, suffix);
	own.option = option;
	return 0;
}

int ri_report_reserve(const struct ri_report_plan *plan, struct ri_error *err)
{
	size_t hosts = 0, text = 0, memory;

	if (plan->options->given.report.value == NULL) {
		/* torch's files are no reason to refuse a launch */
		if (plan->ranks > 1)
			ri_json_memory_reserve(MEMORY_SIZE);
		return 0;
	}
	/* all that hosts and raw values take in the topology */
	for (int id = 0; id < RI_FACT_COUNT; id++) {
		const struct ri_fact *fact = &plan->topology->facts[id];

		if (fact->state != RI_STATE_KNOWN)
			continue;
		text += strlen(fact->origin.raw);
		for (uint64_t i = 0; fact->list != NULL && i < fact->number; i++)
			text += strlen(fact->list[i]) + 16;
		hosts += fact->list == NULL ? 0 : fact->number;
	}
	memory = MEMORY_SIZE + MEMORY_AUTOPSY + plan->ranks * MEMORY_RANK +
		hosts * MEMORY_HOST + 2 * text;
	own.size = DOCUMENT_SIZE + DOCUMENT_AUTOPSY + DOCUMENT_CHECKS +
		plan->ranks * DOCUMENT_RANK + 6 * text;
	own.document = ri_pages(own.size);
	if (own.document == NULL || ri_json_memory_reserve(memory) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--report", "no memory left for it: %s",
			strerror(errno));
	return 0;
}

void ri_report_hand_on(void)
{
	if (own.fd > STDERR_FILENO)
		fcntl(own.fd, F_SETFD, 0);
}

/* Each line as one of our own. */
void ri_report_job(const char *verdict)
{
	struct ri_span rest = ri_span_of(verdict), line;

	while (ri_span_line(&rest, &line))
		ri_log(RI_LEVEL_ALWAYS, "%.*s", (int)line.length, line.at);
}

/* A file that the command left there is its own. Whose path it is says held_path.h. */
static int open_failure(void)
{
	struct ri_held_path spot;
	struct ri_arena *arena;

	if (access(sagemaker_job, F_OK) < 0)
		return -1;
	arena = ri_pages(sizeof(*arena));
	if (arena == NULL || ri_held_path_find(&spot, sagemaker_failure, arena) < 0)
		return -1;
	return openat(spot.folder, spot.name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

/* A message that the command left there is its own. */
static int open_termination_log(void)
{
	int fd = open(termination_log, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0))
		return fd;
	close(fd);
	return -1;
}

/* So much of the words as fits, and the last line whole. */
static void write_last_words(int fd, size_t most, const char *words, const char *last_line)
{
	RI_TEXT(out, TERMINATION_SIZE + 1);

	if (fd < 0)
		return;
	out.size = most + 1 - (last_line == NULL ? 0 : strlen(last_line) + 1);
	ri_text_add(&out, words);
	if (out.cut)
		out.bytes[out.length - 1] = '\n';
	/* line for line as it is printed, which log.h has; half a character is none */
	for (char *line = out.bytes, *end; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if (*end == '\n')
			*end++ = '\0';
		ri_text_replace_controls(line);
		if (end > line && end[-1] == '\0')
			end[-1] = '\n';
	}
	out.size = most + 1;
	if (last_line != NULL)
		ri_text_addf(&out, "%s\n", last_line);
	if (write(fd, out.bytes, out.length) < 0)
		ri_log(RI_LEVEL_NOTE, "the platform's copy of the verdict is not written: %s",
			strerror(errno));
	close(fd);
}

static void leave_last_words(const char *words, const char *last_line)
{
	if (words[0] == '\0' || own.goes_on)
		return;
	write_last_words(open_termination_log(), TERMINATION_SIZE, words, last_line);
	write_last_words(open_failure(), FAILURE_SIZE, words, last_line);
}

static void write_report(const struct ri_outcome *outcome, const struct ri_check_report *checked,
	const char *refusal)
{
	struct ri_json json = { .escapes = 0 };
	const struct ri_report report = {
		.version = RI_VERSION, .outcome = outcome, .refusal = refusal,
		.check = checked == NULL ? NULL : ri_check_json(&json, checked),
	};
	struct ri_text out = ri_text_of(own.document, own.size);
	int status;

	if (ri_report_render(&json, &report, &out) < 0) {
		ri_log(RI_LEVEL_WARNING, "%s: the report is too large and was not written",
			own.option->subject);
		return;
	}
	/* who reads it wants one document */
	if (own.goes_on && (own.fd > 0 || own.file.in_place))
		return;
	if (own.fd > 0)
		status = ri_write_patiently(own.fd, out.bytes, out.length);
	else
		status = ri_whole_file_write(&own.file, out.bytes, out.length);
	if (status < 0)
		ri_log(RI_LEVEL_WARNING, "%s: the report cannot be written: %s",
			own.option->subject, strerror(errno));
}

bool ri_report_says_more(const struct ri_outcome *outcome)
{
	const struct ri_rank_outcome *rank;

	if (outcome->first < 0)
		return outcome->count > 1 || outcome->as_ranks;
	rank = &outcome->ranks[outcome->first];
	return outcome->count > 1 || outcome->as_ranks || outcome->launched ||
		ri_outcome_is_silent(outcome) || outcome->link.on || rank->wrote.tail.length > 0 ||
		rank->wrote.torch_error.at != NULL ||
		(outcome->single && rank->end == RI_END_EXITED);
}

static void add_error(struct ri_text *out, const struct ri_error *why)
{
	ri_text_addf(out, "%s: %s%s%s [%s]\n", why->subject, why->text,
		why->hint[0] == '\0' ? "" : "; ", why->hint, ri_code_name(why->code));
}

void ri_report_leave_refusal(const struct ri_error *why, const char *last_line)
{
	RI_TEXT(words, RI_MAX_LINE);

	add_error(&words, why);
	leave_last_words(words.bytes, last_line);
}

/* Nothing was started, for what checks found: why was printed already. */
void ri_report_refuse(const struct ri_outcome *outcome, const struct ri_check_report *checked,
	const struct ri_error *why)
{
	static char words[RI_VERDICT_SIZE];
	struct ri_text out = ri_text_of(words, sizeof(words));

	ri_check_words(checked, &out);
	add_error(&out, why);
	if (own.option != NULL)
		write_report(outcome, checked, words);
	leave_last_words(words, outcome->last_line);
}

static char verdict[RI_VERDICT_SIZE];

void ri_report_say(struct ri_outcome *outcome, bool prints)
{
	static char printed[RI_VERDICT_PRINTED_SIZE];
	static struct ri_reason scratch;
	struct ri_text out = ri_text_of(printed, sizeof(printed));
	const char *seen = outcome->hang.seen;
	RI_TEXT(line, RI_MAX_LINE);
	struct ri_span rest, one;

	ri_verdict_add_printed(&out, outcome, &scratch);
	outcome->printed = printed;
	out = ri_text_of(verdict, sizeof(verdict));
	ri_verdict_render(outcome, &out);
	/* of a silent one another rankinit says it */
	if (!prints || outcome->silent)
		return;
	if (outcome->link.verdict != NULL) {	/* which was printed when it came */
		ri_report_job(verdict + strlen(outcome->link.text));
	} else if (ri_report_says_more(outcome)) {
		ri_report_job(verdict);
	} else {
		ri_cause_add(&line, outcome->cause);
		if (line.length > 0)
			ri_log(RI_LEVEL_ALWAYS, "%s", line.bytes);
	}
	if (seen == NULL || outcome->first < 0 ||
		outcome->ranks[outcome->first].evidence.class != RI_CLASS_LOSS)
		return;
	ri_log(RI_LEVEL_ALWAYS, "  what its processes did when the first rank was lost:");
	rest = ri_span_of(seen);
	while (ri_span_line(&rest, &one))
		ri_log(RI_LEVEL_ALWAYS, "    %.*s", (int)one.length, one.at);
}

void ri_report_leave(const struct ri_outcome *outcome, const struct ri_check_report *checked)
{
	own.goes_on = outcome->goes_on;
	leave_last_words(verdict, outcome->last_line);
	if (own.option != NULL)
		write_report(outcome, checked, NULL);
}
