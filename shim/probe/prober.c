/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/prober.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "check/lookups.h"
#include "check/runner.h"
#include "system/clock.h"
#include "system/helper.h"
#include "system/kept_fds.h"
#include "system/own_proc.h"

static const char program_name[] = "rankinit-probe";

enum { ADDRESSES_GIB = 4 };	/* what it may map: libraries of GPUs are large */

/*
 * What it is given of the environment. Nothing that says who the rank is: a
 * library that reads OMPI_* or PMI_* may look for its launcher. Nothing that
 * names a file to write (VERBS_LOG_FILE), runs other code (LD_PRELOAD) or
 * makes a flood (LD_DEBUG), and no secrets.
 */
static const char *const passed[] = {
	/* environ(7); ld.so(8) */
	"PATH", "HOME", "LD_LIBRARY_PATH",
	/* glibc manual, Dynamic Linking Tunables: some libraries cannot be loaded without one */
	"GLIBC_TUNABLES",
	/* rdma-core libibverbs: dynamic_driver.c, init.c, memory.c, sysfs.c */
	"IBV_DRIVERS", "RDMAV_DRIVERS", "IBV_FORK_SAFE", "RDMAV_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE",
	"SYSFS_PATH",
	/* Open MPI opal/mca/installdirs/env; Intel MPI Developer Guide, "File Structure" */
	"OPAL_PREFIX", "I_MPI_ROOT",
};

/* One run. */
struct probing {
	const char *path;
	char *argv[5];
	char bytes[24];
	char *environment[RI_ARRAY_SIZE(passed) + 2];
	pid_t pid;
	int out;			/* a file in memory, its stdout */
	struct ri_probe *shared;	/* that file */
	bool hung;
	int status;
};

/* Beside rankinit, where both were installed, or on PATH. */
static const char *find_program(const struct ri_checking *checking)
{
	char own[RI_PATH_SIZE], folder[RI_PATH_SIZE], path[RI_PATH_SIZE];
	struct ri_program program;
	ssize_t length = -1;

	if (ri_proc_is_ours(getpid()))
		length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	if (length > 0) {
		own[length] = '\0';
		ri_path_folder(own, folder);
		if (ri_path_join(path, folder, program_name) && access(path, F_OK) == 0)
			return ri_arena_copy(checking->arena, path, strlen(path));
	}
	return ri_program_find(ri_check_loader(checking)->image, program_name, &program)
		? program.path : NULL;
}

/* --- in the child --------------------------------------------------------- */

static void child_main(void *context)
{
	const rlim_t wide = (rlim_t)ADDRESSES_GIB << 30;
	const struct probing *probing = context;
	struct rlimit memory;
	int null, high;

	setpgid(0, 0);
	/*
	 * stdin and stderr are /dev/null, stdout is the file, all others are closed. Ours may be
	 * closed, and the null device has their number.
	 */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	high = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, 3);
	if (high >= 0 && dup2(high, STDIN_FILENO) >= 0 && dup2(probing->out, STDOUT_FILENO) >= 0 &&
		dup2(high, STDERR_FILENO) >= 0) {
		ri_close_between(3, ~0u);
		/* checks have a narrow limit; a library that a job would load must fit */
		if (getrlimit(RLIMIT_AS, &memory) == 0 && memory.rlim_cur == RI_CHECK_MEMORY) {
			memory.rlim_cur = memory.rlim_max < wide ? memory.rlim_max : wide;
			setrlimit(RLIMIT_AS, &memory);
		}
		ri_mask_set(ri_mask_inherited);
		execve(probing->path, probing->argv, probing->environment);
	}
	probing->shared->exec_error = (uint32_t)errno;
}

/* --- in ours -------------------------------------------------------------- */

