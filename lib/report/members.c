/* SPDX-License-Identifier: Apache-2.0 */
#include "report/blame.h"
#include "report/members.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "base/number.h"
#include "words/loss.h"

enum {
	WORD = 256,		/* bytes of a name or a value */
	SENTENCE = 1024,
	YEARS_MOST = 9999,
};

const char ri_report_schema[] = "rankinit-report-1";

#define LAST_RANK (RI_MAX_RANKS - 1)

/* TABLE: the members of each part, in their order; docs/report.schema.json says what they are. */
#define ROW(part, name, type, most) \
	{ #name, RI_MEMBER_##type, offsetof(struct ri_report_##part, name), most }

const struct ri_report_member ri_report_file[] = {
	ROW(file, schema, TEXT, WORD),
	ROW(file, version, TEXT, 0),
	ROW(file, exit_status, NUMBER, 255),
	ROW(file, launch, TEXT, 0),
	ROW(file, host, TEXT, WORD),
	ROW(file, started, TIME, 0),
	ROW(file, ended, TIME, 0),
	ROW(file, topology, JSON, 0),
	ROW(file, ranks, JSON, 0),
	ROW(file, first_failure, JSON, 0),
	ROW(file, verdict, JSON, 0),
	ROW(file, refusal, JSON, 0),
	ROW(file, job_verdict, TEXT, SENTENCE),
	ROW(file, stop, JSON, 0),
	ROW(file, facts, JSON, 0),
	ROW(file, roll_call, TEXT, 0),
	ROW(file, roll_call_unproved, TEXT, 0),
	ROW(file, clock, JSON, 0),
	ROW(file, restarts, JSON, 0),
	ROW(file, autopsy, JSON, 0),
	ROW(file, job_autopsy, JSON, 0),
	ROW(file, job_verdict_node, NUMBER, LAST_RANK),
	ROW(file, check, JSON, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_rank[] = {
	ROW(rank, rank, NUMBER, LAST_RANK),
	ROW(rank, local_rank, NUMBER, LAST_RANK),
	ROW(rank, pid, NUMBER, INT64_MAX),
	ROW(rank, state, STATE, 0),
	ROW(rank, exit_code, NUMBER, 255),
	ROW(rank, signal, TEXT, 0),
	ROW(rank, told, BOOL, 0),
	ROW(rank, word_of, TEXT, 0),
	ROW(rank, class, CLASS, 0),
	ROW(rank, lost, LOST, 0),
	ROW(rank, work, JSON, 0),
	ROW(rank, started, TIME, 0),
	ROW(rank, ended, TIME, 0),
	ROW(rank, log, TEXT, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_failure[] = {
	ROW(failure, rank, NUMBER, LAST_RANK),
	ROW(failure, local_rank, NUMBER, LAST_RANK),
	ROW(failure, class, CLASS, 0),
	ROW(failure, elsewhere, BOOL, 0),
	ROW(failure, node, TEXT, 0),
	ROW(failure, kind, TEXT, WORD),
	ROW(failure, exit_code, NUMBER, 255),
	ROW(failure, signal, TEXT, 24),
	ROW(failure, at, TIME, 0),
	ROW(failure, cause, JSON, 0),
	ROW(failure, reason, JSON, 0),
	ROW(failure, traceback, JSON, 0),
	ROW(failure, last_lines, JSON, 0),
	ROW(failure, torch_error, JSON, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_cause[] = {
	ROW(cause, code, TEXT, 0),
	ROW(cause, subject, TEXT, 255),
	ROW(cause, text, TEXT, 500),
	ROW(cause, hint, TEXT, 255),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_verdict[] = {
	ROW(verdict, cause, TEXT, WORD),
	ROW(verdict, class, CLASS, 0),
	ROW(verdict, retry, TEXT, WORD),
	ROW(verdict, rank, NUMBER, LAST_RANK),
	ROW(verdict, node, NUMBER, LAST_RANK),
	ROW(verdict, host, TEXT, 0),
	ROW(verdict, status, NUMBER, 255),
	ROW(verdict, retries, NUMBER, INT64_MAX),
	ROW(verdict, failed_before, JSON, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_stop[] = {
	ROW(stop, signal, TEXT, 0),
	ROW(stop, at, TIME, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_clock[] = {
	ROW(clock, ahead_s, REAL, 0),
	ROW(clock, error_s, REAL, 0),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_restart[] = {
	ROW(restart, number, NUMBER, INT64_MAX),
	ROW(restart, most, NUMBER, INT64_MAX),
	ROW(restart, at, TIME, 0),
	ROW(restart, rank, JSON, 0),
	ROW(restart, exception, TEXT, 255),
	ROW(restart, verdict, JSON, 0),
	ROW(restart, job_verdict, TEXT, SENTENCE),
	{ .type = RI_MEMBER_END },
};

const struct ri_report_member ri_report_found[] = {
	ROW(found, at, TIME, 0),
	ROW(found, rank, NUMBER, LAST_RANK),
	ROW(found, node, NUMBER, LAST_RANK),
	ROW(found, text, TEXT, SENTENCE),
	{ .type = RI_MEMBER_END },
};

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
	return type == RI_MEMBER_CLASS ? ri_class_name((enum ri_class)value)
		: ri_loss_kind_name((enum ri_loss_kind)value);
}

static json_t *string(struct ri_json *json, const char *text, const char *name)
{
	return text == NULL ? json_null() : ri_json_string(json, text, name);
}

static json_t *write_one(struct ri_json *json, const struct ri_report_member *member,
	const void *field)
{
	const int64_t *number = field;

	switch (member->type) {
	case RI_MEMBER_NUMBER:
		return *number < 0 ? json_null() : json_integer((json_int_t)*number);
	case RI_MEMBER_REAL:
		return json_real(*(const double *)field);
	case RI_MEMBER_TEXT:
		return string(json, *(const char *const *)field, member->name);
	case RI_MEMBER_BOOL:
		return json_boolean(*(const bool *)field);
	case RI_MEMBER_TIME:
		return ri_time_json(ri_time_of(*number));
	case RI_MEMBER_CLASS:
	case RI_MEMBER_STATE:
	case RI_MEMBER_LOST:
		return string(json, word_of(member->type, *(const int *)field), member->name);
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
