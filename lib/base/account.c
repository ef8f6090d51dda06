/* SPDX-License-Identifier: Apache-2.0 */
#include "base/account.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

enum { WORD = 256 };

/* Fields of a line of either file (passwd(5), group(5)), NULL past its end. */
enum { NAME, NUMBER = 2, GROUP, MEMBERS = 3, FIELDS };

/* One of the two files. */
struct table {
	const char *path;
	const char *form;	/* of a line */
	const char *subject;	/* the option, for errors about the wish itself */
	char *rest;		/* the lines that are not yet read */
	char *fields[FIELDS];	/* of the line that was found, or read last */
};

static bool read_id(const char *text, uint32_t *id)
{
	/* (uid_t)-1 means "leave it" to setresuid(2): no account has it */
	const struct ri_range range = { 0, UINT32_MAX - 1 };
	uint64_t value;

	if (text == NULL || text[0] < '0' || text[0] > '9' ||
		ri_number_read(text, range, &value, NULL) != RI_NUMBER_OK)
		return false;
	*id = (uint32_t)value;
	return true;
}

/* A file that is missing is empty: numbers will do without. */
static int begin(struct table *table, struct ri_host *host, struct ri_arena *arena,
	struct ri_error *err)
{
	int saved;

	table->rest = ri_arena_alloc(arena, RI_MAX_FILE);
	if (table->rest == NULL)
		return ri_fail(err, RI_CODE_MEMORY, table->path, "no memory left to read it");
	if (ri_host_read(host, table->path, table->rest, RI_MAX_FILE) >= 0)
		return 0;
	table->rest[0] = '\0';
	saved = errno;
	if (saved == ENOENT)
		return 0;
	ri_fail(err, RI_CODE_FILE_UNREADABLE, table->path, "cannot be read: %s", strerror(saved));
	return ri_fail_errno(err, saved);
}

/* Skip comments, and "+name" and "-name" of the name service switch. */
static bool next_line(struct table *table)
{
	char *line;

	while ((line = strsep(&table->rest, "\n")) != NULL) {
		if (*line == '#' || *line == '+' || *line == '-')
			continue;
		for (size_t i = 0; i < FIELDS; i++)
			table->fields[i] = strsep(&line, ":");
		return true;
	}
	return false;
}

/*
 * The number of the line whose name, or else whose number, is what is wanted. without: a number
 * that no line has will do; also: the line's group, which must be a number as well, or NULL.
 */
static int find(struct table *table, const char *wanted, bool without, uint32_t *id,
	uint32_t *also, struct ri_error *err)
{
	char *found[FIELDS] = { NULL };
	uint32_t wanted_id = 0, number;
	bool by_id = read_id(wanted, &wanted_id), by_name = false;

	while (!by_name && next_line(table)) {
		by_name = strcmp(table->fields[NAME], wanted) == 0;
		if (by_name || (by_id && found[NAME] == NULL &&
			read_id(table->fields[NUMBER], &number) && number == wanted_id))
			memcpy(found, table->fields, sizeof(found));
	}
	memcpy(table->fields, found, sizeof(found));
	if (found[NAME] == NULL && (!by_id || !without)) {
		ri_fail(err, RI_CODE_ACCOUNT_UNKNOWN, table->subject, "%s is not in %s",
			RI_QUOTED(wanted), table->path);
		return ri_fail_hint(err, "create it in the image, or give numbers, as UID:GID");
	}
	*id = wanted_id;
	if (found[NAME] == NULL || (read_id(found[NUMBER], id) &&
		(also == NULL || read_id(found[GROUP], also))))
		return 0;
	/* who was looked for, not the line: it may hold the hash of a password */
	return ri_fail(err, RI_CODE_FILE_SYNTAX, table->path, "the line of %s is not %s",
		RI_QUOTED(wanted), table->form);
}

/* The groups that have the user among their members. */
static int find_supplementary(struct table *groups, const char *user, struct ri_account *account,
	struct ri_arena *arena, struct ri_error *err)
{
	uint32_t id;

	account->groups = ri_arena_array(arena, RI_MAX_GROUPS, sizeof(gid_t));
	if (account->groups == NULL)
		return ri_fail(err, RI_CODE_MEMORY, groups->path, "no memory left to read it");
	while (account->group_count < RI_MAX_GROUPS && next_line(groups)) {
		char *list = groups->fields[MEMBERS], *member;

		while ((member = strsep(&list, ",")) != NULL && strcmp(member, user) != 0)
			;
		if (member != NULL && read_id(groups->fields[NUMBER], &id))
			account->groups[account->group_count++] = id;
	}
	return 0;
}

int ri_account_find(struct ri_host *host, const char *text, const char *subject,
	struct ri_account *out, struct ri_arena *arena, struct ri_error *err)
{
	struct table users = { "/etc/passwd", "NAME:x:UID:GID:...", subject, NULL, { NULL } };
	struct table groups = { "/etc/group", "NAME:x:GID:...", subject, NULL, { NULL } };
	struct ri_account account = { .group_count = 0 };
	char user[WORD];
	const char *group = strchr(text, ':');
	size_t length = strcspn(text, ":");

	if (length == 0 || length >= WORD || strlen(text + length) >= WORD ||
		strchr(text, '\n') != NULL ||
		(group != NULL && (group[1] == '\0' || strchr(group + 1, ':') != NULL)))
		return ri_fail(err, RI_CODE_OPTION_VALUE, subject, "%s: expected a user, or a "
			"user and a group, as NAME:GROUP or UID:GID", RI_QUOTED(text));
	ri_text_copy(user, length + 1, text);
	if (begin(&users, host, arena, err) < 0 ||
		find(&users, user, group != NULL, &account.uid,
			group == NULL ? &account.gid : NULL, err) < 0 ||
		begin(&groups, host, arena, err) < 0)
		return -1;
	/* a group in the wish replaces the user's own ones */
	if ((group != NULL ? find(&groups, group + 1, true, &account.gid, NULL, err)
		: find_supplementary(&groups, users.fields[NAME], &account, arena, err)) < 0)
		return -1;
	*out = account;
	return 0;
}