/* Returns 0, or errno. */
static int begin(struct probing *probing, const struct ri_env *env)
{
	static char plain[] = "LC_ALL=C";
	const size_t size = sizeof(*probing->shared);
	size_t count = 0;
	int error = 0;

	for (size_t i = 0; i < RI_ARRAY_SIZE(passed); i++) {
		const struct ri_env_entry *entry = ri_env_find(env, passed[i]);

		if (entry != NULL)
			probing->environment[count++] = (char *)(uintptr_t)entry->text;
	}
	probing->environment[count++] = plain;
	probing->environment[count] = NULL;
	/* of a size that stays: no process can fill memory by it, nor take it from under us */
	probing->shared = MAP_FAILED;
	probing->out = ri_memory_file(program_name, 3);
	if (probing->out >= 0 && ftruncate(probing->out, (off_t)size) == 0 &&
		fcntl(probing->out, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		probing->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, probing->out,
			0);
	if (probing->shared != MAP_FAILED)
		probing->pid = ri_helper_start(&(struct ri_helper_task){
			.body = child_main, .context = probing, .signal = SIGCHLD,
		});
	if (probing->pid == 0)
		error = errno;
	close(probing->out);
	if (error == 0)
		/* in both processes, as either may come first */
		setpgid(probing->pid, probing->pid);
	return error;
}

/*
 * For its end, or its time; then end it and what it has started. What sleeps in a driver stays.
 * Its end stays to be reaped: until then its number, and that of its group, are its own.
 */
static void wait_and_finish(struct probing *probing, int64_t until_us)
{
	siginfo_t info = { .si_pid = 0 };

	while (!probing->hung && (waitid(P_PID, (id_t)probing->pid, &info,
		WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != probing->pid)) {
		int64_t left = until_us - ri_now_us();

		probing->hung = left <= 0;
		if (!probing->hung)
			ri_mask_wait_for(RI_MASK_OF(SIGCHLD), &info, left / 1000 + 1);
		info.si_pid = 0;
	}
	kill(-probing->pid, SIGKILL);
	ri_helper_end(&probing->pid, RI_MASK_OF(SIGCHLD), &probing->status);
}

void ri_prober_run(struct ri_prober *out, const struct ri_checking *checking, const char *what,
	const char *library, uint64_t bytes, int64_t until_us)
{
	struct probing probing = { .path = find_program(checking), .argv = {
		(char *)(uintptr_t)program_name, (char *)(uintptr_t)what,
		(char *)(uintptr_t)library, probing.bytes } };
	struct ri_probe *said = &out->said;

	snprintf(probing.bytes, sizeof(probing.bytes), "%" PRIu64, bytes);
	memset(said, 0, sizeof(*said));
	out->what = what;
	out->path = probing.path;
	out->error = probing.path == NULL ? 0 : begin(&probing, checking->env);
	out->end = probing.path == NULL ? RI_PROBER_MISSING : RI_PROBER_REFUSED;
	if (probing.path == NULL || out->error != 0)
		return;
	wait_and_finish(&probing, until_us);
	/* copied once, and then looked at: something that it started may still write */
	memcpy(said, probing.shared, sizeof(*said));
	munmap(probing.shared, sizeof(*said));
	out->status = probing.status;
	out->error = said->magic == 0 ? (int)said->exec_error : 0;
	out->end = probing.hung ? RI_PROBER_HUNG : RI_PROBER_CRASHED;
	if (out->error != 0)
		out->end = RI_PROBER_REFUSED;
	else if (said->magic != 0 && !ri_probe_check(said))
		out->end = RI_PROBER_GARBLED;
	else if (said->magic != 0 && said->ended)
		out->end = RI_PROBER_DONE;
	if (said->magic == 0 || out->end == RI_PROBER_GARBLED)
		memset(said, 0, sizeof(*said));
}

/* --- what is said where it could not run, or did not come to its end --------- */

#define INSTALL \
	"inside the image: install rankinit-probe beside rankinit (make install), built for the " \
	"image's C library"

bool ri_prober_says_lost(char *out, size_t size, const struct ri_library *library)
{
	if (library->foreign != NULL)
		snprintf(out, size, "%.120s is for %s, and there is no other", library->foreign,
			ri_elf_machine_name(library->machine));
	else if (library->gone != NULL)
		snprintf(out, size, "%.120s is listed in /etc/ld.so.cache, but "
			"missing", library->gone);
	else
		snprintf(out, size, "programs find no such library");
	return library->foreign != NULL || library->gone != NULL;
}

/* "while mlx5_ib0 was opened": the words before and behind the first word of the subject. */
static void describe_step(char *out, size_t size, const struct ri_probe *said)
{
	static const char *const steps[][2] = {
		[RI_PROBE_NOTHING] = { "before it tried anything" },
		[RI_PROBE_LOAD] = { "while the library was loaded" },
		[RI_PROBE_LIST] = { "while the devices were listed" },
		[RI_PROBE_OPEN] = { "while ", " was opened" },
		[RI_PROBE_PORT] = { "while a port of ", " was queried" },
		[RI_PROBE_MEMORY] = { "while memory was registered with ", "" },
		[RI_PROBE_CLOSE] = { "while ", " was closed" },
		[RI_PROBE_VERSION] = { "while its version was queried" },
		/* of another library, which a library that writes into the output may claim */
		[RI_PROBE_INIT] = { "while NVML was initialised" },
		[RI_PROBE_GPU] = { "while GPU ", " was opened" },
		[RI_PROBE_ASK] = { "while GPU ", " was asked" },
	};
	const char *const *words = steps[said->at];

	if (said->at != RI_PROBE_NOTHING && said->answer.given)
		snprintf(out, size, "after its last answer");
	else if (words[1] == NULL)
		snprintf(out, size, "%s", words[0]);
	else
		snprintf(out, size, "%s%.*s%s", words[0], (int)strcspn(said->subject, " "),
			said->subject, words[1]);
}

/* The probe itself, where it has tried nothing; else the library. */
static void say_crashed(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, enum ri_code code)
{
	const char *fault = ri_check_library_fault(library);
	char step[160], how[64];

	describe_step(step, sizeof(step), &prober->said);
	if (WIFSIGNALED(prober->status))
		snprintf(how, sizeof(how), "by %s", RI_SIGNAL_SHOWN(WTERMSIG(prober->status)));
	else
		snprintf(how, sizeof(how), "with status %d", WEXITSTATUS(prober->status));
	if (prober->said.at == RI_PROBE_NOTHING) {
		ri_check_unknown(checking, RI_CODE_PROBE_REFUSED, prober->path,
			"ended %s %s", how, step);
		ri_check_hint(checking, "%s", INSTALL);
		return;
	}
	ri_check_warn(checking, code, library->path,
		"ends the process that loads it, %s, %s%s%s", how, step,
		fault == NULL ? "" : "; the file ", fault == NULL ? "" : fault);
	ri_check_hint(checking, "inside the image: install it again, together with the libraries "
		"it loads, all of one release; \"rankinit-probe %s %s\" repeats the test",
		prober->what, library->path);
}

bool ri_prober_judge(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, enum ri_code crashed, enum ri_code hung)
{
	char step[160];

	switch (prober->end) {
	case RI_PROBER_DONE:
		return true;
	case RI_PROBER_MISSING:
		ri_check_unknown(checking, RI_CODE_PROBE_MISSING, "rankinit-probe",
			"is neither beside rankinit nor on PATH, so %s was not tried",
			library->path);
		ri_check_hint(checking, "%s; or leave deep out", INSTALL);
		break;
	case RI_PROBER_REFUSED:
		ri_check_unknown(checking, RI_CODE_PROBE_REFUSED, prober->path,
			"cannot be run: %s", strerror(prober->error));
		ri_check_hint(checking, "%s", INSTALL);
		break;
	case RI_PROBER_GARBLED:
		ri_check_unknown(checking, RI_CODE_PROBE_GARBLED, prober->path,
			"gave an unexpected answer: it is of another release than rankinit, or "
			"%s writes into its memory", library->path);
		break;
	case RI_PROBER_CRASHED:
		say_crashed(checking, prober, library, crashed);
		break;
	case RI_PROBER_HUNG:
		describe_step(step, sizeof(step), &prober->said);
		ri_check_warn(checking, hung, library->path,
			"did not return within %d ms, %s", (int)RI_PROBER_MS, step);
		ri_check_hint(checking, "node admin: an adapter that does not answer, or a mount "
			"that the library reads from; --checks=default,^%s skips this check",
			ri_check_ids()[checking->number]);
		break;
	}
	return false;
}
