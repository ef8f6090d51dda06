/* SPDX-License-Identifier: Apache-2.0 */
#include "init/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "output/output.h"
#include "system/apart.h"
#include "system/held_path.h"
#include "system/mask.h"

enum {
	PIPE = 262144,		/* asked for; 64 KiB is usual, more costs fewer wake-ups */
	FEW_FILES = 64,		/* what is open besides, and what checks and reports need */
	LARGE_PIPES = 16,	/* ranks that get larger ones */
	PAGE = 4096,
	HELD = RI_OUTPUT_LINE + PAGE,
	OWN = 4 * RI_MAX_LINE,	/* for our own lines behind pending ones */
};

/* What prepare works from. */
struct plan {
	struct ri_output *output;
	const struct ri_output_wishes *wishes;
	struct ri_arena *arena;
	struct ri_error *err;
	const char *pattern;	/* NULL: no files */
	const char *subject;	/* of who asks for them */
	bool shares;		/* several ranks, one file */
	struct utsname names;
	const char *folder;	/* of the last file, up to its '/' */
	struct ri_held_path spot;	/* something in it */
};

bool ri_output_is_wanted(const struct ri_options *options)
{
	return options->log_prefix || options->given.log_file.value != NULL;
}

static int refuse(const struct plan *plan, const char *subject, const char *what)
{
	int error = errno;

	ri_fail(plan->err, RI_CODE_LOG_REFUSED, subject, "%s: %s", what, strerror(error));
	if (error == EMFILE)
		ri_fail_hint(plan->err, "raise the limit of open files (ulimit -n, docker run "
					"--ulimit nofile=N)");
	return ri_fail_errno(plan->err, error);
}

/* A folder or a file of the log; the message names the option that asks for it. */
static int refuse_path(const struct plan *plan, const char *path, const char *what)
{
	int error = errno;

	ri_fail(plan->err, RI_CODE_LOG_REFUSED, plan->subject, "%s cannot be %s: %s",
		RI_QUOTED(path), what, ri_held_path_reason(error));
	if (error == EMFILE)
		ri_fail_hint(plan->err, "raise the limit of open files (ulimit -n, docker run "
					"--ulimit nofile=N)");
	else if (error == RI_SPOT_FOREIGN || error == RI_SPOT_SECOND_NAME)
		ri_fail_hint(plan->err, "remove it, or name the file itself");
	else if (error == EISDIR)
		ri_fail_hint(plan->err, "name files in it: %s/rank_%%r.log", plan->pattern);
	else
		ri_fail_hint(plan->err, "the folder above it must exist and be writable");
	return ri_fail_errno(plan->err, error);
}

static int no_memory(const struct plan *plan)
{
	return ri_fail(plan->err, RI_CODE_MEMORY, "--log-prefix",
		"no memory left for the output of %zu ranks", plan->wishes->count);
}

static int read_pattern(struct plan *plan)
{
	const struct ri_options *options = plan->wishes->options;
	struct ri_pattern_use use;

	plan->pattern = options->given.log_file.value;
	plan->subject = options->given.log_file.subject;
	if (plan->pattern == NULL)
		return 0;
	ri_pattern_read(plan->pattern, &use);
	plan->shares = !use.rank && plan->wishes->count > 1;
	if (use.node && plan->wishes->node < 0) {
		ri_fail(plan->err, RI_CODE_LOG_REFUSED, plan->subject,
			"%%n is the rank of this node, which is unknown");
		return ri_fail_hint(plan->err, "use %%h, or state --node-rank");
	}
	if (use.host && uname(&plan->names) < 0)
		return refuse(plan, plan->subject, "the name of this host is unknown");
	return 0;
}

/* That of the file, in a folder that is there. Links are followed as held_path.h has it. */
static int make_folder(const struct plan *plan, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct ri_held_path spot;
	int made;

	while (slash != NULL && slash > path && slash[-1] == '/')
		slash--;
	if (slash == NULL || slash == path)
		return 0;
	path = ri_arena_copy(plan->arena, path, (size_t)(slash - path));
	if (path == NULL)
		return no_memory(plan);
	if (ri_held_path_find(&spot, path, plan->arena) < 0)
		return refuse_path(plan, path, "created");
	made = mkdirat(spot.folder < 0 ? AT_FDCWD : spot.folder, spot.name, 0755);
	ri_held_path_close(&spot);
	return made < 0 && errno != EEXIST ? refuse_path(plan, path, "created") : 0;
}

