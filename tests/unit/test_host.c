/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/host.h"
#include "base/limits.h"
#include "tree.h"

/* "outer/root" is the machine; "outer/secret" must never be reached. */
static struct tree outer;
static struct ri_host host;

static void make_links(const struct tree *root)
{
	static const char *const links[][2] = {
		{ "a/up", ".." }, { "a/rel", "b/c/file" }, { "a/abs", "/etc/hostname" },
		{ "a/out", "../../../../../../etc/hostname" },
		{ "a/abs-out", "/../../etc/hostname" },
		{ "a/secret", "../../secret" }, { "secret-far", "../../../../../../../secret" },
		{ "dir-rel", "a/b" }, { "dir-abs", "/a/b" }, { "dir-slash", "a/b/" },
		{ "file-slash", "a/b/c/file/" }, { "dots", "././/a/./b/." }, { "top", "/" },
		{ "above", ".." }, { "self", "self" }, { "ping", "pong" }, { "pong", "/ping" },
		{ "under-self", "under-self/x" }, { "dangling", "nowhere/at/all" },
		{ "through-file", "etc/hostname/x" }, { "a/b/c/back", "../../../a/b/c/file" },
		{ "proc-like", "/etc/passwd" }, { "to-link", "dir-abs" },
	};
	char name[24], target[300];

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		tree_link(root, links[i][0], links[i][1]);
	for (int i = 0; i < 45; i++) {
		snprintf(name, sizeof(name), "chain%02d", i);
		snprintf(target, sizeof(target), "chain%02d", i + 1);
		tree_link(root, name, i == 44 ? "etc/hostname" : target);
	}
	snprintf(target, sizeof(target), "%s/secret", outer.path);
	tree_link(root, "secret-abs", target);
}

static int make_outer(void **state)
{
	struct tree root;

	(void)state;
	tree_make(&outer);
	tree_file(&outer, "secret", "secret\n");
	tree_folder(&outer, "root");
	root.fd = openat(outer.fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root.fd >= 0);
	tree_folder(&root, "a");
	tree_folder(&root, "a/b");
	tree_folder(&root, "a/b/c");
	tree_folder(&root, "etc");
	tree_file(&root, "a/b/c/file", "deep\n");
	tree_file(&root, "etc/hostname", "node-1\n");
	tree_file(&root, "empty", "");
	tree_bytes(&root, "with-nul", "a\0b", 3);
	assert_int_equal(mkfifoat(root.fd, "fifo", 0644), 0);
	make_links(&root);
	host = (struct ri_host){ .root = root.fd };
	return 0;
}

static int remove_outer(void **state)
{
	(void)state;
	close(host.root);
	tree_remove(&outer);
	return 0;
}

/* What became of an attempt: an errno, or which file it was. */
struct outcome {
	int error;
	dev_t device;
	ino_t inode;
};

static struct outcome try_open(bool walk, const char *path, int flags)
{
	struct ri_host one = { .root = host.root, .walk = walk };
	struct outcome outcome = { .error = 0 };
	/* O_NONBLOCK for the pipe; openat2 refuses it together with O_PATH */
	int fd = ri_host_open(&one, path, flags & O_PATH ? flags : flags | O_NONBLOCK);
	struct stat info;

	if (fd < 0) {
		outcome.error = errno;
		return outcome;
	}
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &info), 0);
	outcome.device = info.st_dev;
	outcome.inode = info.st_ino;
	close(fd);
	return outcome;
}

