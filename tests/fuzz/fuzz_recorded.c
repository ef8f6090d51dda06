/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer: the text as a document of --capture. It is refused in words, or each of its files
 * is found, opened, and listed as the host sees it, and written in a form that reads the same.
 */
#include <errno.h>
#include <jansson.h>

#include "base/host.h"
#include "base/limits.h"
#include "base/recorded.h"
#include "fuzz.h"

static char bytes[65536], again[65536];

static void check_written(const struct ri_recorded *old)
{
	json_t *files = json_pack("{s:o?}", "a", ri_recorded_json(old));
	struct ri_recorded new;

	/* of a link to bytes that are not UTF-8 there is no form */
	if (json_object_get(files, "a") == NULL || json_object_get(json_object_get(files, "a"),
		"base64") != NULL) {
		json_decref(files);
		return;
	}
	CHECK(ri_recorded_find(files, "a", &new));
	CHECK(new.mode == old->mode && new.error == old->error && new.number == old->number);
	CHECK(new.length == old->length && memcmp(new.bytes, old->bytes, old->length) == 0);
	json_decref(files);
}

static void check_host(struct json_t *files, const char *path)
{
	struct ri_host host = { .root = -1, .document = files };
	char real[RI_PATH_SIZE];
	struct stat info;
	long length, other;

	ri_host_link(&host, path, bytes, sizeof(bytes));
	ri_host_list(&host, path, bytes, sizeof(bytes));
	ri_host_node(&host, path, NULL);
	if (ri_host_stat(&host, path, &info) < 0)
		return;
	length = ri_host_read(&host, path, bytes, sizeof(bytes));
	CHECK(length < 0 || !S_ISDIR(info.st_mode));
	CHECK(length < 0 || (size_t)length < sizeof(bytes));
	if (ri_host_real(&host, path, real) < 0) {
		CHECK(errno == ENAMETOOLONG);
		return;
	}
	other = ri_host_read(&host, real, again, sizeof(again));
	CHECK(length == other && (length < 0 || memcmp(bytes, again, (size_t)length) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	json_t *files = NULL, *value;
	const char *why = ri_recorded_parse(text, size, &files), *path;
	struct ri_recorded entry;

	CHECK((why == NULL) == (files != NULL));
	if (files != NULL) {
		CHECK(json_object_size(files) <= RI_CAPTURE_FILES);
		json_object_foreach (files, path, value) {
			CHECK(ri_recorded_find(files, path, &entry));
			CHECK(entry.mode != 0 || entry.error != 0);
			CHECK(entry.bytes != NULL && entry.bytes[entry.length] == '\0');
			check_written(&entry);
			check_host(files, path);
		}
	}
	json_decref(files);
	free(text);
	return 0;
}
