/* SPDX-License-Identifier: Apache-2.0 */
#include "say/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/limits.h"
#include "base/pages.h"
#include "base/recorded.h"
#include "redact/redact.h"
#include "say/print.h"
#include "say/whole_file.h"

enum {
	LEFT_OUT = 256,		/* lines at most */
	MASKED = 2 * RI_CAPTURE_FILE,
	ROOM = 2 * RI_CAPTURE_TOTAL,
};

/* Of what is not there the offset is 0. */
struct entry {
	size_t path;		/* these are offsets in room */
	size_t bytes;		/* of a file that was read, or where a link leads */
	size_t path_length, length;
	mode_t mode;		/* 0: only the error is known */
	dev_t number;
	int error;
	bool read;
};

/* All processes that read have it in common. */
static struct memory {
	size_t count;
	size_t left_out;
	size_t used;		/* of room */
	size_t total;		/* bytes of files that were read */
	struct entry entries[RI_CAPTURE_FILES];
	size_t lines[LEFT_OUT];	/* why something is left out */
	char room[ROOM];
} *memory;

static const struct ri_given *given;
static char *content;		/* of one file, as it is */

/* Returns its offset, or 0 where there is no room. */
static size_t keep(const char *bytes, size_t length)
{
	size_t at = memory->used;

	if (length >= ROOM - at)
		return 0;
	memcpy(memory->room + at, bytes, length);
	memory->room[at + length] = '\0';
	memory->used += length + 1;
	return at;
}

static void leave_out(const char *path, const char *why)
{
	char line[PATH_MAX + 128];

	snprintf(line, sizeof(line), "%s: %s", path, why);
	ri_text_replace_controls(line);
	if (memory->left_out < LEFT_OUT)
		memory->lines[memory->left_out++] = keep(line, strlen(line));
}

/* The entry of a path, which is new where its mode and its error are 0; NULL: no room. */
static struct entry *find_entry(const char *path)
{
	size_t length = strlen(path);
	struct entry *entry = memory->entries;

	for (; entry < memory->entries + memory->count; entry++)
		if (entry->path_length == length &&
			memcmp(memory->room + entry->path, path, length) == 0)
			return entry;
	if (memory->count == RI_CAPTURE_FILES) {
		leave_out(path, "too many files");
		return NULL;
	}
	*entry = (struct entry){ .path = keep(path, length), .path_length = length };
	memory->count += entry->path != 0;
	return entry->path != 0 ? entry : NULL;
}

/* The strings of /proc/PID/environ and the like, each by itself. */
static void mask_strings(struct ri_text *out, size_t length)
{
	struct ri_arena arena = { 0 };

	for (size_t at = 0; at < length; at += strlen(content + at) + 1) {
		const char *string = ri_redact_copy(content + at, &arena);

		if (string == NULL)
			break;
		ri_text_add_bytes(out, string, strlen(string) + 1);
	}
	ri_arena_release(&arena);
}

/* A stray NUL makes no binary file of a text: of those a sixteenth is NUL at least. */
static bool is_text(size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += content[i] == '\0';
	return count <= length / 16;
}

/* Of what is no text only the strings of processes can hold a secret. */
static void mask(struct ri_text *out, const char *path, size_t length)
{
	if (strncmp(path, "proc/", 5) == 0 && memchr(content, '\0', length) != NULL)
		mask_strings(out, length);
	else if (is_text(length))
		ri_redact(out, (struct ri_span){ content, length });
	else
		ri_text_add_bytes(out, content, length);
}

static void put_content(const struct ri_host *host, struct entry *entry, const char *path)
{
	size_t room = ROOM - memory->used;
	struct ri_host quiet = *host;
	struct ri_text text;
	long length;

	quiet.tell = NULL;
	quiet.apart = NULL;
	length = ri_host_read(&quiet, path, content, RI_CAPTURE_FILE + 1);
	entry->read = true;
	if (length < 0 && errno != EFBIG) {
		entry->error = errno;
	} else if (length < 0) {
		leave_out(path, "larger than 1 MiB");
	} else if (memory->total + (size_t)length > RI_CAPTURE_TOTAL || room < MASKED) {
		leave_out(path, "larger than 16 MiB with the others");
	} else {
		ri_text_init(&text, memory->room + memory->used, MASKED);
		mask(&text, path, (size_t)length);
		entry->length = text.length;
		entry->bytes = memory->used;
		memory->used += text.length + 1;
		memory->total += (size_t)length;
	}
}

