/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/limits.h"

static bool plays_machines;

bool ri_loopback_has(const unsigned char ipv4[4])
{
	return ipv4[0] == 127 &&
		(!plays_machines || (ipv4[1] == 0 && ipv4[2] == 0 && ipv4[3] <= 1));
}

bool ri_loopback_is(const char *host, size_t length)
{
	/* RFC 6761, 6.3; and what Debian's /etc/hosts calls it */
	static const char *const names[] = {
		"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
	};
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr wide;
	struct in_addr address;
	unsigned char ipv4[4];

	for (size_t i = 0; i < RI_ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == length && strncasecmp(host, names[i], length) == 0)
			return true;
	/* of 100,000 hosts few begin like an address of it */
	if (length == 0 || strchr("01:", host[0]) == NULL)
		return false;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, host, length);
	copy[length] = '\0';
	if (inet_pton(AF_INET, copy, &address) == 1) {
		memcpy(ipv4, &address, sizeof(ipv4));
		return ri_loopback_has(ipv4) || address.s_addr == 0;
	}
	return inet_pton(AF_INET6, copy, &wide) == 1 &&
		(IN6_IS_ADDR_LOOPBACK(&wide) || IN6_IS_ADDR_UNSPECIFIED(&wide));
}

static int refuse(struct ri_error *err)
{
	ri_fail(err, RI_CODE_OPTION_VALUE, RI_OVERLAY_VARIABLE,
		"is not what --simulate gives the rankinit that it starts");
	return ri_fail_hint(err, "unset it: env -u " RI_OVERLAY_VARIABLE " rankinit ...");
}

static int no_memory(struct ri_error *err)
{
	return ri_fail(err, RI_CODE_MEMORY, RI_OVERLAY_VARIABLE, "no memory left to read it");
}

static int read_files(struct ri_overlay *out, json_t *files, struct ri_arena *arena,
	struct ri_error *err)
{
	struct ri_host_file *list =
		ri_arena_array(arena, json_object_size(files) + 1, sizeof(*list));
	const char *path;
	json_t *text;
	size_t count = 0;

	if (list == NULL)
		return no_memory(err);
	json_object_foreach (files, path, text) {
		struct ri_host_file *file = &list[count++];

		if (path[0] != '/' || !json_is_string(text))
			return refuse(err);
		file->length = json_string_length(text);
		file->text = ri_arena_copy(arena, json_string_value(text), file->length);
		file->path = ri_arena_copy(arena, path, strlen(path));
		if (file->text == NULL || file->path == NULL)
			return no_memory(err);
	}
	out->files = list;
	return 0;
}

static int read_object(struct ri_overlay *out, json_t *object, struct ri_arena *arena,
	struct ri_error *err)
{
	json_t *files = json_object_get(object, "files");
	const char *name = json_string_value(json_object_get(object, "name"));
	json_t *from = json_object_get(object, "from"), *job = json_object_get(object, "job");
	json_t *unfit = json_object_get(object, "unfit");

	if (name == NULL || name[0] == '\0' || strlen(name) > RI_MAX_NAME ||
		!json_is_object(files) || (from != NULL && !json_is_integer(from)) ||
		json_integer_value(from) < 0 || (job != NULL && !json_is_string(job)) ||
		(unfit != NULL && !json_is_integer(unfit)) || json_integer_value(unfit) < 0)
		return refuse(err);
	out->from_ms = (uint64_t)json_integer_value(from);
	out->unfit = (uint64_t)json_integer_value(unfit);
	out->name = ri_arena_copy(arena, name, strlen(name));
	out->job = job == NULL ? NULL
		: ri_arena_copy(arena, json_string_value(job), json_string_length(job));
	return out->name == NULL || (job != NULL && out->job == NULL) ? no_memory(err)
		: read_files(out, files, arena, err);
}

int ri_overlay_read(struct ri_overlay *out, const char *text, struct ri_arena *arena,
	struct ri_error *err)
{
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int status = read_object(out, object, arena, err);

	json_decref(object);
	return status;
}

void ri_overlay_play(struct ri_host *host, const struct ri_overlay *overlay)
{
	host->name = overlay->name;
	host->files = overlay->files;
	host->job = overlay->job;
	plays_machines = true;
}

char *ri_overlay_write(const struct ri_overlay *overlay, struct ri_arena *arena)
{
	json_t *files = json_object(), *object = json_object();
	size_t size;
	char *text;

	for (const struct ri_host_file *file = overlay->files; file->path != NULL; file++)
		json_object_set_new(files, file->path, json_stringn(file->text, file->length));
	json_object_set_new(object, "name", json_string(overlay->name));
	json_object_set_new(object, "files", files);
	if (overlay->from_ms > 0)
		json_object_set_new(object, "from", json_integer((json_int_t)overlay->from_ms));
	if (overlay->job != NULL)
		json_object_set_new(object, "job", json_string(overlay->job));
	if (overlay->unfit > 0)
		json_object_set_new(object, "unfit", json_integer((json_int_t)overlay->unfit));
	size = json_dumpb(object, NULL, 0, JSON_COMPACT);
	text = size == 0 ? NULL : ri_arena_alloc(arena, size + 1);
	if (text != NULL)
		json_dumpb(object, text, size, JSON_COMPACT);
	json_decref(object);
	return text;
}
