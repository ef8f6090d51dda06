/* SPDX-License-Identifier: Apache-2.0 */
#include "report/culprit.h"
#include "report/members.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "words/words.h"

enum {
	RI_MEMBER_WORD = 256,	/* bytes of a name or a value */
	RI_MEMBER_SENTENCE = 1024,
	YEARS_MOST = 9999,
};

const char ri_report_schema[] = "rankinit-report-1";

/* The table of each part ends with RI_MEMBER_END. */
#define RI_PART(part) const struct ri_report_member ri_report_##part[] = {
#define RI_MEMBER(part, name, type, most) \
	{ #name, RI_MEMBER_##type, offsetof(struct ri_report_##part, name), most },
#define RI_PART_END { .type = RI_MEMBER_END } };
#include "report/members.def"
#undef RI_PART
#undef RI_MEMBER
#undef RI_PART_END

/* The word for a value of a type that has words; NULL: it has none, which is null. */
static const char *word_of(enum ri_member_type type, int value)
{
	static const char *const states[] = {
		[RI_END_NOT_STARTED] = "not-started", [RI_END_RUNNING] = "running",
		[RI_END_EXITED] = "exited", [RI_END_SIGNALED] = "signaled",
		[RI_END_EXEC_FAILED] = "exec-failed",
	};

	if (type == RI_MEMBER_STATE)
		return states[value];
	return type == RI_MEMBER_CLASS ? ri_class_words[value]
		: ri_loss_words[value];
}

static json_t *write_one(struct ri_json *json, const struct ri_report_member *member,
	const void *field)
{
	const int64_t *number = field;

	switch (member->type) {
	case RI_MEMBER_NUMBER:
		return ri_json_number(*number);
	case RI_MEMBER_REAL:
		return json_real(*(const double *)field);
	case RI_MEMBER_TEXT:
		return ri_json_string(json, *(const char *const *)field, member->name);
	case RI_MEMBER_BOOL:
		return json_boolean(*(const bool *)field);
	case RI_MEMBER_TIME:
		return ri_time_json(ri_time_of(*number));
	case RI_MEMBER_CLASS:
	case RI_MEMBER_STATE:
	case RI_MEMBER_LOST:
		return ri_json_string(json, word_of(member->type, *(const int *)field),
			member->name);
	case RI_MEMBER_JSON:
		return *(json_t *const *)field;
	case RI_MEMBER_END:
		break;
	}
	return NULL;
}

json_t *ri_members_write(struct ri_json *json, const struct ri_report_member *members,
	const void *from)
{
	json_t *object = json_object();

	for (; members->type != RI_MEMBER_END; members++)
		ri_json_put(json, object, members->name,
			write_one(json, members, (const char *)from + members->at));
	return object;
}

int64_t ri_member_number(const json_t *value, int64_t most)
{
	json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;

	return number < 0 || number > most ? -1 : (int64_t)number;
}

size_t ri_member_cut(const char *text, size_t most)
{
	size_t length = strlen(text);

	if (length > most)
		for (length = most; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	return length;
}

static void read_one(const struct ri_report_member *member, json_t *value, void *field,
	struct ri_arena *arena)
{
	enum { VALUES = 5 };	/* of each of the types that have words */
	const char *text = json_string_value(value), *word;

	switch (member->type) {
	case RI_MEMBER_NUMBER:
		*(int64_t *)field = ri_member_number(value, member->most);
		break;
	case RI_MEMBER_REAL:
		*(double *)field = json_is_number(value) ? json_number_value(value) : (double)NAN;
		break;
	case RI_MEMBER_TEXT:
		*(const char **)field = text == NULL || member->most == 0 ? NULL
			: ri_arena_copy(arena, text, ri_member_cut(text, (size_t)member->most));
		break;
	case RI_MEMBER_BOOL:
		*(bool *)field = json_is_true(value);
		break;
	case RI_MEMBER_TIME:
		*(int64_t *)field = text == NULL ? 0 : ri_time_parse(text);
		break;
	case RI_MEMBER_CLASS:
	case RI_MEMBER_STATE:
	case RI_MEMBER_LOST:
		/* null, or the first, for a word that is none of them */
		*(int *)field = 0;
		for (int one = 0; text != NULL && one < VALUES; one++) {
			word = word_of(member->type, one);
			if (word != NULL && strcmp(word, text) == 0)
				*(int *)field = one;
		}
		break;
	case RI_MEMBER_JSON:
		*(json_t **)field = value;
		break;
	case RI_MEMBER_END:
		break;
	}
}

void ri_members_read(const struct ri_report_member *members, const json_t *object, void *out,
	struct ri_arena *arena)
{
	for (; members->type != RI_MEMBER_END; members++)
		read_one(members, json_object_get(object, members->name),
			(char *)out + members->at, arena);
}

/* One digit group of so many digits, and what stands behind it; -1: it is none. */
static int64_t read_part(const char **text, size_t digits, char end)
{
	uint64_t value = 0;
	size_t got = ri_digits_read(*text, &value);

	if (got != digits || (*text)[got] != end)
		return -1;
	*text += got + 1;
	return (int64_t)value;
}

int64_t ri_time_parse(const char *text)
{
	int64_t year = read_part(&text, 4, '-'), month, day, hour, minute, second, part;
	struct tm time;

	if (year < 1970 || year > YEARS_MOST)
		return 0;
	month = read_part(&text, 2, '-');
	day = month < 1 || month > 12 ? -1 : read_part(&text, 2, 'T');
	hour = day < 1 || day > 31 ? -1 : read_part(&text, 2, ':');
	minute = hour < 0 || hour > 23 ? -1 : read_part(&text, 2, ':');
	second = minute < 0 || minute > 59 ? -1 : read_part(&text, 2, '.');
	part = second < 0 || second > 60 ? -1 : read_part(&text, 3, 'Z');
	if (part < 0 || *text != '\0')
		return 0;
	time = (struct tm){
		.tm_year = (int)year - 1900, .tm_mon = (int)month - 1, .tm_mday = (int)day,
		.tm_hour = (int)hour, .tm_min = (int)minute, .tm_sec = (int)second,
	};
	return (int64_t)timegm(&time) * 1000000 + part * 1000;
}
