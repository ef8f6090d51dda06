/* SPDX-License-Identifier: Apache-2.0 */
#include "init/others.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hang/hang.h"
#include "hang/look.h"
#include "say/torch_file.h"
#include "system/clock.h"
#include "system/held_path.h"
#include "system/helper.h"
#include "system/kept_fds.h"
#include "system/own_proc.h"

enum {
	LOOK = SIGUSR1,		/* to the helper: look now */
	LAST = SIGUSR2,		/* write down what is left, and end */
	BATCH = 64,		/* ends that are taken at once */
	DEEPEST = 64,		/* generations between a rank and what seemed to be one */
	LOOKS = 9,		/* after a start, at 0.25, 0.5, 1 ... 64 s */
	FIRST_MS = 250,		/* until the first of them */
	AGAIN_MS = 250,		/* a job may print traceback after traceback */
	LOOK_MS = 2000,		/* that one may take */
	END_MS = 200,		/* for the last word */
	BELL = 0,		/* the helper's descriptor of own.bell */
	STEP_MS = 2,
	REAPED_MS = 50,		/* until the ranks of a launcher that has ended are reaped, too */
	PROC_PATH = 32,
	RANK_PATH = 512,	/* bytes of a path, and its end; a longer one is left out */
};

/* linux/pidfd.h of 6.15: struct pidfd_info up to its first published size. */
struct end_info {
	uint64_t mask, cgroup;
	uint32_t numbers[11];	/* pid, tgid, ppid, and eight of users and groups */
	int32_t exit_code;
};

enum { INFO_EXIT = 1 << 3 };

#define GET_INFO _IOWR(0xFF, 11, struct end_info)

/* Shared with the helper, which alone writes. */
struct table {
	volatile uint32_t count;
	volatile uint32_t news;	/* how often there was something that PID 1 waits for */
	volatile bool has_ray;	/* processes of Ray's were seen */
	struct ri_launched items[RI_LAUNCHED];
	volatile uint32_t error_count;
	struct ri_launched_error errors[RI_LAUNCHED_ERRORS];
	volatile uint32_t stream_count;
	struct ri_launched_stream streams[RI_LAUNCHED_STREAMS];
};

static struct {
	struct table *table;
	pid_t helper;		/* 0: none */
	pid_t launcher;
	bool python;		/* of Python's: before Ray is seen only Lightning's ranks count */
	int bell[2];		/* a pipe: its bytes wake PID 1 */
	uint32_t heard;		/* of the table's news */
} own;

/* --- in the helper --------------------------------------------------------- */

/*
 * The files of a rank that a launcher started: torch's error file, and what it has open as stderr
 * where that is a file, as torchrun's --redirects and --tee make it. They are looked for as the
 * ranks' user: a mount that does not answer holds the helper alone.
 */
struct rank_files {
	char error[RANK_PATH];	/* torch's, absolute; or "" */
	char said[RANK_PATH];	/* a regular file that it has open as stderr; or "" */
	dev_t device;		/* of that */
	ino_t inode;
	off_t from;		/* what stood there before may be another job's */
};

/* Where a link of /proc leads to. Returns its length; 0: that cannot be known, or is too long. */
static size_t read_link(pid_t pid, const char *name, char out[RANK_PATH])
{
	char path[PROC_PATH];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	length = readlink(path, out, RANK_PATH);
	if (length <= 0 || length == RANK_PATH || out[0] != '/')
		length = 0;
	out[length] = '\0';
	return (size_t)length;
}

static void find_error(pid_t pid, pid_t parent, char out[RANK_PATH])
{
	char name[RANK_PATH], folder[RANK_PATH] = "";
	struct ri_text path = ri_text_of(out, RANK_PATH);

	if (!ri_proc_variable(pid, RI_TORCH_FILE, name, sizeof(name)) ||
		(name[0] != '/' && read_link(parent, "cwd", folder) == 0))
		return;
	ri_text_addf(&path, "%s%s%s", folder, name[0] == '/' ? "" : "/", name);
	if (path.cut)
		out[0] = '\0';
}

/*
 * Find them while the rank lives. A relative name in TORCHELASTIC_ERROR_FILE counts from the folder
 * of its parent, which made the name (torch/distributed/elastic/multiprocessing/api.py).
 */
