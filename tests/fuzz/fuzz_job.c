/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole run: the words of a command line, one a line, after a line "%%" the
 * strings of the environment, after another one the text of --hostfile.
 */
#include "fuzz_whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[] = "rankinit", *text = fuzz_string(data, size);
	char *strings_text = fuzz_cut_part(text), *hostfile = fuzz_cut_part(strings_text);
	char *words[FUZZ_WORDS + 1] = { name }, *strings[FUZZ_WORDS + 1];

	fuzz_split(text, words, 1, FUZZ_WORDS);
	fuzz_split(strings_text, strings, 0, FUZZ_WORDS);
	fuzz_run(words, strings, hostfile, NULL, "node1", NULL);
	free(text);
	return 0;
}
