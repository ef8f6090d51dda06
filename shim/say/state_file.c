/* SPDX-License-Identifier: Apache-2.0 */
#include "say/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/output.h"
#include "say/print.h"
#include "say/whole_file.h"
#include "system/apart.h"
#include "system/own_proc.h"

enum {
	STAT_SIZE = 1024,
	SPARE_SIZE = 64,
	WRITE_MS = 1000,	/* how long a change of the state may hold up the job */
};

static struct {
	struct ri_whole_file file;	/* no path: there is none */
	struct ri_job job;
	bool spare;			/* not where it should be: name_spare */
	bool warned;
	bool late;		/* it did not answer once, and is not asked again */
} own;

/* At most STAT_SIZE - 1 bytes, ended by '\0'; -1 and errno. */
static ssize_t read_small(const char *path, char text[STAT_SIZE], int flags)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	ssize_t length = fd < 0 ? -1 : read(fd, text, STAT_SIZE - 1);

	if (fd >= 0)
		ri_close_quietly(fd);
	if (length >= 0)
		text[length] = '\0';
	return length;
}

/* The work of a helper, or of the caller. */
static int write_state(void *unused)
{
	RI_TEXT(line, RI_JOB_SIZE);

	(void)unused;
	clock_gettime(CLOCK_REALTIME, &own.job.since);
	ri_job_render(&own.job, &line);
	return ri_whole_file_write(&own.file, line.bytes, line.length);
}

/* The job goes on meanwhile, and may be told to stop: its mount may not have died before. */
static void change(enum ri_job_word word)
{
	const struct ri_apart writing = {
		.work = write_state, .subject = "--state", .path = own.file.path,
		.most_ms = WRITE_MS, .deaf_ms = WRITE_MS, .forked = true,
	};

	if (own.file.path == NULL || own.late)
		return;
	own.job.word = word;
	if (ri_apart(&writing) == 0)
		return;
	own.late = errno == ETIMEDOUT;
	if (!own.warned)
		ri_log(RI_LEVEL_WARNING, "%s: the state cannot be written: %s", own.file.path,
			own.late ? "its file system does not answer" : strerror(errno));
	own.warned = true;
}

/*
 * Where a container has a folder that its user may write to though its root is
 * read-only. Others may share it (docker run --ipc=host, the containers of a
 * pod), so the name has the PID namespace, which a probe is in too.
 */
static void name_spare(char name[SPARE_SIZE])
{
	struct stat info;

	if (!ri_proc_is_ours(getpid()) || stat("/proc/self/ns/pid", &info) < 0)
		info.st_ino = 0;
	snprintf(name, SPARE_SIZE, "/dev/shm/rankinit-%llu.state", (unsigned long long)info.st_ino);
}

static int begin_in(const char *path, const char *subject, struct ri_arena *arena,
	struct ri_error *err)
{
	if (ri_whole_file_find(&own.file, path, subject, arena, err) < 0)
		return -1;
	if (write_state(NULL) == 0)
		return 0;
	ri_fail(err, RI_CODE_REPORT_REFUSED, subject, "%s cannot be written: %s", path,
		strerror(errno));
	ri_held_path_close(&own.file.spot);
	own.file.path = NULL;
	return -1;
}

int ri_state_begin(const struct ri_options *options, const struct ri_topology *topology,
	pid_t self, struct ri_arena *arena, struct ri_error *err)
{
	const struct ri_given *option = &options->given.state;
	struct ri_error why = RI_ERROR_INIT, other = RI_ERROR_INIT;
	static char spare[SPARE_SIZE];
	const char *path;

	if (option->value == NULL)
		return 0;
	own.job = (struct ri_job){ .word = RI_JOB_STARTING, .pid = self };
	ri_proc_birth(own.job.pid, &own.job.born);
	path = ri_whole_file_name(option, topology, arena, err);
	if (path == NULL)
		return -1;
	if (begin_in(path, option->subject, arena, &why) == 0)
		return 0;
	name_spare(spare);
	own.spare = begin_in(spare, option->subject, arena, &other) == 0;
	ri_log(RI_LEVEL_WARNING, own.spare
			? "%s: %s; --status reads the state from %s instead [%s]"
			: "%s: %s; nor can %s, so --status will find no state [%s]",
		why.subject, why.text, spare, ri_code_name(why.code));
	return 0;
}

