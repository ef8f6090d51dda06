/* SPDX-License-Identifier: Apache-2.0 */
#include "hang/hang.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

bool ri_hang_read_field(const char *text, const char *name, uint64_t *out)
{
	const char *value = ri_proc_field(text, name, ':');

	return value != NULL && ri_digits_read(value, out) > 0;
}

void ri_hang_read_wchan(const char *text, char *out, size_t size)
{
	ri_text_copy(out, size, strcmp(text, "0") == 0 ? "" : text);
	out[strcspn(out, "\n")] = '\0';
}

bool ri_hang_find_mount(char *mountinfo, uint64_t id, struct ri_mount *out)
{
	while (ri_mount_next(&mountinfo, out))
		if (out->id == id)
			return true;
	return false;
}

enum { RANK, LOCAL_RANK, LOCAL_RANKS, PLACES };

/* The variable in which the launcher of that source tells a process its rank, say; or NULL. */
static const char *find_variable(const struct ri_source *source, const char *value)
{
	struct ri_shape_row row;

	for (size_t at = 0; source->manages && at < source->shape_count; at++)
		for (size_t i = 0; ri_shape_row_at(&source->shapes[at], i, &row); i++)
			if (strcmp(row.value, value) == 0)
				return row.name;
	return NULL;
}

/* The same for all sources, by their place in the table, and for all that they tell. */
static const char *const (*find_variables(void))[PLACES]
{
	static const char *const values[] = { "<rank>", "<local_rank>", "<ranks>" };
	static const char *names[RI_SOURCE_COUNT][PLACES];
	static bool found;

	for (size_t i = 0; !found && i < RI_SOURCE_COUNT; i++)
		for (int place = 0; place < PLACES; place++)
			names[i][place] = find_variable(ri_sources[i], values[place]);
	found = true;
	return (const char *const (*)[PLACES])names;
}

const struct ri_hang_identity ri_hang_unsaid = {
	.rank = -1, .local_rank = -1, .local_ranks = -1, .pmix_rank = -1,
	.restarts = -1, .most_restarts = -1, .world = -1, .nodes = -1, .node_rank = -1,
	.launched = { [0 ... RI_SOURCE_COUNT - 1] = { -1, -1, -1 } },
};

/* Takes its number from the variable of that name, unless there is none. */
static void take(const char *variable, const char *name, int64_t *out)
{
	static const struct ri_range ranks = { 0, INT32_MAX };
	size_t length = name == NULL ? 0 : strlen(name);
	uint64_t number;

	if (name != NULL && strncmp(variable, name, length) == 0 && variable[length] == '=' &&
		ri_number_read(variable + length + 1, ranks, &number, NULL) == RI_NUMBER_OK)
		*out = (int64_t)number;
}

/*
 * torchrun's variables (pytorch.org, "torchrun", Environment Variables), which rankinit's own
 * ranks have too; LOCAL_SIZE of DeepSpeed's, which have no LOCAL_WORLD_SIZE (deepspeed/launcher/
 * launch.py); PMIX_RANK of each process that a PMIx server started (openpmix 5.0
 * src/server/pmix_server.c, PMIx_server_setup_fork); what Lightning gives the ranks that it starts,
 * beside which NNODES is ours (lightning/fabric/strategies/launchers/subprocess_script.py, 2.6,
 * _call_children_scripts); the other launchers' as lib/from has them.
 */
void ri_hang_note_variable(struct ri_hang_identity *said, const char *variable)
{
	const char *const (*names)[PLACES] = find_variables();

	take(variable, "RANK", &said->rank);
	take(variable, "LOCAL_RANK", &said->local_rank);
	if (said->local_ranks < 0)
		take(variable, "LOCAL_SIZE", &said->local_ranks);
	take(variable, "LOCAL_WORLD_SIZE", &said->local_ranks);
	take(variable, "PMIX_RANK", &said->pmix_rank);
	take(variable, "TORCHELASTIC_RESTART_COUNT", &said->restarts);
	take(variable, "TORCHELASTIC_MAX_RESTARTS", &said->most_restarts);
	take(variable, "WORLD_SIZE", &said->world);
	take(variable, "NNODES", &said->nodes);
	take(variable, "NODE_RANK", &said->node_rank);
	for (size_t i = 0; i < RI_SOURCE_COUNT; i++) {
		struct ri_hang_place *launched = &said->launched[i];

		if (names[i][RANK] == NULL || strcmp(names[i][RANK], "RANK") == 0)
			continue;
		take(variable, names[i][RANK], &launched->rank);
		take(variable, names[i][LOCAL_RANK], &launched->local_rank);
		take(variable, names[i][LOCAL_RANKS], &launched->local_ranks);
	}
}

