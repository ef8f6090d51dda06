/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a launcher's stderr holds, a record lies in the text and tells of an end, the last one
 * is kept where there is little room, and each byte of a rank's lines is one of the text. So does
 * what is told of an actor of Ray's.
 */
#include "report/outcome.h"
#include "words/words.h"
#include "fuzz.h"

enum { ROOM = 64, FEW = 2 };

static void check_inside(struct ri_span text, struct ri_span span)
{
	CHECK(span.length == 0 || span.at >= text.at);
	CHECK(span.length == 0 || span.at + span.length <= text.at + text.length);
}

static void check_record(struct ri_span text, const struct ri_rank_said *said)
{
	CHECK(said->launcher != NULL);
	CHECK(said->rank >= -1 && said->local_rank >= -1 && said->pid >= 0);
	CHECK(said->exit_code >= -1 && said->exit_code <= 255);
	CHECK(said->signal >= -1 && said->signal <= 64);
	CHECK(said->exit_code < 0 || said->signal < 0);
	CHECK(said->rank >= 0 || said->local_rank >= 0 || said->pid > 0 || said->exit_code >= 0 ||
		said->signal > 0 || said->out_of_memory);
	check_inside(text, said->host);
	check_inside(text, said->error_file);
	check_inside(text, said->message);
	check_inside(text, said->actor);
}

static size_t count_lines(struct ri_span text)
{
	struct ri_span line;
	size_t count = 0;

	while (ri_span_line(&text, &line))
		count++;
	return count;
}

static void check_lines(struct ri_span text, const struct ri_owner *rank)
{
	char *room = malloc(text.length + 2), *little = malloc(16);
	struct ri_words_place place;
	size_t used, few;

	CHECK(room != NULL && little != NULL);
	used = ri_lines_of(text, rank, room, text.length + 2, &place);
	CHECK(place.traceback <= text.length && place.loss <= text.length);
	CHECK(used <= text.length + 1);
	CHECK(used == 0 || room[used - 1] == '\n');
	CHECK(count_lines((struct ri_span){ room, used }) <= count_lines(text));
	few = ri_lines_of(text, rank, little, 16, &place);
	CHECK(few <= 16);
	free(room);
	free(little);
}

/* An actor is named by an exception of the text alone. */
static void check_actor(struct ri_span text)
{
	struct ri_actor actor = { .pid = 0 };

	if (!ri_actor_find(text, &actor)) {
		CHECK(actor.pid == 0);
		return;
	}
	CHECK(actor.pid > 0 && actor.rank >= -1 && actor.exception.length > 0);
	check_inside(text, actor.name);
	check_inside(text, actor.host);
	check_inside(text, actor.exception);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ri_owner one = { .rank = 1, .local_rank = 1, .pid = 417 };
	const struct ri_owner local = { .rank = -1, .local_rank = 1 };
	char *bytes = fuzz_string(data, size);
	struct ri_span text = { bytes, size };
	struct ri_rank_said said[ROOM], few[FEW];
	size_t count = ri_launcher_words_read(text, said, ROOM);
	size_t some = ri_launcher_words_read(text, few, FEW);

	CHECK(count <= ROOM && some <= FEW);
	CHECK((count == 0) == (some == 0));
	for (size_t i = 0; i < count; i++)
		check_record(text, &said[i]);
	for (size_t i = 0; i < some; i++)
		check_record(text, &few[i]);
	CHECK(ri_launcher_words_read(text, NULL, 0) == 0);
	check_lines(text, NULL);
	check_lines(text, &one);
	check_lines(text, &local);
	check_actor(text);
	free(bytes);
	return 0;
}
