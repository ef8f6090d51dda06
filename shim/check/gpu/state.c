/* SPDX-License-Identifier: Apache-2.0 */
#include "check/gpu/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "check/software.h"
#include "system/clock.h"

static const char library[] = "libnvidia-ml.so.1";

/* The GPUs that CUDA_VISIBLE_DEVICES leaves. */
static void find_seen(struct ri_gpu_look *look, const struct ri_checking *checking)
{
	/* CUDA Programming Guide, "CUDA Environment Variables" */
	const char *visible = ri_env_get(checking->env, "CUDA_VISIBLE_DEVICES");
	struct ri_probe *said = &look->prober.said;
	struct ri_findings findings = { .count = 0 };
	struct ri_error err = RI_ERROR_INIT;
	const struct ri_node node = {
		.host = checking->host, .env = checking->env, .arena = checking->arena,
		.findings = &findings,
	};
	struct ri_gpus gpus;
	bool known = ri_gpus_find(&gpus, &node, &err) == 0;

	look->hidden = visible != NULL && (visible[0] == '\0' || visible[0] == '-');
	look->unlisted = ri_gpu_states_seen(look->seen, said->gpus, said->gpu_count,
		known ? &gpus : NULL);
	for (size_t i = 0; i < said->gpu_count; i++)
		look->count += look->seen[i];
}

/* NULL: there is no library to ask. */
static const struct ri_gpu_look *ask(const struct ri_checking *checking)
{
	static struct ri_gpu_look look;
	static bool asked;
	struct ri_prober_order order = {
		.what = "nvml", .library = ri_check_cuda(checking)->management.file.path,
	};

	if (order.library == NULL || asked)
		return order.library == NULL ? NULL : &look;
	order.until_us = ri_now_us() + (int64_t)RI_GPU_PROBE_MS * 1000;
	ri_prober_run(&look.prober, checking, &order);
	find_seen(&look, checking);
	asked = true;
	return &look;
}

const struct ri_gpu_look *ri_gpu_look(struct ri_checking *checking)
{
	const struct ri_gpu_look *look;

	if (!checking->asked && ri_check_nvidia(checking)->control == ENOENT) {
		ri_check_skip(checking, "GPUs", "no NVIDIA driver is here");
		return NULL;
	}
	look = ask(checking);
	if (look == NULL) {
		ri_check_unprobed(checking, library,
			"is not in this container, so no GPU can be asked how it is");
		return NULL;
	}
	if (look->hidden) {
		ri_check_skip(checking, "GPUs", "CUDA_VISIBLE_DEVICES hides all of them");
		return NULL;
	}
	return look;
}

const char *ri_gpu_name(char *out, const struct ri_gpu_state *gpu)
{
	snprintf(out, RI_GPU_NAME, "GPU %" PRIu64 "%s%s%s", gpu->index,
		gpu->address[0] == '\0' ? "" : " (", gpu->address,
		gpu->address[0] == '\0' ? "" : ")");
	return out;
}

/* True where it has an answer. */
static bool judge_one(struct ri_checking *checking, const struct ri_gpu_judging *judging,
	const struct ri_gpu_state *gpu)
{
	const struct ri_probe_answer *answer = &gpu->asked[judging->asked].answer;
	const uint64_t *mig = ri_gpu_numbers(gpu, RI_GPU_MIG);
	char name[RI_GPU_NAME], text[96];
	/* no permission to ask for the whole GPU is what a tenant with an instance of it has */
	bool quiet = ri_nvml_is_quiet(answer->error) ||
		(answer->error == RI_NVML_NO_PERMISSION && mig != NULL && mig[0] != 0);

	if (answer->ok)
		judging->judge(checking, gpu);
	/* one that is lost is lost to gpu.health */
	else if (answer->given && !quiet && answer->error != RI_NVML_LOST &&
		answer->error != RI_NVML_RESET_REQUIRED)
		ri_check_unknown(checking, judging->unknown, ri_gpu_name(name, gpu),
			"not told: %s", ri_nvml_error_show(text, sizeof(text),
				answer->error));
	return answer->ok;
}

static bool is_alike(const struct ri_check_result *a, const struct ri_check_result *b)
{
	return a->code == b->code && strcmp(a->text, b->text) == 0;
}

/* The subjects of all results like the first of them, as many as there is room for. */
static void join_subjects(struct ri_check_result *first, size_t count, size_t gpus)
{
	enum { MORE = sizeof(" and 64 more") };
	char subject[RI_CHECK_SUBJECT];
	struct ri_text text;
	size_t all = 1, shown = 1;

	ri_text_init(&text, subject, sizeof(subject));
	ri_text_addf(&text, "%s", first->subject);
	for (size_t i = 1; i < count; i++) {
		if (!is_alike(first, &first[i]))
			continue;
		if (shown == all++ &&
			text.length + strlen(first[i].subject) + 2 + MORE < sizeof(subject)) {
			ri_text_addf(&text, ", %s", first[i].subject);
			shown++;
		}
	}
	if (shown < all)
		ri_text_addf(&text, " and %zu more", all - shown);
	ri_text_copy(first->subject, sizeof(first->subject), all > 1 && all == gpus ? "GPUs"
		: subject);
}

void ri_gpu_merge(struct ri_checking *checking, size_t gpus)
{
	struct ri_check_result *results = checking->results;
	size_t kept = 0, count = checking->count;

	/* what was dropped would not be counted */
	if (count > RI_CHECK_RESULTS)
		return;
	for (size_t i = 0; i < count; i++) {
		size_t first = 0;

		/* what was moved to the front leaves its words behind */
		while (first < i && !is_alike(&results[first], &results[i]))
			first++;
		if (first < i)
			continue;
		join_subjects(&results[i], count - i, gpus);
		results[kept++] = results[i];
	}
	checking->count = kept;
}

void ri_gpu_judge(struct ri_checking *checking)
{
	const struct ri_gpu_judging *judging = ri_check_at(checking->number)->how;
	const struct ri_gpu_look *look = ri_gpu_look(checking);
	size_t told = 0, asked = 0;

	if (look == NULL)
		return;
	for (size_t i = 0; i < look->prober.said.gpu_count; i++) {
		if (!look->seen[i])
			continue;
		asked += look->prober.said.gpus[i].asked[judging->asked].answer.given;
		told += judge_one(checking, judging, &look->prober.said.gpus[i]);
	}
	ri_gpu_merge(checking, look->count);
	if (checking->count > 0)
		return;
	if (look->prober.end != RI_PROBER_DONE || asked == 0)
		ri_check_skip(checking, "GPUs", "not all of them answered: see gpu.health");
	else if (told > 0 || judging->silence_passes)
		ri_check_pass(checking, "GPUs", "%s", told > 0 ? judging->pass : judging->silent);
	else
		ri_check_skip(checking, "GPUs", "%s", judging->silent);
}