static bool has_openat2(void)
{
	struct ri_host one = { .root = host.root };
	int fd = ri_host_open(&one, "/", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return !one.walk;
}

static const char *const paths[] = {
	"", "/", "//", ".", "./", "..", "../", "../..", "/..", "/../", "a/..", "a/../", "a/../..",
	"etc/hostname", "/etc/hostname", "//etc//hostname", "./etc/./hostname", "../etc/hostname",
	"/../../../etc/hostname", "a/../etc/hostname", "a/b/c/../../../etc/hostname",
	"a/../../../../etc/hostname", "etc", "etc/", "etc/.", "etc/..", "etc/hostname/",
	"etc/hostname/.", "etc/hostname/..", "etc/hostname/x", "etc/nothing", "nothing",
	"nothing/", "nothing/..", "nothing/../etc/hostname", "secret", "../secret", "/../secret",
	"a/../../secret", "../root/etc/hostname", "secret-abs", "a/secret", "secret-far",
	"a/up", "a/up/", "a/up/etc/hostname", "a/up/..", "a/up/../etc", "a/rel", "a/rel/",
	"a/rel/x", "a/abs", "a/abs/", "a/out", "a/abs-out", "dir-rel", "dir-rel/", "dir-rel/c/file",
	"dir-rel/..", "dir-rel/../rel", "dir-abs", "dir-abs/", "dir-abs/c", "dir-abs/..",
	"dir-abs/../abs", "dir-slash", "dir-slash/", "dir-slash/c/file", "file-slash",
	"file-slash/", "dots", "dots/", "dots/c/file", "top", "top/", "top/..", "top/etc/hostname",
	"top/top/top/etc/hostname", "above", "above/", "above/secret", "above/etc/hostname",
	"self", "self/", "self/x", "ping", "pong", "ping/x", "under-self", "under-self/",
	"dangling", "dangling/", "dangling/..", "through-file", "a/b/c/back", "a/b/c/back/",
	"proc-like", "to-link", "to-link/", "to-link/c/file", "to-link/../../etc/hostname",
	"chain04", "chain05",
	"chain05/", "chain00", "chain06", "empty", "empty/", "with-nul", "fifo", "fifo/", "...",
	"a/...", " ", "a/b/c/d/e/f", "A/B",
};

enum { PATH_COUNT = sizeof(paths) / sizeof(paths[0]) };

static void test_walk_and_openat2_agree(void **state)
{
	static const int flags[] = { O_RDONLY, O_RDONLY | O_DIRECTORY, O_PATH, O_PATH | O_NOFOLLOW,
		O_RDONLY | O_NOFOLLOW, O_PATH | O_DIRECTORY };

	(void)state;
	if (!has_openat2()) {
		puts("skip test_walk_and_openat2_agree: there is no openat2 (nor in valgrind)");
		skip();
	}
	for (size_t i = 0; i < PATH_COUNT; i++) {
		for (size_t j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
			struct outcome kernel = try_open(false, paths[i], flags[j]);
			struct outcome walk = try_open(true, paths[i], flags[j]);

			if (kernel.error != walk.error || kernel.device != walk.device ||
				kernel.inode != walk.inode)
				fail_msg("\"%s\", flags %x: openat2 errno %d inode %lu, "
					"walk errno %d inode %lu", paths[i],
					(unsigned)flags[j], kernel.error,
					(unsigned long)kernel.inode, walk.error,
					(unsigned long)walk.inode);
		}
	}
}

static void test_nothing_leads_out(void **state)
{
	struct stat secret, above;

	(void)state;
	assert_int_equal(fstatat(outer.fd, "secret", &secret, 0), 0);
	assert_int_equal(fstat(outer.fd, &above), 0);
	for (size_t i = 0; i < PATH_COUNT; i++) {
		for (int walk = 0; walk < 2; walk++) {
			struct outcome outcome = try_open(walk, paths[i], O_RDONLY);

			assert_int_not_equal(outcome.error, EXDEV);
			if (outcome.error == 0) {
				assert_int_not_equal(outcome.inode, secret.st_ino);
				assert_int_not_equal(outcome.inode, above.st_ino);
			}
		}
	}
}

static void reads(const char *path, const char *expected)
{
	char buffer[64];

	for (int walk = 0; walk < 2; walk++) {
		struct ri_host one = { .root = host.root, .walk = walk };

		assert_int_equal(ri_host_read(&one, path, buffer, sizeof(buffer)),
			strlen(expected));
		assert_string_equal(buffer, expected);
	}
}

static void fails(const char *path, size_t size, int error)
{
	char buffer[64];

	for (int walk = 0; walk < 2; walk++) {
		struct ri_host one = { .root = host.root, .walk = walk };

		errno = 0;
		assert_int_equal(ri_host_read(&one, path, buffer, size), -1);
		assert_int_equal(errno, error);
	}
}

static void test_read(void **state)
{
	(void)state;
	reads("etc/hostname", "node-1\n");
	reads("/etc/hostname", "node-1\n");
	reads("../../etc/hostname", "node-1\n");
	reads("a/abs", "node-1\n");
	reads("a/out", "node-1\n");
	reads("a/abs-out", "node-1\n");
	reads("a/b/c/back", "deep\n");
	reads("top/a/up/a/rel", "deep\n");
	reads("above/etc/hostname", "node-1\n");
	reads("chain05", "node-1\n");
	reads("empty", "");
}

static void test_read_fails(void **state)
{
	(void)state;
	fails("nothing", 64, ENOENT);
	fails("", 64, ENOENT);
	fails("../secret", 64, ENOENT);
	fails("secret-abs", 64, ENOENT);
	fails("proc-like", 64, ENOENT);
	fails("dangling", 64, ENOENT);
	fails("self", 64, ELOOP);
	fails("ping", 64, ELOOP);
	fails("chain04", 64, ELOOP);
	fails("etc", 64, EISDIR);
	fails("etc/hostname/x", 64, ENOTDIR);
	fails("etc/hostname/", 64, ENOTDIR);
}

/*
 * A rename on the way has the kernel begin anew, and count the links before it twice: of 40 that
 * are too many for it.
 */
static void test_links_beside_a_rename(void **state)
{
	pid_t renames;

	(void)state;
	tree_link(&(struct tree){ .fd = host.root }, "twin25", "chain26");
	renames = fork();
	assert_true(renames >= 0);
	if (renames == 0)
		alarm(60);
	while (renames == 0)
		renameat2(host.root, "chain25", host.root, "twin25", RENAME_EXCHANGE);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(try_open(false, "chain05", O_RDONLY).error, 0);
	assert_int_equal(kill(renames, SIGKILL), 0);
	assert_int_equal(waitpid(renames, NULL, 0), renames);
}

static void test_read_bounds(void **state)
{
	char buffer[8];

	(void)state;
	assert_int_equal(ri_host_read(&host, "etc/hostname", buffer, 8), 7);
	assert_string_equal(buffer, "node-1\n");
	fails("etc/hostname", 7, EFBIG);
	fails("etc/hostname", 6, EFBIG);
	fails("etc/hostname", 1, EFBIG);
	fails("etc/hostname", 0, EFBIG);
	assert_int_equal(ri_host_read(&host, "empty", buffer, 1), 0);
	assert_string_equal(buffer, "");
	assert_int_equal(ri_host_read(&host, "with-nul", buffer, 8), 3);
	assert_memory_equal(buffer, "a\0b", 4);
}

/* PID 1 must not hang on a pipe that stands where a file should. */
static void test_read_of_a_pipe_ends(void **state)
{
	char buffer[8];

	(void)state;
	alarm(20);
	assert_int_equal(ri_host_read(&host, "fifo", buffer, sizeof(buffer)), 0);
	host.walk = true;
	assert_int_equal(ri_host_read(&host, "fifo", buffer, sizeof(buffer)), 0);
	host.walk = false;
	alarm(0);
}

static void test_long_paths(void **state)
{
	static char path[10000];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	fails(path, 64, ENAMETOOLONG);
	path[4095] = '\0';
	fails(path, 64, ENAMETOOLONG);
	path[256] = '\0';
	fails(path, 64, ENAMETOOLONG);
	path[255] = '\0';
	fails(path, 64, ENOENT);
	memset(path, '/', 4000);
	strcpy(path + 4000, "etc/hostname");
	reads(path, "node-1\n");
	for (int i = 0; i < 1200; i++)
		memcpy(path + 3 * i, "../", 3);
	strcpy(path + 3600, "etc/hostname");
	reads(path, "node-1\n");
	for (int i = 0; i < 500; i++)
		memcpy(path + 7 * i, "a/b/../", 7);
	strcpy(path + 3500, "b");
	fails(path, 64, ENOENT);
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_no_descriptor_leaks(void **state)
{
	unsigned before = open_descriptors();

	(void)state;
	for (size_t i = 0; i < PATH_COUNT; i++)
		for (int walk = 0; walk < 2; walk++)
			try_open(walk, paths[i], O_RDONLY);
	fails("etc/hostname", 3, EFBIG);
	fails("etc", 64, EISDIR);
	assert_int_equal(open_descriptors(), before);
}

/* Renaming anything makes openat2 give ".." up with EAGAIN now and then. */
static void test_renames_elsewhere(void **state)
{
	pid_t pid;
	int fd;

	(void)state;
	tree_folder(&outer, "x");
	pid = fork();
	if (pid == 0) {
		for (;;) {
			renameat(outer.fd, "x", outer.fd, "y");
			renameat(outer.fd, "y", outer.fd, "x");
		}
	}
	assert_true(pid > 0);
	for (int i = 0; i < 20000; i++) {
		fd = ri_host_open(&host, "a/b/../b/../b/../../a/up/a/out", O_RDONLY);
		if (fd < 0)
			break;
		close(fd);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(fd >= 0);
	assert_false(host.walk && has_openat2());
}

/* Links of /proc that are no text: the kernel refuses them with EXDEV below a root. */
static void test_magic_links(void **state)
{
	struct ri_host live = { .root = open("/", O_RDONLY | O_DIRECTORY), .live = true };
	char buffer[4096];
	int fd;

	(void)state;
	assert_true(live.root >= 0);
	fd = ri_host_open(&live, "/proc/self/cwd", O_PATH);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(ri_host_open(&live, "/proc/self/ns/pid", O_RDONLY), -1);
	assert_int_equal(errno, ENOENT);
	assert_false(live.walk && has_openat2());
	assert_true(ri_host_read(&live, "proc/self/stat", buffer, sizeof(buffer)) > 0);
	close(live.root);
}

static void test_list(void **state)
{
	char names[200000], path[32];
	size_t length = 0;

	(void)state;
	tree_folder(&outer, "root/many");
	assert_int_equal(ri_host_list(&host, "many", names, sizeof(names)), 0);
	/* more than one call of the kernel's */
	for (int i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "root/many/file-%d", i);
		tree_file(&outer, path, "");
		length += strlen(path + strlen("root/many/")) + 1;
	}
	memset(names, 'x', sizeof(names));
	assert_int_equal(ri_host_list(&host, "many", names, length + 1), 600);
	assert_int_equal(names[length + 1], 'x');
	assert_memory_equal(names + length - 1, "\0", 2);
	assert_non_null(memmem(names, length, "file-599", sizeof("file-599")));
	assert_int_equal(ri_host_list(&host, "many", names, length), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(names[0], '\0');
	assert_int_equal(ri_host_list(&host, "many/file-0", names, sizeof(names)), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(ri_host_list(&host, "nowhere", names, sizeof(names)), -1);
	assert_int_equal(errno, ENOENT);
	assert_true(ri_host_has(&host, "many/file-0"));
	assert_true(ri_host_has(&host, "/many"));
	assert_false(ri_host_has(&host, "many/file-600"));
}

static void test_link(void **state)
{
	char target[64];

	(void)state;
	for (int walk = 0; walk < 2; walk++) {
		struct ri_host one = { .root = host.root, .walk = walk };

		assert_int_equal(ri_host_link(&one, "a/rel", target, sizeof(target)), 8);
		assert_string_equal(target, "b/c/file");
		assert_int_equal(ri_host_link(&one, "dir-abs/../abs", target, 14), 13);
		assert_string_equal(target, "/etc/hostname");
		assert_int_equal(ri_host_link(&one, "a/abs", target, 13), -1);
		assert_int_equal(errno, EFBIG);
		assert_int_equal(ri_host_link(&one, "etc", target, sizeof(target)), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ri_host_link(&one, "nothing", target, sizeof(target)), -1);
		assert_int_equal(errno, ENOENT);
	}
}

static void test_recorded_node(void **state)
{
	static const struct {
		mode_t mode;
		int error;
	} cases[] = { { 0666, 0 }, { 0600, 0 }, { 0466, EPERM }, { 0, EACCES }, { 0066, EACCES } };
	dev_t number = 7;

	(void)state;
	tree_file(&outer, "root/node", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fchmodat(host.root, "node", cases[i].mode, 0), 0);
		assert_int_equal(ri_host_node(&host, "node", &number), cases[i].error);
		assert_int_equal(number, 0);
	}
	assert_int_equal(ri_host_node(&host, "no-node", NULL), ENOENT);
	assert_int_equal(ri_host_node(&host, "etc", NULL), ENODEV);
	assert_int_equal(ri_host_node(&host, "fifo", NULL), ENODEV);
}

static void test_live_node(void **state)
{
	struct ri_host live = { .root = open("/", O_RDONLY | O_DIRECTORY), .live = true };
	struct stat info;
	dev_t number = 0;

	(void)state;
	assert_true(live.root >= 0);
	assert_int_equal(stat("/dev/null", &info), 0);
	assert_int_equal(ri_host_node(&live, "/dev/null", &number), 0);
	assert_int_equal(number, info.st_rdev);
	assert_int_equal(ri_host_node(&live, "/dev/null", NULL), 0);
	/* a file stands for nothing here */
	assert_int_equal(ri_host_node(&live, "/proc/self/stat", NULL), ENODEV);
	assert_int_equal(ri_host_node(&live, "/dev/no-such-node", NULL), ENOENT);
	close(live.root);
}

/* What is done apart, and whether the waiting is given up. */
static struct {
	char path[64];
	int count;
	bool given_up;
} apart;

static int do_apart(int (*work)(void *argument), void *argument, const char *path)
{
	apart.count++;
	snprintf(apart.path, sizeof(apart.path), "%s", path);
	if (!apart.given_up)
		return work(argument);
	errno = EINTR;
	return -1;
}

/* Every file but what the kernel has of the live machine, and in one go. */
static void test_apart(void **state)
{
	struct ri_host live = {
		.root = open("/", O_RDONLY | O_DIRECTORY), .live = true, .apart = do_apart,
	};
	char text[65536];
	int fd;

	(void)state;
	host.apart = do_apart;
	apart.given_up = false;
	apart.count = 0;
	assert_true(ri_host_read(&live, "/proc/self/stat", text, sizeof(text)) > 0);
	assert_true(ri_host_read(&live, "sys/kernel/mm/none", text, sizeof(text)) < 0);
	assert_true(ri_host_has(&live, "dev"));
	assert_int_equal(apart.count, 0);
	assert_true(ri_host_read(&live, "/etc/passwd", text, sizeof(text)) > 0);
	assert_string_equal(apart.path, "/etc/passwd");
	assert_int_equal(apart.count, 1);
	assert_false(ri_host_has(&live, "/devices/none"));
	assert_int_equal(apart.count, 2);
	/* a recorded machine lies anywhere */
	assert_true(ri_host_read(&host, "etc/hostname", text, sizeof(text)) > 0);
	assert_false(ri_host_has(&host, "proc/none"));
	assert_int_equal(apart.count, 4);
	fd = ri_host_open(&host, "etc/hostname", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	apart.given_up = true;
	assert_int_equal(ri_host_open(&live, "/etc/passwd", O_RDONLY), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(ri_host_read(&live, "/etc/passwd", text, sizeof(text)), -1);
	assert_int_equal(errno, EINTR);
	host.apart = NULL;
	close(live.root);
}

static int count_names;

static int say_name(char *out, size_t size)
{
	count_names++;
	snprintf(out, size, "live-1");
	return 0;
}

static enum ri_host_proc say_foreign(void)
{
	count_names++;
	return RI_PROC_FOREIGN;
}

/* Nothing is opened or asked before somebody needs it, and each thing once. */
static void test_first_use(void **state)
{
	char path[300];
	struct ri_host later = { .root = -1, .path = path };
	struct ri_host live = {
		.root = -1, .live = true, .ask_name = say_name, .ask_proc = say_foreign,
	};
	struct ri_host gone = { .root = -1, .path = "/no-such-folder" };
	struct ri_arena arena = { 0 };
	char text[16];
	int opened;

	(void)state;
	snprintf(path, sizeof(path), "%s/root", outer.path);
	assert_int_equal(ri_host_proc(&later), RI_PROC_OURS);
	assert_int_equal(later.root, -1);
	assert_string_equal(ri_host_name(&later, &arena), "node-1");
	assert_true(later.root >= 0);
	opened = later.root;
	assert_int_equal(ri_host_root(&later), 0);
	assert_int_equal(later.root, opened);
	close(later.root);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(ri_host_name(&live, &arena), "live-1");
		assert_int_equal(ri_host_proc(&live), RI_PROC_FOREIGN);
	}
	assert_int_equal(count_names, 2);
	assert_int_equal(live.root, -1);
	assert_int_equal(ri_host_read(&gone, "etc/hostname", text, sizeof(text)), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(ri_host_name(&gone, &arena));
	ri_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_use),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_walk_and_openat2_agree),
		cmocka_unit_test(test_nothing_leads_out),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_fails),
		cmocka_unit_test(test_links_beside_a_rename),
		cmocka_unit_test(test_read_bounds),
		cmocka_unit_test(test_read_of_a_pipe_ends),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_no_descriptor_leaks),
		cmocka_unit_test(test_renames_elsewhere),
		cmocka_unit_test(test_magic_links),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_recorded_node),
		cmocka_unit_test(test_live_node),
	};

	return cmocka_run_group_tests(tests, make_outer, remove_outer);
}
