/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over every file of the folders named as arguments, in
 * the order of their names. Any fault ends the process by a signal; what
 * cannot be read, and a folder without files, counts as failed.
 */
#include <dirent.h>

#include "fuzz.h"

static unsigned passed, failed;

static char *read_whole(int fd, size_t *size)
{
	size_t room = 65536;
	char *bytes = malloc(room);
	ssize_t count = 1;

	*size = 0;
	while (bytes != NULL && count > 0) {
		if (*size == room) {
			char *larger = realloc(bytes, room *= 2);

			if (larger == NULL)
				break;
			bytes = larger;
		}
		count = read(fd, bytes + *size, room - *size);
		*size += count > 0 ? (size_t)count : 0;
	}
	if (count == 0)
		return bytes;
	free(bytes);
	return NULL;
}

static void replay_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	char *bytes;
	size_t size;

	bytes = fd < 0 ? NULL : read_whole(fd, &size);
	if (fd >= 0)
		close(fd);
	if (bytes == NULL) {
		fprintf(stderr, "%s: cannot be read\n", name);
		failed++;
		return;
	}
	/* known before a fault, so that a log tells which input it was */
	printf("%s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
	passed++;
	free(bytes);
}

static void replay_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned before = passed + failed;
	struct dirent **entries = NULL;
	int count = fd < 0 ? -1 : scandir(path, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.')
			replay_file(fd, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (fd >= 0)
		close(fd);
	if (passed + failed == before) {
		fprintf(stderr, "%s: no files to replay\n", path);
		failed++;
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_folder(argv[i]);
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
