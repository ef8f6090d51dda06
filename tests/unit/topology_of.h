/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One environment of literals through the library, for the tests of from,
 * model and to. Include after cmocka.h.
 */
#ifndef RI_TESTS_TOPOLOGY_OF_H
#define RI_TESTS_TOPOLOGY_OF_H

#include <string.h>

#include "edits_of.h"
#include "stages_of.h"

/* A list as execve(2) passes it, out of literals. */
#define LIST(...) ((char *const *)(uintptr_t)(const char *const[]){ __VA_ARGS__, NULL })

/* The tuple of rank 13 of 16, in the guides' form: 2 nodes of 8. */
#define RANK_13 \
	"OMPI_COMM_WORLD_RANK=13", "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_RANK=5", \
		"OMPI_COMM_WORLD_LOCAL_SIZE=8"

static struct ri_arena arena;
static struct ri_env env;
static struct ri_findings findings;
static struct ri_error err;
static struct ri_topology topology;
static const struct ri_context context = {
	.env = &env, .arena = &arena, .findings = &findings, .wishes = &no_wishes,
	.command = &no_command,
};

static inline int give_back(void **state)
{
	(void)state;
	ri_arena_release(&arena);
	findings = (struct ri_findings){ .count = 0 };
	err = (struct ri_error)RI_ERROR_INIT;
	topology = (struct ri_topology){ .identity = NULL };
	return 0;
}

static inline int read_topology(char *const *strings)
{
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	return ri_topology_read(&topology, &context, &err);
}

static inline void take(char *const *strings)
{
	if (read_topology(strings) < 0)
		fail_msg("[%s] %s: %s", ri_code_name(err.code), err.subject, err.text);
}

static inline void assert_refused(char *const *strings, enum ri_code code, const char *subject)
{
	assert_int_equal(read_topology(strings), -1);
	assert_string_equal(ri_code_name(err.code), ri_code_name(code));
	assert_string_equal(err.subject, subject);
}

static inline void assert_number(enum ri_fact_id id, uint64_t expected)
{
	uint64_t value;

	assert_true(ri_topology_get(&topology, id, &value));
	assert_int_equal(value, expected);
}

static inline void assert_unknown(enum ri_fact_id id)
{
	assert_false(ri_topology_knows(&topology, id));
}

static inline const struct ri_error *find_finding(enum ri_code code)
{
	for (size_t i = 0; i < findings.count; i++)
		if (findings.items[i].code == code)
			return &findings.items[i];
	return NULL;
}

static inline void assert_found(enum ri_code code, const char *subject)
{
	const struct ri_error *finding = find_finding(code);

	assert_non_null(finding);
	assert_string_equal(finding->subject, subject);
}

#endif
