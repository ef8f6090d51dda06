/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump of Flight Recorder, whatever its bytes are: it is read in the memory of struct ri_pickle,
 * strings lie in the file, and what is kept has names and numbers as a watchdog's line would. The
 * same dump of some ranks beside a sound one of the others: the page has printable lines alone.
 */
#include <jansson.h>

#include "blame/writer.h"
#include "fuzz.h"

static struct ri_pickle pickle;
static struct ri_arena arena;

static void check_value(struct ri_pickle_value value)
{
	CHECK(value.kind <= RI_PICKLE_DICT);
	if (value.kind == RI_PICKLE_STRING)
		CHECK((uint64_t)value.number + value.length <= pickle.length);
	if (value.kind >= RI_PICKLE_LIST)
		CHECK((uint64_t)value.number < pickle.containers);
}

static void check_pickle(void)
{
	check_value(pickle.root);
	for (uint32_t i = 1; i <= pickle.items; i++) {
		check_value(pickle.item[i].value);
		CHECK(pickle.item[i].next <= pickle.items);
	}
	for (size_t i = 0; i < pickle.containers; i++) {
		size_t count = 0;

		for (uint32_t at = pickle.container[i].first; at != 0; at = pickle.item[at].next)
			count++;
		CHECK(count == pickle.container[i].count);
	}
}

static void check_dump(const struct ri_flight_dump *dump)
{
	CHECK(dump->rank == 13 && dump->count <= RI_FLIGHT_GROUPS);
	CHECK(dump->count == 0 || dump->latest < dump->count);
	for (size_t i = 0; i < dump->count; i++) {
		const struct ri_work *work = &dump->works[i];

		CHECK(work->group[0] != '\0' && ri_work_is_name(work->group, RI_WORK_GROUP));
		CHECK(ri_work_is_name(work->op, RI_WORK_OP));
		CHECK(work->has_sequence == (work->op[0] != '\0'));
		CHECK(work->enqueued >= -1 && work->completed >= -1);
	}
}

/* Five ranks that waited in vain, at any time. */
#define RANK(number) "{\"rank\": " number ", \"state\": \"exited\", \"exit_code\": 1, " \
	"\"class\": \"loss\", \"lost\": \"clock\", \"started\": \"1970-01-01T00:00:01.000Z\", " \
	"\"ended\": \"2200-01-01T00:00:00.000Z\"}"
static const char report[] = "{\"schema\": \"rankinit-report-1\", \"exit_status\": 1, "
	"\"started\": \"1970-01-01T00:00:01.000Z\", \"ended\": \"2200-01-01T00:00:00.000Z\", "
	"\"topology\": {\"world_size\": {\"value\": 5}}, \"ranks\": [" RANK("0") ", " RANK("1")
	", " RANK("2") ", " RANK("3") ", " RANK("4") "]}";

/* ("0", "default_pg") is in all_reduce 5, by Gloo and by NCCL, and by NCCL has left it. */
#define TEXT(length, text) "X" length "\0\0\0" text
#define SOUND(op, state) "\x80\2}(" TEXT("\7", "version") TEXT("\3", "2.1") \
	TEXT("\7", "entries") "]}(" TEXT("\x11", "collective_seq_id") "K\5" \
	TEXT("\xf", "time_created_ns") "\x8a\6\0\0\0\0\0\x40" TEXT("\xd", "process_group") \
	TEXT("\1", "0") TEXT("\xa", "default_pg") "\x86" TEXT("\xe", "profiling_name") \
	TEXT("\xf", op ":all_reduce") TEXT("\5", "state") TEXT("\x9", state) "uau."
static const char sound[][256] = {
	SOUND("gloo", "scheduled"), SOUND("nccl", "scheduled"), SOUND("nccl", "completed"),
};

static char page[1 << 16];
static size_t written;

static int write_piece(void *context, const char *bytes, size_t count)
{
	(void)context;
	if (count > sizeof(page) - 1 - written)
		return -1;
	memcpy(page + written, bytes, count);
	written += count;
	page[written] = '\0';
	return 0;
}

static void check_page(const struct ri_reports *job)
{
	static struct ri_writer writer;

	memset(&writer, 0, offsetof(struct ri_writer, bytes));
	writer.write = write_piece;
	written = 0;
	ri_reports_write_page(job, &writer);
	CHECK(ri_writer_end(&writer) == 0);
	for (char *line = page, *end; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if (*end == '\n')
			*end++ = '\0';
		CHECK(fuzz_is_printable(line));
	}
}

/* The first ranks have this dump, the others that one. */
static void check_job(const char *bytes, size_t size, size_t ranks, const char *other)
{
	static const char *const names[] = { "a_0", "a_1", "a_2", "a_3", "a_4" };
	static struct ri_reports job;

	CHECK(ri_reports_begin(&job, 16) == 0);
	ri_reports_add(&job, "0.json", report, sizeof(report) - 1);
	CHECK(job.count == 1);
	for (size_t i = 0; i < 5; i++)
		if (i < ranks)
			ri_reports_add(&job, names[i], bytes, size);
		else
			ri_reports_add(&job, names[i], other, sizeof(sound[0]));
	CHECK(job.dump_count == 5);
	CHECK(ri_reports_judge(&job) == 0);
	CHECK(job.works.odd < 0 || (job.works.count == 5 &&
		strcmp(job.works.most->group, RI_WORK_DEFAULT) == 0));
	check_page(&job);
	ri_arena_release(&job.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_flight_dump dump;
	const char *why = NULL;
	bool read;

	json_object_seed(1);
	read = ri_pickle_read(&pickle, bytes, size) == 0;

	if (read)
		check_pickle();
	if (ri_flight_read(&dump, "a/flight_13", bytes, size, &pickle, &arena, &why) == 0) {
		CHECK(read);
		check_dump(&dump);
		for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++) {
			check_job(bytes, size, 1, sound[i]);
			check_job(bytes, size, 4, sound[i]);
		}
		check_job(bytes, size, 5, sound[0]);
	} else {
		CHECK(why != NULL);
	}
	ri_arena_release(&arena);
	free(bytes);
	return 0;
}
