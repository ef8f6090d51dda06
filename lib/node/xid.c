/* SPDX-License-Identifier: Apache-2.0 */
#include "node/xid.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char mark[] = "NVRM: Xid (";

/* "PCI:0000:1b:00" or, of old drivers, "0000:1b:00"; some add the function. */
static bool read_address(const char *text, size_t length, char out[RI_XID_ADDRESS])
{
	static const char allowed[] = "0123456789abcdefABCDEF:.";

	if (length > 4 && strncmp(text, "PCI:", 4) == 0) {
		text += 4;
		length -= 4;
	}
	if (length == 0 || length > 16 || strspn(text, allowed) < length)
		return false;
	snprintf(out, RI_XID_ADDRESS, "%.*s%s", (int)length, text,
		memchr(text, '.', length) == NULL ? ".0" : "");
	for (char *at = out; *at != '\0'; at++)
		if (*at >= 'A' && *at <= 'F')
			*at = (char)(*at | 0x20);
	return true;
}

/*
 * "4,1234,56789012,-;...": facility and level, sequence, microseconds, flags. The kernel's own
 * facility is 0, and it gives a record that a process wrote another one (Linux
 * kernel/printk/printk.c, devkmsg_write). NULL, or what stands behind it.
 */
static const char *read_prefix(const char *record, uint64_t *at_us)
{
	uint64_t numbers[3];

	for (int i = 0; i < 3; i++) {
		size_t digits = ri_digits_read(record, &numbers[i]);

		if (digits == 0 || record[digits] != ',')
			return NULL;
		record += digits + 1;
	}
	record += strcspn(record, ";");
	*at_us = numbers[2];
	return *record == ';' && numbers[0] >> 3 == 0 ? record + 1 : NULL;
}

bool ri_xid_read(struct ri_xid *out, const char *record)
{
	struct ri_xid found;
	const char *text = read_prefix(record, &found.at_us), *end;

	/* at the beginning alone: other messages have words of processes */
	if (text == NULL || strncmp(text, mark, sizeof(mark) - 1) != 0)
		return false;
	text += sizeof(mark) - 1;
	end = strchr(text, ')');
	if (end == NULL || !read_address(text, (size_t)(end - text), found.address) ||
		strncmp(end, "): ", 3) != 0 || ri_digits_read(end + 3, &found.number) == 0)
		return false;
	*out = found;
	return true;
}

const struct ri_xid_kind *ri_xid_kind_find(uint64_t number)
{
	/* NVIDIA XID Errors, "Xid Catalog" */
	static const struct ri_xid_kind kinds[] = {
		{ 13, RI_XID_PROGRAM, "an exception on the GPU, mostly a program's own fault" },
		{ 31, RI_XID_PROGRAM, "a GPU page fault, mostly a program's own fault" },
		{ 48, RI_XID_FATAL, "an uncorrectable memory error" },
		{ 62, RI_XID_HARDWARE, "its microcontroller halted" },
		{ 63, RI_XID_HARDWARE, "a faulty row or page of memory was recorded" },
		{ 64, RI_XID_HARDWARE, "a faulty row or page of memory could not be recorded" },
		{ 74, RI_XID_HARDWARE, "an NVLink error" },
		{ 79, RI_XID_FATAL, "the GPU has fallen off the bus" },
		{ 92, RI_XID_HARDWARE, "many correctable memory errors" },
		{ 94, RI_XID_FATAL, "a contained memory error" },
		{ 95, RI_XID_FATAL, "an uncontained memory error" },
		{ 119, RI_XID_HARDWARE, "its firmware did not answer" },
		{ 120, RI_XID_HARDWARE, "its firmware failed" },
		{ 140, RI_XID_FATAL, "an unrecovered memory error" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].number == number)
			return &kinds[i];
	return NULL;
}
