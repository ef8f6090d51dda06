/* SPDX-License-Identifier: Apache-2.0 */
#include "check/wishes.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { WORD = 64 };

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool ri_check_is_family(const char *word)
{
	char all[WORD + 2];
	struct ri_check_set set = { .words = { 0 } };
	int length = snprintf(all, sizeof(all), "%.*s.*", WORD - 1, word);

	return ri_check_match(all, (size_t)length, &set) > 0;
}

/* No check is called so. */
static int unknown_check(struct ri_given option, const char *text, size_t length,
	struct ri_error *err)
{
	char word[WORD], quoted[RI_QUOTE_SIZE];
	const char *fact, *nearest;

	snprintf(word, sizeof(word), "%.*s", (int)length, text);
	ri_fail(err, RI_CODE_OPTION_VALUE, option.subject,
		"%s: expected the id of a check, as shm.size",
		ri_quote(quoted, sizeof(quoted), word));
	if (ri_check_is_family(word))
		return ri_fail_hint(err, "%s.* stands for the whole family", word);
	fact = ri_check_fact(word);
	if (fact != NULL)
		return ri_fail_hint(err, RI_DEMAND_FACT, fact);
	nearest = ri_text_nearest(word, ri_check_ids(), ri_check_count());
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=checks");
}

static const char *const picks[] = {
	[RI_CHECK_PICK_DEFAULT] = "default", [RI_CHECK_PICK_ALL] = "all",
	[RI_CHECK_PICK_NONE] = "none",
};

static bool stands_alone(const char *text, size_t length)
{
	for (unsigned i = 0; i <= RI_CHECK_PICK_NONE; i++)
		if (is_word(text, length, picks[i]))
			return true;
	return false;
}

int ri_check_read_pick(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err)
{
	size_t length;

	wishes->checks = option;
	wishes->picked = (struct ri_check_set){ .words = { 0 } };
	for (unsigned i = 0; i <= RI_CHECK_PICK_NONE; i++) {
		wishes->pick = (enum ri_check_pick)i;
		if (strcmp(option.value, picks[i]) == 0)
			return 0;
	}
	wishes->pick = RI_CHECK_PICK_LIST;
	for (const char *text = option.value;; text += length + 1) {
		length = strcspn(text, ",");
		if (stands_alone(text, length))
			return ri_fail(err, RI_CODE_OPTION_VALUE, option.subject,
				"\"%.*s\": expected alone, not in a list", (int)length, text);
		if (ri_check_match(text, length, &wishes->picked) == 0)
			return unknown_check(option, text, length, err);
		if (text[length] == '\0')
			return 0;
	}
}

static int bad_level(struct ri_given option, const char *text, size_t length,
	struct ri_error *err)
{
	char word[WORD], quoted[RI_QUOTE_SIZE];

	snprintf(word, sizeof(word), "%.*s", (int)length, text);
	return ri_fail(err, RI_CODE_OPTION_VALUE, option.subject,
		"%s: expected ID=LEVEL, with a LEVEL of off, note, warn or fail",
		ri_quote(quoted, sizeof(quoted), word));
}

static bool read_level(const char *text, size_t length, enum ri_check_level *out)
{
	static const char *const words[] = {
		[RI_CHECK_LEVEL_OFF] = "off", [RI_CHECK_LEVEL_NOTE] = "note",
		[RI_CHECK_LEVEL_WARN] = "warn", [RI_CHECK_LEVEL_FAIL] = "fail",
	};

	for (unsigned i = RI_CHECK_LEVEL_OFF; i <= RI_CHECK_LEVEL_FAIL; i++) {
		if (!is_word(text, length, words[i]))
			continue;
		*out = (enum ri_check_level)i;
		return true;
	}
	return false;
}

/* A check that is asked for by its id brings those that are part of it. */
static void ask_for_parts(struct ri_check_wishes *wishes, enum ri_asker asker)
{
	const struct ri_demand demand = wishes->demands.checks[asker];

	for (size_t i = 0; i < ri_check_count(); i++)
		for (size_t part = 0; part < ri_check_count(); part++)
			if ((wishes->demands.by_id[asker][i / 64] >> i % 64 & 1) != 0 &&
				ri_check_has_part(i, part))
				ri_demands_add_check(&wishes->demands, part, demand);
}

/* Who names a check by its id wants it passed; a later level of a pattern may take that back. */
static void ask_for_failing(struct ri_check_wishes *wishes, const struct ri_check_set *named)
{
	const struct ri_demand demand = {
		.subject = wishes->level.subject, .asker = RI_ASKER_LEVEL,
	};

	for (size_t i = 0; i < ri_check_count(); i++)
		if (ri_check_set_has(named, i) && wishes->levels[i] == RI_CHECK_LEVEL_FAIL)
			ri_demands_add_check(&wishes->demands, i, demand);
	ask_for_parts(wishes, RI_ASKER_LEVEL);
}

