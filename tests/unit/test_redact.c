/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "redact/redact.h"
#include "redact/token.h"
#include "thinned.h"

struct pair {
	const char *text;
	const char *expected;	/* NULL: as it is */
};

static void check(const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = pairs[i].text, *expected = pairs[i].expected;
		char buffer[1024];
		struct ri_text out;

		out = ri_text_of(buffer, sizeof(buffer));
		ri_redact(&out, (struct ri_span){ text, strlen(text) });
		assert_false(out.cut);
		assert_string_equal(buffer, expected == NULL ? text : expected);
	}
}

#define CHECK(pairs) check(pairs, sizeof(pairs) / sizeof(pairs[0]))

static void assignments(void **state)
{
	static const struct pair pairs[] = {
		{ "API_KEY=abc", "API_KEY=***" },
		{ "HF_TOKEN=abc next", "HF_TOKEN=*** next" },
		{ "x HF_TOKEN=abc next", "x HF_TOKEN=*** next" },
		{ "export DB_PASSWORD=a b c\nnext=1", "export DB_PASSWORD=***\nnext=1" },
		{ "MY_SECRET=a\nUSER=me", "MY_SECRET=***\nUSER=me" },
		{ "sasToken=abc x", "sasToken=*** x" },
		{ "password = my long one\nx", "password = ***\nx" },
		{ "f(api_key=\"a b\", n=1)", "f(api_key=\"***\", n=1)" },
		{ "f(token='it\\'s', n=1)", "f(token='***', n=1)" },
		{ "token=b'a b' x", "token=b'***' x" },
		{ "token=\"\"\"a b\"\"\" x", "token=\"\"\"***\"\"\" x" },
		{ "tokens=[1, [2], 3] x", NULL },
		{ "secrets=['a', [\"b\"], 3] x", "secrets=[***] x" },
		{ "PASS=", NULL },
		{ "PASS=\nx", NULL },
		{ "AccountKey=a==;Suffix=b x", "AccountKey=***;Suffix=b x" },
		{ "os.environ[\"A_KEY\"] = \"v w\"", "os.environ[\"A_KEY\"] = \"***\"" },
		{ "A_KEY=\"no end\nnext", "A_KEY=\"***\nnext" },
		{ "A_KEY=\"two\nlines\" x", "A_KEY=\"***\" x" },
		{ "key='rank0'", NULL },
		{ "key=\"0123456789abcdef\"", "key=\"***\"" },
	};

	(void)state;
	CHECK(pairs);
}

static void members_of_objects(void **state)
{
	static const struct pair pairs[] = {
		{ "{\"api_key\": \"a b\", \"n\": 1}", "{\"api_key\": \"***\", \"n\": 1}" },
		{ "{'Password': 'a', 'n': 1}", "{'Password': '***', 'n': 1}" },
		{ "{\"token\":12345,\"n\":1}", NULL },
		{ "{\"token\":a1b2,\"n\":1}", "{\"token\":***,\"n\":1}" },
		{ "{\"secrets\": {\"a\": [\"b\"]}, \"n\": 1}",
			"{\"secrets\": {***}, \"n\": 1}" },
		{ "\"{\\\"token\\\": \\\"a \\\\\\\" b\\\"}\" x",
			"\"{\\\"token\\\": \\\"***\\\"}\" x" },
		{ "{'token': Secret('x y')}", "{'token': Secret(***)}" },
		{ "{\"Authorization\": \"Bearer a\"}", "{\"Authorization\": \"***\"}" },
	};

	(void)state;
	CHECK(pairs);
}

