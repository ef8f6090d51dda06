/* SPDX-License-Identifier: Apache-2.0 */
/* Whose line is it: each label of launcher_words.def, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "words/words.h"
#include "said_of.h"

static char shown[256];

static const char *show_owner(const char *line, enum ri_labels labels)
{
	struct ri_owner owner;
	struct ri_text out;

	out = ri_text_of(shown, sizeof(shown));
	if (!ri_owner_find(SPAN_OF(line), labels, &owner))
		ri_text_add(&out, "none");
	add_number(&out, "rank", owner.rank, -1);
	add_number(&out, "local", owner.local_rank, -1);
	add_number(&out, "pid", owner.pid, 0);
	add_span(&out, "host", owner.host);
	ri_text_addf(&out, "|%.*s", (int)owner.rest.length, owner.rest.at);
	return shown;
}

static void test_owners(void **state)
{
	static const struct {
		const char *line, *owner;
		enum ri_labels labels;
	} rows[] = {
		{ "[rank3]: ValueError: x", " rank=3|ValueError: x", RI_LABELS_NAMED },
		{ "[rank3]:[E1126 12:00:00 ProcessGroupNCCL.cpp:1] x",
			" rank=3|[E1126 12:00:00 ProcessGroupNCCL.cpp:1] x", RI_LABELS_NAMED },
		{ "[default3]:  File \"a.py\"", " local=3|  File \"a.py\"", RI_LABELS_NAMED },
		{ "[trainer0]:x", " local=0|x", RI_LABELS_NAMED },
		{ "[worker0]:x", " local=0|x", RI_LABELS_NAMED },
		{ "[0]<stdout>:x", " rank=0|x", RI_LABELS_NAMED },
		{ "\x1b[36m(f pid=417, ip=10.0.0.2)\x1b[0m x", " pid=417 host=10.0.0.2|x",
			RI_LABELS_NAMED },
		{ "[default1]:[rank9]: x", " rank=9 local=1|x", RI_LABELS_NAMED },
		{ "[1,3]<stderr>:  File", " rank=3|  File", RI_LABELS_NAMED },
		{ "[1,3]<stderr>:   File", " rank=3|  File", RI_LABELS_NAMED },
		{ "[1,3]<stdout>: x", " rank=3|x", RI_LABELS_NAMED },
		{ "[0]<stderr>:x", " rank=0|x", RI_LABELS_NAMED },
		{ "[2,3]<stderr>:x", "|x", RI_LABELS_NAMED },
		{ "3: [1,5]<stderr>:[default1]:[rank9]: x", " rank=9 local=1|x", RI_LABELS_SRUN },
		/* the words of a rank have no labels */
		{ "[rank3]: [rank5]: x", " rank=3|[rank5]: x", RI_LABELS_NAMED },
		{ "[rank3]: [1,5]<stderr>:x", " rank=3|[1,5]<stderr>:x", RI_LABELS_NAMED },
		{ "[default3]:3: x", " local=3|3: x", RI_LABELS_SRUN },
		{ "(WorkerDict pid=417) x", " pid=417|x", RI_LABELS_NAMED },
		{ "\x1b[36m(WorkerDict pid=417)\x1b[0m x", " pid=417|x", RI_LABELS_NAMED },
		{ "\x1b[2m\x1b[36m(\x1b[1;36mWorkerDict pid=417\x1b[0m)\x1b[0m   File",
			" pid=417|  File", RI_LABELS_NAMED },
		{ "  0%|          | 0/1000 [00:00<?, ?it/s][rank0]: Traceback",
			" rank=0|Traceback", RI_LABELS_NAMED },
		{ "\r 10%|#  | 1/9 [0<1, 1it/s]\r 20%|## | 2/9 [0<1, 1it/s][default1]:[rank9]: x",
			" rank=9 local=1|x", RI_LABELS_NAMED },
		{ "[default1]: 10%|#  | 1/9 [0<1, 1it/s][rank9]: x", " rank=9 local=1|x",
			RI_LABELS_NAMED },
		{ " 10%|#  | 1/9 [0<1, 1it/s]x", "none| 10%|#  | 1/9 [0<1, 1it/s]x",
			RI_LABELS_NAMED },
		{ "[rank3]:  10%|#  | 1/9 [0<1, 1it/s][default1]: x",
			" rank=3| 10%|#  | 1/9 [0<1, 1it/s][default1]: x", RI_LABELS_NAMED },
		{ "\x1b[36(WorkerDict pid=417) x", "none|\x1b[36(WorkerDict pid=417) x",
			RI_LABELS_NAMED },
		{ "(train_fn pid=417, ip=10.0.0.2)   File", " pid=417 host=10.0.0.2|  File",
			RI_LABELS_NAMED },
		{ "(RayTrainWorker pid=417) [rank2]: x", " rank=2 pid=417|x", RI_LABELS_NAMED },
		{ "3: x", " rank=3|x", RI_LABELS_SRUN },
		{ " 3:   File", " rank=3|  File", RI_LABELS_SRUN },
		{ "3: [default1]:x", " local=1|x", RI_LABELS_SRUN },
		{ "3: [rank9]: x", " rank=9|x", RI_LABELS_SRUN },
		{ "[3] x", " rank=3|x", RI_LABELS_HYDRA },
		{ "3: x", "none|3: x", RI_LABELS_NAMED },
		{ "[3] x", "none|[3] x", RI_LABELS_NAMED },
		{ "3:x", "none|3:x", RI_LABELS_SRUN },
		{ "[3]: x", "none|[3]: x", RI_LABELS_HYDRA },
		{ "[rank]: x", "none|[rank]: x", RI_LABELS_NAMED },
		{ "[rank3] x", "none|[rank3] x", RI_LABELS_NAMED },
		{ "[rank99999999999]: x", "none|[rank99999999999]: x", RI_LABELS_NAMED },
		{ "[node3]:x", "none|[node3]:x", RI_LABELS_NAMED },
		{ "(pid=417) x", "none|(pid=417) x", RI_LABELS_NAMED },
		{ "(a) b pid=417) x", "none|(a) b pid=417) x", RI_LABELS_NAMED },
		{ "(WorkerDict pid=417 x", "none|(WorkerDict pid=417 x", RI_LABELS_NAMED },
		{ "\x1b[36;1", "none|\x1b[36;1", RI_LABELS_NAMED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(show_owner(rows[i].line, rows[i].labels), rows[i].owner);
}

/* Of the lines that bear numbers in front, those of rank 1. */
static const char *lines_of_one(const char *text)
{
	const struct ri_owner one = { .rank = 1, .local_rank = -1 };

	shown[ri_lines_of(SPAN_OF(text), &one, shown, sizeof(shown) - 1,
			&(struct ri_words_place){ .loss = 0 })] = '\0';
	return shown;
}

static void test_labels_of_a_text(void **state)
{
	(void)state;
	assert_string_equal(lines_of_one("0: a\n1: b\nsrun: error: n0: task 1: Killed\n"), "b\n");
	assert_string_equal(lines_of_one("[0] a\n[1] b\n"), "b\n");
	assert_string_equal(lines_of_one("1: a\nb\n"), "");
	assert_string_equal(lines_of_one("[0] a\nloss 3\n[1] b\n"), "");
	assert_string_equal(lines_of_one(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_labels_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
