/* SPDX-License-Identifier: Apache-2.0 */
#include "check/wishes.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const ids[] = {
#define RI_CHECK(family, name) #family "." #name,
#include "check/checks.def"
	NULL,
};

static const struct {
	const char *id, *use;
} gone[] = {
#define RI_CHECK_GONE(id, use) { id, use },
#include "check/checks.def"
};

enum { COUNT = RI_ARRAY_SIZE(ids) - 1, GONE = RI_ARRAY_SIZE(gone) };

_Static_assert((int)COUNT <= (int)RI_MAX_CHECKS && (int)GONE <= (int)RI_MAX_CHECKS, "bits");

size_t ri_check_count(void)
{
	return COUNT;
}

const char *const *ri_check_ids(void)
{
	return ids;
}

static bool is_named(const char *id, const char *word, size_t length)
{
	/* "shm." of "shm.*" */
	if (length > 2 && word[length - 1] == '*' && word[length - 2] == '.')
		return strncmp(id, word, length - 1) == 0;
	return strlen(id) == length && memcmp(id, word, length) == 0;
}

/* Add the checks that a word names: an id, or "shm.*" for all of a family. Returns how many. */
static size_t match(const char *word, size_t length, struct ri_check_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT; i++) {
		if (!is_named(ids[i], word, length))
			continue;
		ri_check_set_add(set, i);
		count++;
	}
	return count;
}

/* One word of a list, cut at its '='. */
struct word {
	char name[RI_CHECK_WORD];
	char *value;		/* NULL: none */
	bool first;
};

/* What a list is about. */
struct reading {
	struct ri_check_wishes *wishes;
	struct ri_given option;
	struct ri_asked *asked;		/* of --require and --expect */
	enum ri_asker asker;
	int (*add)(const struct reading *reading, struct word *word, struct ri_error *err);
	const char *expected;
	const char *const *words;	/* that are no ids, NULL at their end */
};

static int bad_word(const struct reading *reading, const struct word *word,
	const char *expected, struct ri_error *err)
{
	char whole[2 * RI_CHECK_WORD];

	snprintf(whole, sizeof(whole), "%s%s%s", word->name, word->value == NULL ? "" : "=",
		word->value == NULL ? "" : word->value);
	return ri_fail(err, RI_CODE_OPTION_VALUE, reading->option.subject, "%s: expected %s",
		RI_QUOTED(whole), expected);
}

bool ri_check_is_family(const char *word)
{
	char all[RI_CHECK_WORD + 2];
	struct ri_check_set set = { .words = { 0 } };
	int length = snprintf(all, sizeof(all), "%.*s.*", RI_CHECK_WORD - 1, word);

	return match(all, (size_t)length, &set) > 0;
}

static int unknown_word(const struct reading *reading, const struct word *word,
	struct ri_error *err)
{
	const char *names[RI_MAX_CHECKS + 8], *nearest;
	size_t count = 0;

	bad_word(reading, word, reading->expected, err);
	if (ri_check_is_family(word->name))
		return ri_fail_hint(err, "%s.* stands for the whole family", word->name);
	for (size_t i = 0; reading->words[i] != NULL; i++)
		names[count++] = reading->words[i];
	for (size_t i = 0; i < ri_check_count(); i++)
		names[count++] = ri_check_ids()[i];
	nearest = ri_text_nearest(word->name, names, count);
	/* in names as short as these one change may be any letter */
	for (size_t i = 0; nearest == NULL && reading->words[i] != NULL; i++)
		if (ri_text_distance(word->name, reading->words[i]) == 1)
			nearest = reading->words[i];
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=checks");
}

/* Was it a check of an earlier version, or some? They are noted for ri_check_judge_gone. */
static bool is_gone(const struct reading *reading, const struct word *word, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < GONE && word->value == NULL; i++) {
		if (!is_named(gone[i].id, name, strlen(name)))
			continue;
		reading->wishes->gone[i] = reading->option.subject;
		found = true;
	}
	return found;
}

static int read_list(const struct reading *reading, const char *text, struct ri_error *err)
{
	struct word word = { .first = true };
	size_t length;

	for (;; text += length + 1) {
		length = strcspn(text, ",");
		snprintf(word.name, sizeof(word.name), "%.*s", (int)length, text);
		/* what was cut off may be what counts */
		word.value = NULL;
		if (length >= sizeof(word.name))
			return unknown_word(reading, &word, err);
		word.value = strchr(word.name, '=');
		if (word.value != NULL)
			*word.value++ = '\0';
		if (reading->add(reading, &word, err) < 0)
			return -1;
		word.first = false;
		if (text[length] == '\0')
			return 0;
	}
}

/* By the values of enum ri_check_pick. */
static const char *const picks[] = { "default", "all", "none", NULL };

