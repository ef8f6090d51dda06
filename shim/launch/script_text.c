/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/script_text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pages.h"
#include "system/apart.h"

enum {
	SCRIPT = 65536,		/* bytes of one that are read */
	SCRIPT_MS = 500,
	MODULE = 1024,		/* bytes of the name of one */
};

struct script {
	const char *path;
	bool is_module;		/* path is a module's name */
	bool (*holds)(struct ri_span text);
	char *text;		/* as long as it is read */
	bool found;
};

static void read_script(struct script *script, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat info;
	ssize_t length = -1;

	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		length = read(fd, script->text, SCRIPT);
	close(fd);
	script->found = script->found || (length > 2 &&
		script->holds((struct ri_span){ script->text, (size_t)length }));
}

/* "pkg.train", which Python looks for in this folder first. */
static void read_module(struct script *script, const char *name)
{
	static const char *const ends[] = { ".py", "/__main__.py" };
	char path[PATH_MAX];
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && length < MODULE; i++) {
		snprintf(path, sizeof(path), "%s%s", name, ends[i]);
		for (size_t at = 0; at < length; at++)
			if (path[at] == '.')
				path[at] = '/';
		read_script(script, path);
	}
}

static int look_in(void *argument)
{
	struct script *script = argument;

	if (script->is_module)
		read_module(script, script->path);
	else
		read_script(script, script->path);
	return 0;
}

static bool script_holds(struct script script)
{
	const struct ri_apart reading = {
		.work = look_in, .argument = &script, .subject = "COMMAND", .path = script.path,
		.most_ms = SCRIPT_MS,
	};

	script.text = ri_pages(SCRIPT);
	return script.text != NULL && ri_apart(&reading) == 0 && script.found;
}

bool ri_script_holds(const char *path, bool (*holds)(struct ri_span text))
{
	return script_holds((struct script){ .path = path, .holds = holds });
}

bool ri_module_holds(const char *name, bool (*holds)(struct ri_span text))
{
	return script_holds((struct script){ .path = name, .is_module = true, .holds = holds });
}