static void labels(void **state)
{
	static const struct pair pairs[] = {
		{ "password: correct horse\nx", "password: ***\nx" },
		{ "X-Api-Key: abc1", "X-Api-Key: ***" },
		{ "Authorization: Basic abc", "Authorization: ***" },
		{ "got Bearer abc.def-ghi from it", "got Bearer *** from it" },
		{ "key: 0123456789abcdefghij", "key: ***" },
		/* what a verdict needs */
		{ "KeyError: 'learning_rate'", NULL },
		{ "missing key: lr", NULL },
		{ "size mismatch for attn.key.weight: copying a param", NULL },
		{ "size mismatch for attn.key: copying a param", NULL },
		{ "KeyboardInterrupt", NULL },
		{ "TokenizerError: not found", NULL },
		{ "tokenizer: gpt2", NULL },
		{ "ValueError: the key is not there: x", NULL },
		{ "  File \"/app/tokens.py\", line 3, in get_token", NULL },
	};

	(void)state;
	CHECK(pairs);
}

static void options(void **state)
{
	static const struct pair pairs[] = {
		{ "run --api-key abc --n 1", "run --api-key *** --n 1" },
		{ "run --token=abc --n 1", "run --token=*** --n 1" },
		{ "run --token 'a b' --n 1", "run --token '***' --n 1" },
		{ "run -password abc", "run -password ***" },
		{ "['run', '--token', 'abc', '-n']", "['run', '--token', '***', '-n']" },
		{ "[\"--token\",\"abc\"]", "[\"--token\",\"***\"]" },
		{ "run --use-token --n 1", NULL },
		{ "run --use-token\nnext", NULL },
		{ "[\"--use-token\", \"--n\"]", NULL },
		{ "-- token ring", NULL },
	};

	(void)state;
	CHECK(pairs);
}

static void addresses(void **state)
{
	static const struct pair pairs[] = {
		{ "at https://me:pw@host:80/a?b=c x", "at https://***@host:80/a?b=c x" },
		{ "git+https://ghp_abc@host/a", "git+https://***@host/a" },
		{ "mongodb://a:p@ss@h/x", "mongodb://***@h/x" },
		{ "tcp://10.0.0.1:80 me@host", NULL },
		{ "https://host/a@b", NULL },
		{ "https://b/c?sv=1&sig=a%3D&se=2 x", "https://b/c?sv=1&sig=***&se=2 x" },
		{ "https://b/c?sig=a%3D", "https://b/c?sig=***" },
		{ "sig=abc&se=1", "sig=***&se=1" },
		{ "u?X-Amz-Signature=ab&X-Amz-Credential=cd&x=1",
			"u?X-Amz-Signature=***&X-Amz-Credential=***&x=1" },
		{ "signature=(a, b)", NULL },
	};

	(void)state;
	CHECK(pairs);
}

static void private_keys(void **state)
{
	static const struct pair pairs[] = {
		{ "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
			"a\n***\nb" },
		{ "-----BEGIN PRIVATE KEY-----\nMII\nMII", "***" },
		{ "-----BEGIN PRIVATE KEY-----\nMII\nnot found", "***\nnot found" },
		{ "-----BEGIN CERTIFICATE-----\nMII", NULL },
	};

	(void)state;
	CHECK(pairs);
}

static void what_does_not_fit_is_cut(void **state)
{
	char buffer[12];
	struct ri_text out;

	(void)state;
	out = ri_text_of(buffer, sizeof(buffer));
	ri_redact(&out, (struct ri_span){ "a TOKEN=abc and so", 18 });
	assert_true(out.cut);
	assert_string_equal(buffer, "a TOKEN=***");
}

/* The shortest names and values make the most of it. */
static void is_twice_as_long_at_most(void **state)
{
	static const char *const parts[] = {
		"sas=a ", "pwd=a ", "://a@", "?sig=a", "&sig=a", "<pwd>a</", "pwd='a',", "-pwd a ",
		"pwd:a\n", "sas:\n a\n", "secrets=['a','b']",
		"{\"value\":\"a\",\"name\":\"pwd\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char text[1024] = "", buffer[4096];
		struct ri_text out;

		while (strlen(text) + strlen(parts[i]) < sizeof(text))
			strcat(text, parts[i]);
		out = ri_text_of(buffer, sizeof(buffer));
		ri_redact(&out, (struct ri_span){ text, strlen(text) });
		assert_non_null(strstr(buffer, RI_REDACTED));
		assert_true(out.length <= 2 * strlen(text));
	}
}