static void find_files(pid_t pid, pid_t parent, struct rank_files *out)
{
	struct ri_proc_parts parts;
	struct stat info;
	char path[PROC_PATH];
	const char *line;
	bool appends = true;

	*out = (struct rank_files){ .from = 0 };
	find_error(pid, parent, out->error);
	/* of what it has open, whatever lies under that name by now or in another root */
	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) ||
		read_link(pid, "fd/2", out->said) == 0)
		return;
	out->device = info.st_dev;
	out->inode = info.st_ino;
	/*
	 * What opened it anew has written all of it. proc(5), fdinfo: "flags:\t0102001", in octal:
	 * O_APPEND is the 2 before the last three.
	 */
	ri_proc_parts_open(&parts, '\n', "/proc/%d/fdinfo/2", (int)pid);
	while ((line = ri_proc_parts_next(&parts)) != NULL)
		if (strncmp(line, "flags:", 6) == 0 && strlen(line) > 10)
			appends = ((line[strlen(line) - 4] - '0') & 2) != 0;
	out->from = appends ? info.st_size : 0;
}

/*
 * Read the last whole lines that the file has got since. Sets all of *out but .item. Returns false
 * where there is no such file, or it is another one by now.
 */
static bool read_stream(const struct rank_files *files, struct ri_launched_stream *out)
{
	int fd = files->said[0] == '\0' ? -1 : open(files->said,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	off_t from = files->from;
	struct stat info;
	ssize_t length = -1;
	const char *end;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_dev == files->device &&
		info.st_ino == files->inode) {
		from = info.st_size < from ? 0 : from;	/* somebody has cut it */
		if (info.st_size - from > RI_LAUNCHED_STREAM)
			from = info.st_size - RI_LAUNCHED_STREAM;
		/* with the byte before, which tells whether a line begins there */
		from -= from > 0;
		length = pread(fd, out->bytes, sizeof(out->bytes), from);
	}
	close(fd);
	if (length < 0)
		return false;
	if (from > 0) {
		end = memchr(out->bytes, '\n', (size_t)length);
		length = end == NULL ? 0 : length - (end + 1 - out->bytes);
		memmove(out->bytes, end == NULL ? out->bytes : end + 1, (size_t)length);
	}
	out->device = info.st_dev;
	out->inode = info.st_ino;
	out->length = (uint32_t)length;
	out->written = info.st_mtim;
	/* before that it may have said all that it had to say */
	return length > 0 || files->from == 0;
}

static int pidfds[RI_LAUNCHED];	/* of each item; -1: its end is known */
static struct rank_files *files;	/* of each */
static int orders, ends;	/* a signalfd; an epoll(7), which keeps the order of ends */
static struct ri_look_region *region;
static unsigned ended;
static bool changed;		/* a rank has ended: its launcher may start others */

static struct ri_launched *find_item(const struct ri_hang_process *process)
{
	for (size_t i = 0; i < own.table->count; i++) {
		struct ri_launched *item = &own.table->items[i];

		if (item->pid == process->pid && item->born == process->started)
			return item;
	}
	return NULL;
}

/* Wake PID 1: all ranks have ended, or one of a restart was seen. */
static void tell_news(void)
{
	own.table->news++;
	if (write(BELL, "", 1) < 0)
		errno = 0;	/* it is full of news */
}

static bool has_living(void)
{
	for (uint32_t i = 0; i < own.table->count; i++)
		if (own.table->items[i].is_rank && own.table->items[i].order == 0)
			return true;
	return false;
}

/* proc(5), starttime: in clock ticks since the machine's start. */
static struct timespec time_of(uint64_t born)
{
	uint64_t hertz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now, up;

	ri_clock_read(CLOCK_REALTIME, &now);
	ri_clock_read(CLOCK_BOOTTIME, &up);
	now.tv_sec += (time_t)(born / hertz) - up.tv_sec;
	now.tv_nsec += (long)(born % hertz * (1000000000 / hertz)) - up.tv_nsec;
	if (now.tv_nsec < 0 || now.tv_nsec >= 1000000000) {
		int step = now.tv_nsec < 0 ? -1 : 1;

		now.tv_sec += step;
		now.tv_nsec -= step * 1000000000L;
	}
	return now;
}

/* A rank that is new. */
static void add_item(const struct ri_hang_process *process)
{
	uint32_t at = own.table->count;
	struct ri_launched *item = &own.table->items[at];
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = at };
	uint64_t born;
	int fd;

	if (at == RI_LAUNCHED)
		return;
	fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (fd < 0)
		return;
	/* by now the number may be another process's, which began later */
	if (!ri_proc_birth(process->pid, &born) || born != process->started ||
		epoll_ctl(ends, EPOLL_CTL_ADD, fd, &event) < 0) {
		close(fd);
		return;
	}
	pidfds[at] = fd;
	*item = (struct ri_launched){
		.pid = process->pid, .parent = process->parent, .born = born,
		.rank = process->rank, .is_rank = true,
		.restarts = process->restarts, .most_restarts = process->most_restarts,
		.local_rank = process->local_rank, .local_ranks = process->local_ranks,
		.started = time_of(born),
	};
	find_files(process->pid, process->parent, &files[at]);
	item->has_file = files[at].said[0] != '\0';
	own.table->count++;
	if (item->restarts > 0)
		tell_news();
}

