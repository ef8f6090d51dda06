/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: CUDA_VISIBLE_DEVICES, a line "%%", and what the driver says about the
 * second of three GPUs.
 */
#include "node/devices.h"
#include "fuzz.h"

static struct ri_host host;
static int information_fd;

static void start(void)
{
	static const char *const folders[] = { "dev", "proc", "proc/driver", "proc/driver/nvidia",
		"proc/driver/nvidia/gpus", "proc/driver/nvidia/gpus/0000:01:00.0",
		"proc/driver/nvidia/gpus/0000:02:00.0", "proc/driver/nvidia/gpus/0000:03:00.0" };
	int folder = fuzz_folder_make(), fd;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		CHECK(mkdirat(folder, folders[i], 0755) == 0);
	close(fuzz_file_make(folder, "dev/nvidia0"));
	close(fuzz_file_make(folder, "dev/nvidia1"));
	close(fuzz_file_make(folder, "dev/nvidia2"));
	fd = fuzz_file_make(folder, "proc/driver/nvidia/gpus/0000:01:00.0/information");
	fuzz_fill(fd, "GPU UUID: \t GPU-11111111-0\nDevice Minor: \t 0\n", "");
	close(fd);
	fd = fuzz_file_make(folder, "proc/driver/nvidia/gpus/0000:03:00.0/information");
	fuzz_fill(fd, "GPU UUID: \t GPU-33333333-0\nDevice Minor: \t 2\n", "");
	close(fd);
	information_fd = fuzz_file_make(folder,
		"proc/driver/nvidia/gpus/0000:02:00.0/information");
	host.root = folder;
}

static void check_found(const struct ri_gpus *gpus)
{
	CHECK(gpus->count <= RI_MAX_GPUS);
	for (size_t i = 0; i < gpus->count; i++) {
		CHECK(gpus->list[i].name[0] != '\0' && strchr(gpus->list[i].name, ',') == NULL);
		CHECK(gpus->list[i].address == NULL || strlen(gpus->list[i].address) == 12);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(gpus->list[i].name, gpus->list[j].name) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ri_arena arena;
	static struct ri_findings findings;
	char *text = fuzz_string(data, size), *information = fuzz_cut_part(text);
	char *variable = malloc(strlen(text) + sizeof("CUDA_VISIBLE_DEVICES="));
	char *strings[] = { variable, NULL };
	struct ri_error err = RI_ERROR_INIT;
	struct ri_gpus gpus;
	struct ri_env env;
	const struct ri_node node = { .host = &host, .env = &env, .arena = &arena,
		.findings = &findings };

	if (information_fd == 0)
		start();
	findings.count = 0;
	text[strcspn(text, "\n")] = '\0';
	CHECK(variable != NULL);
	sprintf(variable, "CUDA_VISIBLE_DEVICES=%s", text);
	fuzz_fill(information_fd, information, "");
	CHECK(ri_env_init(&env, strings, &arena, &err) == 0);
	if (ri_gpus_find(&gpus, &node, &err) == 0)
		check_found(&gpus);
	else
		CHECK(err.code == RI_CODE_ENV_VALUE && fuzz_is_printable(err.text));
	CHECK(findings.count <= 1);
	CHECK(findings.count == 0 || fuzz_is_printable(findings.items[0].text));
	ri_arena_release(&arena);
	free(variable);
	free(text);
	return 0;
}
