/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "words/words.h"

#define HEADER "Traceback (most recent call last):\n"
#define CHAIN "\nDuring handling of the above exception, another exception occurred:\n\n"
#define CAUSE "\nThe above exception was the direct cause of the following exception:\n\n"
#define FRAME(file, line, function) "  File \"" file "\", line " line ", in " function "\n"

static struct ri_traceback find(const char *text)
{
	struct ri_traceback found = { .aside = false };

	if (!ri_traceback_find((struct ri_span){ text, strlen(text) }, &found))
		fail_msg("nothing in: %s", text);
	return found;
}

static void is(struct ri_span span, const char *expected)
{
	char copy[2048];

	assert_true(span.length < sizeof(copy));
	if (span.length > 0)
		memcpy(copy, span.at, span.length);
	copy[span.length] = '\0';
	assert_string_equal(copy, expected);
}

/* The last line, and the place of the innermost frame. */
static void expect(const char *text, const char *last, const char *place)
{
	struct ri_traceback found = find(text);
	char copy[256];

	is(found.last, last);
	snprintf(copy, sizeof(copy), "%.*s:%.*s:%.*s", (int)found.file.length, found.file.at,
		(int)found.line.length, found.line.at, (int)found.function.length,
		found.function.at);
	assert_string_equal(copy, place);
}

static void a_plain_one(void **state)
{
	static const char text[] = "epoch 1\n" HEADER FRAME("/app/train.py", "9", "<module>")
		"    main()\n" FRAME("/app/step.py", "41", "step")
		"    raise ValueError(\"bad batch\")\n"
		"    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
		"ValueError: bad batch\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad batch", "/app/step.py:41:step");
	is(found.prefix, "");
	is(found.more, "");
	is(found.member, "");
	assert_true(found.whole.at == text + strlen("epoch 1\n"));
	assert_int_equal(found.whole.length, strlen(text) - strlen("epoch 1\n") - 1);
}

static void there_is_none(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "epoch 1\nepoch 2", "Traceback", "  File \"x\", line 1",
		"  File \"x\", line 1\nNameError: x", "  File \"x\", line 1\n    x\nplain words\n",
		"Traceback (most recent call last): but more\nValueError: 1\n",
	};
	struct ri_traceback out, before;

	(void)state;
	memset(&out, 7, sizeof(out));
	memcpy(&before, &out, sizeof(out));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ri_traceback_find((struct ri_span){ texts[i], strlen(texts[i]) }, &out))
			fail_msg("taken: %s", texts[i]);
		assert_memory_equal(&out, &before, sizeof(out));
	}
}

static void a_summary_below_a_stack_of_cpp(void **state)
{
#define STACK "\n--------------------\nC++ " HEADER "--------------------\n" \
	"0   paddle::imperative::Tracer::TraceOp()\n\n----------------------\n" \
	"Error Message Summary:\n----------------------\n" \
	"InvalidArgumentError: shapes differ\n  [Hint: Expected 2] (at /x.cc:1)\n\n"
	struct ri_traceback found = find(HEADER FRAME("/a.py", "1", "f") "ValueError: \n" STACK
		"bye\n");

	(void)state;
	is(found.last, "ValueError: ");
	is(found.more, "InvalidArgumentError: shapes differ\n  [Hint: Expected 2] (at /x.cc:1)");
	/* an exception that has a message has all of it */
	is(find(HEADER FRAME("/a.py", "1", "f") "ValueError: 1\n" STACK).more, "");
}

static void the_last_of_a_chain_counts_and_the_whole_is_kept(void **state)
{
	static const char text[] = HEADER FRAME("/a.py", "1", "load") "    x[k]\n    ~^^^\n"
		"KeyError: 'k'\n" CHAIN HEADER FRAME("/b.py", "2", "train")
		"RuntimeError: no batch\n" CAUSE HEADER FRAME("/c.py", "3", "main")
		"SystemError: the end\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "SystemError: the end", "/c.py:3:main");
	assert_true(found.whole.at == text);
	is(found.cause, "KeyError: 'k'");
	is(found.cause_at, "File \"/a.py\", line 1, in load");
	is(found.frames, HEADER "  File \"/c.py\", line 3, in main\n");
	is(found.own, "File \"/c.py\", line 3, in main");
	is(found.wrapper, "");
}

