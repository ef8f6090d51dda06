/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/facts.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "from/sources.h"

bool ri_hang_read_field(const char *text, const char *name, uint64_t *out)
{
	size_t length = strlen(name);

	while (strncmp(text, name, length) != 0 || text[length] != ':') {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += length + 1;
	return ri_digits_read(text + strspn(text, " \t"), out) > 0;
}

bool ri_hang_read_status(const char *text, pid_t *tracer, unsigned *threads)
{
	uint64_t pid, count;

	if (!ri_hang_read_field(text, "TracerPid", &pid) ||
		!ri_hang_read_field(text, "Threads", &count) || pid > INT32_MAX ||
		count > INT32_MAX)
		return false;
	*tracer = (pid_t)pid;
	*threads = (unsigned)count;
	return true;
}

/* Behind the name, which may hold blanks and parentheses, the state is field 3. */
static const char *find_field(const char *stat, int wanted)
{
	const char *at = strrchr(stat, ')');

	for (int field = 2; at != NULL && field < wanted; field++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return at;
}

bool ri_hang_read_faults(const char *text, uint64_t *faults)
{
	const char *at = find_field(text, 10);

	return at != NULL && ri_digits_read(at, faults) > 0;
}

bool ri_hang_read_ticks(const char *text, uint64_t *ticks)
{
	const char *at = find_field(text, 14);
	uint64_t user, kernel;
	size_t digits;

	if (at == NULL || (digits = ri_digits_read(at, &user)) == 0 || at[digits] != ' ' ||
		ri_digits_read(at + digits + 1, &kernel) == 0)
		return false;
	*ticks = user + kernel;
	return true;
}

bool ri_hang_read_io(const char *text, uint64_t *bytes)
{
	uint64_t in, out;

	if (!ri_hang_read_field(text, "rchar", &in) || !ri_hang_read_field(text, "wchar", &out))
		return false;
	*bytes = in + out;
	return true;
}

void ri_hang_read_wchan(const char *text, char *out, size_t size)
{
	ri_text_copy(out, size, strcmp(text, "0") == 0 ? "" : text);
	out[strcspn(out, "\n")] = '\0';
}

bool ri_hang_find_mount(char *mountinfo, uint64_t id, struct ri_mount *out)
{
	for (char *line = mountinfo, *end; *line != '\0'; line = end) {
		uint64_t number;
		size_t digits = ri_digits_read(line, &number);

		end = line + strcspn(line, "\n");
		end += *end == '\n';
		if (digits == 0 || line[digits] != ' ' || number != id)
			continue;
		return ri_mount_next(&line, out);
	}
	return false;
}

/* Is the path the point or below it? */
static bool is_below(const char *path, const char *point)
{
	size_t length = strlen(point);

	if (strcmp(point, "/") == 0)
		return path[0] == '/';
	return strncmp(path, point, length) == 0 &&
		(path[length] == '\0' || path[length] == '/');
}

/* Of several at one point the last one hides the others. */
bool ri_hang_find_mount_of(char *mountinfo, const char *path, struct ri_mount *out)
{
	struct ri_mount mount;
	size_t longest = 0;
	bool found = false;

	while (ri_mount_next(&mountinfo, &mount)) {
		size_t length = strlen(mount.point);

		if (length < longest || !is_below(path, mount.point))
			continue;
		longest = length;
		*out = mount;
		found = true;
	}
	return found;
}

/* The variable in which the launcher of that source tells a process its rank; or NULL. */
static const char *find_rank_variable(const struct ri_source *source)
{
	for (const struct ri_shape *shape = source->shapes;
		shape != NULL && shape->name != NULL; shape++)
		for (const struct ri_shape_row *row = shape->rows;
			source->manages && row->name != NULL; row++)
			if (strcmp(row->value, "<rank>") == 0)
				return row->name;
	return NULL;
}

/* The same for all sources, by their place in the table. */
static const char *const *rank_variables(void)
{
	static const char *names[RI_SOURCE_COUNT];
	static bool found;

	for (size_t i = 0; !found && i < RI_SOURCE_COUNT; i++)
		names[i] = find_rank_variable(ri_source_at(i));
	found = true;
	return names;
}

static bool is_named(const char *variable, const char *name)
{
	size_t length = strlen(name);

	return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool says_rank(const char *variable)
{
	static const char *const others[] = {
		"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "PMIX_RANK",
	};
	const char *const *names = rank_variables();

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (is_named(variable, others[i]))
			return true;
	for (size_t i = 0; i < RI_SOURCE_COUNT; i++)
		if (names[i] != NULL && is_named(variable, names[i]))
			return true;
	return false;
}

static void keep_variable(struct ri_hang_environment *environment)
{
	size_t length = environment->seen + 1;

	if (!says_rank(environment->variable) ||
		length > sizeof(environment->kept) - environment->length)
		return;
	memcpy(environment->kept + environment->length, environment->variable, length);
	environment->length += length;
}

void ri_hang_add_environment(struct ri_hang_environment *environment, const char *piece,
	size_t length)
{
	for (size_t i = 0; i < length; i++) {
		size_t at = environment->seen;

		if (at < sizeof(environment->variable))
			environment->variable[at] = piece[i];
		if (piece[i] != '\0') {
			environment->seen += at < sizeof(environment->variable);
			continue;
		}
		if (at < sizeof(environment->variable))
			keep_variable(environment);
		environment->seen = 0;
	}
}

static const char *find(const char *environment, size_t length, const char *name)
{
	const char *end = environment + length;
	size_t size = strlen(name);

	for (const char *at = environment; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
		if ((size_t)(end - at) > size && memcmp(at, name, size) == 0 && at[size] == '=')
			return at + size + 1;
	return NULL;
}

static bool read_variable(const char *environment, size_t length, const char *name, int64_t *rank)
{
	static const struct ri_range ranks = { 0, INT32_MAX };
	const char *value = find(environment, length, name);
	char copy[16];
	uint64_t number;
	size_t size;

	if (value == NULL)
		return false;
	size = strnlen(value, (size_t)(environment + length - value));
	if (size >= sizeof(copy))
		return false;
	memcpy(copy, value, size);
	copy[size] = '\0';
	if (ri_number_read(copy, ranks, &number, NULL) != RI_NUMBER_OK)
		return false;
	*rank = (int64_t)number;
	return true;
}

/* As a launcher of MPI's ranks says it, or as another one does. */
static bool read_launched(const char *environment, size_t length, bool by_mpi, int64_t *rank)
{
	const char *const *names = rank_variables();

	for (size_t i = 0; i < RI_SOURCE_COUNT; i++)
		if (names[i] != NULL && strcmp(names[i], "RANK") != 0 &&
			(ri_source_at(i)->mpi != RI_SOURCE_NO_MPI) == by_mpi &&
			read_variable(environment, length, names[i], rank))
			return true;
	return false;
}

/*
 * torchrun's variables (pytorch.org, "torchrun", Environment Variables), which rankinit's own
 * ranks have too; PMIX_RANK of each process that a PMIx server started (openpmix 5.0
 * src/server/pmix_server.c, PMIx_server_setup_fork); the other launchers' as lib/from has them.
 */
enum ri_hang_claim ri_hang_read_rank(const char *environment, size_t length, int64_t *rank)
{
	int64_t local;

	if (read_variable(environment, length, "LOCAL_RANK", &local) &&
		read_variable(environment, length, "RANK", rank))
		return RI_HANG_OWN_RANK;
	if (read_launched(environment, length, true, rank) ||
		read_variable(environment, length, "PMIX_RANK", rank))
		return RI_HANG_MPI_RANK;
	if (find(environment, length, "WORLD_SIZE") != NULL &&
		read_variable(environment, length, "RANK", rank))
		return RI_HANG_NODE_RANK;
	return read_launched(environment, length, false, rank) ? RI_HANG_STEP_RANK
							       : RI_HANG_NO_RANK;
}

bool ri_hang_read_local(const char *environment, size_t length, int64_t *rank, int64_t *ranks)
{
	return read_variable(environment, length, "LOCAL_RANK", rank) &&
		read_variable(environment, length, "LOCAL_WORLD_SIZE", ranks);
}
