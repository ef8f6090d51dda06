/* SPDX-License-Identifier: Apache-2.0 */
#include "base/recorded.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium/utils.h>

#include "base/arena.h"
#include "base/limits.h"

enum {
	FILE_MODE = 0644,
	FOLDER_MODE = 0755,
	FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "EIO", EIO },		/* also in the place of one that has no name here */
	{ "EACCES", EACCES }, { "EPERM", EPERM }, { "EINVAL", EINVAL }, { "ELOOP", ELOOP },
	{ "ENODEV", ENODEV }, { "ENXIO", ENXIO }, { "EBUSY", EBUSY }, { "ESTALE", ESTALE },
	{ "ENOTCONN", ENOTCONN }, { "EHOSTDOWN", EHOSTDOWN }, { "ETIMEDOUT", ETIMEDOUT },
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static int error_number(const char *name)
{
	for (size_t i = 0; i < ERRORS; i++)
		if (strcmp(errors[i].name, name) == 0)
			return errors[i].number;
	return 0;
}

static const char *error_name(int number)
{
	for (size_t i = 0; i < ERRORS; i++)
		if (errors[i].number == number)
			return errors[i].name;
	return errors[0].name;
}

/* Its decimal digits are the octal ones of a mode, as chmod(1) takes it; -1: they are not. */
static int read_mode(int digits)
{
	int mode = digits < 0 || digits > 7777 ? -1 : 0;

	for (int unit = 1; mode >= 0 && digits > 0; digits /= 10, unit *= 8)
		mode = digits % 10 > 7 ? -1 : mode + digits % 10 * unit;
	return mode;
}

/* One of an entry's members says what it is; error alone, that this is not known. */
static bool read_entry(const json_t *entry, struct ri_recorded *out)
{
	const char *text = NULL, *link = NULL, *error = NULL;
	int file = 0, dir = 0, numbers[2] = { -1, -1 }, mode = -1;
	size_t text_length = 0, link_length = 0;

	if (json_unpack((json_t *)(uintptr_t)entry, "{s?s%, s?s%, s?b, s?b, s?[ii!], s?i, s?s}",
		    "text", &text, &text_length, "link", &link, &link_length, "file", &file,
		    "dir", &dir, "node", &numbers[0], &numbers[1], "mode", &mode,
		    "error", &error) < 0)
		return false;
	*out = (struct ri_recorded){
		.bytes = text != NULL ? text : link != NULL ? link : "",
		.length = text_length + link_length,
		.error = error == NULL ? 0 : error_number(error),
	};
	if (mode < 0)
		mode = json_object_get(entry, "mode") != NULL ? -1 : dir ? FOLDER_MODE : FILE_MODE;
	else
		mode = read_mode(mode);
	if (mode < 0 || (error != NULL && out->error == 0) || (numbers[0] >= 0 && numbers[1] < 0))
		return false;
	switch ((text != NULL) + (link != NULL) + file + dir + (numbers[0] >= 0)) {
	case 0:
		return out->error != 0;
	case 1:
		break;
	default:
		return false;
	}
	out->mode = (mode_t)mode | (link != NULL ? S_IFLNK : dir ? S_IFDIR
		: numbers[0] >= 0 ? S_IFCHR : S_IFREG);
	if (numbers[0] >= 0)
		out->number = makedev((unsigned)numbers[0], (unsigned)numbers[1]);
	return link == NULL || (out->length > 0 && out->length < PATH_MAX &&
		strlen(link) == out->length);
}

