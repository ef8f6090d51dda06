/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * libcap's constructor, without which it knows no name. Our own build of libcap does not run it by
 * itself (images/builder/deps.sh says why); it is absent where libcap is a shared library.
 */
void _libcap_initialize(void) __attribute__((weak));

/* "net_admin,CAP_CHOWN" as a set */
static int read_set(const struct ri_given *word, uint64_t *out, struct ri_error *err)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	uint64_t set = 0;
	size_t length;

	for (const char *list = word->value;; list += length + 1) {
		char name[32];
		cap_value_t value;

		length = strcspn(list, ",");
		snprintf(name, sizeof(name), "%s%.*s",
			strncasecmp(list, "cap_", 4) == 0 ? "" : "cap_",
			length < 28 ? (int)length : 0, list);
		/* libcap stops at a blank or '=' and takes what stands before it */
		if (length == 0 || strspn(list, letters) != length ||
			cap_from_name(name, &value) != 0 || value >= 64) {
			ri_fail(err, RI_CODE_OPTION_VALUE, word->subject,
				"%s: expected names of capabilities separated by commas; for "
				"--cap-drop also all", RI_QUOTED(word->value));
			return ri_fail_hint(err, "capabilities(7) lists them; net_admin and "
				"CAP_NET_ADMIN are the same");
		}
		set |= (uint64_t)1 << value;
		if (list[length] == '\0')
			break;
	}
	*out = set;
	return 0;
}

static int read_sets(struct ri_privileges *out, const struct ri_options *options,
	struct ri_error *err)
{
	const struct ri_given *drop = &options->given.cap_drop, *keep = &options->given.cap_keep;

	if (keep->value != NULL && read_set(keep, &out->keep, err) < 0)
		return -1;
	if (keep->value != NULL && drop->value == NULL && options->given.user.value == NULL) {
		ri_fail(err, RI_CODE_OPTION_CONFLICT, keep->subject, "has no effect on its own");
		return ri_fail_hint(err, "add --cap-drop=all or --user");
	}
	if (drop->value == NULL)
		return 0;
	if (strcasecmp(drop->value, "all") == 0)
		out->drop = ~out->keep;
	else if (read_set(drop, &out->drop, err) < 0)
		return -1;
	if ((out->drop & out->keep) == 0)
		return 0;
	ri_fail(err, RI_CODE_OPTION_CONFLICT, keep->subject,
		"names a capability that --cap-drop removes");
	return ri_fail_hint(err, "name it in only one of the two, or use --cap-drop=all");
}

/*
 * The two sets for the child. armed: all that we have, effective again after
 * the change of user, so that the bounding set can be cut. final: what stays.
 * Another user than root has only what it keeps.
 */
static int make_sets(struct ri_privileges *out, struct ri_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
	uint64_t permitted, inheritable, stays = ~out->drop;

	if (syscall(SYS_capget, &header, have) < 0)
		return ri_fail(err, RI_CODE_PRIVILEGE_REFUSED, "--cap-drop",
			"the kernel does not show rankinit's capabilities: %s", strerror(errno));
	permitted = have[0].permitted | (uint64_t)have[1].permitted << 32;
	inheritable = have[0].inheritable | (uint64_t)have[1].inheritable << 32;
	if (out->change_user && out->account.uid != 0)
		stays &= out->keep;
	/* what is not inheritable for a moment is not ambient any more, and never becomes so */
	out->armed = (struct ri_capabilities){ permitted, permitted & inheritable };
	out->final = (struct ri_capabilities){
		permitted & stays, permitted & stays & (out->keep | inheritable),
	};
	return 0;
}

int ri_privileges_prepare(struct ri_privileges *out, const struct ri_options *options,
	struct ri_host *host, struct ri_arena *arena, struct ri_error *err)
{
	*out = (struct ri_privileges){ .no_new_privs = options->no_new_privs };
	if (options->given.user.value != NULL) {
		if (ri_account_find(host, options->given.user.value, options->given.user.subject,
			    &out->account, arena, err) < 0) {
			if (geteuid() == 0)
				return -1;
			err->hint[0] = '\0';
			return ri_fail_hint(err, "besides, only root may change the user, and this "
				"is user %u: start the container as root, or as that user and "
				"without --user", geteuid());
		}
		out->change_user = true;
	}
	if (options->given.cap_drop.value == NULL && options->given.cap_keep.value == NULL)
		return 0;
	if (_libcap_initialize != NULL)
		_libcap_initialize();
	if (read_sets(out, options, err) < 0)
		return -1;
	out->change_caps = true;
	return make_sets(out, err);
}

static const char set_caps[] = "set the capabilities";

/* By system call: see change_user. What is permitted is effective. */
static int set_own(struct ri_capabilities sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted = data[i].effective = (uint32_t)(sets.permitted >> 32 * i);
		data[i].inheritable = (uint32_t)(sets.inheritable >> 32 * i);
	}
	return (int)syscall(SYS_capset, &header, data);
}

static int change_caps(const struct ri_privileges *privileges, const char **step)
{
	*step = set_caps;
	if (set_own(privileges->armed) < 0)
		return -1;
	*step = "remove capabilities from the bounding set";
	for (unsigned long value = 0; value < 64; value++) {
		int there = (privileges->drop >> value & 1) == 0 ? 0
			: prctl(PR_CAPBSET_READ, value, 0, 0, 0);

		/* EINVAL: the kernel has no such capability; else find out by dropping it */
		if (there != 0 && (there > 0 || errno != EINVAL) &&
			prctl(PR_CAPBSET_DROP, value, 0, 0, 0) < 0)
			return -1;
	}
	*step = set_caps;
	if (set_own(privileges->final) < 0)
		return -1;
	*step = "keep capabilities across the change of user";
	for (unsigned long value = 0; value < 64; value++)
		if ((privileges->keep >> value & 1) != 0 && privileges->change_user &&
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, value, 0, 0) < 0)
			return -1;
	return 0;
}

/* By system call: a C library's setuid(2) is about threads, which we have not. */
static int change_user(const struct ri_account *account, const char **step)
{
	*step = "set the supplementary groups";
	if (syscall(SYS_setgroups, account->group_count, account->groups) < 0)
		return -1;
	*step = "set the group id";
	if (syscall(SYS_setresgid, account->gid, account->gid, account->gid) < 0)
		return -1;
	*step = "set the user id";
	return (int)syscall(SYS_setresuid, account->uid, account->uid, account->uid);
}

int ri_privileges_apply(const struct ri_privileges *privileges, const char **step)
{
	*step = "set the user id";
	if (privileges->change_user && privileges->change_caps &&
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -1;
	if (privileges->change_user && change_user(&privileges->account, step) < 0) {
		if (errno == EPERM)
			*step = "change the user, which only root may do, or who has CAP_SETUID "
				"and CAP_SETGID";
		return -1;
	}
	if (privileges->change_caps && change_caps(privileges, step) < 0)
		return -1;
	/*
	 * Where sets were made these have no more than is kept. Else the kernel takes them from a
	 * process that was root alone (capabilities(7), "Effect of user ID changes on
	 * capabilities"), leaves what is inheritable in any case, and with SECBIT_NO_SETUID_FIXUP
	 * all. No set is ambient that is not permitted.
	 */
	*step = set_caps;
	if (privileges->change_user && !privileges->change_caps &&
		privileges->account.uid != 0 && set_own((struct ri_capabilities){ 0, 0 }) < 0)
		return -1;
	*step = "set no_new_privs";
	return privileges->no_new_privs ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) : 0;
}
