/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "out_of_memory.h"
#include "tree.h"

static struct ri_arena arena;
static struct ri_host host;
static struct tree tree;	/* with an etc/ to write to */

static int make_tree(void **state)
{
	(void)state;
	tree_make(&tree);
	tree_folder(&tree, "etc");
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static int use_recorded(void **state)
{
	(void)state;
	host = tree_recorded("accounts");
	return 0;
}

static int use_tree(void **state)
{
	(void)state;
	unlinkat(tree.fd, "etc/passwd", 0);
	unlinkat(tree.fd, "etc/group", 0);
	host = (struct ri_host){ .root = dup(tree.fd) };
	assert_true(host.root >= 0);
	return 0;
}

static int give_back(void **state)
{
	(void)state;
	close(host.root);
	ri_arena_release(&arena);
	return 0;
}

/* Found, with these ids and, in this order, these supplementary groups. */
static void found(const char *text, uint32_t uid, uint32_t gid, const gid_t *groups, size_t count)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_account account;

	assert_int_equal(ri_account_find(&host, text, "--user", &account, &arena, &err), 0);
	assert_int_equal(err.code, RI_CODE_NONE);
	assert_int_equal(account.uid, uid);
	assert_int_equal(account.gid, gid);
	assert_int_equal(account.group_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(account.groups[i], groups[i]);
}

/* Refused, exactly so; the answer is not touched. */
static struct ri_error refused(const char *text, enum ri_code code, const char *subject)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_account account, before;

	memset(&account, 0x5a, sizeof(account));
	before = account;
	assert_int_equal(ri_account_find(&host, text, "--user", &account, &arena, &err), -1);
	assert_string_equal(ri_code_name(err.code), ri_code_name(code));
	assert_string_equal(err.subject, subject);
	assert_memory_equal(&account, &before, sizeof(account));
	return err;
}

static void test_user_alone(void **state)
{
	static const gid_t mpiuser[] = { 44, 109 }, trainer[] = { 44, 109, 113 };

	(void)state;
	found("mpiuser", 1000, 1000, mpiuser, 2);
	found("1000", 1000, 1000, mpiuser, 2);
	found("01000", 1000, 1000, mpiuser, 2);
	found("trainer", 1001, 100, trainer, 3);
	found("root", 0, 0, NULL, 0);
	found("0", 0, 0, NULL, 0);
	found("nobody", 65534, 65534, NULL, 0);
	found("highest", 4294967294, 4294967294, NULL, 0);
}

/* A number that two lines have is the first one's; a name goes before a number. */
static void test_which_line(void **state)
{
	static const gid_t trainer[] = { 44, 109, 113 };

	(void)state;
	found("1001", 1001, 100, trainer, 3);
	found("twin", 1001, 200, NULL, 0);
	found("4242", 77, 78, NULL, 0);
	found("4242:4300", 77, 79, NULL, 0);
}

static void test_user_and_group(void **state)
{
	(void)state;
	found("mpiuser:users", 1000, 100, NULL, 0);
	found("mpiuser:44", 1000, 44, NULL, 0);
	found("mpiuser:4711", 1000, 4711, NULL, 0);
	found("1000:render", 1000, 109, NULL, 0);
	found("4711:0", 4711, 0, NULL, 0);
	found("4711:users", 4711, 100, NULL, 0);
	found("0:0", 0, 0, NULL, 0);
	found("4294967294:4294967294", 4294967294, 4294967294, NULL, 0);
}