static void describe(struct entry *entry, const struct ri_host_told *told)
{
	const struct stat *info = told->info;

	if (info == NULL) {
		entry->error = told->error;
		return;
	}
	entry->mode = info->st_mode;
	entry->number = info->st_rdev;
	if (S_ISLNK(info->st_mode)) {
		entry->length = strlen(told->target);
		entry->bytes = keep(told->target, entry->length);
	} else if (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode) && !S_ISCHR(info->st_mode)) {
		entry->mode = S_IFREG;
	}
}

void ri_capture_tell(const struct ri_host *host, const struct ri_host_told *told)
{
	bool absent = told->info == NULL && (told->error == ENOENT || told->error == ENOTDIR);
	struct entry *entry = memory == NULL || absent ? NULL : find_entry(told->path);

	if (entry == NULL)
		return;
	if (entry->mode == 0 && entry->error == 0)
		describe(entry, told);
	if (told->flags == O_PATH || S_ISDIR(entry->mode))
		return;
	if (told->error != 0)
		entry->error = told->error;
	else if (S_ISREG(told->info->st_mode) && !entry->read)
		put_content(host, entry, told->path);
}

/* It is shared: checks run in a process of their own. */
static int watch(struct ri_env *env, struct ri_error *err)
{
	static const char own[] = "RANKINIT_";

	env->asked = ri_pages_shared(env->count + 1);
	memory = ri_pages_shared(sizeof(*memory));
	content = ri_pages(RI_CAPTURE_FILE + 1);
	if (env->asked == NULL || memory == NULL || content == NULL)
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	memory->used = 1;
	/* the options have been read */
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->entries[i].text, own, strlen(own)) == 0)
			ri_env_ask(env, &env->entries[i]);
	return 0;
}

int ri_capture_begin(const struct ri_given *file, struct ri_env *env, struct ri_arena *arena,
	struct ri_error *err)
{
	char **strings = ri_arena_array(arena, env->count + 1, sizeof(*strings));

	given = file;
	for (size_t i = 0; strings != NULL && i < env->count; i++) {
		strings[i] = ri_redact_copy(env->entries[i].text, arena);
		if (strings[i] == NULL)
			strings = NULL;
	}
	if (strings == NULL)
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	strings[env->count] = NULL;
	return ri_env_init(env, strings, arena, err) < 0 ? -1 : watch(env, err);
}

/* The entry of a path, and folders on the way to it; NULL where there is a ".." in it. */
static struct entry *make_entry(const char *path)
{
	char name[NAME_MAX + 2], done[PATH_MAX] = "";
	struct entry *entry = NULL;
	struct ri_way way;
	size_t length = 0;
	bool last;

	if (ri_way_begin(&way, path) < 0)
		return NULL;
	while (ri_way_next(&way, name, &last)) {
		if (strcmp(name, ".") == 0)
			continue;
		snprintf(done + length, sizeof(done) - length, "%s%s", length > 0 ? "/" : "", name);
		length = strlen(done);
		entry = strcmp(name, "..") == 0 ? NULL : find_entry(done);
		if (entry == NULL)
			return NULL;
		if (entry->mode == 0)
			entry->mode = S_IFDIR | 0755;
	}
	return entry;
}

static void put(const char *path, mode_t mode, const char *bytes)
{
	struct entry *entry = make_entry(path);

	if (entry == NULL)
		return;
	entry->mode = mode;
	entry->error = 0;
	entry->length = strlen(bytes);
	entry->bytes = keep(bytes, entry->length);
}

/* What the live machine was asked without a file, a recorded one has in files. */
static void put_live(const struct ri_captured *captured)
{
	static const char *const own[] = { "proc/self/status", "proc/self/limits" };
	const char *path = captured->options->wishes.hostfile.value;
	char here[PATH_MAX], whole[2 * PATH_MAX];

	if (!captured->host->live)
		return;
	if (captured->host->name != NULL)
		put("etc/hostname", S_IFREG | 0644, captured->host->name);
	for (size_t i = 0; i < 2; i++) {
		int fd = ri_host_open(captured->host, own[i], O_RDONLY);

		if (fd >= 0)
			close(fd);
	}
	if (path != NULL && path[0] != '/' && getcwd(here, sizeof(here)) != NULL &&
		snprintf(whole, sizeof(whole), "%s/%s", here, path) < PATH_MAX)
		put(path, S_IFLNK | 0777, whole);
}

