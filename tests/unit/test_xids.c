/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's log, of which the Xid messages are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "node/xids.h"
#include "tree.h"

#define XID(us, bus, number) "4,7," #us ",-;NVRM: Xid (PCI:0000:" #bus ":00): " #number ", pid=1\n"

static struct ri_xids xids;

static int read_log(const char *text, size_t length, uint64_t since_us)
{
	struct ri_host host = { .live = false };
	struct tree tree;
	int error;

	tree_make(&tree);
	host.root = tree.fd;
	tree_folder(&tree, "dev");
	if (text != NULL)
		tree_bytes(&tree, "dev/kmsg", text, length);
	error = ri_xids_read(&xids, &host, since_us);
	tree_remove(&tree);
	return error;
}

static void read_text(const char *text, uint64_t since_us)
{
	assert_int_equal(read_log(text, strlen(text), since_us), 0);
}

static void assert_seen(size_t at, const char *address, uint64_t number, uint64_t first,
	uint64_t last, uint64_t count)
{
	const struct ri_xid_seen *seen = &xids.list[at];

	assert_in_range(at, 0, xids.count - 1);
	assert_string_equal(seen->address, address);
	assert_int_equal(seen->kind->number, number);
	assert_int_equal(seen->first_us, first);
	assert_int_equal(seen->last_us, last);
	assert_int_equal(seen->count, count);
}

static void those_of_known_kinds_are_counted(void **state)
{
	(void)state;
	read_text("6,1,5,-;usb 1-1: new\n SUBSYSTEM=usb\n" XID(10, 1b, 48) XID(11, 1b, 45)
		XID(12, 3b, 48) XID(13, 1b, 48) XID(14, 1b, 31) XID(15, 1b, 79), 0);
	assert_int_equal(xids.count, 4);
	assert_seen(0, "0000:1b:00.0", 48, 10, 13, 2);
	assert_seen(1, "0000:3b:00.0", 48, 12, 12, 1);
	assert_seen(2, "0000:1b:00.0", 31, 14, 14, 1);
	assert_seen(3, "0000:1b:00.0", 79, 15, 15, 1);
	/* without its end it may be a part of one */
	read_text("4,7,1,-;NVRM: Xid (PCI:0000:1b:00): 7", 0);
	assert_int_equal(xids.count, 0);
}

static void those_before_that_time_are_not(void **state)
{
	static const char text[] = XID(10, 1b, 79) XID(11, 1b, 79) XID(12, 1b, 79);

	(void)state;
	read_text(text, 11);
	assert_int_equal(xids.count, 1);
	assert_seen(0, "0000:1b:00.0", 79, 11, 12, 2);
	read_text(text, 13);
	assert_int_equal(xids.count, 0);
}

static void those_that_a_process_wrote_are_not(void **state)
{
	(void)state;
	read_text("12,7,1,-;NVRM: Xid (PCI:0000:1b:00): 79\n", 0);
	assert_int_equal(xids.count, 0);
	read_text("4,7,1,-;NVRM: Xid (PCI:0000:1b:00): 79\n", 0);
	assert_int_equal(xids.count, 1);
}

static void what_does_not_fit_is_left_out(void **state)
{
	static char text[400000];
	size_t length = 0;

	(void)state;
	for (int i = 0; i < RI_MAX_XIDS + 9; i++)
		length += (size_t)sprintf(text + length,
			"4,7,%d,-;NVRM: Xid (PCI:0000:%02x:00): 79\n", i, i);
	assert_int_equal(read_log(text, length, 0), 0);
	assert_int_equal(xids.count, RI_MAX_XIDS);
	/* a line without an end, NULs, and what stands behind them */
	memset(text, 'x', 100000);
	memset(text + 100000, 0, 50000);
	length = 150000 + (size_t)sprintf(text + 150000, "\n" XID(3, 1b, 79));
	assert_int_equal(read_log(text, length, 0), 0);
	assert_int_equal(xids.count, 1);
	assert_seen(0, "0000:1b:00.0", 79, 3, 3, 1);
}

static void a_log_that_is_none(void **state)
{
	struct ri_host host = { .root = AT_FDCWD, .live = true };
	struct tree tree;

	(void)state;
	assert_int_equal(read_log(NULL, 0, 0), ENOENT);
	tree_make(&tree);
	tree_folder(&tree, "dev");
	tree_folder(&tree, "dev/kmsg");
	host.root = tree.fd;
	assert_int_equal(ri_xids_read(&xids, &host, 0), ENODEV);
	assert_int_equal(unlinkat(tree.fd, "dev/kmsg", AT_REMOVEDIR), 0);
	assert_int_equal(mkfifoat(tree.fd, "dev/kmsg", 0600), 0);
	assert_int_equal(ri_xids_read(&xids, &host, 0), ENODEV);
	tree_remove(&tree);
}

static void whose_gpu_it_is(void **state)
{
	struct ri_gpu list[] = {
		{ .name = "0", .address = "0000:1b:00.0" }, { .name = "1", .address = NULL },
	};
	struct ri_gpus gpus = { .list = list, .count = 1 };

	(void)state;
	assert_true(ri_xid_is_ours(&gpus, "0000:1b:00.0"));
	assert_false(ri_xid_is_ours(&gpus, "0000:3b:00.0"));
	gpus.count = 2;
	assert_true(ri_xid_is_ours(&gpus, "0000:3b:00.0"));
	gpus.count = 0;
	assert_true(ri_xid_is_ours(&gpus, "0000:3b:00.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_known_kinds_are_counted),
		cmocka_unit_test(those_before_that_time_are_not),
		cmocka_unit_test(those_that_a_process_wrote_are_not),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(a_log_that_is_none),
		cmocka_unit_test(whose_gpu_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