static void what_only_ends_a_loop_causes_nothing(void **state)
{
	static const char *const signposts[] = {
		"StopIteration", "_queue.Empty", "jax.errors.SimplifiedTraceback: For simplicity",
		"jax._src.traceback_util.UnfilteredStackTrace: ValueError: x",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(signposts) / sizeof(signposts[0]); i++) {
		snprintf(text, sizeof(text), HEADER FRAME("/a.py", "1", "f") "%s\n" CHAIN HEADER
			FRAME("/b.py", "2", "g") "ValueError: x\n", signposts[i]);
		is(find(text).cause, "");
		is(find(text).cause_at, "");
		strcat(text, CHAIN HEADER FRAME("/c.py", "3", "h") "OSError: y\n");
		is(find(text).cause, "ValueError: x");
		is(find(text).last, "OSError: y");
	}
}

static void of_two_that_are_no_chain_the_later(void **state)
{
	static const char first[] = HEADER FRAME("/a.py", "1", "f") "KeyError: 1\n\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", first, HEADER FRAME("/b.py", "2", "g") "OSError\n");
	expect(text, "OSError", "/b.py:2:g");
	assert_true(find(text).whole.at == text + strlen(first));
}

static void lines_of_a_message(void **state)
{
	static const char text[] = HEADER FRAME("/a.py", "1", "f")
		"torch.cuda.OutOfMemoryError: CUDA out of memory.\r\nTried to allocate 2 GiB\n"
		"a note\n\nnot of it\n";
	struct ri_traceback found = find(text);

	(void)state;
	is(found.last, "torch.cuda.OutOfMemoryError: CUDA out of memory.");
	is(found.more, "Tried to allocate 2 GiB\na note");
}

static void endless_messages_are_bounded(void **state)
{
	char text[8192] = HEADER "ValueError: many\n";
	struct ri_traceback found;

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(text, "line\n");
	found = find(text);
	assert_int_equal(found.more.length, 15 * strlen("line\n") - 1);
}

static void syntax_errors(void **state)
{
	static const char bare[] = "  File \"/app/b.py\", line 2\n    x = (\n        ^\n"
		"SyntaxError: '(' was never closed\n";
	char imported[512];

	(void)state;
	expect(bare, "SyntaxError: '(' was never closed", "/app/b.py:2:");
	snprintf(imported, sizeof(imported), "%s%s",
		HEADER FRAME("/app/c.py", "1", "<module>") "    import b\n", bare);
	expect(imported, "SyntaxError: '(' was never closed", "/app/b.py:2:");
	expect("  File \"x.py\", line 3\n    y\nIndentationError: unexpected indent\n",
		"IndentationError: unexpected indent", "x.py:3:");
	expect(HEADER "ValueError: 1\n\n  File \"x.py\", line 3\n    y\nTabError: mixed\n",
		"TabError: mixed", "x.py:3:");
}

static void torch_writes_the_rank_before_each_line(void **state)
{
	static const char text[] = "[rank2]: Traceback (most recent call last):\n"
		"[rank2]:   File \"/a.py\", line 1, in f\nanother thread\n"
		"[rank2]:     g()\n[rank2]: ValueError: bad\n[rank2]: more of it\n[rank2]:\n"
		"[W] destroying\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad", "/a.py:1:f");
	is(found.prefix, "[rank2]: ");
	is(ri_traceback_line(&found, found.more), "more of it");
}

static void a_logger_writes_something_before_the_header_alone(void **state)
{
	expect("2026-01-01 ERROR Traceback (most recent call last):\n"
		FRAME("/a.py", "1", "f") "    g()\nValueError: bad\n",
		"ValueError: bad", "/a.py:1:f");
	(void)state;
}

