/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything as the files of /proc/PID; and, behind each of two lines "%%", a look at processes of
 * any form, as ranks are found among them, as they are judged and as they are shown. Without the
 * second look the first one counts twice. A line is "PID PARENT STATE NAME;WORD;WORD...", of
 * processes in the order of their numbers, and a word begins with what it is:
 *     V  a variable      C  /proc/PID/syscall    F  a frame of the main stack, FILE,FUNCTION
 *     P  a path          N  mount, on /data      T  of another thread
 *     W  wchan           B  of another thread    t  the name of a tracer
 *     p  enum ri_hang_python    c  ms of CPU     n  waits    u i d r x  a flag
 * A line "cut", "seccomp", "yama" or "loss" is none of a process.
 */
#include "hang/hang.h"
#include "hang/together.h"
#include "fuzz.h"

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

static void add_frame(struct ri_hang_process *process, int which, char *word)
{
	struct ri_hang_frame *frame = &hang->frames[hang->frame_count];
	struct ri_hang_stack *stack = &process->stacks[which];
	char *function = word + strcspn(word, ",");

	/* the frames of a stack lie together */
	if (process->stack_count > (uint32_t)which + 1 || process->stack_count < (uint32_t)which ||
		stack->count == RI_HANG_FRAMES || hang->frame_count == RI_HANG_STACKS)
		return;
	if (*function != '\0')
		*function++ = '\0';
	if (process->stack_count == (uint32_t)which) {
		*stack = (struct ri_hang_stack){ .frames = frame, .tid = which + 100 };
		process->stack_count++;
	}
	*frame = (struct ri_hang_frame){ .file = ri_hang_keep_string(hang, word),
		.function = ri_hang_keep_string(hang, function), .line = stack->count };
	stack->depth = ++stack->count;
	for (const char *at = function; *at != '\0'; at++)
		stack->hash = stack->hash * 31 + (unsigned char)*at;
	hang->frame_count++;
	process->python = RI_HANG_HAS_PYTHON;
}

static void add_mount(struct ri_hang_process *process, const char *type)
{
	ri_text_copy(process->mount_type, sizeof(process->mount_type), type);
	ri_text_copy(process->mount, sizeof(process->mount), "/data");
}

static void set_flag(struct ri_hang_process *process, char flag)
{
	process->unlooked = process->unlooked || flag == 'u';
	process->unread = process->unread || flag == 'i';
	process->dying = process->dying || flag == 'd';
	process->call_refused = process->call_refused || flag == 'r';
	if (flag == 'x' && process->stack_count > 0)
		process->stacks[0].torn = true;
}

static void add_word(struct ri_hang_process *process, struct ri_hang_identity *said, char *word)
{
	char *value = word + (*word != '\0');
	unsigned number = (unsigned)strtoul(value, NULL, 10);

	switch (*word) {
	case 'V':
		ri_hang_note_variable(said, value);
		break;
	case 'C':
		ri_call_read(value, &process->call);
		break;
	case 'F':
	case 'T':
		add_frame(process, *word == 'T', value);
		break;
	case 'P':
		ri_text_copy(process->path, sizeof(process->path), value);
		break;
	case 'N':
		add_mount(process, value);
		break;
	case 'W':
		ri_hang_read_wchan(value, process->wchan, sizeof(process->wchan));
		break;
	case 'B':
		process->blocked_tid = 77;
		ri_hang_read_wchan(value, process->blocked_wchan, sizeof(process->blocked_wchan));
		break;
	case 't':
		process->tracer = 78;
		ri_text_copy(process->tracer_name, sizeof(process->tracer_name), value);
		break;
	case 'p':
		process->python = (enum ri_hang_python)(number % (RI_HANG_SLOW + 1));
		process->python_errno = process->python == RI_HANG_REFUSED ? (int)number % 40 : 0;
		ri_text_copy(process->release, sizeof(process->release), "3.8 or older");
		break;
	case 'c':
		process->has_cpu = true;
		process->cpu_ms = number;
		process->main_us = (uint64_t)number * 1000;
		break;
	case 'n':
		process->naps = number;
		break;
	default:
		set_flag(process, *word);
	}
}

static void claim(struct ri_hang_process *process, const struct ri_hang_identity *said)
{
	struct ri_hang_place place = { -1, -1, -1 };

	process->claim = ri_hang_claim_of(said, &place);
	process->rank = place.rank;
	process->local_rank = place.local_rank;
	process->local_ranks = place.local_ranks < 0 ? 0 : place.local_ranks;
}