/*
 * Nothing that a text repeats makes the work for a byte of it grow with the text. Below
 * valgrind the texts are short: how the work grows is not seen there.
 */
static void the_work_is_bounded(void **state)
{
	static const char *const parts[] = {
		"\"", "[", "\\", "a_key={", "sas={", "sas=['", "?sig={",
		"keys=['a',", "keys=[a ", "token=(\n", "token=\"\n",
		"token='${", "password: the is required ", "\"value\": \"", "value: x\n", "name:",
		"token:\n", "token: |\n\n\n", "keys:\n a\n", "-----BEGIN PRIVATE KEY-----",
		"://a",
		"\x1b[", "token\x1b[0m", "%22", "&quot;", "<token ", "<a:", "mysql -p ", "curl -u ",
		"Bearer ", "HF_TOKEN | ", "('A_TOKEN','',", "login a password ", "token=a,",
		"token=;", "token=''", "token=\\\n", "token=a\\\n", "keys=f(", "'','", "keys={'':",
		"value:{", "keys:\n  - a\n", "keys=[token:", "\"keys\",\n\n", "keys=\"a:\"",
		"://a:", "://a:b/", " keys:\n", "<sas>\n", "pwd a", "key:\n\n\n",
		"-----BEGIN PRIVATE KEY-----\na\n", "token=\"\"\"",
		"- \\\n", "`,sas", "://:", "auth:", "token='a' + 'b' +",
		"sas:", "eyJ", "a=", "a ", "a", "pass='", "token is ", "{\"pass\": \"",
		"sig=", "\"value\": ",
		"sig=", "\"value\": ", "value:", "<value>",
	};
	static char text[65536], buffer[4 * sizeof(text)];
	const size_t size = thinned(sizeof(text), 1024);

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t length = strlen(parts[i]), looks;
		struct ri_text out;

		for (size_t at = 0; at < size; at++)
			text[at] = parts[i][at % length];
		out = ri_text_of(buffer, sizeof(buffer));
		looks = ri_redact(&out, (struct ri_span){ text, size });
		assert_false(out.cut);
		assert_true(looks <= RI_REDACT_LOOKS * size);
	}
}

/* A word of redact.def that no name gets to would be dead. */
static void every_name_has_a_core(void **state)
{
	static const struct {
		const char *kind;
		const char *words;
	} rows[] = {
#define RI_WORDS(kind, words) { #kind, words },
#include "redact/redact.def"
	};
	static const char *const others[] = {
		"NEUTRAL", "NOTHING", "HARMLESS", "SENTENCE", "SETTER", "TYPE",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char copy[1024], *rest = copy, *word;
		bool names = true;

		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			names = names && strcmp(rows[i].kind, others[k]) != 0;
		assert_true(strlen(rows[i].words) < sizeof(copy));
		strcpy(copy, rows[i].words);
		while (names && (word = strsep(&rest, " ")) != NULL)
			assert_true(ri_name_mentions((struct ri_span){ word, strlen(word) }));
	}
}