/* Put the bytes themselves in the place of base64. */
static bool decode(json_t *entry)
{
	const json_t *value = json_object_get(entry, "base64");
	size_t size = json_string_length(value), length;
	struct ri_arena arena = { 0 };
	char *bytes;
	bool done;

	if (value == NULL)
		return true;
	if (!json_is_string(value) || json_object_get(entry, "text") != NULL)
		return false;
	bytes = ri_arena_alloc(&arena, size + 1);
	done = bytes != NULL &&
		sodium_base642bin((unsigned char *)bytes, size + 1, json_string_value(value), size,
			NULL, &length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
		json_object_set_new(entry, "text", json_stringn_nocheck(bytes, length)) == 0 &&
		json_object_del(entry, "base64") == 0;
	ri_arena_release(&arena);
	return done;
}

/* Returns NULL, or what is wrong. */
static const char *judge(const json_t *document, json_t **files)
{
	const json_t *version = json_object_get(document, "rankinit_capture");
	struct ri_recorded entry;
	const char *path;
	json_t *value;

	if (!json_is_integer(version))
		return "is no capture of rankinit";
	if (json_integer_value(version) != 1)
		return "is a capture of a newer rankinit, which this one cannot read";
	*files = json_object_get(document, "files");
	if (!json_is_object(*files) || json_object_size(*files) > RI_CAPTURE_FILES)
		return "is a damaged capture: it has no files, or too many";
	json_object_foreach (*files, path, value)
		if (!decode(value) || !read_entry(value, &entry))
			return "is a damaged capture: one of its files is none";
	return NULL;
}

/* The document, which is given back, or NULL where it is none. */
static const char *take(json_t *document, json_t **files)
{
	json_t *found = NULL;
	const char *why = document == NULL ? "is no JSON document, or a damaged one"
					   : judge(document, &found);

	if (why == NULL)
		*files = json_incref(found);
	json_decref(document);
	return why;
}

const char *ri_recorded_parse(const char *text, size_t length, json_t **files)
{
	return take(json_loadb(text, length, FLAGS, NULL), files);
}

int ri_recorded_load(const char *path, json_t **files, struct ri_error *err)
{
	struct stat info;
	const char *why;

	if (stat(path, &info) < 0)
		why = strerror(errno);
	else if (!S_ISREG(info.st_mode))
		why = "is neither a folder nor a file";
	else if (info.st_size > RI_CAPTURE_DOCUMENT)
		why = "is larger than any capture";
	else if (access(path, R_OK) < 0)
		why = strerror(errno);
	else
		why = take(json_load_file(path, FLAGS, NULL), files);
	if (why == NULL)
		return 0;
	ri_fail(err, RI_CODE_FILE_UNREADABLE, path, "%s", why);
	return ri_fail_hint(err, "give a folder, or a file that --capture wrote");
}

bool ri_recorded_find(const json_t *files, const char *path, struct ri_recorded *out)
{
	const json_t *entry = json_object_get(files, path);

	return entry != NULL && read_entry(entry, out);
}

int ri_recorded_open(const json_t *files, const char *path)
{
	struct ri_recorded found = { .error = EISDIR };
	int fd;

	if (path[0] != '\0' && ri_recorded_find(files, path, &found) && found.error == 0 &&
		S_ISDIR(found.mode))
		found.error = EISDIR;
	if (found.error != 0) {
		errno = found.error;
		return -1;
	}
	fd = memfd_create("recorded", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, found.bytes, found.length, 0) == (ssize_t)found.length)
		return fd;
	close(fd);
	errno = EIO;
	return -1;
}

/* The name of what stands in the folder; NULL: that stands elsewhere. */
static const char *name_in(const char *folder, const char *path)
{
	size_t length = strlen(folder);

	if (strncmp(path, folder, length) != 0 || (length > 0 && path[length] != '/'))
		return NULL;
	path += length + (length > 0);
	return path[0] != '\0' && strchr(path, '/') == NULL ? path : NULL;
}

long ri_recorded_list(json_t *files, const char *folder, char *names, size_t room)
{
	const char *path;
	size_t used = 0;
	json_t *entry;

	json_object_foreach (files, path, entry) {
		const char *name = name_in(folder, path);
		size_t size = name == NULL ? 0 : strlen(name) + 1;

		if (size > room - used) {
			errno = EFBIG;
			return -1;
		}
		if (name != NULL)
			memcpy(names + used, name, size);
		used += size;
	}
	return (long)used;
}

json_t *ri_recorded_bytes(const char *bytes, size_t length)
{
	json_t *text = json_stringn(bytes, length), *object = NULL;
	size_t size = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);
	struct ri_arena arena = { 0 };
	char *encoded;

	if (text != NULL)
		return text;
	encoded = ri_arena_alloc(&arena, size);
	if (encoded != NULL)
		object = json_pack("{s:s}", "base64", sodium_bin2base64(encoded, size,
			(const unsigned char *)bytes, length, sodium_base64_VARIANT_ORIGINAL));
	ri_arena_release(&arena);
	return object;
}

/* The octal digits of a mode, as a decimal number. */
static json_int_t mode_digits(mode_t mode)
{
	return (json_int_t)((mode & 7) + 10 * ((mode >> 3) & 7) + 100 * ((mode >> 6) & 7) +
		1000 * ((mode >> 9) & 7));
}

static json_t *file_json(const struct ri_recorded *entry)
{
	json_t *bytes = entry->bytes == NULL ? json_pack("{s:b}", "file", 1)
					     : ri_recorded_bytes(entry->bytes, entry->length);

	return json_is_string(bytes) ? json_pack("{s:o}", "text", bytes) : bytes;
}

json_t *ri_recorded_json(const struct ri_recorded *entry)
{
	mode_t mode = entry->mode & 07777, usual = FILE_MODE;
	json_t *object;

	if (S_ISLNK(entry->mode)) {
		object = json_pack("{s:s}", "link", entry->bytes);
		mode = usual;
	} else if (S_ISDIR(entry->mode)) {
		object = json_pack("{s:b}", "dir", 1);
		usual = FOLDER_MODE;
	} else if (S_ISCHR(entry->mode)) {
		object = json_pack("{s:[ii]}", "node", (int)major(entry->number),
			(int)minor(entry->number));
		mode = usual;
	} else {
		object = entry->mode == 0 ? json_object() : file_json(entry);
	}
	if (entry->mode != 0 && mode != usual)
		json_object_set_new(object, "mode", json_integer(mode_digits(mode)));
	if (entry->error != 0)
		json_object_set_new(object, "error", json_string(error_name(entry->error)));
	return object;
}
