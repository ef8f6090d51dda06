/* SPDX-License-Identifier: Apache-2.0 */
/* What is said where rankinit-probe could not run, or did not come to its end. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/signals.h"
#include "check/software.h"
#include "probe/prober.h"

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

static void say_crashed(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, enum ri_code code)
{
	const char *fault = ri_check_library_fault(library);
	char step[160], how[64], name[RI_SIGNAL_NAME];

	describe_step(step, sizeof(step), &prober->said);
	if (WIFSIGNALED(prober->status))
		snprintf(how, sizeof(how), "by %s",
			ri_signal_name(WTERMSIG(prober->status), name));
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

static void say_hung(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, enum ri_code code)
{
	char step[160];

	describe_step(step, sizeof(step), &prober->said);
	ri_check_warn(checking, code, library->path, "did not return within %d ms, %s",
		(int)RI_PROBER_MS, step);
	ri_check_hint(checking, "node admin: an adapter that does not answer, or a mount that the "
		"library reads from; --checks=default,^%s skips this check",
		ri_check_at(checking->number)->id);
}

bool ri_prober_judge(struct ri_checking *checking, const struct ri_prober *prober,
	const struct ri_library *library, struct ri_prober_codes codes)
{
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
		say_crashed(checking, prober, library, codes.crashed);
		break;
	case RI_PROBER_HUNG:
		say_hung(checking, prober, library, codes.hung);
		break;
	}
	return false;
}