/*
 * O_APPEND: logrotate may truncate the file, and others may append too.
 * O_NONBLOCK: a FIFO without a reader is refused, not waited for.
 */
static int open_at(const struct ri_held_path *spot)
{
	int fd = ri_held_path_open(spot, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK);
	struct stat file;

	/* somebody may have planted a second name of it */
	if (fd < 0 || spot->folder < 0 || fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) ||
		!ri_held_path_is_anothers_name(&file, spot->folder))
		return fd;
	close(fd);
	errno = RI_SPOT_SECOND_NAME;
	return -1;
}

static int open_path(struct plan *plan, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	const char *folder = plan->folder;
	struct ri_held_path spot;
	int fd;

	/* many files are in one folder, which is looked for once */
	if (folder == NULL || strncmp(folder, path, length) != 0 || folder[length] != '\0') {
		ri_held_path_close(&plan->spot);
		plan->folder = NULL;
		folder = ri_arena_format(plan->arena, "%.*s.", (int)length, path);
		errno = ENOMEM;
		if (folder == NULL || ri_held_path_find(&plan->spot, folder, plan->arena) < 0)
			return -1;
		plan->folder = ri_arena_copy(plan->arena, path, length);
	}
	spot = (struct ri_held_path){ plan->spot.folder, path + length };
	if (spot.folder < 0)
		spot.name = path;
	fd = open_at(&spot);
	if (fd >= 0 || errno != RI_SPOT_FOREIGN)
		return fd;
	/* a link, which may be followed or not */
	if (ri_held_path_find(&spot, path, plan->arena) < 0)
		return -1;
	fd = open_at(&spot);
	ri_held_path_close(&spot);
	return fd;
}

static int open_file(struct plan *plan, size_t index, struct ri_log_file *file)
{
	const struct ri_output_rank *rank = &plan->wishes->ranks[index];
	const struct ri_pattern_values values = {
		.rank = rank->rank, .local_rank = rank->local_rank,
		.node = (uint64_t)plan->wishes->node, .host = plan->names.nodename,
	};

	file->path = ri_pattern_expand(plan->pattern, &values, plan->arena);
	if (file->path == NULL)
		return no_memory(plan);
	file->fd = open_path(plan, file->path);
	if (file->fd < 0 && errno == ENOENT) {
		if (make_folder(plan, file->path) < 0)
			return -1;
		file->fd = open_path(plan, file->path);
	}
	if (file->fd < 0)
		return refuse_path(plan, file->path, "opened");
	if (plan->wishes->headline != NULL)
		dprintf(file->fd, "\n%s\n", plan->wishes->headline);
	return 0;
}

static int open_files(void *argument)
{
	struct plan *plan = argument;
	struct ri_output *output = plan->output;
	size_t count = plan->pattern == NULL ? 0 : plan->shares ? 1 : plan->wishes->count;

	output->files = ri_arena_array(plan->arena, count, sizeof(*output->files));
	if (output->files == NULL)
		return no_memory(plan);
	for (size_t i = 0; i < count; i++) {
		output->files[i].fd = -1;
		output->file_count = i + 1;
		if (open_file(plan, i, &output->files[i]) < 0)
			return -1;
	}
	return 0;
}

static int make_pipe(const struct plan *plan, struct ri_stream *stream)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return refuse(plan, "pipe", "the pipe for a rank cannot be created");
	stream->fd = ri_fd_move_up(ends[0]);
	stream->given = ri_fd_move_up(ends[1]);
	/* few enough that the kernel's bound for a user (pipe(7)) is no matter */
	if (plan->wishes->count <= LARGE_PIPES && ri_output_is_wanted(plan->wishes->options))
		fcntl(stream->fd, F_SETPIPE_SZ, PIPE);
	/* our end only: the rank's own is a description of its own */
	if (stream->fd < 0 || stream->given < 0 || fcntl(stream->fd, F_SETFL, O_NONBLOCK) < 0)
		return refuse(plan, "pipe", "the pipe cannot be used");
	return 0;
}

