/* SPDX-License-Identifier: Apache-2.0 */
#include "node/xid.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char mark[] = "NVRM: Xid (";

/* "PCI:0000:1b:00" or, of old drivers, "0000:1b:00"; some add the function. */
static bool read_address(const char *text, size_t length, char out[24])
{
	static const char allowed[] = "0123456789abcdefABCDEF:.";

	if (length > 4 && strncmp(text, "PCI:", 4) == 0) {
		text += 4;
		length -= 4;
	}
	if (length == 0 || length > 16 || strspn(text, allowed) < length)
		return false;
	snprintf(out, 24, "%.*s%s", (int)length, text,
		memchr(text, '.', length) == NULL ? ".0" : "");
	for (char *at = out; *at != '\0'; at++)
		if (*at >= 'A' && *at <= 'F')
			*at = (char)(*at | 0x20);
	return true;
}

/* "4,1234,56789012,-;...": priority, sequence, microseconds. */
static uint64_t read_time(const char *record)
{
	uint64_t number = 0;

	for (int comma = 0; comma < 2; comma++) {
		record += strcspn(record, ",;");
		if (*record != ',')
			return 0;
		record++;
	}
	return ri_digits_read(record, &number) > 0 ? number / 1000000 : 0;
}

bool ri_xid_read(struct ri_xid *out, const char *record)
{
	const char *text = strstr(record, mark), *end;
	struct ri_xid found = { .at = read_time(record) };

	if (text == NULL)
		return false;
	text += sizeof(mark) - 1;
	end = strchr(text, ')');
	if (end == NULL || !read_address(text, (size_t)(end - text), found.address) ||
		strncmp(end, "): ", 3) != 0 || ri_digits_read(end + 3, &found.number) == 0)
		return false;
	*out = found;
	return true;
}

const char *ri_xid_text(uint64_t number)
{
	/* NVIDIA XID Errors, "Xid Catalog": those whose cause is the hardware or its firmware */
	static const struct {
		uint64_t number;
		const char *text;
	} texts[] = {
		{ 48, "an uncorrectable memory error" }, { 62, "its microcontroller halted" },
		{ 63, "a faulty row or page of memory was recorded" },
		{ 64, "a faulty row or page of memory could not be recorded" },
		{ 74, "an NVLink error" }, { 79, "it fell off the bus" },
		{ 92, "many correctable memory errors" },
		{ 94, "a contained memory error" }, { 95, "an uncontained memory error" },
		{ 119, "its firmware did not answer" }, { 120, "its firmware failed" },
		{ 140, "an unrecovered memory error" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].number == number)
			return texts[i].text;
	return NULL;
}
