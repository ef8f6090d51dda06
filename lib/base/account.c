/* SPDX-License-Identifier: Apache-2.0 */
#include "base/account.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "base/text.h"

enum { WORD = 256 };

static const char passwd_path[] = "/etc/passwd";
static const char group_path[] = "/etc/group";

/* (uid_t)-1 means "leave it" to setresuid(2): no account has it. */
static const struct ri_range id_range = { 0, UINT32_MAX - 1 };

/* What --user says, before any file is read. */
struct wish {
	char user[WORD];
	char group[WORD];
	bool has_group;
};

/* Fields of a line of either file (passwd(5), group(5)), NULL past its end. */
enum { NAME, NUMBER = 2, GROUP, MEMBERS = 3, FIELDS };

struct entry {
	char *fields[FIELDS];
};

/* One search, and what every step of it needs. */
struct lookup {
	struct ri_host *host;
	struct ri_arena *arena;
	struct ri_error *err;
	const char *subject;	/* the option, for errors about the wish itself */
	struct wish wish;
};

static bool read_id(const char *text, uint32_t *id)
{
	uint64_t value;

	if (text == NULL || text[0] < '0' || text[0] > '9' ||
		ri_number_read(text, id_range, &value, NULL) != RI_NUMBER_OK)
		return false;
	*id = (uint32_t)value;
	return true;
}

/* Skip comments, and "+name" and "-name" of the name service switch. */
static bool next_entry(char **file, struct entry *out)
{
	char *line;

	while ((line = strsep(file, "\n")) != NULL) {
		if (*line == '#' || *line == '+' || *line == '-')
			continue;
		for (size_t i = 0; i < FIELDS; i++)
			out->fields[i] = strsep(&line, ":");
		return true;
	}
	return false;
}

/* The entry whose name, or else whose number, is what is wanted. */
static bool find_entry(char *file, const char *wanted, struct entry *out)
{
	uint32_t wanted_id = 0, id;
	bool by_id = read_id(wanted, &wanted_id), found = false;
	struct entry entry;

	while (next_entry(&file, &entry)) {
		if (strcmp(entry.fields[NAME], wanted) == 0) {
			*out = entry;
			return true;
		}
		if (by_id && !found && read_id(entry.fields[NUMBER], &id) && id == wanted_id) {
			*out = entry;
			found = true;
		}
	}
	return found;
}

/* The file's text, or NULL. A missing one is empty: numbers will do without. */
static char *read_file(const struct lookup *lookup, const char *path)
{
	char *text = ri_arena_alloc(lookup->arena, RI_MAX_FILE);
	int saved;

	if (text == NULL) {
		ri_fail(lookup->err, RI_CODE_MEMORY, path, "no memory left to read it");
		return NULL;
	}
	if (ri_host_read(lookup->host, path, text, RI_MAX_FILE) >= 0)
		return text;
	saved = errno;
	if (saved == ENOENT) {
		text[0] = '\0';
		return text;
	}
	ri_fail(lookup->err, RI_CODE_FILE_UNREADABLE, path, "cannot be read: %s", strerror(saved));
	ri_fail_errno(lookup->err, saved);
	return NULL;
}

static int unknown(const struct lookup *lookup, const char *name, const char *path)
{
	char quoted[RI_QUOTE_SIZE];

	ri_fail(lookup->err, RI_CODE_ACCOUNT_UNKNOWN, lookup->subject, "%s is not in %s",
		ri_quote(quoted, sizeof(quoted), name), path);
	return ri_fail_hint(lookup->err, "create it in the image, or give numbers, as UID:GID");
}

/* Names who was looked for, not the line: it may hold the hash of a password. */
static int broken_line(const struct lookup *lookup, const char *name, const char *path,
	const char *expected)
{
	char quoted[RI_QUOTE_SIZE];

	return ri_fail(lookup->err, RI_CODE_FILE_SYNTAX, path, "the line of %s is not %s",
		ri_quote(quoted, sizeof(quoted), name), expected);
}

static int read_wish(struct lookup *lookup, const char *text)
{
	struct wish *wish = &lookup->wish;
	size_t user = strcspn(text, ":");
	char quoted[RI_QUOTE_SIZE];

	wish->has_group = text[user] == ':';
	if (user > 0 && user < WORD && strlen(text + user) < WORD &&
		(!wish->has_group || text[user + 1] != '\0') &&
		strpbrk(text, "\n") == NULL && strchr(text + user + wish->has_group, ':') == NULL) {
		snprintf(wish->user, WORD, "%.*s", (int)user, text);
		snprintf(wish->group, WORD, "%s", wish->has_group ? text + user + 1 : "");
		return 0;
	}
	return ri_fail(lookup->err, RI_CODE_OPTION_VALUE, lookup->subject,
		"%s: expected a user, or a user and a group, as NAME:GROUP or UID:GID",
		ri_quote(quoted, sizeof(quoted), text));
}

static int find_group(const struct lookup *lookup, gid_t *gid)
{
	const char *name = lookup->wish.group;
	char *file = read_file(lookup, group_path);
	struct entry entry;
	uint32_t id;

	if (file == NULL)
		return -1;
	if (find_entry(file, name, &entry)) {
		if (!read_id(entry.fields[NUMBER], &id))
			return broken_line(lookup, name, group_path, "NAME:x:GID:...");
	} else if (!read_id(name, &id)) {
		return unknown(lookup, name, group_path);
	}
	*gid = id;
	return 0;
}

static int find_supplementary(const struct lookup *lookup, const char *user,
	struct ri_account *account)
{
	char *file = read_file(lookup, group_path);
	struct entry entry;
	uint32_t id;

	if (file == NULL)
		return -1;
	account->groups = ri_arena_array(lookup->arena, RI_MAX_GROUPS, sizeof(gid_t));
	if (account->groups == NULL)
		return ri_fail(lookup->err, RI_CODE_MEMORY, group_path,
			"no memory left to read it");
	while (account->group_count < RI_MAX_GROUPS && next_entry(&file, &entry)) {
		char *list = entry.fields[MEMBERS], *member;

		while ((member = strsep(&list, ",")) != NULL && strcmp(member, user) != 0)
			;
		if (member != NULL && read_id(entry.fields[NUMBER], &id))
			account->groups[account->group_count++] = id;
	}
	return 0;
}

int ri_account_find(struct ri_host *host, const char *text, const char *subject,
	struct ri_account *out, struct ri_arena *arena, struct ri_error *err)
{
	struct lookup lookup = { .host = host, .arena = arena, .err = err, .subject = subject };
	struct ri_account account = { .group_count = 0 };
	struct entry entry;
	uint32_t id, group = 0;
	bool has_group;
	char *file;

	if (read_wish(&lookup, text) < 0)
		return -1;
	has_group = lookup.wish.has_group;
	file = read_file(&lookup, passwd_path);
	if (file == NULL)
		return -1;
	if (!find_entry(file, lookup.wish.user, &entry)) {
		if (!read_id(lookup.wish.user, &id) || !has_group)
			return unknown(&lookup, lookup.wish.user, passwd_path);
	} else if (!read_id(entry.fields[NUMBER], &id) ||
		(!has_group && !read_id(entry.fields[GROUP], &group))) {
		return broken_line(&lookup, lookup.wish.user, passwd_path, "NAME:x:UID:GID:...");
	}
	account.uid = id;
	account.gid = group;
	/* a group in the wish replaces the user's own ones */
	if ((has_group ? find_group(&lookup, &account.gid)
		: find_supplementary(&lookup, entry.fields[NAME], &account)) < 0)
		return -1;
	*out = account;
	return 0;
}