static void words_of_a_command(void **state)
{
	static const char *const pairs[][2] = {
		{ "python", "python" }, { "--hf-token=abc d", "--hf-token=***" },
		{ "--lr=0.1", "--lr=0.1" }, { "--hf-token", "--hf-token" }, { "abc", "***" },
		{ "abc", "abc" }, { "--wandb_api_key", "--wandb_api_key" }, { "--lr", "--lr" },
		{ "HF_TOKEN=a b", "HF_TOKEN=***" }, { "--env=HF_TOKEN=a b", "--env=HF_TOKEN=***" },
		{ "+model.api_key=x", "+model.api_key=***" }, { "A=1", "A=1" },
		{ "HF_TOKEN=", "HF_TOKEN=" }, { "HF_TOKEN", "HF_TOKEN" }, { "t.py", "t.py" },
		{ "export HF_TOKEN=x; python", "export HF_TOKEN=***; python" },
		{ "-token", "-token" }, { "-abc", "***" }, { "--tokenizer", "--tokenizer" },
		{ "gpt2", "gpt2" }, { "--max-tokens", "--max-tokens" }, { "4096", "4096" },
		{ "--token", "--token" }, { "$HF_TOKEN", "$HF_TOKEN" },
		{ "--tokenizer=gpt2", "--tokenizer=gpt2" },
		{ "--token-dropout=x", "--token-dropout=x" }, { "--key-file", "--key-file" },
		{ "/etc/x.pem", "/etc/x.pem" }, { "--pass", "--pass" }, { "", "" },
		{ "abc", "abc" }, { "https://me:pw@host/", "https://***@host/" },
		{ "Authorization: Bearer x", "Authorization: ***" },
	};
	enum { COUNT = sizeof(pairs) / sizeof(pairs[0]) };
	static struct ri_arena arena;
	char *words[COUNT + 1] = { NULL }, **shown, small[10] = "TOKEN=ab1";

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		words[i] = (char *)(uintptr_t)pairs[i][0];
	shown = ri_redact_words(words, &arena);
	assert_non_null(shown);
	for (size_t i = 0; i < COUNT; i++)
		assert_string_equal(shown[i], pairs[i][1]);
	assert_null(shown[COUNT]);
	ri_redact_word_in_place(small, sizeof(small));
	assert_string_equal(small, "TOKEN=***");
	shown = ri_redact_words(words + COUNT, &arena);
	assert_null(shown[0]);
	ri_arena_release(&arena);
}

/*
 * As long as the kernel takes one: its names are not all asked for the rest of the word. Below
 * valgrind a short one, which is read the same way.
 */
static void a_word_of_many_names(void **state)
{
	static const char name[] = "key=", secret[] = "x HF_TOKEN=abc";
	static char word[RI_MAX_VARIABLE];
	static struct ri_arena arena;
	const size_t length = thinned(sizeof(word), 4096) - sizeof(secret);
	char *words[] = { word, NULL }, **copies, *shown;

	(void)state;
	for (size_t i = 0; i < length; i++)
		word[i] = name[i % (sizeof(name) - 1)];
	strcat(word, secret);
	copies = ri_redact_words(words, &arena);
	assert_non_null(copies);
	shown = copies[0];
	assert_string_equal(shown + strlen(shown) - strlen("HF_TOKEN=***"), "HF_TOKEN=***");
	ri_arena_release(&arena);
}

/* A star for each byte, and no other byte in another place. */
static void a_mask_keeps_places(void **state)
{
	char text[] = "a{\"token\":\"hunter2\"} https://me:p/w@h HF_TOKEN=x", none[] = "a=1 b";

	(void)state;
	ri_redact_mask(text);
	assert_string_equal(text, "a{\"token\":\"*******\"} https://******@h HF_TOKEN=*");
	ri_redact_mask(none);
	assert_string_equal(none, "a=1 b");
}

static void values_of_variables(void **state)
{
	static const char *const cases[][3] = {
		{ "HF_TOKEN", "a b", "***" }, { "TF_CONFIG", "{\"token\": \"a\"}",
			"{\"token\": \"***\"}" },
		{ "HF_HOME", "a b", "a b" }, { "MAX_TOKENS", "4096", "4096" },
		{ "HF_TOKEN", "", "" },
	};
	char buffer[128];
	struct ri_text out;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		out = ri_text_of(buffer, sizeof(buffer));
		ri_redact_value(&out, cases[i][0], cases[i][1]);
		assert_string_equal(buffer, cases[i][2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assignments),
		cmocka_unit_test(members_of_objects),
		cmocka_unit_test(labels),
		cmocka_unit_test(options),
		cmocka_unit_test(addresses),
		cmocka_unit_test(private_keys),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(is_twice_as_long_at_most),
		cmocka_unit_test(the_work_is_bounded),
		cmocka_unit_test(every_name_has_a_core),
		cmocka_unit_test(words_of_a_command),
		cmocka_unit_test(a_word_of_many_names),
		cmocka_unit_test(a_mask_keeps_places),
		cmocka_unit_test(values_of_variables),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