/* What the launchers of MPI's ranks, or the others, say: the first one in the table that does. */
static struct ri_hang_place find_launched(const struct ri_hang_identity *said, bool mpi)
{
	struct ri_hang_place found = { -1, -1, -1 };

	for (size_t i = 0; i < RI_SOURCE_COUNT; i++) {
		const struct ri_hang_place *one = &said->launched[i];

		if ((ri_sources[i]->mpi != RI_SOURCE_NO_MPI) != mpi)
			continue;
		if (found.rank < 0)
			found.rank = one->rank;
		/* its place on the node, as one and the same source has it */
		if (found.local_rank < 0 && found.local_ranks < 0) {
			found.local_rank = one->local_rank;
			found.local_ranks = one->local_ranks;
		}
	}
	return found;
}

enum ri_hang_claim ri_hang_claim_of(const struct ri_hang_identity *said,
	struct ri_hang_place *place)
{
	/* of the first rank on this node, which the number of nodes tells if it is a later one */
	int64_t first = said->node_rank <= 0 ? 0 : said->nodes <= 0 ? INT32_MIN
		: said->world / said->nodes * said->node_rank;
	const struct {
		bool claims;
		enum ri_hang_claim claim;
		struct ri_hang_place place;
	} claims[] = {
		{ said->local_rank >= 0, RI_HANG_OWN_RANK,
			{ said->rank, said->local_rank, said->local_ranks } },
		{ true, RI_HANG_MPI_RANK, find_launched(said, true) },
		{ true, RI_HANG_MPI_RANK, { said->pmix_rank, -1, -1 } },
		{ said->local_rank >= 0 && said->world > 0 && said->node_rank >= 0,
			RI_HANG_OWN_RANK, { first + said->local_rank, said->local_rank, -1 } },
		{ said->world >= 0, RI_HANG_NODE_RANK, { said->rank, -1, -1 } },
		{ true, RI_HANG_STEP_RANK, find_launched(said, false) },
	};

	for (size_t i = 0; i < RI_ARRAY_SIZE(claims); i++)
		if (claims[i].claims && claims[i].place.rank >= 0) {
			*place = claims[i].place;
			return claims[i].claim;
		}
	return RI_HANG_NO_RANK;
}

/* Calls of older architectures only have no number on newer ones: then these rows end at -1. */
#ifndef SYS_open
#define SYS_open -1
#define SYS_creat -1
#define SYS_stat -1
#define SYS_lstat -1
#define SYS_access -1
#define SYS_mkdir -1
#define SYS_rmdir -1
#define SYS_rename -1
#define SYS_unlink -1
#define SYS_readlink -1
#define SYS_select -1
#define SYS_poll -1
#define SYS_epoll_wait -1
#define SYS_vfork -1
#define SYS_pause -1
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif
/* Numbers that are the same everywhere, where the C library's headers are older (Linux 5.11). */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

