/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of container this is: mostly notes that explain other results. */
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "check/machine.h"
#include "node/sysfile.h"

static void check_pid1(struct ri_checking *checking)
{
	/* in a child of rankinit's */
	if (!checking->host->live)
		ri_check_skip(checking, "PID 1", "a recorded machine has no processes");
	else if (getppid() == 1)
		ri_check_pass(checking, "PID 1", "is rankinit");
	else
		ri_check_pass(checking, "PID 1",
			"is another program: rankinit adopts the orphans of the command");
}

const struct ri_check ri_check_env_pid1 = {
	.id = "env.pid1",
	.summary = "which program is PID 1 here",
	.reads = "the pid of rankinit",
	.fails = "never",
	.advice = "nothing: rankinit does its work as PID 1 and under another one",
	.run = check_pid1,
};

static const char entry[] = "/opt/nvidia/nvidia_entrypoint.sh";
static const char entry_hint[] =
	"inside the image: ENTRYPOINT [\"rankinit\", \"--\", "
	"\"/opt/nvidia/nvidia_entrypoint.sh\"], so that it still runs and sets LD_LIBRARY_PATH";

static void check_nv_entrypoint(struct ri_checking *checking)
{
	/* what its part for compatibility leaves in the environment (NVIDIA CUDA images) */
	static const char mark[] = "_CUDA_COMPAT_STATUS";

	if (!ri_host_has(checking->host, entry)) {
		ri_check_skip(checking, entry, "the image has none");
	} else if (ri_env_get(checking->env, mark) != NULL) {
		ri_check_pass(checking, entry, "has run");
	} else if (!ri_host_has(checking->host, "usr/local/cuda/compat")) {
		ri_check_pass(checking, entry, "has not run, and has nothing to set");
	} else {
		ri_check_note(checking, RI_CODE_ENV_NV_ENTRYPOINT_BYPASSED, entry,
			"was bypassed; if the driver is older than the image's CUDA, it would have "
			"switched to /usr/local/cuda/compat");
		ri_check_hint(checking, "%s", entry_hint);
	}
}

const struct ri_check ri_check_env_nv_entrypoint = {
	.id = "env.nv_entrypoint",
	.summary = "the entrypoint of NVIDIA images has run",
	.reads = "/opt/nvidia/nvidia_entrypoint.sh, /usr/local/cuda/compat, _CUDA_COMPAT_STATUS "
		"(NVIDIA CUDA container images, entrypoint.d)",
	.fails = "never: a note if it was bypassed in an image with libraries for older drivers",
	.advice = entry_hint,
	.run = check_nv_entrypoint,
};

static void check_userns(struct ri_checking *checking)
{
	static const char path[] = "/proc/self/uid_map";
	struct ri_user_map map;

	if (!ri_machine_user_map(checking->host, &map))
		ri_check_unknown(checking, RI_CODE_ENV_USERNS_UNKNOWN, path, "cannot be read");
	else if (ri_user_map_is_whole(&map))
		ri_check_pass(checking, path, "no user namespace: root is the host's root");
	else
		ri_check_note(checking, RI_CODE_ENV_USERNS_MAPPED, path,
			"a user namespace: %s %llu here is user %llu outside, without privileges "
			"there", map.inside == 0 ? "root, user" : "user",
			(unsigned long long)map.inside, (unsigned long long)map.outside);
}

const struct ri_check ri_check_env_userns = {
	.id = "env.userns",
	.summary = "whether root here is root on the host",
	.reads = "/proc/self/uid_map (user_namespaces(7))",
	.fails = "never: a note if users are mapped",
	.advice = "nothing: it explains other refusals of the kernel",
	.run = check_userns,
};

static void check_seccomp(struct ri_checking *checking)
{
	static const char path[] = "/proc/self/status";
	struct ri_status status;

	if (!ri_machine_status(checking->host, &status) || status.seccomp < 0)
		ri_check_unknown(checking, RI_CODE_ENV_SECCOMP_UNKNOWN, path,
			"does not show whether system calls are filtered");
	else
		ri_check_pass(checking, path, "system calls are %s", status.seccomp == 0
			? "not filtered" : status.seccomp == 2 ? "filtered (seccomp)"
			: "limited to four (seccomp, strict)");
}

const struct ri_check ri_check_env_seccomp = {
	.id = "env.seccomp",
	.summary = "whether system calls are filtered",
	.reads = "Seccomp in /proc/self/status (proc(5))",
	.fails = "never",
	.advice = "nothing: it explains other refusals of the kernel",
	.run = check_seccomp,
};

/* KEY="value" of /etc/os-release (os-release(5)). */
static bool read_release(struct ri_host *host, char *out, size_t size)
{
	static const char key[] = "\nPRETTY_NAME=";
	char text[4096] = "\n";
	const char *at;
	size_t length;

	if (ri_host_read(host, "etc/os-release", text + 1, sizeof(text) - 1) < 0)
		return false;
	at = strstr(text, key);
	if (at == NULL)
		return false;
	at += sizeof(key) - 1;
	at += *at == '"';
	length = strcspn(at, "\"\n");
	if (length == 0 || length >= size)
		return false;
	memcpy(out, at, length);
	out[length] = '\0';
	return true;
}

static void check_image(struct ri_checking *checking)
{
	/* Azure/AzureML-Containers: a line with the image's name and build */
	static const char information[] = "/IMAGE_INFORMATION";
	char line[160];

	if (ri_sysfile_line(checking->host, information, line, sizeof(line)))
		ri_check_pass(checking, information, "%s", line);
	else if (read_release(checking->host, line, sizeof(line)))
		ri_check_pass(checking, "/etc/os-release", "%s", line);
	else
		ri_check_skip(checking, "image", "does not name the image");
}

const struct ri_check ri_check_env_image = {
	.id = "env.image",
	.summary = "which image this is",
	.reads = "/IMAGE_INFORMATION (Azure/AzureML-Containers), /etc/os-release (os-release(5))",
	.fails = "never",
	.advice = "nothing: it is for reports",
	.run = check_image,
};
