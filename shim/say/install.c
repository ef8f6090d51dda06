/* SPDX-License-Identifier: Apache-2.0 */
#include "say/print.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say/whole_file.h"
#include "system/apart.h"

/* A stop lets a copy end that takes no longer: a helper that is killed would leave half of it. */
enum { COPY_MS = 10000 };

struct copying {
	const struct ri_given *given;
	struct ri_arena *arena;
	struct ri_error *err;
};

/* The whole program; the kernel lets no process write to it while it runs. NULL and errno. */
static const char *map_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat info;
	const char *bytes = MAP_FAILED;

	/* without /proc by the name that execve(2) was given: getauxval(3) */
	if (fd < 0)
		fd = open((const char *)getauxval(AT_EXECFN), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &info) == 0) {
		*size = (size_t)info.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static int copy(void *argument)
{
	const struct copying *copying = argument;
	const char *folder = copying->given->value, *subject = copying->given->subject;
	char here[PATH_MAX] = "", quoted[RI_QUOTE_SIZE];
	const char *path, *bytes;
	struct ri_whole_file file;
	size_t size;

	/* DIR/rankinit, from / on: the folder is looked for again by it */
	if (folder[0] != '/' && getcwd(here, sizeof(here)) == NULL)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"the current folder has no path: %s", strerror(errno));
	path = ri_arena_format(copying->arena, "%s%s%s/rankinit", here,
		folder[0] == '/' ? "" : "/", folder);
	if (path == NULL)
		return ri_fail(copying->err, RI_CODE_MEMORY, subject, "no memory left");
	if (ri_whole_file_find(&file, path, subject, copying->arena, copying->err) < 0) {
		if (copying->err->code == RI_CODE_REPORT_REFUSED)
			copying->err->code = RI_CODE_INSTALL_REFUSED;
		return -1;
	}
	ri_quote(quoted, sizeof(quoted), path);
	if (file.in_place)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"%s is there and is no regular file", quoted);
	bytes = map_self(&size);
	if (bytes == NULL)
		return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
			"/proc/self/exe, the running program, cannot be read: %s",
			strerror(errno));
	file.mode = 0755;
	if (ri_whole_file_write(&file, bytes, size) == 0)
		return 0;
	return ri_fail(copying->err, RI_CODE_INSTALL_REFUSED, subject,
		"%s cannot be written: %s", quoted, strerror(errno));
}

int ri_install(const struct ri_options *options, struct ri_arena *arena, struct ri_error *err)
{
	const struct ri_given *given = &options->given.install;
	struct copying copying = { .given = given, .arena = arena, .err = err };
	const struct ri_apart call = {
		.work = copy, .argument = &copying, .subject = given->subject,
		.path = given->value, .deaf_ms = COPY_MS,
	};

	if (options->command != NULL) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, given->subject,
			"only copies rankinit and cannot be combined with a command");
		return ri_fail_hint(err, "leave the command out");
	}
	return ri_apart_or_fail(&call, RI_CODE_INSTALL_REFUSED, err);
}