static json_t *write_files(void)
{
	json_t *files = json_object();

	for (size_t i = 0; i < memory->count; i++) {
		const struct entry *entry = &memory->entries[i];
		const struct ri_recorded recorded = {
			.mode = entry->mode, .length = entry->length, .number = entry->number,
			.bytes = entry->bytes == 0 ? NULL : memory->room + entry->bytes,
			.error = entry->error,
		};
		const char *path = memory->room + entry->path;

		if (json_object_set_new(files, path, ri_recorded_json(&recorded)) < 0)
			leave_out(path, "its name, or that of what it leads to, is not UTF-8");
	}
	return files;
}

static void add_strings(json_t *list, char *const *strings)
{
	for (; strings != NULL && *strings != NULL; strings++)
		json_array_append_new(list, ri_recorded_bytes(*strings, strlen(*strings)));
}

/* The words behind "rankinit --root=FILE --explain"; NULL: no memory. */
static json_t *write_command(const struct ri_options *options, struct ri_arena *arena)
{
	static const int left_out[] = { RI_OPTION_capture, RI_OPTION_root, -1 };
	char **words = ri_options_words(options, left_out, arena), **command = NULL;
	json_t *list = json_array();

	if (words != NULL)
		words = ri_redact_words(words, arena);
	if (options->command != NULL)
		command = ri_redact_words(options->command, arena);
	if (words == NULL || (command == NULL && options->command != NULL))
		return NULL;
	add_strings(list, words);
	if (command != NULL)
		json_array_append_new(list, json_string("--"));
	add_strings(list, command);
	return list;
}

static json_t *write_environ(const struct ri_env *env)
{
	json_t *list = json_array();

	for (size_t i = 0; i < env->count; i++)
		if (env->asked[i])
			json_array_append_new(list, ri_recorded_bytes(env->entries[i].text,
				strlen(env->entries[i].text)));
	return list;
}

static json_t *write_left_out(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < memory->left_out; i++)
		json_array_append_new(list, json_string(memory->room + memory->lines[i]));
	return list;
}

/* As text in the arena; NULL: no memory. */
static char *write_document(const struct ri_captured *captured, size_t *size,
	struct ri_arena *arena)
{
	const struct ri_text *explanation = captured->explanation;
	json_t *document = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "rankinit_capture", 1,
		"version", RI_VERSION, "environ", write_environ(captured->env),
		"command", write_command(captured->options, arena),
		"explain", ri_recorded_bytes(explanation->bytes, explanation->length),
		"files", write_files());
	const size_t flags = JSON_INDENT(1);
	char *text;

	json_object_set_new(document, "left_out", write_left_out());
	*size = json_dumpb(document, NULL, 0, flags);
	text = *size == 0 ? NULL : ri_arena_alloc(arena, *size + 1);
	if (text != NULL) {
		json_dumpb(document, text, *size, flags);
		text[(*size)++] = '\n';
	}
	json_decref(document);
	return text;
}

static int write_file(struct ri_whole_file *file, const struct ri_captured *captured,
	struct ri_arena *arena, struct ri_error *err)
{
	const char *path = ri_whole_file_name(given, captured->topology, arena, err);
	char quoted[RI_QUOTE_SIZE];
	size_t size;
	char *text;

	if (path == NULL || ri_whole_file_find(file, path, given->subject, arena, err) < 0) {
		if (err->code == RI_CODE_REPORT_REFUSED)
			err->code = RI_CODE_CAPTURE_REFUSED;
		return -1;
	}
	text = write_document(captured, &size, arena);
	if (text == NULL)
		return ri_fail(err, RI_CODE_MEMORY, given->subject, "no memory left");
	umask(077);
	if (ri_whole_file_write(file, text, size) == 0)
		return 0;
	return ri_fail(err, RI_CODE_CAPTURE_REFUSED, given->subject, "%s cannot be written: %s",
		ri_quote(quoted, sizeof(quoted), path), strerror(errno));
}

int ri_capture_end(const struct ri_captured *captured, struct ri_arena *arena,
	struct ri_error *err)
{
	char line[RI_MAX_LINE], quoted[RI_QUOTE_SIZE];
	struct ri_whole_file file;
	size_t variables = 0;
	struct ri_text out;

	put_live(captured);
	if (write_file(&file, captured, arena, err) < 0)
		return -1;
	if (file.in_place)
		return 0;
	for (size_t i = 0; i < captured->env->count; i++)
		variables += captured->env->asked[i] != 0;
	ri_text_init(&out, line, sizeof(line));
	ri_text_addf(&out, "%s: %zu variables and %zu files", ri_quote(quoted, sizeof(quoted),
		given->value), variables, memory->count);
	if (memory->left_out > 0)
		ri_text_addf(&out, ", without %zu that left_out names", memory->left_out);
	ri_text_add(&out, "; look through it before you give it to others\n");
	return ri_print_text(&out, err);
}
