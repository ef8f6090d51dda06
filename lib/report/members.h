/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a report as they stand in the file. --report fills these structs in, and --blame
 * reads them back; members.def is the table of both.
 *
 * A number below 0, a text of NULL, a time of 0 and a class of RI_CLASS_NONE are null. A time is
 * in microseconds since 1970. A json_t is a part that has a form of its own: for the writer, which
 * takes it over, and for a reader part of what it reads.
 */
#ifndef RI_REPORT_MEMBERS_H
#define RI_REPORT_MEMBERS_H

#include <stdbool.h>
#include <time.h>

#include <jansson.h>

#include "base/arena.h"
#include "model/json.h"

/* struct ri_report_file, struct ri_report_rank, ...: a field for each row. */
#define RI_MEMBER_AS_NUMBER int64_t
#define RI_MEMBER_AS_REAL double	/* not a number: null */
#define RI_MEMBER_AS_TEXT const char *
#define RI_MEMBER_AS_BOOL bool
#define RI_MEMBER_AS_TIME int64_t
#define RI_MEMBER_AS_CLASS int	/* enum ri_class */
#define RI_MEMBER_AS_STATE int	/* enum ri_rank_end */
#define RI_MEMBER_AS_LOST int	/* enum ri_loss_kind; RI_LOSS_OWN is null */
#define RI_MEMBER_AS_JSON json_t *

#define RI_PART(part) struct ri_report_##part {
#define RI_MEMBER(part, name, type, most) RI_MEMBER_AS_##type name;
#define RI_PART_END };
#include "report/members.def"
#undef RI_PART
#undef RI_MEMBER
#undef RI_PART_END

extern const char ri_report_schema[];	/* "rankinit-report-1" */

enum ri_member_type {
	RI_MEMBER_END,
	RI_MEMBER_NUMBER,
	RI_MEMBER_REAL,
	RI_MEMBER_TEXT,
	RI_MEMBER_BOOL,
	RI_MEMBER_TIME,
	RI_MEMBER_CLASS,
	RI_MEMBER_STATE,
	RI_MEMBER_LOST,
	RI_MEMBER_JSON,
};

struct ri_report_member {
	const char *name;
	enum ri_member_type type;
	size_t at;		/* its offset in the struct */
	int64_t most;
};

/* Each ends with RI_MEMBER_END. */
extern const struct ri_report_member ri_report_file[], ri_report_rank[], ri_report_failure[],
	ri_report_cause[], ri_report_verdict[], ri_report_stop[], ri_report_clock[],
	ri_report_restart[], ri_report_found[];

/* The struct, of which the members tell, as an object, which is the caller's. */
json_t *ri_members_write(struct ri_json *json, const struct ri_report_member *members,
	const void *from);

/*
 * Fill in the struct; what the object does not have, or has as another type, is null. Texts are
 * cut between characters and live in the arena; parts are borrowed from the object.
 */
void ri_members_read(const struct ri_report_member *members, const json_t *object, void *out,
	struct ri_arena *arena);

/* A whole number from 0 to most, or -1. */
int64_t ri_member_number(const json_t *value, int64_t most);

/* How many bytes of the text are whole characters and at most so many. */
size_t ri_member_cut(const char *text, size_t most);

/* Microseconds of "2026-01-31T12:00:00.123Z", or 0 where it is no such time. */
int64_t ri_time_parse(const char *text);

static inline int64_t ri_time_us(struct timespec at)
{
	return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

/* The other way round. */
static inline struct timespec ri_time_of(int64_t at)
{
	return (struct timespec){
		.tv_sec = (time_t)(at / 1000000), .tv_nsec = (long)(at % 1000000 * 1000),
	};
}

#endif