static void a_worker_s_own_traceback_is_the_cause(void **state)
{
	static const char loader[] = HEADER FRAME("/torch/_utils.py", "700", "reraise")
		"RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n"
		"Original Traceback (most recent call last):\n" FRAME("/app/data.py", "5", "get")
		"    raise OSError(5)\nOSError: 5\n";
	static const char spawned[] = HEADER FRAME("/torch/spawn.py", "1", "join")
		"torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
		"-- Process 1 terminated with the following error:\n" HEADER
		FRAME("/app/x.py", "7", "worker") "ValueError: in it\n\n";
	char text[1024];

	(void)state;
	expect(loader, "OSError: 5", "/app/data.py:5:get");
	assert_true(find(loader).whole.at == loader);
	is(find(loader).wrapper,
		"RuntimeError: Caught RuntimeError in DataLoader worker process 0.");
	is(find(loader).cause, "");
	expect(spawned, "ValueError: in it", "/app/x.py:7:worker");
	assert_true(find(spawned).whole.at == spawned);
	is(find(spawned).wrapper, "-- Process 1 terminated with the following error:");
	is(find(spawned).frames, HEADER "  File \"/app/x.py\", line 7, in worker\n");
	snprintf(text, sizeof(text), "%s\n\n" CAUSE HEADER FRAME("/app/y.py", "9", "main")
		"RuntimeError: epoch 3 failed\n", loader);
	expect(text, "RuntimeError: epoch 3 failed", "/app/y.py:9:main");
	is(find(text).cause, "OSError: 5");
	is(find(text).cause_at, "File \"/app/data.py\", line 5, in get");
	is(find(text).wrapper, "");
	/* it breaks off */
	expect(HEADER FRAME("/t.py", "1", "f") "KeyError: Caught KeyError in DataLoader worker "
		"process 0.\nOriginal " HEADER FRAME("/app/data.py", "5", "get"),
		"KeyError: Caught KeyError in DataLoader worker process 0.",
		"/app/data.py:5:get");
}

/* CPython's Lib/multiprocessing/pool.py; concurrent.futures and joblib's loky do the same. */
static void what_a_pool_s_process_raised(void **state)
{
	static const char text[] = "concurrent.futures.process._RemoteTraceback: \n\"\"\"\n"
		HEADER
		FRAME("/usr/lib/python3.11/concurrent/futures/process.py", "256", "_process_worker")
		FRAME("/app/x.py", "9", "task") "ValueError: bad batch 17\n\"\"\"\n" CAUSE HEADER
		FRAME("/app/x.py", "25", "<module>")
		FRAME("/usr/lib/python3.11/concurrent/futures/_base.py", "401", "__get_result")
		"ValueError: bad batch 17\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad batch 17",
		"/usr/lib/python3.11/concurrent/futures/_base.py:401:__get_result");
	is(found.cause, "ValueError: bad batch 17");
	is(found.cause_at, "File \"/app/x.py\", line 9, in task");
	is(found.own, "File \"/app/x.py\", line 25, in <module>");
	is(found.more, "");
}

/* Ray's python/ray/exceptions.py: no header, and tasks in tasks. */
static void what_a_task_of_ray_raised(void **state)
{
	static const char text[] = HEADER FRAME("/app/main.py", "24", "main")
		FRAME("/usr/lib/python3/dist-packages/ray/_private/worker.py", "919", "get_objects")
		"    raise value.as_instanceof_cause()\n"
		"ray.exceptions.RayTaskError(ValueError): \033[36mray::Run.run()\033[39m (pid=1)\n"
		FRAME("/app/main.py", "94", "run") "    trainer.fit()\n"
		"ray.exceptions.RayTaskError(ValueError): ray::Work.step() (pid=2)\n"
		FRAME("/app/actor.py", "71", "step") "    raise ValueError(17)\n"
		"ValueError: 17\nmore of it\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: 17", "/app/actor.py:71:step");
	is(found.wrapper, "ray.exceptions.RayTaskError(ValueError): ray::Work.step() (pid=2)");
	is(found.more, "more of it");
	is(found.frames, FRAME("/app/actor.py", "71", "step") "    raise ValueError(17)\n");
	assert_true(found.whole.at == text);
	/* a frame in the message of another exception is no task */
	found = find(HEADER FRAME("/a.py", "1", "f") "torch._dynamo.exc.Unsupported: call\n"
		"from user code:\n" FRAME("/b.py", "2", "g") "ValueError: quoted\n");
	is(found.last, "torch._dynamo.exc.Unsupported: call");
}

/* jaxlib: what a callback raised stands in the message, with its header. */
static void what_a_callback_of_jax_raised(void **state)
{
	static const char text[] = HEADER FRAME("/app/x.py", "9", "<module>") "    print(f(1.0))\n"
		"jax.errors.JaxRuntimeError: INTERNAL: CpuCallback error calling callback: " HEADER
		FRAME("/app/x.py", "3", "cb") "ValueError: bad batch 17\n--------------------\n"
		"For simplicity, JAX has removed its internal frames from the traceback of the "
		"following exception.\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ValueError: bad batch 17", "/app/x.py:3:cb");
	is(found.wrapper,
		"jax.errors.JaxRuntimeError: INTERNAL: CpuCallback error calling callback:");
	assert_true(found.whole.at == text);
	/* a logger's words are no exception around it */
	found = find(HEADER FRAME("/a.py", "1", "f") "ERROR: " HEADER FRAME("/b.py", "2", "g")
		"OSError: 1\n");
	is(found.last, "OSError: 1");
	is(found.wrapper, "");
}

