/* SPDX-License-Identifier: Apache-2.0 */
#include "init/others.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hang/look.h"
#include "say/torch_file.h"

enum { PROC_PATH = 32 };

/* Where a link of /proc leads to. Returns its length; 0: that cannot be known, or is too long. */
static size_t read_link(pid_t pid, const char *name, char out[RI_RANK_PATH])
{
	char path[PROC_PATH];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	length = readlink(path, out, RI_RANK_PATH);
	if (length <= 0 || length == RI_RANK_PATH || out[0] != '/')
		length = 0;
	out[length] = '\0';
	return (size_t)length;
}

static void find_error(pid_t pid, pid_t parent, char out[RI_RANK_PATH])
{
	char name[RI_RANK_PATH], folder[RI_RANK_PATH] = "";
	struct ri_text path = ri_text_of(out, RI_RANK_PATH);

	if (!ri_autopsy_variable(pid, RI_TORCH_FILE, name, sizeof(name)) ||
		(name[0] != '/' && read_link(parent, "cwd", folder) == 0))
		return;
	ri_text_addf(&path, "%s%s%s", folder, name[0] == '/' ? "" : "/", name);
	if (path.cut)
		out[0] = '\0';
}

/* proc(5), fdinfo: "flags:\t0102001", in octal: O_APPEND is the 2 before the last three. */
static void take_append(void *out, const char *line)
{
	size_t length = strlen(line);

	if (strncmp(line, "flags:", 6) == 0 && length > 10)
		*(bool *)out = ((line[length - 4] - '0') & 2) != 0;
}

void ri_rank_files_find(pid_t pid, pid_t parent, struct ri_rank_files *out)
{
	struct stat info;
	char path[PROC_PATH];
	bool appends = true;

	*out = (struct ri_rank_files){ .from = 0 };
	find_error(pid, parent, out->error);
	/* of what it has open, whatever lies under that name by now or in another root */
	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) ||
		read_link(pid, "fd/2", out->said) == 0)
		return;
	out->device = info.st_dev;
	out->inode = info.st_ino;
	/* what opened it anew has written all of it */
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/2", (int)pid);
	ri_autopsy_each(path, '\n', take_append, &appends);
	out->from = appends ? info.st_size : 0;
}

bool ri_rank_files_read(const struct ri_rank_files *files, struct ri_launched_stream *out)
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
