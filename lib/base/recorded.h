/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine in one document: what --capture writes, and --root reads as it reads a
 * folder. docs/capture.schema.json has its form. "files" is an object whose names are
 * paths below the root, without links, "." and ".." in them and without a '/' before
 * them; only what has a name there exists.
 */
#ifndef RI_BASE_RECORDED_H
#define RI_BASE_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct json_t;

/* What stands at a path. */
struct ri_recorded {
	mode_t mode;		/* as st_mode; 0: error says why it is not known */
	const char *bytes;	/* of a file, or where a link leads; '\0' follows */
	size_t length;
	dev_t number;		/* of a device node */
	int error;		/* the errno of opening it; 0: that went well */
};

/*
 * Read the document in a file. *files is its "files", which stays until the end of
 * the process. Fails with RI_CODE_FILE_UNREADABLE, whose subject is the path.
 */
int ri_recorded_load(const char *path, struct json_t **files, struct ri_error *err);

/* The same of a document in memory. Returns NULL and *files, or why it is none. */
const char *ri_recorded_parse(const char *text, size_t length, struct json_t **files);

/* False where nothing stands at the path. What it points to belongs to files. */
bool ri_recorded_find(const struct json_t *files, const char *path, struct ri_recorded *out);

/* A descriptor of a file's bytes, in memory; -1 and errno, EISDIR for a folder. */
int ri_recorded_open(const struct json_t *files, const char *path);

/*
 * The names in a folder, "" being the root, each with a NUL: how many bytes they are, or -1
 * and EFBIG where there is no room.
 */
long ri_recorded_list(struct json_t *files, const char *folder, char *names, size_t room);

/* The same as JSON, a new reference; NULL: no memory, or a link to what is not UTF-8. */
struct json_t *ri_recorded_json(const struct ri_recorded *entry);

/* A string, or an object with base64 where the bytes are not UTF-8. */
struct json_t *ri_recorded_bytes(const char *bytes, size_t length);

#endif
