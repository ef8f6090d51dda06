/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the wish on the first line, then /etc/passwd, a line "%%", and
 * /etc/group. Comments and lines of others at the end change no answer.
 */
#include "base/account.h"
#include "base/limits.h"
#include "fuzz.h"

static struct ri_arena arena;
static struct ri_host host;
static int passwd_fd, group_fd;

static void start(void)
{
	int folder = fuzz_folder_make();

	CHECK(mkdirat(folder, "etc", 0755) == 0);
	passwd_fd = fuzz_file_make(folder, "etc/passwd");
	group_fd = fuzz_file_make(folder, "etc/group");
	host = (struct ri_host){ .root = folder };
}

static void check_refusal(const struct ri_error *err)
{
	switch (err->code) {
	case RI_CODE_OPTION_VALUE:
	case RI_CODE_ACCOUNT_UNKNOWN:
		CHECK(strcmp(err->subject, "--user") == 0);
		break;
	case RI_CODE_FILE_SYNTAX:
		CHECK(strcmp(err->subject, "/etc/passwd") == 0 ||
			strcmp(err->subject, "/etc/group") == 0);
		break;
	case RI_CODE_FILE_UNREADABLE:	/* larger than RI_MAX_FILE */
		break;
	default:
		CHECK(false);
	}
	CHECK(err->text[0] != '\0' && fuzz_is_printable(err->text));
}

/* A group of the answer stands in the file, with a member: ":ID:" and a ','-list. */
static void check_group(gid_t gid, const char *groups)
{
	const char *line, *field, *next;
	char *end;

	for (line = groups; line != NULL; line = next) {
		next = strchr(line, '\n');
		next = next == NULL ? NULL : next + 1;
		field = strchr(line, ':');
		field = field == NULL ? NULL : strchr(field + 1, ':');
		if (field == NULL || *line == '#' || (next != NULL && field > next))
			continue;
		if (strtoull(field + 1, &end, 10) == gid && end > field + 1)
			return;
	}
	CHECK(false);
}

static void check_answer(const char *wish, const struct ri_account *account, const char *groups)
{
	CHECK(account->uid != (uid_t)-1 && account->gid != (gid_t)-1);
	CHECK(account->group_count <= RI_MAX_GROUPS);
	if (strchr(wish, ':') != NULL)
		CHECK(account->group_count == 0);
	for (size_t i = 0; i < account->group_count; i++) {
		CHECK(account->groups[i] != (gid_t)-1);
		if (i < 16)
			check_group(account->groups[i], groups);
	}
}

static void check_same(const struct ri_account *a, const struct ri_account *b)
{
	CHECK(a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count);
	for (size_t i = 0; i < a->group_count; i++)
		CHECK(a->groups[i] == b->groups[i]);
}

static void check(const char *wish, const char *passwd, const char *groups)
{
	struct ri_error err = RI_ERROR_INIT, err_again = RI_ERROR_INIT;
	struct ri_account account = { .uid = 7777 }, again = { .uid = 7777 };
	int result;

	fuzz_fill(passwd_fd, passwd, "");
	fuzz_fill(group_fd, groups, "");
	result = ri_account_find(&host, wish, "--user", &account, &arena, &err);
	if (result < 0) {
		CHECK(result == -1 && account.uid == 7777 && account.groups == NULL);
		check_refusal(&err);
	} else {
		CHECK(err.code == RI_CODE_NONE);
		check_answer(wish, &account, groups);
	}
	fuzz_fill(passwd_fd, passwd, "\n#1:x:0:0:::\n+nis:x:0:0:::\n-\n\n::\n");
	fuzz_fill(group_fd, groups, "\n#root:x:0:root\n+::0:root\n-\n\n::\n");
	CHECK(ri_account_find(&host, wish, "--user", &again, &arena, &err_again) == result);
	CHECK(err_again.code == err.code && strcmp(err_again.text, err.text) == 0);
	if (result == 0)
		check_same(&account, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text, *wish, *groups;

	if (passwd_fd == 0)
		start();
	wish = strsep(&rest, "\n");
	if (rest != NULL) {
		groups = fuzz_cut_part(rest);
		check(wish, rest, groups);
	} else {
		check(wish, "", "");
	}
	ri_arena_release(&arena);
	free(text);
	return 0;
}