void ri_state_run(size_t ranks)
{
	own.job.ranks = ranks;
	change(RI_JOB_RUNNING);
}

void ri_state_stop(void)
{
	if (own.job.word == RI_JOB_RUNNING)
		change(RI_JOB_STOPPING);
}

void ri_state_end(int exit_status)
{
	own.job.exit_status = exit_status;
	/* the folder is shared: no other program would remove the file */
	if (own.spare)
		unlinkat(own.file.spot.folder, own.file.spot.name, 0);
	else
		change(exit_status == 0 ? RI_JOB_DONE : RI_JOB_FAILED);
}

/* Where FILE is not there: -1 with its own errno where there is no other. */
static ssize_t read_state(const char *path, char text[STAT_SIZE])
{
	ssize_t length = read_small(path, text, 0);
	char spare[SPARE_SIZE];
	struct stat info;
	int saved = errno;

	if (length >= 0)
		return length;
	name_spare(spare);
	/* everybody may put something there */
	if (lstat(spare, &info) == 0 && S_ISREG(info.st_mode) &&
		(info.st_uid == geteuid() || info.st_uid == 0 || geteuid() == 0))
		length = read_small(spare, text, O_NOFOLLOW);
	errno = saved;
	return length;
}

/* Its state, or why there is none. Returns the exit status. */
static int judge(const char *path, struct ri_text *out)
{
	char text[STAT_SIZE];
	struct ri_job job;
	uint64_t born;

	if (read_state(path, text) < 0) {
		ri_text_addf(out, "not running: %s: %s", RI_QUOTED(path), strerror(errno));
		return 1;
	}
	if (!ri_job_read(text, &job)) {
		ri_text_addf(out, "not running: %s is not a state file of rankinit",
			RI_QUOTED(path));
		return 1;
	}
	/* in doubt the process that wrote the file is still there */
	if (job.word != RI_JOB_FAILED && job.word != RI_JOB_DONE &&
		((kill(job.pid, 0) < 0 && errno == ESRCH) || (job.born != 0 &&
			ri_proc_birth(job.pid, &born) && born != job.born))) {
		ri_text_addf(out, "not running: pid %d, which was %s, is gone", (int)job.pid,
			ri_job_words[job.word]);
		return 1;
	}
	ri_job_describe(&job, out);
	return job.word != RI_JOB_STARTING && job.word != RI_JOB_RUNNING;
}

int ri_state_print(const struct ri_options *options, struct ri_arena *arena,
	struct ri_error *err)
{
	static const struct ri_topology nothing_known;
	const struct ri_given *option = &options->given.state;
	const char *path = options->action_value;
	RI_TEXT(text, RI_JOB_SIZE + RI_QUOTE_SIZE);
	struct ri_pattern_use use;
	int status;

	if (path == NULL && option->value == NULL)
		path = RI_STATE_FILE;
	/* the file that --state would write, where its name does not depend on a rank */
	if (path == NULL && ri_pattern_read(option->value, &use) && (use.rank || use.node)) {
		ri_fail(err, RI_CODE_OPTION_VALUE, option->subject,
			"only the job knows the values of %%r, %%l and %%n");
		return ri_fail_hint(err, "name the file: --status=FILE");
	}
	if (path == NULL)
		path = ri_whole_file_name(option, &nothing_known, arena, err);
	if (path == NULL)
		return -1;
	status = judge(path, &text);
	ri_text_add(&text, "\n");
	return options->quiet || ri_print_text(&text, err) == 0 ? status : -1;
}