static void test_unknown(void **state)
{
	struct ri_error err;

	(void)state;
	err = refused("alice", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	assert_string_equal(err.text, "\"alice\" is not in /etc/passwd");
	assert_string_not_equal(err.hint, "");
	err = refused("4711", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	assert_string_equal(err.text, "\"4711\" is not in /etc/passwd");
	err = refused("mpiuser:staff", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	assert_string_equal(err.text, "\"staff\" is not in /etc/group");
	refused("alice:users", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("mpi", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("mpiuser2", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("MPIUSER", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("4294967295", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("4294967295:0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("4294967296:0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("0:4294967295", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("-1:0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("0x0:0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused(" 0:0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	err = refused("\x1b[2J", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	assert_string_equal(err.text, "\"\\x1b[2J\" is not in /etc/passwd");
}

static void test_malformed(void **state)
{
	static const char *const texts[] = { "", ":", ":0", "root:", "0:", "0:0:0", "root::",
		"a\nb",
		"root:x\n", "0:0:" };
	char text[600];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refused(texts[i], RI_CODE_OPTION_VALUE, "--user");
	memset(text, 'u', sizeof(text));
	text[256] = '\0';
	refused(text, RI_CODE_OPTION_VALUE, "--user");
	text[255] = '\0';
	refused(text, RI_CODE_ACCOUNT_UNKNOWN, "--user");
	memcpy(text, "root:", 5);
	refused(text, RI_CODE_ACCOUNT_UNKNOWN, "--user");
	memset(text, '0', sizeof(text));
	text[5] = ':';
	text[sizeof(text) - 1] = '\0';
	refused(text, RI_CODE_OPTION_VALUE, "--user");
}

static void test_no_files_at_all(void **state)
{
	(void)state;
	found("1000:1000", 1000, 1000, NULL, 0);
	refused("root", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("0", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("0:root", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	tree_file(&tree, "etc/passwd", "root:x:0:0::/:/bin/sh\n");
	found("root", 0, 0, NULL, 0);
}

static void test_unreadable(void **state)
{
	static char big[RI_MAX_FILE];
	struct ri_error err;

	(void)state;
	tree_link(&tree, "etc/passwd", "passwd");
	err = refused("root", RI_CODE_FILE_UNREADABLE, "/etc/passwd");
	assert_int_equal(err.sys_errno, ELOOP);
	unlinkat(tree.fd, "etc/passwd", 0);
	memset(big, '\n', sizeof(big));
	tree_bytes(&tree, "etc/passwd", big, sizeof(big));
	err = refused("root", RI_CODE_FILE_UNREADABLE, "/etc/passwd");
	assert_int_equal(err.sys_errno, EFBIG);
	memcpy(big + RI_MAX_FILE - 17, "root:x:0:0::/:/x", 16);
	tree_bytes(&tree, "etc/passwd", big, sizeof(big) - 1);
	found("root", 0, 0, NULL, 0);
	tree_link(&tree, "etc/group", "/etc");
	err = refused("root", RI_CODE_FILE_UNREADABLE, "/etc/group");
	assert_int_equal(err.sys_errno, EISDIR);
	refused("root:x", RI_CODE_FILE_UNREADABLE, "/etc/group");
}

static void test_broken_lines_of_others(void **state)
{
	static const gid_t groups[] = { 7, 8, 9 };

	(void)state;
	tree_file(&tree, "etc/passwd", "\n:\n::::::\nnobody:*:-2:-2::/:\nshort\nshort2:x\n"
		"short3:x:5\nbad:x:1x:2\n big:x:99999999999999999999:1\n"
		"me:x:10:20:::\nmax:x:4294967295:1::\n");
	tree_file(&tree, "etc/group", "\n:\n:::\nme\nme:x\ng:x:\nh:x:-5:me\ni:x:4294967295:me\n"
		"ok:x:7:me\nj:x:5x:me\nlong:x:8:you,me:more,me\nlast:x:9:,,me,\n"
		"no:x:6:mes,m,e,me ");
	found("me", 10, 20, groups, 3);
	found("10", 10, 20, groups, 3);
	refused("4294967295", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("5", RI_CODE_FILE_SYNTAX, "/etc/passwd");
	refused("-2", RI_CODE_ACCOUNT_UNKNOWN, "--user");
}

static void test_broken_line_of_the_user(void **state)
{
	static const char *const lines[] = { "me", "me:", "me:x", "me:x:", "me:x:5", "me:x:5:",
		"me:x::5:::", "me:x:-2:-2:::", "me:x:4294967295:0:::", "me:x:0:4294967295:::",
		"me:x:0x5:0:::", "me:x:5 5:0:::", "me:\x1b[2J$6$secret:five:5:::" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ri_error err;

		tree_file(&tree, "etc/passwd", lines[i]);
		err = refused("me", RI_CODE_FILE_SYNTAX, "/etc/passwd");
		/* a line may hold a password's hash, and bytes for the terminal */
		assert_null(strstr(err.text, "secret"));
		assert_null(strchr(err.text, '\x1b'));
		assert_non_null(strstr(err.text, "\"me\""));
	}
}

static void test_broken_line_of_the_group(void **state)
{
	static const char *const lines[] = { "g", "g:x", "g:x:", "g:x:-1:", "g:x:4294967295:",
		"g:x:7x:" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		tree_file(&tree, "etc/group", lines[i]);
		refused("5:g", RI_CODE_FILE_SYNTAX, "/etc/group");
	}
}

/* With a group in the wish nothing but the number of the user is needed. */
static void test_only_what_is_needed(void **state)
{
	(void)state;
	tree_file(&tree, "etc/passwd", "me:x:5:broken:::\n");
	tree_link(&tree, "etc/group", "group");
	refused("me:6", RI_CODE_FILE_UNREADABLE, "/etc/group");
	unlinkat(tree.fd, "etc/group", 0);
	found("me:6", 5, 6, NULL, 0);
	found("5:6", 5, 6, NULL, 0);
	refused("me", RI_CODE_FILE_SYNTAX, "/etc/passwd");
}

/* Comments, and lines for the name service switch, are nobody's. */
static void test_comments_and_nis(void **state)
{
	static const char *const names[] = { "#out", "#", "+", "-", "+nis", "-nis", "+@net", "1",
		"2", "3", "4" };

	(void)state;
	tree_file(&tree, "etc/passwd", "#out:x:1:1:::\n# words: about: 2:2\n#:x:2:2::\n"
		"+nis:x:3:3:::\n-nis:x:4:4:::\n+::::::\n-\n+\n+@net:x:4:4::::\nme:x:10:20:::\n");
	tree_file(&tree, "etc/group", "#wheel:x:0:me\n# wheel:x:0:me\n+nis:x:30:me\n-nis:x:31:me\n"
		"+:::me\n+::32:me\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		refused(names[i], RI_CODE_ACCOUNT_UNKNOWN, "--user");
	found("me", 10, 20, NULL, 0);
	refused("me:#wheel", RI_CODE_ACCOUNT_UNKNOWN, "--user");
	refused("me:+nis", RI_CODE_ACCOUNT_UNKNOWN, "--user");
}

static void test_line_ends(void **state)
{
	static const gid_t groups[] = { 7, 8 };

	(void)state;
	/* as the C libraries read it: a last member "me\r" is somebody else */
	tree_file(&tree, "etc/passwd", "other:x:1:1:::\r\nme:x:10:20\r\n");
	tree_file(&tree, "etc/group", "a:x:7:me,you\r\nb:x:8:you,me\r\n");
	found("me", 10, 20, groups, 1);
	found("other:b", 1, 8, NULL, 0);
	tree_file(&tree, "etc/passwd", "me:x:10:20");
	tree_file(&tree, "etc/group", "a:x:7:me\n\n\nb:x:8:me");
	found("me", 10, 20, groups, 2);
	found("10:b", 10, 8, NULL, 0);
	/* what follows a '\0' is not read */
	tree_bytes(&tree, "etc/passwd", "a:x:1:1::\n\0me:x:0:0::\n", 22);
	refused("me", RI_CODE_ACCOUNT_UNKNOWN, "--user");
}

static void test_huge_fields(void **state)
{
	static char text[200000];
	static const gid_t groups[] = { 1, 7 };
	size_t at = 0;

	(void)state;
	at = (size_t)snprintf(text, sizeof(text), "%0*d:x:1:1::\nme:%0*d:10:20:%0*d:/:\n", 70000, 0,
		300, 0, 70000, 0);
	assert_true(at < sizeof(text));
	tree_file(&tree, "etc/passwd", text);
	snprintf(text, sizeof(text), "%0*d:x:1:me\ng:x:7:%0*d,me\n", 300, 0, 70000, 0);
	tree_file(&tree, "etc/group", text);
	found("me", 10, 20, groups, 2);
}

static void test_groups_bounded(void **state)
{
	static char text[40 * (RI_MAX_GROUPS + 10)];
	gid_t groups[RI_MAX_GROUPS];
	size_t at = 0;

	(void)state;
	for (int i = 0; i < RI_MAX_GROUPS + 5; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "g%d:x:%d:me\n", i, 5000 + i);
	for (size_t i = 0; i < RI_MAX_GROUPS; i++)
		groups[i] = (gid_t)(5000 + i);
	tree_file(&tree, "etc/passwd", "me:x:10:20:::\n");
	tree_file(&tree, "etc/group", text);
	found("me", 10, 20, groups, RI_MAX_GROUPS);
}

static int without_memory(void)
{
	struct ri_error err = RI_ERROR_INIT;
	struct ri_account account;

	if (!memory_exhaust(&arena))
		return 1;
	for (int i = 0; i < 8; i++)
		if (ri_account_find(&host, "mpiuser", "--user", &account, &arena, &err) < 0)
			return err.code == RI_CODE_MEMORY ? 0 : 2;
	return 3;
}

static void test_memory(void **state)
{
	(void)state;
	assert_int_equal(memory_limited(without_memory), 0);
}

#define RECORDED(name) cmocka_unit_test_setup_teardown(name, use_recorded, give_back)
#define WRITTEN(name) cmocka_unit_test_setup_teardown(name, use_tree, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECORDED(test_user_alone),
		RECORDED(test_which_line),
		RECORDED(test_user_and_group),
		RECORDED(test_unknown),
		RECORDED(test_malformed),
		WRITTEN(test_no_files_at_all),
		WRITTEN(test_unreadable),
		WRITTEN(test_broken_lines_of_others),
		WRITTEN(test_broken_line_of_the_user),
		WRITTEN(test_broken_line_of_the_group),
		WRITTEN(test_only_what_is_needed),
		WRITTEN(test_comments_and_nis),
		WRITTEN(test_line_ends),
		WRITTEN(test_huge_fields),
		WRITTEN(test_groups_bounded),
		RECORDED(test_memory),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
