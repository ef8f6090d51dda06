/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel's log has on the GPUs, where it can be read at all. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "check/check.h"
#include "check/machine.h"
#include "node/gpus.h"
#include "node/xid.h"

/* Records of it are read one by one, files of a recorded machine in pieces. */
static const char log_path[] = "/dev/kmsg";

enum {
	RECORD = 8192,		/* bytes of a record (kernel documentation, ABI/testing/dev-kmsg) */
	MAX_READS = 100000,
	MAX_KINDS = 64,		/* of a GPU and a number */
	SHOWN = 12,
};

struct kind {
	struct ri_xid last;
	uint64_t count;
};

struct kinds {
	struct kind list[MAX_KINDS];
	size_t count;
};

static void add(struct kinds *kinds, const struct ri_xid *xid)
{
	size_t at = 0;

	while (at < kinds->count && (kinds->list[at].last.number != xid->number ||
		strcmp(kinds->list[at].last.address, xid->address) != 0))
		at++;
	if (at == MAX_KINDS)
		return;
	if (at == kinds->count)
		kinds->list[kinds->count++] = (struct kind){ .count = 0 };
	kinds->list[at].last = *xid;
	kinds->list[at].count++;
}

/* The lines of these bytes; what is left of the last one stays at their beginning. */
static size_t take_lines(struct kinds *kinds, char *bytes, size_t used)
{
	char *line = bytes, *end;
	struct ri_xid xid;

	while ((end = memchr(line, '\n', used - (size_t)(line - bytes))) != NULL) {
		*end = '\0';
		if (ri_xid_read(&xid, line) && ri_xid_text(xid.number) != NULL)
			add(kinds, &xid);
		line = end + 1;
	}
	used -= (size_t)(line - bytes);
	memmove(bytes, line, used);
	return used;
}

/*
 * The kernel's log has this number (kernel documentation, admin-guide/devices.txt).
 * Container runtimes mask it with /dev/null, which is empty, and some make it
 * the console, from which nothing may be read. A file is a recorded machine's.
 */
static bool is_log(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) ||
		(S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 11)));
}

/* Returns 0, or errno. */
static int read_log(struct kinds *kinds, struct ri_host *host)
{
	static char bytes[2 * RECORD];
	int fd = ri_host_open(host, log_path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	size_t used = 0;

	if (fd < 0)
		return errno;
	if (!is_log(fd)) {
		close(fd);
		return ENODEV;
	}
	for (int i = 0; i < MAX_READS; i++) {
		ssize_t count = read(fd, bytes + used, sizeof(bytes) - used);

		/* EPIPE: records were overwritten meanwhile, the next read goes on */
		if (count < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (count <= 0)
			break;
		used = take_lines(kinds, bytes, used + (size_t)count);
		if (used > sizeof(bytes) - RECORD)
			used = 0;
	}
	close(fd);
	return 0;
}

/* One that a program here sees, where that is known. */
static bool is_ours(const struct ri_gpus *gpus, const char *address)
{
	bool known = gpus->count > 0;

	for (size_t i = 0; i < gpus->count; i++) {
		if (gpus->list[i].address == NULL)
			known = false;
		else if (strcmp(gpus->list[i].address, address) == 0)
			return true;
	}
	return !known;
}

static void say_kind(struct ri_checking *checking, const struct kind *kind, uint64_t uptime)
{
	uint64_t ago = uptime > kind->last.at ? uptime - kind->last.at : 0;
	char times[48] = "";

	if (kind->count > 1)
		snprintf(times, sizeof(times), ", %" PRIu64 " times", kind->count);
	ri_check_note(checking, RI_CODE_GPU_XID_LOGGED, kind->last.address, "the kernel's log has "
		"Xid %" PRIu64 " of this GPU: %s%s, last %" PRIu64 " min ago", kind->last.number,
		ri_xid_text(kind->last.number), times, ago / 60);
	ri_check_advise(checking);
}

static void check_xid(struct ri_checking *checking)
{
	static struct kinds kinds;
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &findings,
	};
	struct ri_gpus gpus = { .count = 0 };
	uint64_t uptime = 0;
	size_t shown = 0;

	kinds.count = 0;
	if (!ri_host_has(checking->host, "proc/driver/nvidia") ||
		read_log(&kinds, checking->host) != 0) {
		ri_check_skip(checking, log_path, "no NVIDIA driver is here, or the kernel's log "
			"cannot be read");
		return;
	}
	if (ri_gpus_find(&gpus, &node, &err) < 0)
		gpus.count = 0;
	ri_machine_uptime(checking->host, &uptime);
	for (size_t i = 0; i < kinds.count && shown < SHOWN; i++) {
		if (!is_ours(&gpus, kinds.list[i].last.address))
			continue;
		say_kind(checking, &kinds.list[i], uptime);
		shown++;
	}
	if (shown == 0)
		ri_check_pass(checking, log_path, "has no Xid of a hardware error");
}

const struct ri_check ri_check_gpu_xid = {
	.id = "gpu.xid",
	.summary = "the kernel has logged no hardware error of a GPU",
	.reads = "/dev/kmsg, where the container has it and may read it (kernel documentation, "
		"ABI/testing/dev-kmsg), CLOCK_BOOTTIME; Xid 48, 62, 63, 64, 74, 79, 92, 94, 95, "
		"119, 120 and 140 (NVIDIA XID Errors)",
	.fails = "never: a note if there is one, because the log goes back to the machine's start",
	.advice = "it may be of an earlier job; node admin: NVIDIA XID Errors says what to do "
		"about each",
	.unverified = "all of it",
	.run = check_xid,
};
