/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything as the files of /proc/PID; and, behind a line "%%", processes of any form, each a line
 * "STATE RANK CALL;NAME;PATH;FILE;FUNCTION;FILE;FUNCTION...", as judged and as shown.
 */
#include "fuzz.h"
#include "hang/facts.h"
#include "hang/groups.h"
#include "hang/judge.h"
#include "hang/wording.h"

enum { PROCESSES = 64 };

static struct ri_hang *hang;

static void read_facts(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *copy = fuzz_string(data, size), wchan[48];
	struct ri_call call = { .state = RI_CALL_UNKNOWN };
	struct ri_mount mount;
	uint64_t number;
	struct ri_hang_identity said = ri_hang_unsaid;
	struct ri_hang_place place = { .rank = -1 };

	if (ri_call_read(text, &call)) {
		const struct ri_call_row *row = ri_call_row(&call);

		CHECK(row == NULL || row->number == call.number);
		CHECK(ri_call_file(&call) >= -1);
		ri_call_path(&call);
		ri_call_sleeps(&call);
	}
	ri_hang_read_field(text, "voluntary_ctxt_switches", &number);
	ri_hang_read_field(text, "mnt_id", &number);
	ri_hang_read_wchan(text, wchan, sizeof(wchan));
	CHECK(strlen(wchan) < sizeof(wchan) && strchr(wchan, '\n') == NULL);
	if (ri_hang_find_mount(copy, 29, &mount))
		CHECK(strlen(mount.type) <= size);
	free(copy);
	copy = fuzz_string(data, size);
	if (ri_mount_of(copy, "/data/x", &mount))
		CHECK(mount.point[0] == '/');
	free(copy);
	copy = fuzz_string(data, size);
	for (size_t at = 0; at < size; at += strlen(copy + at) + 1)
		ri_hang_note_variable(&said, copy + at);
	if (ri_hang_claim_of(&said, &place) != RI_HANG_NO_RANK)
		CHECK(place.rank >= 0 && place.rank <= INT32_MAX);
	free(copy);
	free(text);
}

/* The next word, up to a ';'. */
static const char *next(char **rest)
{
	char *word = *rest, *end = word + strcspn(word, ";");

	*rest = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

static void add_stack(struct ri_hang_process *process, char *rest)
{
	struct ri_hang_frame *frames = hang->frames + hang->frame_count;
	uint32_t count = 0;

	while (*rest != '\0' && count < RI_HANG_FRAMES) {
		const char *file = ri_hang_keep_string(hang, next(&rest));

		frames[count] = (struct ri_hang_frame){
			.file = file, .line = count,
			.function = ri_hang_keep_string(hang, next(&rest)),
		};
		count++;
	}
	if (count == 0)
		return;
	hang->frame_count += count;
	process->python = RI_HANG_HAS_PYTHON;
	process->stack_count = 1;
	process->stacks[0] = (struct ri_hang_stack){ .frames = frames, .count = count,
		.depth = count, .hash = count };
}

static void add(struct ri_hang_look *look, char *line)
{
	struct ri_hang_process *process = &look->processes[look->count];
	char *rest = line;
	const char *head = next(&rest);

	*process = (struct ri_hang_process){
		.pid = (pid_t)look->count + 2, .started = 1, .state = head[0], .rank = -1,
		.parent = (pid_t)look->count / 2 + 1, .child = -1, .since_us = 1000,
		.has_cpu = head[0] == 'S',
	};
	if (head[0] != '\0' && head[1] >= '0' && head[1] <= '9') {
		process->rank = head[1] - '0';
		process->is_rank = true;
		ri_call_read(head + 2, &process->call);
	}
	ri_text_copy(process->name, sizeof(process->name), next(&rest));
	ri_text_copy(process->path, sizeof(process->path), next(&rest));
	add_stack(process, rest);
	look->count++;
}

static void check_text(void)
{
	static char page[2 * RI_HANG_SHOWN];
	struct ri_text out;
	size_t lines = 0;

	ri_text_init(&out, page, sizeof(page));
	ri_hang_say(hang, &out);
	for (char *p = page; *p != '\0'; p++)
		if (*p == '\n') {
			lines++;
			*p = ' ';
		}
	CHECK(lines <= RI_HANG_LINES);
	CHECK(fuzz_is_printable(page));
}

static void check_document(void)
{
	struct ri_json json = { .escapes = 0 };
	json_t *document = ri_hang_json(&json, hang);
	char *text = ri_json_dumps(document, JSON_COMPACT);

	CHECK(!json.incomplete && text != NULL);
	CHECK(fuzz_is_printable(text));
	free(text);
	json_decref(document);
}

/* What one node writes every node can read. */
static void check_lines(void)
{
	static struct ri_groups groups;
	static char lines[RI_GROUPS_MAX];
	size_t ranks = 0, length = ri_groups_write(hang, lines);

	for (size_t i = 0; i < ri_hang_newer(hang)->count; i++)
		ranks += ri_hang_newer(hang)->processes[i].is_rank;
	CHECK(strlen(lines) == length && length < RI_GROUPS_MAX);
	CHECK(ri_groups_read(&groups, lines, length));
	CHECK(groups.rank_count + groups.more_ranks <= ranks && (length > 0) == (ranks > 0));
	CHECK(strchr(lines, '"') == NULL && strchr(lines, '\\') == NULL);
}

static void judge(const char *processes)
{
	struct ri_hang_moment moments[PROCESSES] = { { .pid = 0 } };

	hang->looks_taken = hang->frame_count = hang->text_length = 0;
	for (unsigned i = 0; i < 2; i++) {
		char *text = fuzz_string(processes, strlen(processes)), *lines[PROCESSES + 1];

		hang->last = i;
		ri_hang_newer(hang)->count = 0;
		fuzz_split(text, lines, 0, PROCESSES);
		for (char **line = lines; *line != NULL; line++)
			add(ri_hang_newer(hang), *line);
		/* as if whoever looks had started the first of them */
		ri_hang_newer(hang)->own_count = ri_hang_newer(hang)->count / 2;
		hang->looks_taken++;
		ri_hang_judge(hang);
		free(text);
	}
	ri_hang_looks_agree(hang);
	CHECK(ri_hang_newer(hang)->suspect < (int)ri_hang_newer(hang)->count);
	ri_hang_has_moved(hang, moments, PROCESSES);
	check_text();
	check_document();
	check_lines();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	if (hang == NULL)
		hang = calloc(1, sizeof(*hang));
	CHECK(hang != NULL);
	read_facts(data, size);
	judge(fuzz_cut_part(text));
	free(text);
	return 0;
}
