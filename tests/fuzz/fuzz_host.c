/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openat2(2) and the walk of our own answer alike, and so does the real path
 * of what they open. Input: a path on the first
 * line, then symbolic links, "NAME TARGET" each; a NAME starting with '/' is
 * made in the folder d.
 */
#include <errno.h>

#include "base/host.h"
#include "fuzz.h"

enum { LINKS = 8 };

static int root, folder;
static struct stat outside[2];

static void start(void)
{
	int outer = fuzz_folder_make(), fd = fuzz_file_make(outer, "secret");

	CHECK(fstat(outer, &outside[0]) == 0 && fstat(fd, &outside[1]) == 0);
	close(fd);
	CHECK(mkdirat(outer, "r", 0755) == 0 && mkdirat(outer, "r/d", 0755) == 0);
	CHECK(mkdirat(outer, "r/d/e", 0755) == 0);
	close(fuzz_file_make(outer, "r/f"));
	close(fuzz_file_make(outer, "r/d/e/f"));
	root = openat(outer, "r", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = openat(outer, "r/d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0 && folder >= 0);
}

/* The inode that path leads to, or a negative errno. */
static long outcome(const char *path, bool walk, int flags)
{
	struct ri_host host = { .root = root, .walk = walk };
	int fd = ri_host_open(&host, path, flags);
	struct stat info;

	CHECK(host.walk == walk || errno == ENOSYS || errno == EPERM || fd >= 0);
	if (fd < 0)
		return -errno;
	CHECK(fstat(fd, &info) == 0);
	close(fd);
	CHECK(info.st_ino != outside[0].st_ino && info.st_ino != outside[1].st_ino);
	return (long)info.st_ino;
}

/* It leads where the path leads, without a link, and is its own real path. */
static void check_real(const char *path)
{
	struct ri_host host = { .root = root };
	char real[RI_PATH_SIZE], again[RI_PATH_SIZE];
	long found = outcome(path, false, O_PATH);

	if (ri_host_real(&host, path, real) < 0) {
		CHECK(found < 0 || errno == ENAMETOOLONG);
		return;
	}
	CHECK(real[0] == '/' && strlen(real) < sizeof(real));
	/* where it ends in '/', a path to a file is none for the kernel */
	CHECK(found < 0 || found == outcome(real, false, O_PATH | O_NOFOLLOW));
	CHECK(ri_host_real(&host, real, again) == 0 && strcmp(real, again) == 0);
}

static void check(const char *path)
{
	static const int flags[] = { O_RDONLY, O_PATH | O_NOFOLLOW, O_RDONLY | O_DIRECTORY };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		long kernel = outcome(path, false, flags[i]), walk = outcome(path, true, flags[i]);

		/* the walk holds 64 folders open and PATH_MAX bytes of what is left */
		CHECK(kernel == walk || walk == -ENAMETOOLONG);
		CHECK(kernel != -EXDEV);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text, *path = strsep(&rest, "\n");
	const char *made[LINKS];
	size_t count = 0;

	if (root == 0)
		start();
	while (rest != NULL && count < LINKS) {
		char *target = strsep(&rest, "\n"), *name = strsep(&target, " ");
		bool inner = *name == '/';

		if (target == NULL || strchr(name + inner, '/') != NULL)
			continue;
		if (symlinkat(target, inner ? folder : root, name + inner) == 0)
			made[count++] = name;
	}
	check(path);
	check_real(path);
	while (count-- > 0) {
		bool inner = *made[count] == '/';

		CHECK(unlinkat(inner ? folder : root, made[count] + inner, 0) == 0);
	}
	free(text);
	return 0;
}
