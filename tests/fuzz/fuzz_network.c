/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a line that is a name, a path or a list, then /etc/hosts or a table
 * of mounts; and the same once more behind a line "%%".
 */
#include "node/node.h"
#include "fuzz.h"

static void check_choice(const char *list, enum ri_choice_kind kind)
{
	size_t words = 0, length = strlen(list);
	struct ri_choice choice;
	char word[8];

	ri_choice_init(&choice, list, kind);
	while (ri_choice_next(&choice, word, sizeof(word))) {
		CHECK(++words <= length && strlen(word) < sizeof(word));
		CHECK(choice.rest <= list + length);
		if (choice.exact)
			CHECK(ri_choice_matches(&choice, word, word));
	}
	CHECK(*choice.rest == '\0');
	if (words == 0)
		CHECK(ri_choice_takes(list, kind, "eth0") != choice.excludes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *mounts = fuzz_cut_part(text), *body;
	char address[24] = "untouched";
	struct ri_mount mount;

	body = text + strcspn(text, "\n");
	body += *body == '\n';
	text[strcspn(text, "\n")] = '\0';
	check_choice(text, RI_CHOICE_NCCL);
	check_choice(text, RI_CHOICE_NAMES);
	if (ri_hosts_find(body, text, address, sizeof(address)))
		CHECK(strpbrk(address, " \t\n#") == NULL && strstr(body, address) != NULL);
	else
		CHECK(strcmp(address, "untouched") == 0);
	ri_loopback_is(text, strlen(text));
	if (text[0] == '/' && ri_mount_of(mounts, text, &mount))
		CHECK(mount.point[0] == '/' && ri_storage_name(ri_storage_of(&mount)) != NULL);
	free(text);
	return 0;
}
