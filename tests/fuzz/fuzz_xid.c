/* SPDX-License-Identifier: Apache-2.0 */
/* Input: records of the kernel's log, which anybody who may write to it has a part in. */
#include "fuzz.h"
#include "node/xids.h"

static struct ri_host host;
static int log_fd;

static void start(void)
{
	host.root = fuzz_folder_make();
	CHECK(mkdirat(host.root, "dev", 0755) == 0);
	log_fd = fuzz_file_make(host.root, "dev/kmsg");
}

static void check_address(const char *address)
{
	size_t length = strnlen(address, RI_XID_ADDRESS);

	CHECK(length > 0 && length < RI_XID_ADDRESS);
	CHECK(strspn(address, "0123456789abcdef:.") == length);
	CHECK(strchr(address, '.') != NULL);
}

/* Of the whole log, those from this time on. */
static void check_log(const char *text, uint64_t since)
{
	static struct ri_xids xids;

	if (log_fd == 0)
		start();
	fuzz_fill(log_fd, text, "");
	memset(&xids, 0xff, sizeof(xids));
	CHECK(ri_xids_read(&xids, &host, since) == 0);
	CHECK(xids.count <= RI_MAX_XIDS);
	for (size_t i = 0; i < xids.count; i++) {
		check_address(xids.list[i].address);
		CHECK(xids.list[i].kind != NULL && xids.list[i].count > 0);
		CHECK(xids.list[i].first_us >= since && xids.list[i].last_us >= since);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct ri_xid xid;

	memset(&xid, 0xff, sizeof(xid));
	if (ri_xid_read(&xid, text)) {
		check_address(xid.address);
		CHECK(strstr(text, ";NVRM: Xid (") != NULL);
		CHECK(ri_xid_kind_find(xid.number) == NULL || xid.number < 1000);
	}
	check_log(text, 0);
	check_log(text, 604200000000);
	free(text);
	return 0;
}