static int add_pick(const struct reading *reading, struct word *word, struct ri_error *err)
{
	struct ri_check_wishes *wishes = reading->wishes;
	const bool off = word->name[0] == '^';
	const char *name = off ? word->name + 1 : word->name;

	for (unsigned i = 0; picks[i] != NULL; i++) {
		if (word->value != NULL || strcmp(word->name, picks[i]) != 0)
			continue;
		if (!word->first)
			return bad_word(reading, word, "alone, or first of a list", err);
		wishes->pick = (enum ri_check_pick)i;
		return 0;
	}
	if (word->first)
		wishes->pick = off ? RI_CHECK_PICK_DEFAULT : RI_CHECK_PICK_LIST;
	if (wishes->pick == RI_CHECK_PICK_NONE)
		return bad_word(reading, word, "nothing behind none", err);
	if (word->value == NULL &&
		match(name, strlen(name), off ? &wishes->off : &wishes->picked) > 0)
		return 0;
	return is_gone(reading, word, name) ? 0 : unknown_word(reading, word, err);
}

int ri_check_read_pick(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err)
{
	const struct reading reading = {
		.wishes = wishes, .option = option, .add = add_pick, .words = picks,
		.expected = "the id of a check, as shm.size, or ^ and the id of one to leave out",
	};

	wishes->checks = option;
	wishes->picked = wishes->off = (struct ri_check_set){ .words = { 0 } };
	return read_list(&reading, option.value, err);
}

static int add_size(const struct reading *reading, struct word *word, struct ri_error *err)
{
	struct ri_check_wishes *wishes = reading->wishes;
	const char *nearest;

	if (word->value == NULL)
		return bad_word(reading, word, "azure=SIZE, as azure=Standard_ND96isr_H100_v5",
			err);
	if (reading->asked->size != NULL)
		return bad_word(reading, word, "each of them only once", err);
	reading->asked->size = ri_azure_size_find(word->value);
	if (reading->asked->size != NULL)
		return 0;
	/* in an environment that was made for all sizes it is a warning, later on */
	if (reading->option.twin && wishes->demands.of[reading->asker].size == NULL) {
		wishes->unknown_asker = reading->option.subject;
		ri_text_copy(wishes->unknown_size, sizeof(wishes->unknown_size), word->value);
	}
	if (reading->option.twin)
		return 0;
	bad_word(reading, word, "an Azure VM size that rankinit knows", err);
	nearest = ri_azure_size_nearest(word->value);
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean azure=Standard_%s?", nearest);
	return ri_fail_hint(err, "docs/checks.md lists them; for another size say what it has, as "
		"gpu=8,ib=8@400");
}

static int add_check(const struct reading *reading, const struct word *word,
	struct ri_error *err)
{
	const size_t length = strlen(word->name);
	const bool family = strchr(word->name, '*') != NULL;
	struct ri_asked *asked = reading->asked;
	struct ri_check_set named = { .words = { 0 } };

	if (word->value != NULL || match(word->name, length, &named) == 0)
		return is_gone(reading, word, word->name) ? 0 : unknown_word(reading, word, err);
	asked->checks = (struct ri_demand){ .subject = reading->option.subject,
		.asker = reading->asker };
	for (size_t i = 0; i < ri_check_count(); i++) {
		if (!ri_check_set_has(&named, i))
			continue;
		if (!family && ri_check_set_has(&asked->by_id, i))
			return bad_word(reading, word, "each of them only once", err);
		ri_check_set_add(family ? &asked->by_family : &asked->by_id, i);
	}
	return 0;
}

static int add_demand(const struct reading *reading, struct word *word, struct ri_error *err)
{
	struct ri_demand demand = { .subject = reading->option.subject, .asker = reading->asker };
	struct ri_asked *asked = reading->asked;
	const char *expected;

	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		if (strcmp(word->name, ri_topic_name((enum ri_topic)topic)) != 0)
			continue;
		if (asked->topics[topic].subject != NULL)
			return bad_word(reading, word, "each of them only once", err);
		expected = ri_demand_read(&demand, (enum ri_topic)topic, word->value);
		if (expected != NULL)
			return bad_word(reading, word, expected, err);
		asked->topics[topic] = demand;
		return 0;
	}
	if (strcmp(word->name, "azure") == 0)
		return add_size(reading, word, err);
	if (strcmp(word->name, "deep") != 0 || word->value != NULL)
		return add_check(reading, word, err);
	asked->checks = demand;
	asked->deep = true;
	return 0;
}

/* Who asks where the command line and the variable both do. */
static const char *const both[RI_ASKER_COUNT] = {
	[RI_ASKER_EXPECT] = "--expect and RANKINIT_EXPECT",
	[RI_ASKER_REQUIRE] = "--require and RANKINIT_REQUIRE",
};

