/* SPDX-License-Identifier: Apache-2.0 */
#include "say/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/pages.h"
#include "redact/redact.h"
#include "say/print.h"

static const struct ri_given *given;
static int folder = -1;

static int refuse(const char *what, const char *why, struct ri_error *err)
{
	ri_fail(err, RI_CODE_CAPTURE_REFUSED, given->subject, "%s %s", what, why);
	return ri_fail_hint(err, "name a folder that is not there, in one that is");
}

/* The folder itself may be there already, as one that mktemp made. */
static int make_folder(struct ri_error *err)
{
	struct ri_host host = { .root = -1 };
	char names[NAME_MAX + 1];
	char quoted[RI_QUOTE_SIZE];
	long count;

	ri_quote(quoted, sizeof(quoted), given->value);
	if (mkdir(given->value, 0700) < 0 && errno != EEXIST)
		return refuse(quoted, strerror(errno), err);
	folder = open(given->value, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return refuse(quoted, errno == ENOTDIR || errno == ELOOP
			? "is not a folder" : strerror(errno), err);
	host.root = folder;
	count = ri_host_list(&host, ".", names, sizeof(names));
	if (count != 0)
		return refuse(quoted, count < 0 && errno != EFBIG ? strerror(errno)
								  : "is not empty", err);
	return 0;
}

/* It is shared: checks run in a process of their own. */
static int watch(struct ri_env *env, struct ri_error *err)
{
	static const char own[] = "RANKINIT_";

	env->asked = ri_pages_shared(env->count + 1);
	if (env->asked == NULL)
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	/* the options have been read */
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->entries[i].text, own, strlen(own)) == 0)
			ri_env_ask(env, &env->entries[i]);
	return 0;
}

static int mask_all(struct ri_env *env, struct ri_arena *arena, struct ri_error *err)
{
	char **strings = ri_arena_array(arena, env->count + 1, sizeof(*strings));

	for (size_t i = 0; strings != NULL && i < env->count; i++) {
		strings[i] = ri_redact_copy(env->entries[i].text, arena);
		if (strings[i] == NULL)
			strings = NULL;
	}
	if (strings == NULL)
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	strings[env->count] = NULL;
	return ri_env_init(env, strings, arena, err);
}

int ri_capture_begin(const struct ri_given *where, struct ri_env *env, struct ri_arena *arena,
	struct ri_error *err)
{
	given = where;
	if (make_folder(err) < 0 || mask_all(env, arena, err) < 0 || watch(env, err) < 0)
		return -1;
	return ri_capture_tree_begin(folder, given->subject, err);
}

int ri_capture_file(const char *name, struct ri_error *err)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? refuse(name, strerror(errno), err) : fd;
}

static int write_bytes(int fd, const char *bytes, size_t length)
{
	ssize_t count;

	for (; length > 0; bytes += count, length -= (size_t)count) {
		count = write(fd, bytes, length);
		if (count < 0 && errno == EINTR)
			count = 0;
		else if (count <= 0)
			return -1;
	}
	return 0;
}

/* Each with the NUL byte at its end. */
static int write_strings(int fd, char *const *strings)
{
	for (; strings != NULL && *strings != NULL; strings++)
		if (write_bytes(fd, *strings, strlen(*strings) + 1) < 0)
			return -1;
	return 0;
}

static int close_file(int fd, int status, const char *name, struct ri_error *err)
{
	int saved = errno;

	if (close(fd) < 0 && status == 0) {
		status = -1;
		saved = errno;
	}
	return status < 0 ? refuse(name, strerror(saved), err) : 0;
}

/* Returns how many there are, or -1. */
static long write_environ(const struct ri_env *env, struct ri_error *err)
{
	int fd = ri_capture_file("environ", err), status = 0;
	long count = 0;

	if (fd < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < env->count; i++) {
		if (!env->asked[i])
			continue;
		count++;
		status = write_bytes(fd, env->entries[i].text, strlen(env->entries[i].text) + 1);
	}
	return close_file(fd, status, "environ", err) < 0 ? -1 : count;
}

static int write_command(const struct ri_options *options, struct ri_arena *arena,
	struct ri_error *err)
{
	static const int left_out[] = { RI_OPTION_capture, RI_OPTION_root, -1 };
	static char end[] = "--";
	char *const dashes[] = { end, NULL };
	char **words = ri_options_words(options, left_out, arena), **command = NULL;
	int fd, status;

	if (words != NULL)
		words = ri_redact_words(words, arena);
	if (options->command != NULL)
		command = ri_redact_words(options->command, arena);
	if (words == NULL || (command == NULL && options->command != NULL))
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	fd = ri_capture_file("command", err);
	if (fd < 0)
		return -1;
	status = write_strings(fd, words);
	if (status == 0 && command != NULL)
		status = write_strings(fd, dashes) < 0 ? -1 : write_strings(fd, command);
	return close_file(fd, status, "command", err);
}

/* What the live machine was asked without a file, a recorded one has in files. */
static void put_live(const struct ri_options *options, struct ri_host *host,
	struct ri_arena *arena)
{
	const char *path = options->wishes.hostfile.value;
	char here[PATH_MAX];

	if (!host->live)
		return;
	if (host->name != NULL)
		ri_capture_put("etc/hostname", host->name);
	ri_capture_tell(host, "proc/self/status", O_RDONLY, 0);
	ri_capture_tell(host, "proc/self/limits", O_RDONLY, 0);
	if (path != NULL && path[0] != '/' && getcwd(here, sizeof(here)) != NULL) {
		const char *whole = ri_arena_format(arena, "%s/%s", here, path);

		if (whole != NULL)
			ri_capture_link(path, whole);
	}
}

int ri_capture_end(const struct ri_options *options, const struct ri_env *env,
	struct ri_host *host, struct ri_arena *arena, struct ri_error *err)
{
	char line[RI_MAX_LINE], quoted[RI_QUOTE_SIZE];
	size_t left_out;
	struct ri_text out;
	long variables;

	put_live(options, host, arena);
	variables = write_environ(env, err);
	if (variables < 0 || write_command(options, arena, err) < 0)
		return -1;
	ri_text_init(&out, line, sizeof(line));
	ri_text_addf(&out, "%s: %ld variables and %zu files", ri_quote(quoted, sizeof(quoted),
		given->value), variables, ri_capture_count(&left_out));
	if (left_out > 0)
		ri_text_addf(&out, ", without %zu that left-out names", left_out);
	ri_text_add(&out, "; look through it before you give it to others\n");
	return ri_print_text(&out, err);
}
