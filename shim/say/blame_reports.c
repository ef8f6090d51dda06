/* SPDX-License-Identifier: Apache-2.0 */
/* --blame: what the reports of a job's nodes say together. */
#include "say/print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blame/reports.h"
#include "say/json_memory.h"

enum {
	/* more than rankinit writes: 512 ranks, a traceback, 4,096 hosts */
	FILE_MOST = 8 << 20,
	/* for one at a time; a report of 20 kB takes 0.2 MB */
	MEMORY = 48 << 20,
	ANSWER = 64 << 20,
};

static struct {
	struct ri_reports job;
	struct ri_arena names;
	const char **paths;
	size_t count;
	char *bytes;
} own;

static int add_path(const char *path, struct ri_error *err)
{
	if (own.count == RI_REPORTS_FILES)
		return ri_fail(err, RI_CODE_FILE_UNREADABLE, "--blame",
			"more than %d files: name those of one job", RI_REPORTS_FILES);
	own.paths[own.count++] = path;
	return 0;
}

/* The reports in a folder, but none of those below it. */
static int add_folder(const char *path, struct ri_error *err)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t before = own.count;
	int status = 0;

	if (folder == NULL)
		return add_path(path, err);	/* why not is said where files are read */
	while (status == 0 && (entry = readdir(folder)) != NULL) {
		size_t length = strlen(entry->d_name);
		const char *file;

		if (length <= 5 || strcmp(entry->d_name + length - 5, ".json") != 0)
			continue;
		file = ri_arena_format(&own.names, "%s/%s", path, entry->d_name);
		status = file == NULL ? ri_fail(err, RI_CODE_MEMORY, "--blame",
			"no memory left for file names") : add_path(file, err);
	}
	closedir(folder);
	return status == 0 && own.count == before ? add_path(path, err) : status;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_files(const struct ri_options *options, struct ri_error *err)
{
	struct stat info;

	own.paths = ri_arena_array(&own.names, RI_REPORTS_FILES, sizeof(*own.paths));
	if (own.paths == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for file names");
	for (char *const *word = options->command; *word != NULL; word++) {
		bool is_there = stat(*word, &info) == 0;
		bool is_folder = is_there && S_ISDIR(info.st_mode);

		if (!is_there && strncmp(*word, "--", 2) == 0) {
			ri_fail(err, RI_CODE_OPTION_VALUE, "--blame", "\"%s\" stands behind a "
				"file, so it would be one, too, and is none", *word);
			return ri_fail_hint(err, "options stand before the files: rankinit "
				"--blame=json FILE...");
		}
		if ((is_folder ? add_folder(*word, err) : add_path(*word, err)) < 0)
			return -1;
	}
	qsort(own.paths, own.count, sizeof(*own.paths), compare_paths);
	return 0;
}

/*
 * Up to FILE_MOST bytes. To open a pipe or a device may already do something: it is not opened, and
 * what has become a pipe meanwhile is not waited for. Returns why there are none, or NULL.
 */
static const char *read_whole(const char *path, size_t *length)
{
	const char *why = NULL;
	struct stat info;
	ssize_t got = 1;
	int fd;

	if (stat(path, &info) < 0)
		return strerror(errno);
	if (S_ISDIR(info.st_mode))
		return "no file in it has a name that ends in .json";
	if (!S_ISREG(info.st_mode))
		return "it is no file";
	if (info.st_size > FILE_MOST)
		return "it is larger than any report";
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	for (*length = 0; got > 0 && *length < FILE_MOST; *length += got > 0 ? (size_t)got : 0) {
		got = read(fd, own.bytes + *length, FILE_MOST - *length);
		if (got < 0)
			why = strerror(errno);
	}
	close(fd);
	return why;
}

static int read_files(struct ri_error *err)
{
	own.bytes = ri_pages(FILE_MOST);
	if (own.bytes == NULL || ri_json_memory_reserve(MEMORY) < 0 ||
		ri_reports_begin(&own.job, own.count) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for reports");
	for (size_t i = 0; i < own.count; i++) {
		const char *path = own.paths[i], *why;
		size_t length = 0;

		/* one may be named by its folder, too */
		if (i > 0 && strcmp(own.paths[i - 1], path) == 0)
			continue;
		why = read_whole(path, &length);
		if (why != NULL)
			ri_reports_skip(&own.job, path, why);
		else
			ri_reports_add(&own.job, path, own.bytes, length);
	}
	if (own.job.count > 0)
		return 0;
	if (own.job.skip_count == 1)
		ri_fail(err, RI_CODE_BLAME_NONE, own.job.skips[0].file, "no report of rankinit is "
			"there: %s", own.job.skips[0].why);
	else
		ri_fail(err, RI_CODE_BLAME_NONE, own.job.skips[0].file, "none of these %zu files "
			"is a report of rankinit; of this one: %s", own.job.skip_count,
			own.job.skips[0].why);
	return ri_fail_hint(err, "start each node with --report=/shared/job/%%n.json, and then: "
		"rankinit --blame /shared/job/*.json");
}

int ri_blame_print(const struct ri_options *options, struct ri_error *err)
{
	const char *format = options->action_value;
	struct ri_error gone = RI_ERROR_INIT;
	struct ri_text out;
	char *room;

	if (options->command == NULL) {
		ri_fail(err, RI_CODE_COMMAND_MISSING, "--blame", "no report was given");
		return ri_fail_hint(err, "name the files that --report wrote: rankinit --blame "
			"/shared/job/*.json");
	}
	if (find_files(options, err) < 0 || read_files(err) < 0)
		return -1;
	if (ri_reports_judge(&own.job) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left to judge them");
	room = ri_pages(ANSWER);
	if (room == NULL)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for the answer");
	out = ri_text_of(room, ANSWER);
	if (format != NULL && strcmp(format, "trace") == 0) {
		/* a picture was there in version 0.1: who asks for it gets the page */
		ri_fail(&gone, RI_CODE_OPTION_VALUE, "--blame", "\"trace\" is no longer there");
		ri_fail_hint(&gone, "--blame=json has the times of each end for a program of "
			"yours");
		ri_log_without(&gone, "the page is printed");
	}
	if (format == NULL || strcmp(format, "json") != 0)
		ri_reports_add_page(&out, &own.job);
	else if (ri_reports_add_json(&out, &own.job, RI_VERSION) < 0)
		return ri_fail(err, RI_CODE_MEMORY, "--blame", "no memory left for the answer");
	return ri_print_text(&out, err);
}
