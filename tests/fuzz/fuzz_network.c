/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a line that is a name, a path or a list, then /etc/hosts or a table
 * of mounts; and the same once more behind a line "%%".
 */
#include "node/node.h"
#include "fuzz.h"

/* A list of words chooses what it does not exclude, and the first word itself. */
static void check_choice(const char *list)
{
	size_t words = strspn(list, ", ");

	if (list[words] == '\0')
		CHECK(ri_choice_takes(list, RI_CHOICE_NAMES, "eth0"));
	if (strpbrk(list, ":, ") == NULL)
		CHECK(ri_choice_takes(list, RI_CHOICE_NAMES, list));
	if (list[0] == '^' && list[1] != '^' && list[1] != '=' && strpbrk(list + 1, ":, ") == NULL)
		CHECK(list[1] == '\0' || !ri_choice_takes(list, RI_CHOICE_NCCL, list + 1));
	ri_choice_takes(list, RI_CHOICE_NCCL, "eth0");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *mounts = fuzz_cut_part(text), *body;
	char address[24] = "untouched";
	struct ri_mount mount;

	body = text + strcspn(text, "\n");
	body += *body == '\n';
	text[strcspn(text, "\n")] = '\0';
	check_choice(text);
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
