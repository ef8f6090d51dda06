/* SPDX-License-Identifier: Apache-2.0 */
#include "say/node_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "node/nvidia.h"
#include "node/sysfile.h"
#include "redact/words.h"

enum {
	NAME_MOST = 64,
	VALUE_SIZE = 256,
	TEXT_SIZE = 4096,
	NAMES_SIZE = 16384,
	MTU_MOST = 32,		/* interfaces: a host's own network may have hundreds */
};

#define NET "sys/class/net"

static const char nccl[] = "NCCL_";

/*
 * What names the image: the runtime sets the path or the bundle (apptainer.org, "Environment and
 * Metadata"; slurm.schedmd.com, srun, OUTPUT ENVIRONMENT VARIABLES), and NVIDIA's images have the
 * number of their build (nvidia_entrypoint.sh prints it).
 */
static const char *const images[] = {
	"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "SLURM_CONTAINER", "NVIDIA_BUILD_ID",
};

/* NAME=value: the value may be secret by the name, or by its form, as a password in an URL is. */
static void add(struct ri_node_facts *facts, const char *name, const char *value,
	struct ri_arena *arena)
{
	struct ri_node_fact *fact = &facts->items[facts->count];
	char word[NAME_MOST + 2 * VALUE_SIZE];
	struct ri_text text;
	const char *end;

	if (facts->count == RI_NODE_FACTS || value == NULL || value[0] == '\0' ||
		strlen(name) > NAME_MOST)
		return;
	ri_text_init(&text, word, sizeof(word));
	ri_text_addf(&text, "%s=", name);
	ri_text_add_bytes(&text, value, strnlen(value, VALUE_SIZE - 1));
	ri_redact_word_in_place(word, sizeof(word));
	end = word + strlen(name) + 1;
	fact->name = ri_arena_copy(arena, name, strlen(name));
	fact->value = strncmp(word, name, strlen(name)) != 0 || end[-1] != '=' ? NULL
		: ri_arena_copy(arena, end, strlen(end));
	facts->count += fact->name != NULL && fact->value != NULL;
}

static void add_machine(struct ri_node_facts *facts, struct ri_host *host, struct ri_arena *arena)
{
	struct utsname names;
	struct ri_nvidia nvidia = { .driver = false };
	char text[TEXT_SIZE];

	if (uname(&names) == 0)
		add(facts, "kernel", names.release, arena);
	/* kernel documentation, admin-guide/sysctl/kernel.rst, random: a new one at each boot */
	if (ri_sysfile_line(host, "proc/sys/kernel/random/boot_id", text, sizeof(text)))
		add(facts, "boot", text, arena);
	if (ri_host_read(host, "proc/driver/nvidia/version", text, sizeof(text)) > 0 &&
		ri_nvidia_version(text, &nvidia))
		add(facts, "nvidia_driver", nvidia.version, arena);
}

/* Kernel documentation, ABI/testing/sysfs-class-net. No more is read: some of it asks a driver. */
static void add_interface(struct ri_node_facts *facts, struct ri_host *host, const char *interface,
	struct ri_arena *arena)
{
	enum { LOOPBACK = 772 };	/* ARPHRD_LOOPBACK, linux/if_arp.h */
	char path[NAME_MOST + 32], name[NAME_MOST + 8];
	uint64_t type = LOOPBACK, mtu = 0;

	if (strlen(interface) > NAME_MOST - 4)
		return;
	snprintf(path, sizeof(path), NET "/%.*s/type", NAME_MOST, interface);
	ri_sysfile_number(host, path, &type);
	snprintf(path, sizeof(path), NET "/%.*s/mtu", NAME_MOST, interface);
	ri_sysfile_number(host, path, &mtu);
	if (type == LOOPBACK || mtu == 0)
		return;
	snprintf(name, sizeof(name), "mtu_%.*s", NAME_MOST, interface);
	add(facts, name, ri_arena_number(arena, mtu), arena);
}

static void add_interfaces(struct ri_node_facts *facts, struct ri_host *host,
	struct ri_arena *arena)
{
	char names[NAMES_SIZE];
	const char *name = names;
	long left = ri_host_list(host, NET, names, sizeof(names));

	for (long i = 0; i < left && i < MTU_MOST; i++, name += strlen(name) + 1)
		add_interface(facts, host, name, arena);
}

static void add_nccl(struct ri_node_facts *facts, const struct ri_env *env,
	const struct ri_env_edits *edits, struct ri_arena *arena)
{
	for (size_t i = 0; i < env->count; i++) {
		const struct ri_env_entry *entry = &env->entries[i];
		const char *value = ri_env_entry_value(entry);
		char name[NAME_MOST + 1];

		if (value == NULL || strncmp(entry->text, nccl, sizeof(nccl) - 1) != 0 ||
			entry->name_length > NAME_MOST)
			continue;
		memcpy(name, entry->text, entry->name_length);
		name[entry->name_length] = '\0';
		if (ri_env_edits_find(edits, name) == NULL && ri_env_find(env, name) == entry)
			add(facts, name, value, arena);
	}
	for (size_t i = 0; i < edits->count; i++) {
		const struct ri_env_edit *edit = &edits->items[i];

		if (edit->value != NULL && strncmp(edit->name, nccl, sizeof(nccl) - 1) == 0 &&
			ri_env_edits_find(edits, edit->name) == edit)
			add(facts, edit->name, edit->value, arena);
	}
}

void ri_node_facts_find(struct ri_node_facts *out, struct ri_host *host,
	const struct ri_env *env, const struct ri_env_edits *edits, struct ri_arena *arena)
{
	out->count = 0;
	add_machine(out, host, arena);
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
		const char *value = ri_env_get(env, images[i]);

		if (value == NULL || value[0] == '\0')
			continue;
		add(out, "image", value, arena);
		break;
	}
	add_interfaces(out, host, arena);
	add_nccl(out, env, edits, arena);
}
