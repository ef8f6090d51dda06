/* SPDX-License-Identifier: Apache-2.0 */
/* A live machine that shows what it was asked for. Include after topology_of.h. */
#ifndef RI_TESTS_WATCHED_H
#define RI_TESTS_WATCHED_H

#include <unistd.h>

struct watched {
	bool file, name, proc;	/* was one opened, was it asked for its name, for its /proc? */
};

static struct watched watched;

static inline int watch_name(char *out, size_t size)
{
	watched.name = true;
	return gethostname(out, size);
}

/* A foreign one: no file of it is opened then. */
static inline enum ri_host_proc watch_proc(void)
{
	watched.proc = true;
	return RI_PROC_FOREIGN;
}

static inline struct watched watch(const struct ri_wishes *wishes, char *const *strings)
{
	struct ri_host machine = {
		.root = -1, .path = "/", .live = true, .ask_name = watch_name,
		.ask_proc = watch_proc,
	};
	struct ri_context with = context;

	give_back(NULL);
	watched = (struct watched){ .file = false };
	with.host = &machine;
	with.wishes = wishes == NULL ? &no_wishes : wishes;
	assert_int_equal(ri_env_init(&env, strings, &arena, &err), 0);
	ri_topology_read(&topology, &with, &err);
	watched.file = machine.root >= 0;
	if (watched.file)
		close(machine.root);
	return watched;
}

#endif
