/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/hosts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"

/* A path is relative to where the user stands; of a recorded machine, to its root. */
static const char *find_path(const char *path, const struct ri_host *host, struct ri_arena *arena)
{
	char here[PATH_MAX];

	if (!host->live || path[0] == '/' || getcwd(here, sizeof(here)) == NULL)
		return path;
	return ri_arena_format(arena, "%s/%s", here, path);
}

static int read_file(struct ri_wishes *wishes, const struct ri_context *context,
	struct ri_error *err)
{
	struct ri_arena *arena = context->arena;
	struct ri_host *host = context->host;
	const char *path = find_path(wishes->hostfile.value, host, arena);
	char *text = ri_arena_alloc(arena, RI_MAX_HOSTFILE);

	if (path == NULL || text == NULL)
		return ri_fail(err, RI_CODE_MEMORY, wishes->hostfile.value,
			"no memory left to read it");
	if (ri_host_read(host, path, text, RI_MAX_HOSTFILE) < 0) {
		int saved = errno;

		ri_fail(err, RI_CODE_FILE_UNREADABLE, wishes->hostfile.value, "cannot be read: %s",
			strerror(saved));
		return ri_fail_errno(err, saved);
	}
	wishes->hostfile_text = text;
	return 0;
}

int ri_hosts_prepare(struct ri_wishes *wishes, const struct ri_context *context,
	struct ri_error *err)
{
	const struct ri_given *hosts = &wishes->facts[RI_FACT_HOSTS];

	if (hosts->value != NULL && wishes->hostfile.value != NULL) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, wishes->hostfile.subject,
			"%s gives the hosts, too", hosts->subject);
		return ri_fail_hint(err, "use only one of them");
	}
	return wishes->hostfile.value == NULL ? 0 : read_file(wishes, context, err);
}