/* [RANK], or with a node that is known [NODE:RANK]. */
static void set_prefix(struct ri_lines *lines, const struct ri_output_wishes *wishes, size_t index)
{
	const struct ri_output_rank *rank = &wishes->ranks[index];
	int length;

	if (wishes->options->log_prefix == RI_PREFIX_NODE && rank->node >= 0)
		length = snprintf(lines->prefix, sizeof(lines->prefix), "[%d:%u] ",
			(int)rank->node, (unsigned)rank->rank);
	else
		length = snprintf(lines->prefix, sizeof(lines->prefix), "[%u] ",
			(unsigned)rank->rank);
	lines->prefix_length = (size_t)length;
}

/* stdout and stderr that are one and the same get their lines from one hand. */
static bool is_same(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
		one.st_ino == other.st_ino;
}

/* stdout (which is 0) or stderr of one rank; which group it belongs to comes later. */
static int make_stream(const struct plan *plan, size_t index, unsigned which)
{
	const struct ri_output_wishes *wishes = plan->wishes;
	const struct ri_options *options = wishes->options;
	struct ri_output *output = plan->output;
	struct ri_stream *stream = &output->streams[2 * index + which];
	bool read = which == 1 && wishes->keeps_stderr;

	stream->printed = options->log_prefix ? RI_FORM_LINES : RI_FORM_BYTES;
	if (plan->pattern != NULL) {
		stream->file = &output->files[plan->shares ? 0 : index];
		stream->logged = plan->shares ? RI_FORM_LINES : RI_FORM_BYTES;
	}
	if (options->log_prefix && !wishes->bare)
		set_prefix(&stream->lines, wishes, index);
	if (read)
		stream->memory = &output->memories[index];
	/*
	 * What rank 0 prints says how far an attempt came. A terminal stays one, and the one pipe
	 * of a command whose stdout and stderr are the same has both (make_streams).
	 */
	if (options->restarts > 0 && !options->disabled && stream == output->streams &&
		wishes->ranks[0].rank == 0 && !isatty(STDOUT_FILENO) &&
		(wishes->count > 1 || !is_same(STDOUT_FILENO, STDERR_FILENO)))
		read = true;
	if (!ri_output_is_wanted(options) && !read)
		return 0;
	return make_pipe(plan, stream);
}

static int make_streams(const struct plan *plan)
{
	struct ri_output *output = plan->output;
	size_t count = plan->wishes->count;
	struct ri_stream *streams = ri_arena_array(plan->arena, 2 * count, sizeof(*streams));

	output->streams = streams;
	output->memories = ri_arena_array(plan->arena, count, sizeof(*output->memories));
	if (streams == NULL || output->memories == NULL)
		return no_memory(plan);
	output->count = count;
	for (size_t i = 0; i < 2 * count; i++)
		streams[i].fd = streams[i].given = -1;
	for (size_t i = 0; i < 2 * count; i++)
		if (make_stream(plan, i / 2, i % 2) < 0)
			return -1;
	/* one command whose stderr alone is kept: where both go to one place, their order stays */
	if (count > 1 || plan->wishes->by_lines || streams[0].given >= 0 || streams[1].fd < 0 ||
		!is_same(STDOUT_FILENO, STDERR_FILENO))
		return 0;
	streams[0].given = ri_fd_move_up(fcntl(streams[1].given, F_DUPFD_CLOEXEC, 0));
	return streams[0].given < 0 ? refuse(plan, "pipe", "the pipe cannot be used") : 0;
}

/*
 * One mapping for all buffers. A page of it counts when it is written to, so
 * it must not become a huge one; all of it where the address space is limited
 * (RLIMIT_AS), so there is no more than this job can need.
 */