/*
 * Lightning's own launcher is the first rank of its node: the leader. It starts each other rank
 * without RANK, and with its own command line from the script on; Hydra's words may follow
 * (lightning/fabric/strategies/launchers/subprocess_script.py, 2.6, _basic_subprocess_cmd,
 * _hydra_subprocess_cmd). Adds both. False: the process is no such rank.
 */
static bool take_lightning_rank(struct ri_hang_process *process, struct ri_hang_process *leader)
{
	static const char hydra[] = "\0hydra.run.dir=";
	static char *line;	/* its command line, and behind it the leader's */
	const char *script, *slash, *end, *leader_script;
	ssize_t length, leader_length;
	uint64_t world = 0;
	char text[16];

	if (line == NULL)
		line = ri_pages(2 * (RI_PROC_FILE + 1));
	if (line == NULL || process->local_rank < 1 ||
		ri_proc_variable(process->pid, "RANK", text, sizeof(text)) ||
		!ri_proc_variable(process->pid, "WORLD_SIZE", text, sizeof(text)))
		return false;
	length = ri_proc_text(line, RI_PROC_FILE + 1, "/proc/%d/cmdline", (int)process->pid);
	leader_length = ri_proc_text(line + RI_PROC_FILE + 1, RI_PROC_FILE + 1,
		"/proc/%d/cmdline", (int)leader->pid);
	script = line + strlen(line) + 1;
	if (length <= script - line)
		return false;
	end = memmem(script, (size_t)(line + length - script), hydra, sizeof(hydra) - 1);
	end = end == NULL ? line + length : end + 1;
	slash = strrchr(script, '/');
	script = slash == NULL ? script : slash + 1;
	length = end - script;
	leader_script = line + RI_PROC_FILE + 1 + leader_length - length;
	if (length >= leader_length || memcmp(leader_script, script, (size_t)length) != 0 ||
		(leader_script[-1] != '\0' && leader_script[-1] != '/'))
		return false;
	ri_digits_read(text, &world);
	process->local_ranks = leader->local_ranks = (int64_t)world;
	leader->rank = process->rank - process->local_rank;
	leader->local_rank = 0;
	add_item(process);
	if (find_item(leader) == NULL)
		add_item(leader);
	return true;
}

static void take_ranks(struct ri_hang_look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		struct ri_hang_process *process = &look->processes[i];
		int at;

		if (!process->is_rank || process->dying || process->pid == own.launcher ||
			find_item(process) != NULL)
			continue;
		at = ri_hang_find_process(look, process->parent);
		if ((at >= 0 && take_lightning_rank(process, &look->processes[at])) ||
			(own.python && !own.table->has_ray))
			continue;
		add_item(process);
		/* what seemed to be a rank, and has one below it, is a launcher */
		for (int depth = 0; at >= 0 && depth < DEEPEST; depth++) {
			struct ri_launched *item = find_item(&look->processes[at]);

			if (item != NULL)
				item->is_rank = false;
			at = ri_hang_find_process(look, look->processes[at].parent);
		}
	}
}

static void look_for_ranks(void)
{
	const struct ri_look_limit limit = { ri_now_ms, ri_now_ms() + LOOK_MS };
	struct ri_hang_look *look;

	if (!ri_look_list_own(region, getppid(), &own.launcher, 1) ||
		!ri_look_list_others(region, getppid(), &limit))
		return;
	look = ri_hang_newer(&region->hang);
	/* its own daemons, and its workers, which bear what they do (setproctitle) */
	for (size_t i = 0; i < look->count && !own.table->has_ray; i++) {
		const char *name = look->processes[i].name;

		own.table->has_ray = strcmp(name, "raylet") == 0 ||
			strcmp(name, "gcs_server") == 0 || strncmp(name, "ray::", 5) == 0;
	}
	/* what a rank that has ended left behind has the variables of that */
	for (size_t i = 0; i < look->count && !ri_look_is_over(&limit); i++)
		if (look->processes[i].parent != getppid() ||
			look->processes[i].pid == own.launcher)
			ri_look_at_rank(&look->processes[i]);
	ri_hang_find_ranks(look);
	take_ranks(look);
}

