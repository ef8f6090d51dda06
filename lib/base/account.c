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

enum { FIELD = 256 };

static const char passwd_path[] = "/etc/passwd";
static const char group_path[] = "/etc/group";

/* (uid_t)-1 means "leave it" to setresuid(2): it is nobody's number. */
static const struct ri_range id_range = { 0, UINT32_MAX - 1 };

/* What --user says, before any file is read. */
struct wish {
	char user[FIELD];
	char group[FIELD];
	bool has_group;
};

/* One search, and what every step of it needs. */
struct lookup {
	struct ri_host *host;
	struct ri_arena *arena;
	struct ri_error *err;
	const char *subject;	/* the option, for errors about the wish itself */
	struct wish wish;
};

/* Copies field number index (from 0) of a line of fields between colons. */
static bool copy_field(const char *line, size_t length, unsigned index, char out[FIELD])
{
	const char *end = line + length, *colon;

	for (; index > 0; index--) {
		colon = memchr(line, ':', (size_t)(end - line));
		if (colon == NULL)
			return false;
		line = colon + 1;
	}
	colon = memchr(line, ':', (size_t)(end - line));
	if (colon != NULL)
		end = colon;
	if (end - line >= FIELD)
		return false;
	memcpy(out, line, (size_t)(end - line));
	out[end - line] = '\0';
	return true;
}

static bool read_id(const char *text, uint32_t *id)
{
	uint64_t value;

	if (text[0] < '0' || text[0] > '9' ||
		ri_number_read(text, id_range, &value, NULL) != RI_NUMBER_OK)
		return false;
	*id = (uint32_t)value;
	return true;
}

static bool read_id_field(const char *line, size_t length, unsigned index, uint32_t *id)
{
	char field[FIELD];

	return copy_field(line, length, index, field) && read_id(field, id);
}

/* Comments, and the name service switch's "+name" and "-name", are nobody's. */
static bool is_entry(const char *line)
{
	return *line != '#' && *line != '+' && *line != '-';
}

/* The line whose name, or else whose number (third field), is what is wanted. */
static const char *find_line(const char *file, const char *wanted, size_t *length)
{
	uint32_t wanted_id = 0, id;
	bool by_id = read_id(wanted, &wanted_id);
	char name[FIELD];
	const char *line;

	for (int pass = 0; pass < (by_id ? 2 : 1); pass++) {
		for (line = file; *line != '\0'; line += *length + (line[*length] != '\0')) {
			*length = strcspn(line, "\n");
			if (!is_entry(line))
				continue;
			if (pass == 0 ? copy_field(line, *length, 0, name) && !strcmp(name, wanted)
				      : read_id_field(line, *length, 2, &id) && id == wanted_id)
				return line;
		}
	}
	return NULL;
}

/* The file's text, or NULL. A missing one is empty: numbers will do without. */
static const char *read_file(const struct lookup *lookup, const char *path)
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
	return ri_fail_hint(lookup->err, "create it in the image, or give numbers as UID:GID");
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
	if (user > 0 && user < FIELD && strlen(text + user) < FIELD &&
		(!wish->has_group || text[user + 1] != '\0') &&
		strpbrk(text, "\n") == NULL && strchr(text + user + wish->has_group, ':') == NULL) {
		snprintf(wish->user, FIELD, "%.*s", (int)user, text);
		snprintf(wish->group, FIELD, "%s", wish->has_group ? text + user + 1 : "");
		return 0;
	}
	return ri_fail(lookup->err, RI_CODE_OPTION_VALUE, lookup->subject,
		"%s: expected a user, or a user and a group like NAME:GROUP or UID:GID",
		ri_quote(quoted, sizeof(quoted), text));
}

static int find_group(const struct lookup *lookup, gid_t *gid)
{
	const char *file = read_file(lookup, group_path), *line;
	const char *name = lookup->wish.group;
	size_t length;
	uint32_t id;

	if (file == NULL)
		return -1;
	line = find_line(file, name, &length);
	if (line == NULL && !read_id(name, &id))
		return unknown(lookup, name, group_path);
	if (line != NULL && !read_id_field(line, length, 2, &id))
		return broken_line(lookup, name, group_path, "NAME:x:GID:...");
	*gid = id;
	return 0;
}

/* Is name one of the members, the last field of a line of /etc/group? */
static bool has_member(const char *line, size_t length, const char *name)
{
	const char *end = line + length;
	size_t wanted = strlen(name), word;

	for (int colons = 0; colons < 3; colons++, line++) {
		line = memchr(line, ':', (size_t)(end - line));
		if (line == NULL)
			return false;
	}
	for (; line < end; line += word + 1) {
		const char *comma = memchr(line, ',', (size_t)(end - line));

		word = (size_t)((comma == NULL ? end : comma) - line);
		if (word == wanted && memcmp(line, name, word) == 0)
			return true;
	}
	return false;
}

static int find_supplementary(const struct lookup *lookup, const char *user,
	struct ri_account *account)
{
	const char *file = read_file(lookup, group_path);
	size_t length;
	uint32_t id;

	if (file == NULL)
		return -1;
	account->groups = ri_arena_array(lookup->arena, RI_MAX_GROUPS, sizeof(gid_t));
	if (account->groups == NULL)
		return ri_fail(lookup->err, RI_CODE_MEMORY, group_path,
			"no memory left to read it");
	for (const char *line = file; *line != '\0'; line += length + (line[length] != '\0')) {
		length = strcspn(line, "\n");
		if (account->group_count < RI_MAX_GROUPS && is_entry(line) &&
			has_member(line, length, user) && read_id_field(line, length, 2, &id))
			account->groups[account->group_count++] = id;
	}
	return 0;
}

/* The user's line, as far as it is needed: a group in the wish replaces its own. */
static int use_passwd_line(const struct lookup *lookup, const char *line, size_t length,
	struct ri_account *account)
{
	bool whole = !lookup->wish.has_group;
	uint32_t uid, gid = 0;
	char name[FIELD];

	if (!copy_field(line, length, 0, name) || !read_id_field(line, length, 2, &uid) ||
		(whole && !read_id_field(line, length, 3, &gid)))
		return broken_line(lookup, lookup->wish.user, passwd_path,
			"NAME:x:UID:GID:...");
	account->uid = uid;
	account->gid = gid;
	return whole ? find_supplementary(lookup, name, account) : 0;
}

int ri_account_find(struct ri_host *host, const char *text, const char *subject,
	struct ri_account *out, struct ri_arena *arena, struct ri_error *err)
{
	struct lookup lookup = { .host = host, .arena = arena, .err = err, .subject = subject };
	struct ri_account account = { .group_count = 0 };
	const char *file, *line;
	size_t length;
	uint32_t id;

	if (read_wish(&lookup, text) < 0)
		return -1;
	file = read_file(&lookup, passwd_path);
	if (file == NULL)
		return -1;
	line = find_line(file, lookup.wish.user, &length);
	if (line != NULL) {
		if (use_passwd_line(&lookup, line, length, &account) < 0)
			return -1;
	} else if (!read_id(lookup.wish.user, &id) || !lookup.wish.has_group) {
		return unknown(&lookup, lookup.wish.user, passwd_path);
	} else {
		account.uid = id;
	}
	if (lookup.wish.has_group && find_group(&lookup, &account.gid) < 0)
		return -1;
	*out = account;
	return 0;
}
