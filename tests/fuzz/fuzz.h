/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share: a check that stays in every build, the input as
 * a string, and a folder of files that is written anew for each input.
 *
 * A target is one file with LLVMFuzzerTestOneInput. Two ways to build it:
 *     clang -fsanitize=fuzzer,address,undefined ... fuzz_X.c   runs on its own
 *     gcc -fsanitize=address,undefined ... fuzz_X.c replay.c   replays corpora
 */
#ifndef RI_TESTS_FUZZ_H
#define RI_TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* A copy that ends in '\0', of exactly that size: sanitizers see each overrun. */
static inline char *fuzz_string(const void *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	CHECK(copy != NULL);
	if (size > 0)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

/*
 * The lines of text as list[count...], which ends in NULL at list[room] at the
 * latest; what does not fit is left out.
 */
static inline void fuzz_split(char *text, char **list, size_t count, size_t room)
{
	while (*text != '\0' && count < room) {
		char *end = text + strcspn(text, "\n");

		list[count++] = text;
		text = *end == '\0' ? end : end + 1;
		*end = '\0';
	}
	list[count] = NULL;
}

/* The rest of text after the first line that is "%%"; "" if there is none. */
static inline char *fuzz_cut_part(char *text)
{
	char *line = text, *end;

	while (line != NULL) {
		end = strchr(line, '\n');
		if (strncmp(line, "%%\n", 3) == 0) {
			*line = '\0';
			return line + 3;
		}
		line = end == NULL ? NULL : end + 1;
	}
	return text + strlen(text);
}

/* No byte that a terminal could take for more than text. */
static inline bool fuzz_is_printable(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++)
		if (*p < ' ' || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
			return false;
	return true;
}

/* A folder in memory that lives as long as the process. */
static char fuzz_folder[64];

static inline void fuzz_folder_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", fuzz_folder);
	if (system(command) != 0)
		fprintf(stderr, "%s stays behind\n", fuzz_folder);
}

/* Makes it and returns its descriptor. */
static inline int fuzz_folder_make(void)
{
	int fd;

	snprintf(fuzz_folder, sizeof(fuzz_folder), "%s/fuzz-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	CHECK(mkdtemp(fuzz_folder) != NULL);
	atexit(fuzz_folder_remove);
	fd = open(fuzz_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* A file that stays open, to be filled by fuzz_fill. */
static inline int fuzz_file_make(int folder, const char *path)
{
	int fd = openat(folder, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	return fd;
}

static inline void fuzz_fill(int fd, const char *text, const char *more)
{
	size_t length = strlen(text), added = strlen(more);

	CHECK(ftruncate(fd, 0) == 0);
	CHECK(pwrite(fd, text, length, 0) == (ssize_t)length);
	CHECK(pwrite(fd, more, added, (off_t)length) == (ssize_t)added);
}

#endif