/* What the variable asks for, but for what the command line has. Is there any of it? */
static bool add_rest(struct ri_asked *asked, const struct ri_asked *rest, enum ri_asker asker)
{
	bool some = rest->checks.subject != NULL || (asked->size == NULL && rest->size != NULL);

	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		if (asked->topics[topic].subject != NULL || rest->topics[topic].subject == NULL)
			continue;
		asked->topics[topic] = rest->topics[topic];
		some = true;
	}
	for (size_t i = 0; i < RI_MAX_CHECKS / 64; i++) {
		asked->by_id.words[i] |= rest->by_id.words[i];
		asked->by_family.words[i] |= rest->by_family.words[i];
	}
	asked->deep |= rest->deep;
	if (asked->size == NULL)
		asked->size = rest->size;
	if (asked->checks.subject == NULL)
		asked->checks = rest->checks;
	else if (rest->checks.subject != NULL)
		asked->checks.subject = both[asker];
	return some;
}

/* Does the list begin with "none"? Returns what follows it, NULL where nothing does. */
static const char *skip_none(const char *list, bool *none)
{
	size_t length = strcspn(list, ",");

	*none = length == strlen("none") && memcmp(list, "none", length) == 0;
	if (!*none)
		return list;
	return list[length] == '\0' ? NULL : list + length + 1;
}

int ri_check_read_demands(struct ri_check_wishes *wishes, enum ri_asker asker,
	struct ri_given option, struct ri_error *err)
{
	static const char *const words[] = {
		"mpi", "ofed", "gpu", "ib", "shm", "azure", "deep", NULL,
	};
	struct ri_asked asked = { .size = NULL };
	const struct reading reading = {
		.wishes = wishes, .option = option, .asked = &asked, .asker = asker,
		.add = add_demand, .words = words,
		.expected = "mpi, ofed, gpu, ib, shm, azure=SIZE, deep or the id of a check",
	};
	const bool adds = option.twin && wishes->stated[asker];
	bool alone;
	const char *list = skip_none(option.value, &alone);

	if (adds && wishes->alone[asker])
		return 0;
	if (list != NULL && read_list(&reading, list, err) < 0)
		return -1;
	/* who asks for the one by its id asks for the other */
	for (size_t i = 0; i < COUNT; i++)
		if (ri_check_set_has(&asked.by_id, i) && strcmp(ids[i], "gpu.health") == 0)
			match("gpu.remap", strlen("gpu.remap"), &asked.by_id);
	if (!adds) {
		wishes->demands.of[asker] = asked;
		wishes->stated[asker] = !option.twin;
		wishes->alone[asker] = alone;
	} else if (!add_rest(&wishes->demands.of[asker], &asked, asker)) {
		return 0;
	}
	if (asker != RI_ASKER_REQUIRE)
		return 0;
	if (adds && wishes->require.value != NULL)
		wishes->require.subject = both[asker];
	else
		wishes->require = list == NULL ? (struct ri_given){ .value = NULL } : option;
	return 0;
}

/* Is there a word of this name, whatever its value? */
static bool names(const char *list, const char *name, size_t length)
{
	for (;; list++) {
		if (strncmp(list, name, length) == 0 && strchr("=,", list[length]) != NULL)
			return true;
		list += strcspn(list, ",");
		if (*list == '\0')
			return false;
	}
}

const char *ri_check_join_demands(const char *variable, const char *stated,
	struct ri_arena *arena)
{
	size_t size, length;
	struct ri_text out;
	char *bytes;
	bool none;

	skip_none(stated, &none);
	if (none || variable == NULL || variable[0] == '\0')
		return stated;
	size = strlen(variable) + strlen(stated) + 2;
	bytes = ri_arena_alloc(arena, size);
	if (bytes == NULL)
		return NULL;
	out = ri_text_of(bytes, size);
	for (;; variable += length + 1) {
		length = strcspn(variable, ",");
		if (!names(stated, variable, strcspn(variable, "=,"))) {
			ri_text_add_bytes(&out, variable, length);
			ri_text_add(&out, ",");
		}
		if (variable[length] == '\0')
			break;
	}
	ri_text_add(&out, stated);
	return bytes;
}

void ri_check_judge_gone(const struct ri_check_wishes *wishes, struct ri_findings *findings)
{
	for (size_t i = 0; i < GONE; i++)
		if (wishes->gone[i] != NULL)
			ri_finding_hint(ri_warn(findings, RI_CODE_CHECK_GONE, wishes->gone[i],
				"%s is no check any more, and nothing is checked for it",
				gone[i].id), "use %s", gone[i].use);
}
