/* SPDX-License-Identifier: Apache-2.0 */
#include "nproc.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/number.h"

/*
 * "nvidia0", not "nvidiactl" (NVIDIA driver README, "Frequently Asked
 * Questions", device files).
 */
static bool is_gpu(const char *name)
{
	const struct ri_range minors = { 0, 255 };
	uint64_t minor;

	return strncmp(name, "nvidia", 6) == 0 &&
		ri_number_read(name + 6, minors, &minor, NULL) == RI_NUMBER_OK;
}

static uint64_t count_devices(struct ri_host *host)
{
	int fd = ri_host_open(host, "/dev", O_RDONLY | O_DIRECTORY);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t count = 0;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		count += is_gpu(entry->d_name);
	if (folder != NULL)
		closedir(folder);
	else if (fd >= 0)
		close(fd);
	return count;
}

/*
 * What CUDA makes of the list: an empty item and -1 end it (CUDA C Programming
 * Guide, "CUDA Environment Variables").
 */
static uint64_t count_listed(const char *list)
{
	uint64_t count = 0;
	size_t length;

	for (;; list += length + 1) {
		length = strcspn(list, ",");
		if (length == 0 || list[0] == '-')
			return count;
		count++;
		if (list[length] == '\0')
			return count;
	}
}

/* NVIDIA_VISIBLE_DEVICES: NVIDIA Container Toolkit, "Specialized Configurations". */
static uint64_t count_gpus(const struct ri_env *env, struct ri_host *host)
{
	const char *injected = ri_env_get(env, "NVIDIA_VISIBLE_DEVICES");
	const char *visible = ri_env_get(env, "CUDA_VISIBLE_DEVICES");
	uint64_t devices, listed;

	if (injected != NULL && (strcmp(injected, "none") == 0 || strcmp(injected, "void") == 0))
		return 0;
	devices = count_devices(host);
	listed = visible == NULL ? devices : count_listed(visible);
	return listed < devices ? listed : devices;
}

/* Those that we may run on; of a recorded machine nobody knows. */
static uint64_t count_cpus(const struct ri_host *host)
{
	/* as many CPUs as Linux can be built for */
	static unsigned char set[8192 / 8];
	uint64_t count = 0;

	if (!host->live || sched_getaffinity(0, sizeof(set), (cpu_set_t *)(void *)set) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(set); i++)
		count += (uint64_t)__builtin_popcount(set[i]);
	return count;
}

bool ri_nproc_wants_files(const struct ri_options *options)
{
	return options->nproc == RI_NPROC_GPU || options->nproc == RI_NPROC_AUTO;
}

int ri_nproc_count(struct ri_options *options, const struct ri_env *env, struct ri_host *host,
	struct ri_error *err)
{
	struct ri_wishes *wishes = &options->wishes;
	uint64_t count = wishes->nproc_count;

	if (options->nproc == RI_NPROC_CPU)
		count = count_cpus(host);
	else if (options->nproc != RI_NPROC_STATED)
		count = count_gpus(env, host);
	if (options->nproc == RI_NPROC_AUTO && count == 0)
		count = 1;
	if (options->nproc != RI_NPROC_STATED && count == 0) {
		ri_fail(err, RI_CODE_NPROC_NONE, wishes->nproc.subject,
			options->nproc == RI_NPROC_GPU
				? "no GPU is visible here to start a rank for"
				: "the CPUs of this machine cannot be counted");
		return ri_fail_hint(err, "give this container its GPUs (docker run --gpus all; "
					 "CUDA_VISIBLE_DEVICES), or state a number");
	}
	wishes->nproc_count = count > RI_MAX_LOCAL ? RI_MAX_LOCAL : count;
	return 0;
}