static void what_failed_in_a_graph_of_tensorflow(void **state)
{
	static const char head[] = HEADER FRAME("/app/t.py", "18", "<module>")
		"tensorflow.python.framework.errors_impl.InvalidArgumentError: "
		"Graph execution error:\n\n";
	static const char *const nodes[] = {
		"Detected at node GatherV2 defined at (most recent call last):\n"
		FRAME("/app/t.py", "18", "<module>") "\n" FRAME("/app/t.py", "8", "h") "\n",
		"Detected at node 'a/MatMul' defined at (most recent call last):\n"
		"    File \"/app/t.py\", line 20, in <module>\n      model.fit(x, y)\n"
		"Node: 'a/MatMul'\n",
		"Detected at node 'a' defined at (most recent call last):\n"
		"    File \"/app/t.py\", line 20, in <module>\n"
		"Detected at node 'a' defined at (most recent call last):\n"
		"    File \"/app/t.py\", line 20, in <module>\nNode: 'a'\n", "",
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(text, sizeof(text), "%s%sindices = 20 is not in [0, 3)\n\t [[{{node G}}]]"
			" [Op:h]\nafter\n\nlast\n", head, nodes[i]);
		is(find(text).more,
			"indices = 20 is not in [0, 3)\n\t [[{{node G}}]] [Op:h]\nafter");
		is(find(text).own, "File \"/app/t.py\", line 18, in <module>");
	}
	snprintf(text, sizeof(text), "%s%s", head, nodes[0]);
	is(find(text).more, "");
	assert_true(ri_span_ends(find(text).last, "Graph execution error:"));
}

/* torch/distributed/checkpoint/api.py */
static void what_a_checkpoint_raised(void **state)
{
	static const char text[] = HEADER FRAME("/app/t.py", "1", "main")
		"torch.distributed.checkpoint.api.CheckpointException: CheckpointException "
		"ranks:dict_keys([0, 1])\nTraceback (most recent call last): (RANK 0)\n"
		FRAME("/app/p.py", "5", "plan") "    x[k]\nKeyError: 'pos'\n"
		"Traceback (most recent call last): (RANK 1)\n" FRAME("/app/p.py", "6", "plan")
		"OSError: 1\n\n";

	(void)state;
	expect(text, "KeyError: 'pos'", "/app/p.py:5:plan");
	assert_true(ri_span_ends(find(text).wrapper, "ranks:dict_keys([0, 1])"));
}

static void an_exception_shortly_before_it(void **state)
{
	static const char last[] = HEADER FRAME("/b.py", "2", "g") "RuntimeError: thread exited\n";
	static const char *const words[] = { "", "Exception in thread Thread-2:\n" };
	char text[1024];

	(void)state;
	is(find(last).before, "");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(text, sizeof(text), "%s" HEADER FRAME("/a.py", "1", "f")
			"ValueError: 0\n\nwandb: x\n%s", words[i], last);
		is(find(text).before, "ValueError: 0");
		is(find(text).before_more, "");
		is(find(text).cause, "");
	}
	/* with all of its message, and what stands before each line of that */
	snprintf(text, sizeof(text), "(W) " HEADER "(W)   File \"/a.py\", line 1, in f\n"
		"(W) ValueError: 0\n(W) 1\n(W) 2\n%s", last);
	is(find(text).before, "ValueError: 0");
	is(find(text).before_more, "(W) 1\n(W) 2");
	is(find(text).before_prefix, "(W) ");
	/* what the hook for exceptions makes of itself is not what the exception came of */
	snprintf(text, sizeof(text), "Error in sys.excepthook:\n" HEADER FRAME("/a.py", "1", "f")
		"TypeError: 0\n\nOriginal exception was:\n%s", last);
	is(find(text).last, "RuntimeError: thread exited");
	is(find(text).before, "");
	snprintf(text, sizeof(text), "Exception ignored in: <f>\n" HEADER FRAME("/a.py", "1", "f")
		"ValueError: 0\n%s", last);
	is(find(text).before, "");
	/* the same twice, and one long ago */
	snprintf(text, sizeof(text), "%s%s", last, last);
	is(find(text).before, "");
	snprintf(text, sizeof(text), HEADER FRAME("/a.py", "1", "f") "ValueError: 0\n\n"
		"1\n2\n3\n4\n5\n6\n7\n8\n%s", last);
	is(find(text).before, "ValueError: 0");
	snprintf(text, sizeof(text), HEADER FRAME("/a.py", "1", "f") "ValueError: 0\n\n"
		"1\n2\n3\n4\n5\n6\n7\n8\n9\n%s", last);
	is(find(text).before, "");
}