/* A launcher that hands on its own variable, as mpirun does, gives one file to all. */
static bool is_shared(uint32_t item)
{
	for (uint32_t i = 0; i < own.table->count; i++)
		if (i != item && strcmp(files[i].error, files[item].error) == 0)
			return true;
	return false;
}

/* Of the start that has ended, in the order of the ends: the first have failed of themselves. */
static void read_errors(void)
{
	struct table *table = own.table;
	static unsigned read_up_to;

	/* these are of a start before the last one: PID 1 has heard of them */
	if (table->error_count > 0 && table->items[table->errors[0].item].restarts <
		table->items[table->count - 1].restarts)
		table->error_count = 0;
	while (read_up_to < ended && table->error_count < RI_LAUNCHED_ERRORS) {
		struct ri_launched_error *error = &table->errors[table->error_count];
		uint32_t i = 0;

		read_up_to++;
		while (i < table->count && table->items[i].order != read_up_to)
			i++;
		if (i == table->count || files[i].error[0] == '\0' || is_shared(i))
			continue;
		error->item = i;
		error->length = (uint32_t)ri_torch_file_take(AT_FDCWD, files[i].error,
			table->items[i].ended, geteuid(), error->bytes, sizeof(error->bytes));
		table->error_count += error->length > 0;
	}
	read_up_to = ended;
}

/* Of the start that has ended last. All are read anew: a launcher may have written there since. */
static void read_streams(void)
{
	struct table *table = own.table;

	table->stream_count = 0;
	for (uint32_t i = 0; i < table->count && table->stream_count < RI_LAUNCHED_STREAMS; i++) {
		struct ri_launched_stream *stream = &table->streams[table->stream_count];

		stream->item = i;
		table->stream_count += table->items[i].is_rank &&
			table->items[i].restarts == table->items[table->count - 1].restarts &&
			read_stream(&files[i], stream);
	}
}

/* An end has an order and a time; how it came is known when the launcher has reaped the rank. */
static void take_end(struct ri_launched *item, int *pidfd)
{
	struct end_info info = { .mask = INFO_EXIT };

	if (item->order == 0) {
		ri_clock_read(CLOCK_REALTIME, &item->ended);
		item->order = ++ended;
		changed = true;
		if (!has_living()) {
			read_errors();
			/* for what is told of that start, where another one follows */
			if (item->most_restarts > 0)
				read_streams();
			tell_news();
		}
	}
	if (ioctl(*pidfd, GET_INFO, &info) < 0 || (info.mask & INFO_EXIT) == 0)
		return;
	item->wait_status = info.exit_code;
	item->has_status = true;
	close(*pidfd);
	*pidfd = -1;
}

/* Takes what comes until then, or until PID 1 says something. */
static void wait_for_ends(int64_t until)
{
	struct epoll_event events[BATCH];
	int64_t left = until - ri_now_ms();
	int count = epoll_wait(ends, events, BATCH,
		until == INT64_MAX ? -1 : left < 0 ? 0 : (int)left);

	for (int i = 0; i < count; i++) {
		uint32_t at = events[i].data.u32;

		if (at < RI_LAUNCHED && pidfds[at] >= 0)
			take_end(&own.table->items[at], &pidfds[at]);
	}
}

/* All that have ended were killed or reaped by the launcher, or are about to be by PID 1. */
static void write_down_the_rest(void)
{
	int64_t until = ri_now_ms() + REAPED_MS;
	bool open;

	do {
		wait_for_ends(ri_now_ms() + STEP_MS);
		open = false;
		for (uint32_t i = 0; i < own.table->count; i++)
			open = open || (own.table->items[i].order != 0 && pidfds[i] >= 0);
	} while (open && ri_now_ms() < until);
	if (has_living())
		read_errors();
	read_streams();
}

static bool make_room(void)
{
	const ri_sigset told = RI_MASK_OF(LOOK) | RI_MASK_OF(LAST);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = RI_LAUNCHED };
	struct rlimit open_files;

	if (dup2(own.bell[1], BELL) < 0)
		return false;
	ri_close_between(BELL + 1, ~0u);
	if (getrlimit(RLIMIT_NOFILE, &open_files) == 0) {
		open_files.rlim_cur = open_files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &open_files);
	}
	ri_mask_set(RI_MASK_ALL);
	orders = (int)syscall(SYS_signalfd4, -1, &told, sizeof(told), SFD_NONBLOCK);
	ends = epoll_create1(0);
	region = ri_pages(sizeof(*region));
	files = ri_pages(RI_LAUNCHED * sizeof(*files));
	return orders >= 0 && ends >= 0 && region != NULL && files != NULL &&
		epoll_ctl(ends, EPOLL_CTL_ADD, orders, &event) == 0;
}

