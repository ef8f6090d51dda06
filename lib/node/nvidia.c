/* SPDX-License-Identifier: Apache-2.0 */
#include "node/nvidia.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "node/sysfile.h"

enum { TEXT_SIZE = 4096 };

/* Digits and dots that begin a word: "580.95.05"; 0 where it is no version. */
static size_t version_length(const char *word)
{
	size_t length = strspn(word, "0123456789.");
	bool dot = memchr(word, '.', length) != NULL;

	return dot && strspn(word, "0123456789") > 0 && word[length - 1] != '.' &&
		strchr(" \t\n", word[length]) != NULL ? length : 0;
}

/*
 * NVIDIA's open kernel modules, kernel-open/nvidia/nv-procfs.c, "NVRM version:
 * NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...";
 * the closed ones write "NVIDIA UNIX x86_64 Kernel Module  535.161.08 ...".
 */
bool ri_nvidia_version(const char *text, struct ri_nvidia *out)
{
	const char *line = strstr(text, "NVRM version:");
	const char *word = line == NULL ? NULL : strstr(line, "Kernel Module");
	const char *end = line == NULL ? NULL : line + strcspn(line, "\n");

	while (word != NULL && word < end) {
		size_t length;

		word += strcspn(word, " \t\n");
		word += strspn(word, " \t");
		length = version_length(word);
		if (word < end && length > 0 && length < sizeof(out->version)) {
			const char *open = strstr(line, " Open ");

			memcpy(out->version, word, length);
			out->version[length] = '\0';
			out->open = open != NULL && open < word;
			return true;
		}
		if (*word == '\n' || *word == '\0')
			break;
	}
	return false;
}

void ri_nvidia_read(struct ri_nvidia *out, struct ri_host *host)
{
	char text[TEXT_SIZE];

	*out = (struct ri_nvidia){ .driver = ri_host_has(host, "proc/driver/nvidia") };
	out->control = ri_host_node(host, "dev/nvidiactl", NULL);
	/* a launch looks for it on every machine: what goes with it is not there without it */
	if (!out->driver && out->control == ENOENT)
		return;
	if (ri_host_read(host, "proc/driver/nvidia/version", text, sizeof(text)) > 0)
		ri_nvidia_version(text, out);
	out->memory = ri_host_has(host, "dev/nvidia-uvm");
}

void ri_peer_memory_read(struct ri_peer_memory *out, const struct ri_nvidia *nvidia,
	struct ri_host *host)
{
	/* NCCL src/transport/net_ib/gdr.cc, and UCX src/uct/ib/base/ib_md.c: where they look */
	static const char *const paths[] = {
		"/sys/module/nvidia_peermem/version", "/sys/kernel/mm/memory_peers/nv_mem/version",
		"/sys/kernel/mm/memory_peers/nv_mem_nc/version",
		"/sys/kernel/mm/memory_peers/nvidia-peermem/version", "/sys/module/nv_peer_mem",
		"/sys/module/nvidia_peermem",
	};

	char release[128];
	uint64_t major, minor;
	size_t digits;

	*out = (struct ri_peer_memory){ .path = NULL };
	ri_sysfile_line(host, "proc/sys/kernel/osrelease", release, sizeof(release));
	digits = ri_digits_read(release, &major);
	if (nvidia->open && digits > 0 && release[digits] == '.' &&
		ri_digits_read(release + digits + 1, &minor) > 0)
		out->dmabuf = major > 5 || (major == 5 && minor >= 12);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && out->path == NULL; i++)
		if (ri_host_has(host, paths[i]))
			out->path = paths[i];
}