static int reserve(const struct plan *plan)
{
	struct ri_output *output = plan->output;
	size_t count = output->count, held = 0, grown = RI_OUTPUT_READ, room, size;
	char *next;

	/* what one read becomes: lines of one byte grow most, by their prefix */
	for (size_t i = 0; i < 2 * count; i++) {
		const struct ri_stream *stream = &output->streams[i];
		size_t most = RI_LINES_ROOM(RI_OUTPUT_READ, stream->lines.prefix_length);

		if (stream->printed != RI_FORM_LINES && stream->logged != RI_FORM_LINES)
			continue;
		held = HELD;
		grown = most > grown ? most : grown;
	}
	room = RI_SINK_PENDING + grown + OWN;
	size = 3 * room + RI_OUTPUT_READ + PAGE + count * (2 * held + RI_TAIL_ROOM);
	next = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (next == MAP_FAILED)
		return no_memory(plan);
	madvise(next, size, MADV_NOHUGEPAGE);
	output->in = next;
	output->rendered = next + RI_OUTPUT_READ;
	output->room = room;
	for (size_t i = 0; i < 2; i++)
		output->groups[i].sink.bytes = output->rendered + (i + 1) * room;
	next += RI_OUTPUT_READ + 3 * room;
	for (size_t i = 0; i < 2 * count; i++, next += held)
		output->streams[i].lines.held = next;
	for (size_t i = 0; i < count; i++, next += RI_TAIL_ROOM)
		output->memories[i].tail.bytes = next;
	return 0;
}

static int watch_streams(const struct plan *plan)
{
	struct ri_output *output = plan->output;
	const ri_sigset all = RI_MASK_ALL;

	/* only where stdout is printed by us at all */
	output->one_sink = output->streams[0].fd >= 0 && is_same(STDOUT_FILENO, STDERR_FILENO);
	for (size_t i = 0; i < 2 * output->count; i++) {
		struct ri_stream *stream = &output->streams[i];
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = stream };
		struct ri_stream_group *group = &output->groups[i % 2 == 0 || output->one_sink
			? RI_GROUP_STDOUT : RI_GROUP_STDERR];

		stream->group = group;
		if (stream->fd < 0)
			continue;
		if (group->open++ == 0)
			group->epoll = ri_fd_move_up(epoll_create1(EPOLL_CLOEXEC));
		if (group->epoll < 0 ||
			epoll_ctl(group->epoll, EPOLL_CTL_ADD, stream->fd, &event) < 0)
			return refuse(plan, "epoll", "output cannot be watched");
	}
	for (int i = 0; i < 2; i++)
		if (output->groups[i].open > 0)
			ri_sink_open(&output->groups[i].sink, STDOUT_FILENO + i,
				output->groups[i].sink.bytes);
	output->groups[RI_GROUP_STDERR].sink.by_lines = plan->wishes->by_lines;
	/* not by the C library, which takes its own signals out */
	output->signals = ri_fd_move_up((int)syscall(SYS_signalfd4, -1, &all, sizeof(all),
		SFD_CLOEXEC | SFD_NONBLOCK));
	if (output->signals < 0)
		return refuse(plan, "signalfd", "cannot wait for signals while handling output");
	ri_output_guard_log(output);
	return 0;
}

int ri_output_prepare(struct ri_output *output, const struct ri_output_wishes *wishes,
	struct ri_arena *arena, struct ri_error *err)
{
	struct plan plan = {
		.output = output, .wishes = wishes, .arena = arena, .err = err, .spot.folder = -1,
	};
	const struct ri_given *asker = &wishes->options->given.log_file;
	/* where the files lie may not answer: a stop ends the waiting */
	const struct ri_apart opening = {
		.work = open_files, .argument = &plan, .subject = asker->subject,
		.path = asker->value, .most_ms = asker->twin ? RI_APART_TWIN_MS : 0,
	};
	rlim_t wanted = FEW_FILES + 5 * wishes->count;
	struct rlimit limit;
	bool failed;