static void watch_ranks(void *context)
{
	int64_t begun = ri_now_ms(), due = begun + FIRST_MS, asked = 0;
	struct signalfd_siginfo told;
	unsigned looks = 0;

	(void)context;
	if (!make_room())
		return;
	for (;;) {
		wait_for_ends(looks < LOOKS ? due : INT64_MAX);
		if (read(orders, &told, sizeof(told)) == sizeof(told)) {
			if (told.ssi_signo == LAST)
				break;
			if (ri_now_ms() - asked >= AGAIN_MS)
				look_for_ranks();
			asked = ri_now_ms();
			changed = changed || !has_living();
		}
		/* later and later, from the start on and anew where a rank has ended */
		if (changed && looks > 0) {
			begun = ri_now_ms();
			due = begun + FIRST_MS;
			looks = 0;
		}
		changed = false;
		if (looks < LOOKS && ri_now_ms() >= due) {
			look_for_ranks();
			due = begun + ((int64_t)FIRST_MS << ++looks);
		}
	}
	write_down_the_rest();
}

/* --- in PID 1 -------------------------------------------------------------- */

/* A user that the helper became may send us no signal: its pipe does (fcntl(2), O_ASYNC). */
static bool make_bell(void)
{
	if (pipe2(own.bell, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	own.bell[0] = ri_fd_move_up(own.bell[0]);
	ri_kept_fds_add(own.bell[0]);
	if (own.bell[0] >= 0 && fcntl(own.bell[0], F_SETOWN, getpid()) == 0 &&
		fcntl(own.bell[0], F_SETSIG, SIGIO) == 0 &&
		fcntl(own.bell[0], F_SETFL, O_NONBLOCK | O_ASYNC) == 0)
		return true;
	close(own.bell[0]);
	close(own.bell[1]);
	return false;
}

void ri_others_begin(pid_t launcher, bool python)
{
	if (own.launcher != 0)
		return;
	own.launcher = launcher;
	own.python = python;
	own.table = ri_pages_shared(sizeof(*own.table));
	if (own.table == NULL || !make_bell())
		return;
	own.helper = ri_helper_start(&(struct ri_helper_task){
		.body = watch_ranks, .signal = SIGIO, .user = RI_HELPER_OWNER,
		.name = "rankinit-ranks", .owned = launcher,
	});
	/* without its writer the pipe would send a SIGIO that no part takes for its own */
	if (own.helper == 0)
		close(own.bell[0]);
	close(own.bell[1]);
}

bool ri_others_heard(void)
{
	char bytes[BATCH];

	if (own.helper == 0 || own.table->news == own.heard)
		return false;
	own.heard = own.table->news;
	while (read(own.bell[0], bytes, sizeof(bytes)) > 0)
		continue;
	return true;
}

bool ri_others_are_watched(void)
{
	return own.helper != 0;
}

bool ri_others_have_ray(void)
{
	return own.table != NULL && own.table->has_ray;
}

void ri_others_look(void)
{
	if (own.helper != 0)
		kill(own.helper, LOOK);
}

void ri_others_end(void)
{
	int64_t until = ri_now_ms() + END_MS;
	siginfo_t info;

	if (own.helper == 0)
		return;
	kill(own.helper, LAST);
	while (!ri_helper_reap(&own.helper, NULL) && ri_now_ms() < until)
		ri_mask_wait_for(RI_MASK_OF(SIGIO), &info, STEP_MS);
	ri_helper_end(&own.helper, RI_MASK_OF(SIGIO), NULL);
}

void ri_others_read(struct ri_launched_source *out)
{
	const struct table *table = own.table;

	if (table == NULL)
		return;
	out->errors = table->errors;
	out->error_count = table->error_count > RI_LAUNCHED_ERRORS ? RI_LAUNCHED_ERRORS
		: table->error_count;
	out->streams = table->streams;
	out->stream_count = table->stream_count > RI_LAUNCHED_STREAMS ? RI_LAUNCHED_STREAMS
		: table->stream_count;
}

size_t ri_others_seen(const struct ri_launched **out)
{
	uint32_t count = own.table == NULL ? 0 : own.table->count;

	*out = own.table == NULL ? NULL : own.table->items;
	return count > RI_LAUNCHED ? RI_LAUNCHED : count;
}