static const struct ri_call_row rows[] = {
#define RI_CALL(name_, kind_, file_, path_) \
	{ SYS_##name_, #name_, RI_CALL_##kind_, file_, path_ },
#include "hang/calls.def"
#undef RI_CALL
};

/*
 * "running", "-1 SP PC" or "NUMBER ARGUMENT... SP PC": the number in decimal, the rest in
 * hexadecimal (fs/proc/base.c, proc_pid_syscall).
 */
bool ri_call_read(const char *text, struct ri_call *out)
{
	struct ri_call call = { .state = RI_CALL_INSIDE };
	uint64_t number;
	size_t digits;

	if (strncmp(text, "running", 7) == 0) {
		*out = (struct ri_call){ .state = RI_CALL_RUNNING };
		return true;
	}
	if (strncmp(text, "-1 ", 3) == 0) {
		*out = (struct ri_call){ .state = RI_CALL_OUTSIDE };
		return true;
	}
	digits = ri_digits_read(text, &number);
	if (digits == 0 || number > LONG_MAX)
		return false;
	text += digits;
	call.number = (long)number;
	for (size_t i = 0; i < RI_ARRAY_SIZE(call.arguments); i++) {
		text += strspn(text, " ");
		if (text[0] != '0' || text[1] != 'x')
			return false;
		digits = ri_hex_read(text + 2, &call.arguments[i]);
		if (digits == 0)
			return false;
		text += 2 + digits;
	}
	*out = call;
	return true;
}

const struct ri_call_row *ri_call_row(const struct ri_call *call)
{
	if (call->state != RI_CALL_INSIDE)
		return NULL;
	for (size_t i = 0; i < RI_ARRAY_SIZE(rows); i++)
		if (rows[i].number == call->number)
			return &rows[i];
	return NULL;
}

/* poll(fds, count, ...), ppoll alike; select(count, ...), pselect6 alike. */
bool ri_call_sleeps(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);

	if (row == NULL)
		return false;
	if (row->number == SYS_ppoll || row->number == SYS_poll)
		return (uint32_t)call->arguments[1] == 0;
	if (row->number == SYS_pselect6 || row->number == SYS_select)
		return (uint32_t)call->arguments[0] == 0;
	return row->kind == RI_CALL_SLEEP;
}

int ri_call_file(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);
	uint64_t fd;

	if (row == NULL || row->file < 0)
		return -1;
	fd = (uint32_t)call->arguments[row->file];
	return fd > INT_MAX ? -1 : (int)fd;
}

/* wait4(pid, ...); waitid(kind, pid, ...) */
int ri_call_child(const struct ri_call *call)
{
	uint32_t pid = (uint32_t)call->arguments[0];

	if (call->state != RI_CALL_INSIDE || (call->number != SYS_wait4 &&
		(call->number != SYS_waitid || pid != P_PID)))
		return -1;
	if (call->number == SYS_waitid)
		pid = (uint32_t)call->arguments[1];
	return pid == 0 || pid > INT_MAX ? -1 : (int)pid;
}

uint64_t ri_call_path(const struct ri_call *call)
{
	const struct ri_call_row *row = ri_call_row(call);

	return row == NULL || row->path < 0 ? 0 : call->arguments[row->path];
}

/* --- what a look holds --------------------------------------------------------- */

static int compare(const void *pid, const void *process)
{
	pid_t wanted = *(const pid_t *)pid, its = ((const struct ri_hang_process *)process)->pid;

	return (wanted > its) - (wanted < its);
}

int ri_hang_find_process(const struct ri_hang_look *look, pid_t pid)
{
	const struct ri_hang_process *all = look->processes, *found;

	found = bsearch(&pid, all, look->own_count, sizeof(*all), compare);
	if (found == NULL)
		found = bsearch(&pid, all + look->own_count, look->count - look->own_count,
			sizeof(*all), compare);
	return found == NULL ? -1 : (int)(found - all);
}

const struct ri_hang_process *ri_hang_find_before(const struct ri_hang *hang,
	const struct ri_hang_process *now)
{
	const struct ri_hang_look *before = &hang->looks[!hang->last];
	int at = hang->looks_taken < 2 ? -1 : ri_hang_find_process(before, now->pid);

	return at >= 0 && before->processes[at].started == now->started ? &before->processes[at]
									: NULL;
}

bool ri_hang_has_ranks(const struct ri_hang_look *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->processes[i].is_rank)
			return true;
	return false;
}

const char *ri_hang_keep_string(struct ri_hang *hang, const char *string)
{
	/* ranks run one program, so the strings of one rank mostly come again for the next */
	static const char *remembered[512];
	size_t length = strlen(string), place = 5381;
	char *kept = hang->text + hang->text_length;

	for (size_t i = 0; i < length; i++)
		place = place * 33 ^ (unsigned char)string[i];
	place %= RI_ARRAY_SIZE(remembered);
	if (remembered[place] >= hang->text && remembered[place] < kept &&
		strcmp(remembered[place], string) == 0)
		return remembered[place];
	if (length >= sizeof(hang->text) - hang->text_length)
		return "";
	memcpy(kept, string, length + 1);
	hang->text_length += (uint32_t)length + 1;
	remembered[place] = kept;
	return kept;
}