	*output = (struct ri_output){ .signals = -1, .again = wishes->again };
	for (int i = 0; i < RI_GROUPS; i++) {
		output->groups[i].epoll = -1;
		output->groups[i].sink.fd = -1;
	}
	if (!ri_output_is_wanted(wishes->options) && !wishes->keeps_stderr)
		return 0;
	/* many ranks need more files than the usual soft limit of 1024 */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
		output->files_before = limit;
		limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
		output->raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
	}
	failed = read_pattern(&plan) < 0 || (plan.pattern != NULL &&
		ri_apart_or_fail(&opening, RI_CODE_LOG_REFUSED, err) < 0);
	ri_held_path_close(&plan.spot);
	if (failed || make_streams(&plan) < 0)
		return -1;
	for (size_t i = 0; i < 2 * output->count; i++)
		output->active = output->active || output->streams[i].fd >= 0;
	/* ranks that write to their files themselves need no pipe */
	if (!output->active)
		return 0;
	return reserve(&plan) < 0 ? -1 : watch_streams(&plan);
}

/* --- the ranks get it ------------------------------------------------------ */

int ri_ranks_open_input(struct ri_error *err)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		int why = errno;

		ri_fail(err, RI_CODE_FILE_UNREADABLE, "/dev/null", "cannot be opened: %s",
			strerror(why));
		ri_fail_hint(err, "start the container with an engine, which gives it a /dev, or "
			"in a root of your own: mount --rbind /dev ROOT/dev");
		return ri_fail_errno(err, why);
	}
	/* a closed standard input is closed for the first rank, too */
	fd = ri_fd_move_up(fd);
	if (fd < 0)
		ri_fail(err, RI_CODE_FILE_UNREADABLE, "/dev/null", "cannot be kept open: %s",
			strerror(errno));
	return fd;
}

/* The stdout and stderr of the rank with this index; -1: it inherits ours. */
static void give(const struct ri_output *output, size_t index, struct ri_launch *launch)
{
	launch->outputs[0] = launch->outputs[1] = -1;
	launch->files_before = output->raised ? &output->files_before : NULL;
	if (output->streams == NULL)
		return;
	for (int i = 0; i < 2; i++)
		launch->outputs[i] = output->streams[2 * index + (size_t)i].given;
}

/*
 * The ranks have theirs: our own ends of these are no longer spared, so that a pipe ends when its
 * rank does.
 */
static void let_go_of_given(struct ri_output *output)
{
	for (size_t i = 0; i < 2 * output->count; i++) {
		struct ri_stream *stream = &output->streams[i];

		if (output->again && stream->given >= 0 &&
			(stream->file == NULL || stream->file->fd != stream->given))
			close(stream->given);
		stream->given = -1;
	}
	for (size_t i = 0; i < output->file_count; i++) {
		struct ri_log_file *file = &output->files[i];
		bool written = false;	/* by us: it is needed yet */

		for (size_t k = 0; k < 2 * output->count; k++)
			written = written || (output->streams[k].file == file &&
				output->streams[k].logged != RI_FORM_NOTHING);
		if (written)
			continue;
		if (output->again)
			close(file->fd);
		file->fd = -1;
	}
}

int ri_ranks_spawn(const struct ri_rank *ranks, struct ri_launch *launch,
	struct ri_children *children, struct ri_output *output, struct ri_error *err)
{
	char *const *argv = launch->argv;
	char **envp = launch->envp;
	int others_read = launch->input;
	pid_t pid = 0, front;

	/*
	 * The first one may have ours, the others would fight over it; but where our terminal is
	 * another group's, as after a shell's '&', the kernel stops a process that reads it. The
	 * call fails for everything but our session's controlling terminal.
	 */
	if (children->count > 1 &&
		(ioctl(STDIN_FILENO, TIOCGPGRP, &front) < 0 || front == getpgrp()))
		launch->input = -1;
	for (size_t i = 0; i < children->count && pid >= 0 && !launch->hangs; i++) {
		give(output, i, launch);
		if (ranks != NULL)
			launch->cpus = ranks[i].cpus;
		if (i > 0) {
			launch->argv = ranks[i].argv;
			launch->envp = ranks[i].envp;
		}
		pid = ri_launch_spawn(launch, err);
		launch->input = others_read;
		if (pid > 0)
			ri_children_add(children, pid);
	}
	/* one that hangs before its exec reads them yet */
	if (!launch->hangs) {
		launch->argv = argv;
		launch->envp = envp;
	}
	let_go_of_given(output);
	return pid < 0 ? -1 : 0;
}
