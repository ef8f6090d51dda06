/* SPDX-License-Identifier: Apache-2.0 */
#include "to/network.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum { NAME_MAX_LENGTH = 15 };	/* IFNAMSIZ (Linux include/uapi/linux/if.h) */

bool ri_network_is_loopback(const char *list)
{
	bool found = false;

	for (; *list != '\0'; list += *list == ',') {
		size_t length = strcspn(list, ",");

		if (length != 2 || memcmp(list, "lo", 2) != 0)
			return false;
		found = true;
		list += length;
	}
	return found;
}

static bool exists(struct ri_host *host, const char *name, size_t length)
{
	char path[sizeof("/sys/class/net/") + NAME_MAX_LENGTH];

	if (length == 0 || length > NAME_MAX_LENGTH || memchr(name, '/', length) != NULL ||
		name[0] == '.')
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s", (int)length, name);
	return ri_host_has(host, path);
}

static void warn_absent(struct ri_writing *writing, const char *variable, struct ri_text *name)
{
	char quoted[RI_QUOTE_SIZE];

	ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING, RI_CODE_NETWORK_VALUE,
		variable, "this machine has no interface %s",
		ri_quote(quoted, sizeof(quoted), name->bytes));
}

void ri_network_judge_names(struct ri_writing *writing, const char *variable, const char *list)
{
	struct ri_host *host = writing->context->host;
	char bytes[RI_QUOTE_SIZE];
	struct ri_text name;

	/* Every network namespace has its own: where it is missing /sys shows nothing. */
	if (host == NULL || !exists(host, "lo", 2))
		return;
	for (; *list != '\0'; list += *list == ',') {
		size_t length = strcspn(list, ",");

		if (!exists(host, list, length)) {
			ri_text_init(&name, bytes, sizeof(bytes));
			ri_text_addf(&name, "%.*s", (int)length, list);
			warn_absent(writing, variable, &name);
			return;
		}
		list += length;
	}
}

struct ri_finding *ri_network_warn(struct ri_writing *writing, const char *variable,
	const char *what)
{
	char quoted[RI_QUOTE_SIZE];

	return ri_findings_add(writing->context->findings, RI_SEVERITY_WARNING,
		RI_CODE_NETWORK_VALUE, variable, "%s %s",
		ri_quote(quoted, sizeof(quoted), ri_env_get(writing->context->env, variable)),
		what);
}
