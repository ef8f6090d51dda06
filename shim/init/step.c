/* SPDX-License-Identifier: Apache-2.0 */
#include "init/step.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What stands in the file, as a string; empty where it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	text[length < 0 ? 0 : length] = '\0';
	if (fd >= 0)
		close(fd);
}

/*
 * Do the signals reach more than the task? ".../job_7/step_0/..." is how
 * proctrack/cgroup names its groups, in version 1 and 2 alike (Slurm
 * src/plugins/cgroup). Where it cannot be read a signal that comes twice is
 * better than none.
 */
bool ri_step_tells_all(const struct ri_env *env)
{
	static char text[16384];
	const char *job, *step;

	/* set for every task of a step (Slurm src/common/env.c) */
	if (ri_env_get(env, "SLURM_STEP_ID") == NULL)
		return false;
	read_text("/proc/self/cgroup", text, sizeof(text));
	for (job = strstr(text, "/job_"); job != NULL; job = strstr(job + 1, "/job_")) {
		step = strstr(job, "/step_");
		if (step != NULL && memchr(job, '\n', (size_t)(step - job)) == NULL)
			return false;
	}
	return text[0] != '\0';
}

bool ri_step_sent(const siginfo_t *info)
{
	char path[32], name[32];

	/* 0: a process of another PID namespace sent it, and which cannot be known */
	if (info->si_code != SI_USER || info->si_pid == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)info->si_pid);
	read_text(path, name, sizeof(name));
	return strcmp(name, "slurmstepd\n") == 0;
}
