/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret that is planted among any text does not come out. Input: text, a
 * line "%%", text; the secret is put between them, once in each form. Quotes
 * and brackets before it are taken out: one that is not closed may end at the
 * secret's own.
 */
#include "fuzz.h"
#include "redact/redact.h"

static const char secret[] = "uZ8wV3qT";

static const char *const forms[] = {
	"MY_KEY=%s", "x_token=%s y", "export PASSWORD=a %s", "f(api_key=\"%s\")", "pass = '%s'",
	"{\"secret\": \"%s\"}", "{'sas': %s}", "{\"token\": [1, \"%s\"]}", "password: a %s",
	"X-Api-Key: %s", "--token %s", "--token=%s", "'--pass', '%s'", "https://me:%s@host/",
	"https://%s@host", "https://host/?a=b&sig=%s&c", "Bearer %s", "Authorization: Basic %s",
	"-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----",
	"\\\"token\\\": \\\"%s\\\"",
	"{\"name\": \"HF_TOKEN\", \"value\": \"%s\"}",
	"{\"value\": \"%s\", \"name\": \"HF_TOKEN\"}",
	"hf_token:\n  %s", "- name: HF_TOKEN\n  value: %s", "('HF_TOKEN', '%s')",
	"setdefault(\"HF_TOKEN\", \"%s\")", "<password>%s</password>", "a=1;Password=%s;b=2",
	"SharedAccessSignature=%s", "machine h login me password %s", "\x1b[1mHF_TOKEN\x1b[0m=%s",
	"\"token\":\n  \"%s\"", "- token:\n    - %s", "secret: >-\n  a\n  %s", "passwd: 'it''s %s'",
	"setdefault(\"HF_TOKEN\",\n\"%s\")", "export HF_TOKEN=\\\n%s", "https://me:a/#%s@host",
	"password=)%s", "{\"secrets\": {\"a\": [\"%s\"]}}",
	"token%%3D%s%%26", "ENV HF_TOKEN %s", "| HF_TOKEN | %s |", "curl -u me:%s h",
};

static void check_form(const char *form, const char *before, const char *after)
{
	size_t size = strlen(before) + strlen(after) + 256;
	char *text = malloc(size), *room = malloc(4 * size), planted[128];
	struct ri_text out;

	CHECK(text != NULL && room != NULL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(planted, sizeof(planted), form, secret);
#pragma GCC diagnostic pop
	snprintf(text, size, "%s\n%s\n%s", before, planted, after);
	out = ri_text_of(room, 4 * size);
	ri_redact(&out, (struct ri_span){ text, strlen(text) });
	CHECK(!out.cut && strstr(room, secret) == NULL);
	free(text);
	free(room);
}

/* Stars in the place of a secret: nothing else moves, and there is one where one is found. */
static void check_mask(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *masked = fuzz_string(data, size);
	size_t length = strlen(text);

	ri_redact_mask(masked);
	CHECK(strlen(masked) == length);
	CHECK(ri_redact_finds(text) == (strcmp(text, masked) != 0));
	for (size_t i = 0; i < length; i++)
		CHECK(masked[i] == text[i] || masked[i] == '*');
	free(masked);
	free(text);
}

/* The same as words: the secret in one of its own, behind any two. */
static void check_words(char *before, char *after)
{
	static const char *const named[] = {
		"MY_KEY=uZ8wV3qT x", "--token=uZ8wV3qT", "--env=A_TOKEN=uZ8wV3qT", "--token",
	};
	static struct ri_arena arena;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		char value[] = "uZ8wV3qT", plain[] = "--";
		char *words[] = { before, after, plain, (char *)(uintptr_t)named[i], NULL, NULL };
		char **shown;

		if (strchr(named[i], '=') == NULL)
			words[4] = value;
		shown = ri_redact_words(words, &arena);
		CHECK(shown != NULL);
		for (size_t at = 0; words[at] != NULL; at++)
			CHECK(shown[at] != NULL && strstr(shown[at], secret) == NULL);
		CHECK(strcmp(shown[2], plain) == 0);
		ri_arena_release(&arena);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *after = fuzz_cut_part(text), *room;
	size_t looks;
	struct ri_text out;

	room = malloc(2 * size + 16);
	CHECK(room != NULL);
	out = ri_text_of(room, 2 * size + 16);
	looks = ri_redact(&out, (struct ri_span){ (const char *)data, size });
	CHECK(!out.cut && looks <= RI_REDACT_LOOKS * (size + 64));
	free(room);
	check_mask(data, size);
	for (char *p = text; *p != '\0'; p++)
		if (strchr("\"'`([{", *p) != NULL)
			*p = '_';
	if (strstr(text, secret) == NULL && strstr(after, secret) == NULL)
		check_words(text, after);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strstr(text, secret) == NULL && strstr(after, secret) == NULL)
			check_form(forms[i], text, after);
	free(text);
	return 0;
}