/* Returns false for a line that is none of a process. */
static bool add(struct ri_hang_look *look, char *line)
{
	struct ri_hang_process *process = &look->processes[look->count];
	struct ri_hang_identity said = ri_hang_unsaid;
	char *rest = line, state = 'S';
	const char *head = next(&rest);
	int pid, parent, begun = 0;

	if (sscanf(head, "%9d %9d %c %n", &pid, &parent, &state, &begun) < 3 || begun == 0)
		return false;
	/* as /proc lists them */
	if (pid <= 0 || (look->count > 0 && pid <= process[-1].pid))
		return true;
	*process = (struct ri_hang_process){
		.pid = pid, .parent = parent, .started = (uint64_t)pid, .rank = -1,
		.state = state == '0' ? '\0' : state, .child = -1, .since_us = 1000000,
		.waits_at = -1, .python = RI_HANG_NO_PYTHON,
	};
	ri_text_copy(process->name, sizeof(process->name), head + begun);
	while (*rest != '\0')
		add_word(process, &said, (char *)(uintptr_t)next(&rest));
	process->at_us = (int64_t)hang->looks_taken * 1000000;
	process->main_ns = hang->looks_taken * process->main_us * 1000;
	process->cpu_ticks = hang->looks_taken * process->cpu_ms / 10;
	claim(process, &said);
	look->count++;
	return true;
}

static void note(const char *line)
{
	hang->cut_ms = strncmp(line, "cut", 3) == 0 ? 1500 : hang->cut_ms;
	hang->cut_errno = strcmp(line, "cut short") == 0 ? 11 : hang->cut_errno;
	hang->by_seccomp = hang->by_seccomp || strcmp(line, "seccomp") == 0;
	hang->yama = strcmp(line, "yama") == 0 ? 1 : hang->yama;
	hang->after_loss = hang->after_loss || strcmp(line, "loss") == 0;
}

static void check_text(void)
{
	static char page[2 * RI_HANG_SHOWN];
	struct ri_text out;
	size_t lines = 0;

	out = ri_text_of(page, sizeof(page));
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
	static char document[64 << 20];
	struct ri_json json = { .escapes = 0 };
	struct ri_text out = ri_text_of(document, sizeof(document));

	CHECK(ri_json_end(&json, ri_hang_json(&json, hang), JSON_COMPACT, &out) == 0);
	document[out.length - 1] = '\0';	/* the end of its line */
	CHECK(fuzz_is_printable(document));
}

/* What one node writes every node can read. */
static void check_lines(void)
{
	static struct ri_groups groups;
	static char lines[RI_GROUPS_MAX];
	/* those that have ended are told of, too */
	size_t ranks = ri_hang_newer(hang)->ended_count, length = ri_groups_write(hang, lines);

	for (size_t i = 0; i < ri_hang_newer(hang)->count; i++)
		ranks += ri_hang_newer(hang)->processes[i].is_rank;
	CHECK(strlen(lines) == length && length < RI_GROUPS_MAX);
	CHECK(ri_groups_read(&groups, lines, length) == NULL);
	CHECK(groups.rank_count + groups.more <= ranks && (length > 0) == (ranks > 0));
	CHECK(strchr(lines, '"') == NULL && strchr(lines, '\\') == NULL);
}

static void look_at(unsigned which, const char *processes)
{
	char *text = fuzz_string(processes, strlen(processes)), *lines[PROCESSES + 1];
	struct ri_hang_look *look = &hang->looks[which];

	hang->last = which;
	look->count = look->own_count = look->left_out = 0;
	look->missing_count = look->ended_count = 0;
	look->listed = true;
	look->suspect = -1;
	fuzz_split(text, lines, 0, PROCESSES);
	for (char **line = lines; *line != NULL; line++)
		if (!add(look, *line))
			note(*line);
	/* as if whoever looks had started the first of them */
	look->own_count = look->count / 2;
	look->listed = hang->cut_errno == 0;
	hang->looks_taken++;
	ri_hang_find_ranks(look);
	ri_hang_judge(hang);
	free(text);
}

static void check_look(struct ri_hang *judged, struct ri_hang_moment *moments)
{
	const struct ri_hang_process *unreadable = ri_hang_find_unreadable(judged);
	char words[RI_HANG_COLUMNS * 4];
	struct ri_text out;

	CHECK(ri_hang_newer(judged)->suspect < (int)ri_hang_newer(judged)->count);
	ri_hang_has_moved(judged, moments, PROCESSES);
	out = ri_text_of(words, sizeof(words));
	if (unreadable != NULL)
		ri_hang_say_unreadable(judged, unreadable, &out);
	CHECK(fuzz_is_printable(words));
	check_text();
	check_document();
	check_lines();
}

static void judge(char *first)
{
	struct ri_hang_moment moments[PROCESSES] = { { .pid = 0 } };
	const char *second = fuzz_cut_part(first);

	hang->looks_taken = hang->frame_count = hang->text_length = 0;
	hang->cut_ms = 0;
	hang->cut_errno = hang->yama = 0;
	hang->by_seccomp = hang->after_loss = false;
	look_at(0, first);
	check_look(hang, moments);
	look_at(1, *second == '\0' ? first : second);
	ri_hang_looks_agree(hang);
	check_look(hang, moments);
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
