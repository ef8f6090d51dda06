/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/facts.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/number.h"
#include "base/text.h"

/* Calls of older architectures only have no number on newer ones: then these rows end at -1. */
#ifndef SYS_open
#define SYS_open -1
#define SYS_creat -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_access -1
#define SYS_mkdir -1
#define SYS_rmdir -1
#define SYS_rename -1
#define SYS_unlink -1
#define SYS_readlink -1
#define SYS_select -1
#define SYS_poll -1
#define SYS_epoll_wait -1
#define SYS_vfork -1
#define SYS_pause -1
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif
/* Numbers that are the same everywhere, where the C library's headers are older (Linux 5.11). */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static const struct ri_call_row rows[] = {
#define RI_CALL(name_, kind_, file_, path_) \
	{ SYS_##name_, #name_, RI_CALL_##kind_, file_, path_ },
#include "hang/calls.def"
#undef RI_CALL
};

static bool read_hex(const char **text, uint64_t *out)
{
	const char *at = *text + strspn(*text, " ");
	size_t digits;

	if (at[0] != '0' || at[1] != 'x')
		return false;
	digits = ri_hex_read(at + 2, out);
	*text = at + 2 + digits;
	return digits > 0;
}

/*
 * "running", "-1 SP PC" or "NUMBER ARGUMENT... SP PC": the number in decimal, the rest in
 * hexadecimal (fs/proc/base.c, proc_pid_syscall).
 */
bool ri_call_read(const char *text, struct ri_call *out)
{
	struct ri_call call = { .state = RI_CALL_INSIDE };
	uint64_t number;
	size_t digits;

	if (strncmp(text, "running", 7) == 0) {
		*out = (struct ri_call){ .state = RI_CALL_RUNNING };
		return true;
	}
	if (strncmp(text, "-1 ", 3) == 0) {
		*out = (struct ri_call){ .state = RI_CALL_OUTSIDE };
		return true;
	}
	digits = ri_digits_read(text, &number);
	if (digits == 0 || number > LONG_MAX)
		return false;
	text += digits;
	call.number = (long)number;
	for (size_t i = 0; i < sizeof(call.arguments) / sizeof(call.arguments[0]); i++)
		if (!read_hex(&text, &call.arguments[i]))
			return false;
	*out = call;
	return true;
}

const struct ri_call_row *ri_call_row(const struct ri_call *call)
{
	if (call->state != RI_CALL_INSIDE)
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].number == call->number)
			return &rows[i];
	return NULL;
}

/* poll(fds, count, ...), ppoll alike; select(count, ...), pselect6 alike. */
bool ri_call_sleeps(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);

	if (row == NULL)
		return false;
	if (row->number == SYS_ppoll || row->number == SYS_poll)
		return (uint32_t)call->arguments[1] == 0;
	if (row->number == SYS_pselect6 || row->number == SYS_select)
		return (uint32_t)call->arguments[0] == 0;
	return row->kind == RI_CALL_SLEEP;
}

int ri_call_file(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);
	uint64_t fd;

	if (row == NULL || row->file < 0)
		return -1;
	fd = (uint32_t)call->arguments[row->file];
	return fd > INT_MAX ? -1 : (int)fd;
}

/* wait4(pid, ...); waitid(kind, pid, ...) */
int ri_call_child(const struct ri_call *call)
{
	uint32_t pid = (uint32_t)call->arguments[0];

	if (call->state != RI_CALL_INSIDE || (call->number != SYS_wait4 &&
		(call->number != SYS_waitid || pid != P_PID)))
		return -1;
	if (call->number == SYS_waitid)
		pid = (uint32_t)call->arguments[1];
	return pid == 0 || pid > INT_MAX ? -1 : (int)pid;
}

uint64_t ri_call_path(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);

	return row == NULL || row->path < 0 ? 0 : call->arguments[row->path];
}