/* In the log of a torchrun node: who failed, who lost it, and what the agent makes of both. */
static void an_exception_before_those_who_lost_it(void **state)
{
#define OWN "[rank3]: " HEADER "[rank3]:   File \"/a.py\", line 1, in f\n" \
	"[rank3]: ValueError: bad batch 17\n"
#define LOST(rank) "[rank" rank "]: " HEADER "[rank" rank "]:   File \"/b.py\", line 2, in g\n" \
	"[rank" rank "]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer\n"
#define NO_LOSS "[rank2]: " HEADER "[rank2]:   File \"/b.py\", line 2, in g\n" \
	"[rank2]: KeyError: 'pos'\n"
#define AGENT HEADER FRAME("/c.py", "3", "h") "elastic.ChildFailedError: train.py FAILED\n"
	static const char lost[] = "RuntimeError: [gloo/transport/tcp/pair.cc:553] "
		"Connection closed by peer";

	(void)state;
	is(find(OWN AGENT).before, "ValueError: bad batch 17");
	is(find(OWN LOST("2") AGENT).before, "ValueError: bad batch 17");
	is(find(OWN LOST("2") LOST("1") AGENT).before, "ValueError: bad batch 17");
	is(find(OWN LOST("2") LOST("1") AGENT).last, "elastic.ChildFailedError: train.py FAILED");
	/* there is no other, or it is long ago, or the last one is no loss */
	is(find(LOST("2") AGENT).before, lost);
	is(find(LOST("2") LOST("1") AGENT).before, lost);
	is(find(OWN "1\n2\n3\n4\n5\n6\n7\n8\n9\n" LOST("2") AGENT).before, lost);
	is(find(OWN LOST("2") "1\n2\n3\n4\n5\n6\n7\n8\n9\n" AGENT).before, "");
	is(find(OWN NO_LOSS AGENT).before, "KeyError: 'pos'");
#undef AGENT
#undef NO_LOSS
#undef LOST
#undef OWN
}

static void what_stands_before_the_rank(void **state)
{
	static const char rest[] = "[rank2]: " HEADER "[rank2]:   File \"/a.py\", line 1, in f\n"
		"[rank2]:     g()\n[rank2]: ValueError: bad\n";
	static const char *const words[] = {
		" 30%|###| 3/10 [0<1, 4.14it/s]", "?", "[rank1] [rank: ", "",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", words[i], rest);
		expect(text, "ValueError: bad", "/a.py:1:f");
		is(find(text).prefix, "[rank2]: ");
	}
}

static void a_blank_before_the_header_alone(void **state)
{
	(void)state;
	expect(" " HEADER FRAME("/a.py", "1", "f") "    g()\nRuntimeError: killed\n" CAUSE HEADER
		FRAME("/b.py", "2", "g") "OSError: 1\n", "OSError: 1", "/b.py:2:g");
	is(find(" " HEADER FRAME("/a.py", "1", "f") "RuntimeError: killed\n" CAUSE HEADER
		FRAME("/b.py", "2", "g") "OSError: 1\n").cause, "RuntimeError: killed");
	/* all of it may stand to the right */
	expect("    " HEADER "      File \"/a.py\", line 1, in f\n        g()\n    OSError: 1\n",
		"OSError: 1", "/a.py:1:f");
}

static void a_frame_of_a_library_is_not_the_user_s_own(void **state)
{
	static const char *const paths[] = {
		"/env/lib/python3.11/site-packages/torch/x.py", "/usr/lib/python3.11/queue.py",
		"/usr/lib/python3/dist-packages/x.py", "<frozen importlib._bootstrap>", "<string>",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(text, sizeof(text), HEADER FRAME("train.py", "4", "main")
			"  File \"%s\", line 5, in f\nOSError: 1\n", paths[i]);
		is(find(text).own, "File \"train.py\", line 4, in main");
		assert_true(ri_span_ends(find(text).at, ", line 5, in f"));
	}
	is(find(HEADER FRAME("<string>", "1", "f") "OSError: 1\n").own, "");
}

