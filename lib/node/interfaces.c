/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CLASS "sys/class/net"
#define BLANKS " \t\r"

enum {
	NAMES_SIZE = 16384,
	NAME_SIZE = 16,		/* IFNAMSIZ, linux/if.h */
	PATH_SIZE = 64,
	TYPE_LOOPBACK = 772,	/* ARPHRD_LOOPBACK, linux/if_arp.h */
};

bool ri_interfaces_find(struct ri_interfaces *out, struct ri_host *host, struct ri_arena *arena)
{
	char names[NAMES_SIZE], path[PATH_SIZE], line[32];
	long left = ri_host_list(host, CLASS, names, sizeof(names));

	*out = (struct ri_interfaces){ .count = 0 };
	if (left < 0)
		return false;
	left = left > RI_MAX_INTERFACES ? RI_MAX_INTERFACES : left;
	out->list = ri_arena_array(arena, (size_t)left, sizeof(*out->list));
	if (out->list == NULL)
		return false;
	for (const char *name = names; left > 0; left--, name += strlen(name) + 1) {
		struct ri_interface interface;
		size_t at = out->count;
		uint64_t type = 0;

		/* the folder of bonding holds a plain file too */
		snprintf(path, sizeof(path), CLASS "/%.*s/type", NAME_SIZE, name);
		if (strlen(name) >= NAME_SIZE || !ri_sysfile_number(host, path, &type))
			continue;
		snprintf(path, sizeof(path), CLASS "/%.*s/operstate", NAME_SIZE, name);
		ri_sysfile_line(host, path, line, sizeof(line));
		interface = (struct ri_interface){
			.name = ri_arena_copy(arena, name, strlen(name)),
			.loopback = type == TYPE_LOOPBACK,
			/* RFC 2863 states; lo and drivers that do not tell have "unknown" */
			.down = strcmp(line, "down") == 0 || strcmp(line, "lowerlayerdown") == 0 ||
				strcmp(line, "notpresent") == 0,
		};
		if (interface.name == NULL)
			return false;
		for (; at > 0 && strcmp(interface.name, out->list[at - 1].name) < 0; at--)
			out->list[at] = out->list[at - 1];
		out->list[at] = interface;
		out->count++;
	}
	return true;
}

bool ri_hostname_read(struct ri_host *host, char *name, size_t size)
{
	/* proc(5): "(none)" until a program sets one */
	if (ri_sysfile_line(host, "proc/sys/kernel/hostname", name, size) &&
		strcmp(name, "(none)") != 0)
		return true;
	name[0] = '\0';
	return false;
}

bool ri_hosts_find(const char *text, const char *name, char *address, size_t size)
{
	const size_t wanted = strlen(name);

	for (; *text != '\0'; text += *text == '\n') {
		const char *start = text + strspn(text, BLANKS), *word = start;
		size_t first = strcspn(start, BLANKS "\n#"), length = first;

		/* the names behind the address, up to a remark */
		while (length > 0 && first < size) {
			word += length + strspn(word + length, BLANKS);
			length = strcspn(word, BLANKS "\n#");
			if (length == 0 || length != wanted ||
				strncasecmp(word, name, length) != 0)
				continue;
			memcpy(address, start, first);
			address[first] = '\0';
			return true;
		}
		text += strcspn(text, "\n");
	}
	return false;
}

bool ri_choice_takes(const char *list, enum ri_choice_kind kind, const char *name)
{
	/* NCCL src/misc/socket.cc: '^' first, then '=' */
	const bool nccl = kind == RI_CHOICE_NCCL, excludes = nccl && *list == '^';
	const bool exact = !nccl || list[excludes] == '=';
	bool any = false, found = false;

	list += excludes + (nccl && exact);
	for (list += strspn(list, ", "); *list != '\0'; list += strspn(list, ", ")) {
		size_t length = strcspn(list, ":, ");

		any = true;
		found |= strncmp(list, name, length) == 0 && (!exact || name[length] == '\0');
		list += strcspn(list, ", ");
	}
	return any ? found != excludes : !excludes;
}
