/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything as what the other side of a connection sends, and anything as a text that is
 * sealed. The corpus has frames of this connection, which seal_vectors.py made.
 */
#include "fuzz.h"
#include "link/seal.h"

static struct ri_seal_opened opened;

static void begin(struct ri_seal_pair *node, struct ri_seal_pair *centre)
{
	unsigned char secret[RI_SEAL_SECRET], key[RI_SEAL_KEY];
	unsigned char node_scalar[RI_SEAL_SCALAR], centre_scalar[RI_SEAL_SCALAR];
	struct ri_seal_openings openings;

	for (size_t i = 0; i < RI_SEAL_SECRET; i++)
		secret[i] = (unsigned char)i;
	for (size_t i = 0; i < RI_SEAL_OPENING; i++) {
		openings.node[i] = (unsigned char)(0x40 + i);
		openings.centre[i] = (unsigned char)(0x80 + i);
	}
	for (size_t i = 0; i < RI_SEAL_SCALAR; i++) {
		node_scalar[i] = (unsigned char)(0x20 + i);
		centre_scalar[i] = (unsigned char)(0xc0 + i);
	}
	ri_seal_point(openings.node + RI_SEAL_OPENING - RI_SEAL_POINT, node_scalar);
	ri_seal_point(openings.centre + RI_SEAL_OPENING - RI_SEAL_POINT, centre_scalar);
	CHECK(ri_seal_job_key(key, "train-7", secret, sizeof(secret)) == 0);
	CHECK(ri_seal_begin(node, key, RI_SEAL_NODE, &openings, node_scalar) == 0);
	CHECK(ri_seal_begin(centre, key, RI_SEAL_CENTRE, &openings, centre_scalar) == 0);
}

/* What opened is what the node makes of that text, and no part of it had opened. */
static void check_opened(struct ri_seal *node, struct ri_seal *before, const char *bytes)
{
	static unsigned char frame[RI_SEAL_FRAME];
	static struct ri_seal_opened part;

	CHECK(opened.length <= RI_SEAL_TEXT);
	CHECK(opened.used == opened.length + RI_SEAL_LENGTH + RI_SEAL_TAG);
	CHECK(ri_seal_frame(node, opened.text, opened.length, frame) == opened.used);
	CHECK(memcmp(frame, bytes, opened.used) == 0);
	for (size_t count = 0; count < opened.used; count++)
		CHECK(ri_seal_open(before, bytes, count, &part) == RI_SEAL_MORE);
}

static void check_stream(const char *bytes, size_t size)
{
	struct ri_seal_pair node, centre;
	enum ri_seal_result result;

	begin(&node, &centre);
	for (;;) {
		struct ri_seal before = centre.in;

		result = ri_seal_open(&centre.in, bytes, size, &opened);
		if (result != RI_SEAL_OPENED)
			break;
		CHECK(opened.used <= size && centre.in.count == before.count + 1);
		check_opened(&node.out, &before, bytes);
		bytes += opened.used;
		size -= opened.used;
	}
	CHECK(centre.in.live == (result == RI_SEAL_MORE));
	CHECK(result == RI_SEAL_BROKEN || size < RI_SEAL_FRAME);
	CHECK(result == RI_SEAL_MORE || ri_seal_open(&centre.in, bytes, size, &opened) == result);
}

static void check_text(const char *text, size_t length)
{
	static unsigned char frame[RI_SEAL_FRAME];
	struct ri_seal_pair node, centre;
	size_t size;

	begin(&node, &centre);
	size = ri_seal_frame(&centre.out, text, length, frame);
	CHECK(size == (length > RI_SEAL_TEXT ? 0 : length + RI_SEAL_LENGTH + RI_SEAL_TAG));
	if (size == 0)
		return;
	CHECK(ri_seal_open(&node.in, frame, size, &opened) == RI_SEAL_OPENED);
	CHECK(opened.length == length && memcmp(opened.text, text, length) == 0);
	CHECK(ri_seal_open(&centre.in, frame, size, &opened) == RI_SEAL_BROKEN);
	ri_seal_wipe(&centre, sizeof(centre));
	CHECK(ri_seal_frame(&centre.out, text, length, frame) == 0);
}

static void check_secret(const char *secret, size_t length)
{
	unsigned char key[RI_SEAL_KEY], other[RI_SEAL_KEY];
	int result = ri_seal_job_key(key, secret, secret, length);

	CHECK(result == (length < RI_SEAL_SECRET ? -1 : 0));
	CHECK(ri_seal_job_key(other, secret, NULL, 0) == 0);
	CHECK(result != 0 || memcmp(key, other, sizeof(key)) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);

	check_stream(bytes, size);
	check_text(bytes, size);
	check_secret(bytes, size);
	free(bytes);
	return 0;
}