int ri_check_read_level(struct ri_check_wishes *wishes, struct ri_given option,
	struct ri_error *err)
{
	struct ri_check_set named = { .words = { 0 } };
	size_t length, name;

	wishes->level = option;
	wishes->fails = false;
	memset(wishes->demands.by_id[RI_ASKER_LEVEL], 0,
		sizeof(wishes->demands.by_id[RI_ASKER_LEVEL]));
	memset(wishes->levels, RI_CHECK_LEVEL_OWN, sizeof(wishes->levels));
	for (const char *text = option.value;; text += length + 1) {
		struct ri_check_set set = { .words = { 0 } };
		enum ri_check_level level;

		length = strcspn(text, ",");
		name = strcspn(text, "=,");
		if (name == length || !read_level(text + name + 1, length - name - 1, &level))
			return bad_level(option, text, length, err);
		if (ri_check_match(text, name, &set) == 0)
			return unknown_check(option, text, name, err);
		if (level == RI_CHECK_LEVEL_FAIL)
			wishes->fails = true;
		if (memchr(text, '*', name) == NULL)
			ri_check_match(text, name, &named);
		for (size_t i = 0; i < ri_check_count(); i++)
			if (ri_check_set_has(&set, i))
				wishes->levels[i] = (uint8_t)level;
		if (text[length] == '\0')
			break;
	}
	ask_for_failing(wishes, &named);
	return 0;
}

static bool has_ids(const struct ri_demands *demands, enum ri_asker asker)
{
	for (size_t i = 0; i < RI_MAX_CHECKS / 64; i++)
		if (demands->by_id[asker][i] != 0)
			return true;
	return false;
}

/* Who asks where the command line and the variable both do. */
static const char *const both[RI_ASKER_COUNT] = {
	[RI_ASKER_EXPECT] = "--expect and RANKINIT_EXPECT",
	[RI_ASKER_REQUIRE] = "--require and RANKINIT_REQUIRE",
};

/* Does somebody ask for something by another name than this? */
static bool is_mixed(const struct ri_demands *demands, enum ri_asker asker, const char *subject)
{
	const char *other;

	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		other = demands->topics[asker][topic].subject;
		if (other != NULL && strcmp(other, subject) != 0)
			return true;
	}
	return has_ids(demands, asker) && strcmp(demands->checks[asker].subject, subject) != 0;
}

/* What the command line states, in the place of what the variable says of it. */
static void put_back(struct ri_demands *demands, const struct ri_demands *stated,
	enum ri_asker asker)
{
	bool mixed = has_ids(demands, asker);

	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++)
		if (stated->topics[asker][topic].subject != NULL)
			demands->topics[asker][topic] = stated->topics[asker][topic];
	if (!has_ids(stated, asker))
		return;
	for (size_t i = 0; i < RI_MAX_CHECKS / 64; i++)
		demands->by_id[asker][i] |= stated->by_id[asker][i];
	demands->checks[asker] = stated->checks[asker];
	if (mixed)
		demands->checks[asker].subject = both[asker];
}

int ri_check_read_demands(struct ri_check_wishes *wishes, enum ri_asker asker,
	struct ri_given option, struct ri_error *err)
{
	const struct ri_demands stated = wishes->demands;
	bool adds = option.twin && wishes->stated[asker], alone;
	struct ri_demand_list list = {
		.text = ri_demands_skip_none(option.value, &alone), .subject = option.subject,
		.asker = asker, .ids = ri_check_ids(), .fact_of_check = ri_check_fact,
	};

	if (adds && wishes->alone[asker])
		return 0;
	wishes->stated[asker] = wishes->stated[asker] || !option.twin;
	wishes->alone[asker] = alone;
	memset(wishes->demands.topics[asker], 0, sizeof(wishes->demands.topics[asker]));
	memset(wishes->demands.by_id[asker], 0, sizeof(wishes->demands.by_id[asker]));
	if (list.text != NULL && ri_demands_read(&wishes->demands, &list, err) < 0)
		return -1;
	if (adds)
		put_back(&wishes->demands, &stated, asker);
	if (asker == RI_ASKER_REQUIRE && (!adds || wishes->require.value == NULL))
		wishes->require = list.text == NULL ? (struct ri_given){ .value = NULL } : option;
	if (wishes->require.value != NULL &&
		is_mixed(&wishes->demands, RI_ASKER_REQUIRE, wishes->require.subject))
		wishes->require.subject = both[RI_ASKER_REQUIRE];
	ask_for_parts(wishes, asker);
	return 0;
}

const struct ri_given *ri_check_refuser(const struct ri_check_wishes *wishes)
{
	if (wishes->require.value != NULL)
		return &wishes->require;
	return wishes->fails ? &wishes->level : NULL;
}