static void groups(void **state)
{
	static const char text[] = "  + Exception Group Traceback (most recent call last):\n"
		"  |   File \"/g.py\", line 8, in <module>\n  |     run()\n"
		"  | ExceptionGroup: tasks (2 sub-exceptions)\n"
		"  +-+---------------- 1 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"/g.py\", line 1, in leaf\n    |     raise ValueError(0)\n"
		"    | ValueError: 0\n"
		"    +---------------- 2 ----------------\n"
		"    | Traceback (most recent call last):\n"
		"    |   File \"/h.py\", line 2, in other\n"
		"    | OSError: 1\n"
		"    +------------------------------------\nafter\n";
	struct ri_traceback found = find(text);

	(void)state;
	expect(text, "ExceptionGroup: tasks (2 sub-exceptions)", "/g.py:1:leaf");
	is(found.member, "ValueError: 0");
	found = find("[rank0]:   + Exception Group Traceback (most recent call last):\n"
		"[rank0]:   |   File \"/g.py\", line 8, in f\n"
		"[rank0]:   | ExceptionGroup: one\n");
	is(found.last, "ExceptionGroup: one");
	is(found.member, "");
}

static void what_ended_nothing_gives_way(void **state)
{
	static const char real[] = HEADER FRAME("/a.py", "1", "f") "ValueError: real\n";
	static const char *const words[] = {
		"Exception ignored in: <function D.__del__ at 0x7f>\n",
		"Exception in thread Thread-1 (run):\n",
		"--- Logging error ---\n",
		"Error in sys.excepthook:\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		snprintf(text, sizeof(text), "%s%s%s", real, words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: aside\n");
		expect(text, "ValueError: real", "/a.py:1:f");
		is(find(text).more, "");
		snprintf(text, sizeof(text), "%s%s%s", words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: aside\n\n", real);
		expect(text, "ValueError: real", "/a.py:1:f");
		assert_false(find(text).aside);
		snprintf(text, sizeof(text), "%s%s", words[i],
			HEADER FRAME("/b.py", "2", "g") "OSError: alone\n");
		expect(text, "OSError: alone", "/b.py:2:g");
		assert_true(find(text).aside);
	}
}

static void one_that_breaks_off(void **state)
{
	expect(HEADER FRAME("/a.py", "1", "f"), "", "/a.py:1:f");
	expect(HEADER FRAME("/a.py", "1", "f") "ValueError: x\n\n" HEADER
		FRAME("/b.py", "2", "g"), "ValueError: x", "/a.py:1:f");
	(void)state;
}

static void lines_of_other_threads_in_between(void **state)
{
	expect(HEADER FRAME("/a.py", "1", "f") "Epoch 3: loss 2.5\nstep 4 of 5\n"
		FRAME("/b.py", "2", "g") "mypkg.Err<int>: bad: very\n",
		"mypkg.Err<int>: bad: very", "/b.py:2:g");
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_one),
		cmocka_unit_test(there_is_none),
		cmocka_unit_test(a_summary_below_a_stack_of_cpp),
		cmocka_unit_test(the_last_of_a_chain_counts_and_the_whole_is_kept),
		cmocka_unit_test(of_two_that_are_no_chain_the_later),
		cmocka_unit_test(lines_of_a_message),
		cmocka_unit_test(endless_messages_are_bounded),
		cmocka_unit_test(syntax_errors),
		cmocka_unit_test(torch_writes_the_rank_before_each_line),
		cmocka_unit_test(a_logger_writes_something_before_the_header_alone),
		cmocka_unit_test(a_worker_s_own_traceback_is_the_cause),
		cmocka_unit_test(what_only_ends_a_loop_causes_nothing),
		cmocka_unit_test(what_a_pool_s_process_raised),
		cmocka_unit_test(what_a_task_of_ray_raised),
		cmocka_unit_test(what_a_callback_of_jax_raised),
		cmocka_unit_test(what_failed_in_a_graph_of_tensorflow),
		cmocka_unit_test(what_a_checkpoint_raised),
		cmocka_unit_test(an_exception_shortly_before_it),
		cmocka_unit_test(an_exception_before_those_who_lost_it),
		cmocka_unit_test(what_stands_before_the_rank),
		cmocka_unit_test(a_blank_before_the_header_alone),
		cmocka_unit_test(a_frame_of_a_library_is_not_the_user_s_own),
		cmocka_unit_test(groups),
		cmocka_unit_test(what_ended_nothing_gives_way),
		cmocka_unit_test(one_that_breaks_off),
		cmocka_unit_test(lines_of_other_threads_in_between),
	};

	return cmocka_run_group_tests_name("traceback", tests, NULL, NULL);
}
