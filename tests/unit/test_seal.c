/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "link/seal.h"

static unsigned char secret[RI_SEAL_SECRET], job_key[RI_SEAL_KEY];
static unsigned char node_scalar[RI_SEAL_SCALAR], centre_scalar[RI_SEAL_SCALAR];
static struct ri_seal_openings openings;
static struct ri_seal_pair node, centre;
static unsigned char frame[RI_SEAL_FRAME], second[RI_SEAL_FRAME];
static struct ri_seal_opened opened;

enum { POINT_AT = RI_SEAL_OPENING - RI_SEAL_POINT };

/* The names, the bytes of the secret and of the openings are those of seal_vectors.py. */
static int begin(void **state)
{
	(void)state;
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
	ri_seal_point(openings.node + POINT_AT, node_scalar);
	ri_seal_point(openings.centre + POINT_AT, centre_scalar);
	if (ri_seal_job_key(job_key, "train-7", secret, sizeof(secret)) != 0)
		return -1;
	memset(&opened, 0, sizeof(opened));
	if (ri_seal_begin(&node, job_key, RI_SEAL_NODE, &openings, node_scalar) != 0)
		return -1;
	return ri_seal_begin(&centre, job_key, RI_SEAL_CENTRE, &openings, centre_scalar);
}

/* A copy of exactly that size, so that sanitizers see each byte read behind it. */
static enum ri_seal_result open_copy(struct ri_seal *seal, const unsigned char *bytes, size_t count)
{
	unsigned char *copy = malloc(count == 0 ? 1 : count);
	enum ri_seal_result result;

	assert_non_null(copy);
	memcpy(copy, bytes, count);
	result = ri_seal_open(seal, count == 0 ? copy + 1 : copy, count, &opened);
	free(copy);
	return result;
}

static void assert_opens(struct ri_seal *seal, const unsigned char *bytes, size_t count,
	const char *text)
{
	assert_int_equal(open_copy(seal, bytes, count), RI_SEAL_OPENED);
	assert_int_equal(opened.used, count);
	assert_int_equal(opened.length, strlen(text));
	assert_memory_equal(opened.text, text, opened.length);
}

/* And it stays so, whatever comes. */
static void assert_broken(struct ri_seal *seal, const unsigned char *bytes, size_t count)
{
	assert_int_equal(open_copy(seal, bytes, count), RI_SEAL_BROKEN);
	assert_false(seal->live);
	assert_int_equal(open_copy(seal, bytes, 0), RI_SEAL_BROKEN);
	assert_int_equal(open_copy(seal, frame, RI_SEAL_FRAME), RI_SEAL_BROKEN);
}

static size_t make(struct ri_seal *seal, const char *text)
{
	return ri_seal_frame(seal, text, strlen(text), frame);
}

static void assert_hex(const unsigned char *bytes, size_t count, const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * 64 + 1];

	assert_true(count <= 64);
	for (size_t i = 0; i < count; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * count] = '\0';
	assert_string_equal(text, hex);
}

/* As tests/unit/seal_vectors.py prints them, which does not use libsodium. */
static void test_known_keys(void **state)
{
	unsigned char key[RI_SEAL_KEY], longer[100];

	(void)state;
	assert_hex(job_key, sizeof(job_key),
		"9f8762d6efb6c289ffb402caab2b7a0d5776c58535efecd734def66347f19332");
	memset(longer, 0xaa, sizeof(longer));
	assert_int_equal(ri_seal_job_key(key, "train-7", longer, sizeof(longer)), 0);
	assert_hex(key, sizeof(key),
		"b2eb6baa8f1496c7567b7a1a03427349170747a44b6178bd4197caeea0ddf045");
	assert_int_equal(ri_seal_job_key(key, "train-7", NULL, 0), 0);
	assert_hex(key, sizeof(key),
		"d9fd019711d2af5f289f8a25cd8567f4e93474f004f7211d02ec8e3dcd3934fc");
	ri_seal_next_key(key, job_key, (const unsigned char *)"a centre's life.");
	assert_hex(key, sizeof(key),
		"d4a621e5518d957006ec443ca6f52f65baf09b9c4d1e69d86b5a92fef719e7ec");
	assert_hex(node.out.key, RI_SEAL_KEY,
		"2d00653688ab65a28a44aea7d3905469849529ff230e767435ea8f2f7d1e4210");
	assert_hex(node.in.key, RI_SEAL_KEY,
		"46a42992687a8078e395e2e500721acba73064bc1b827e1e1e30fbbb83e9c6bb");
}

static void test_known_frames(void **state)
{
	static const unsigned char longest[RI_SEAL_TEXT] = { [0 ... RI_SEAL_TEXT - 1] = 0x55 };
	size_t size;

	(void)state;
	assert_int_equal(ri_seal_frame(&node.out, longest, sizeof(longest), frame), RI_SEAL_FRAME);
	assert_hex(frame + RI_SEAL_FRAME - 32, 32,
		"67799c3621337b3a5c2e78194aa856869a3b8d8d8c833d358e94bc8c67f02f4d");
	begin(NULL);
	size = make(&node.out, "hello");
	assert_hex(frame, size, "00058a832ef459f9d308734c974035b4ce9cc4d2d04780");
	size = make(&node.out, "");
	assert_hex(frame, size, "00003113ef1a5f10d94fd3094701a0099a74");
	size = make(&centre.out, "stop");
	assert_hex(frame, size, "000409e8afa7442b2b4c88e6b958b34bea2b4cd8bd66");
	centre.out.count = UINT64_MAX - 1;
	size = make(&centre.out, "end");
	assert_hex(frame, size, "0003c9f29d7d3467c0c29a7293580548323390f34b");
}

static void test_both_directions(void **state)
{
	char text[32];

	(void)state;
	for (int i = 0; i < 300; i++) {
		size_t length = (size_t)(i % 31);

		memset(text, 'a' + i % 26, length);
		text[length] = '\0';
		assert_opens(&centre.in, frame, make(&node.out, text), text);
		assert_opens(&node.in, frame, make(&centre.out, text), text);
	}
}

static void test_several_in_one_buffer(void **state)
{
	unsigned char stream[128];
	size_t used = 0, size = 0;

	(void)state;
	for (const char *text = "abc"; *text != '\0'; text++) {
		size_t made = make(&node.out, text);

		memcpy(stream + size, frame, made);
		size += made;
	}
	memcpy(stream + size++, "\0", 1);
	for (const char *text = "abc"; *text != '\0'; text++) {
		assert_int_equal(open_copy(&centre.in, stream + used, size - used), RI_SEAL_OPENED);
		assert_int_equal(opened.length, strlen(text));
		assert_memory_equal(opened.text, text, opened.length);
		used += opened.used;
	}
	assert_int_equal(used, size - 1);
	assert_int_equal(open_copy(&centre.in, stream + used, 1), RI_SEAL_MORE);
}

static void test_a_part_wants_more(void **state)
{
	size_t size = make(&node.out, "hello");

	(void)state;
	for (size_t part = 0; part < size; part++)
		assert_int_equal(open_copy(&centre.in, frame, part), RI_SEAL_MORE);
	assert_opens(&centre.in, frame, size, "hello");
}

/* A job's key that is another one, and a connection with it, against the node's frame. */
static void assert_another_key(const char *job, const void *of, size_t length)
{
	unsigned char key[RI_SEAL_KEY];
	size_t size;

	begin(NULL);
	assert_int_equal(ri_seal_job_key(key, job, of, length), 0);
	assert_memory_not_equal(key, job_key, sizeof(key));
	assert_int_equal(ri_seal_begin(&centre, key, RI_SEAL_CENTRE, &openings, centre_scalar), 0);
	size = make(&node.out, "hello");
	assert_broken(&centre.in, frame, size);
	size = make(&centre.out, "stop");
	assert_broken(&node.in, frame, size);
}

static void test_another_secret(void **state)
{
	unsigned char other[RI_SEAL_SECRET + 1] = { 0 };

	(void)state;
	for (size_t i = 0; i < RI_SEAL_SECRET; i++) {
		memcpy(other, secret, sizeof(secret));
		other[i] ^= 0x80;
		assert_another_key("train-7", other, RI_SEAL_SECRET);
	}
	memcpy(other, secret, sizeof(secret));
	other[RI_SEAL_SECRET] = 0;
	assert_another_key("train-7", other, RI_SEAL_SECRET + 1);
	assert_another_key("train-7", NULL, 0);
}

static void test_another_job(void **state)
{
	(void)state;
	assert_another_key("train-8", secret, sizeof(secret));
	assert_another_key("train-", secret, sizeof(secret));
	assert_another_key("train-77", secret, sizeof(secret));
	assert_another_key("", secret, sizeof(secret));
}

/* Each byte of a long one counts, also behind what BLAKE2b takes as a key. */
static void test_a_long_secret_counts_whole(void **state)
{
	unsigned char one[4096] = { 0 }, first[RI_SEAL_KEY], key[RI_SEAL_KEY];

	(void)state;
	assert_int_equal(ri_seal_job_key(first, "train-7", one, sizeof(one)), 0);
	for (size_t at = 0; at < sizeof(one); at += 65) {
		one[at] = 1;
		assert_int_equal(ri_seal_job_key(key, "train-7", one, sizeof(one)), 0);
		assert_memory_not_equal(key, first, sizeof(key));
		one[at] = 0;
	}
	assert_int_equal(ri_seal_job_key(key, "train-7", one, sizeof(one)), 0);
	assert_memory_equal(key, first, sizeof(key));
	assert_int_equal(ri_seal_job_key(key, "train-7", one, sizeof(one) - 1), 0);
	assert_memory_not_equal(key, first, sizeof(key));
}

static void test_a_short_secret_is_refused(void **state)
{
	unsigned char key[RI_SEAL_KEY];

	(void)state;
	memset(key, 0x5a, sizeof(key));
	for (size_t length = 0; length < RI_SEAL_SECRET; length++)
		assert_int_equal(ri_seal_job_key(key, "train-7", secret, length), -1);
	for (size_t i = 0; i < sizeof(key); i++)
		assert_int_equal(key[i], 0x5a);
}

/* Without a secret jobs are kept apart, and everybody has the key. */
static void test_without_a_secret(void **state)
{
	unsigned char one[RI_SEAL_KEY], other[RI_SEAL_KEY];

	(void)state;
	assert_int_equal(ri_seal_job_key(one, "train-7", NULL, 0), 0);
	assert_int_equal(ri_seal_job_key(other, "train-8", NULL, 0), 0);
	assert_memory_not_equal(one, other, sizeof(one));
	assert_int_equal(ri_seal_begin(&node, one, RI_SEAL_NODE, &openings, node_scalar), 0);
	assert_int_equal(ri_seal_begin(&centre, one, RI_SEAL_CENTRE, &openings, centre_scalar), 0);
	assert_opens(&centre.in, frame, make(&node.out, "hello"), "hello");
}

/* RFC 7748, 6.1: Alice's and Bob's. */
static void test_a_known_point(void **state)
{
	static const unsigned char alice[RI_SEAL_SCALAR] = {
		0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2,
		0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5,
		0x1d, 0xb9, 0x2c, 0x2a,
	};
	unsigned char point[RI_SEAL_POINT];

	(void)state;
	ri_seal_point(point, alice);
	assert_hex(point, sizeof(point),
		"8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
}

/* Who has the job's key and both openings, and no scalar of the two, opens nothing. */
static void test_another_scalar(void **state)
{
	struct ri_seal_pair reader;

	(void)state;
	node_scalar[7] ^= 1;
	assert_int_equal(ri_seal_begin(&reader, job_key, RI_SEAL_NODE, &openings, node_scalar), 0);
	assert_memory_not_equal(reader.in.key, node.in.key, RI_SEAL_KEY);
	assert_broken(&reader.in, frame, make(&centre.out, "stop"));
}

/* The points that share zero with every scalar, and such a one that is not written in full. */
static void test_points_of_low_order(void **state)
{
	static const unsigned char points[][RI_SEAL_POINT] = {
		{ 0 }, { 1 }, { [31] = 0x80 },
		{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1,
			0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86,
			0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00 },
		{ 0xec, [1 ... 30] = 0xff, 0x7f }, { 0xed, [1 ... 30] = 0xff, 0x7f },
		{ 0xee, [1 ... 30] = 0xff, 0x7f },
	};
	struct ri_seal_pair out, before;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	out = before;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		begin(NULL);
		memcpy(openings.node + POINT_AT, points[i], RI_SEAL_POINT);
		assert_int_equal(ri_seal_begin(&out, job_key, RI_SEAL_CENTRE, &openings,
			centre_scalar), -1);
		begin(NULL);
		memcpy(openings.centre + POINT_AT, points[i], RI_SEAL_POINT);
		assert_int_equal(ri_seal_begin(&out, job_key, RI_SEAL_NODE, &openings,
			node_scalar), -1);
	}
	assert_memory_equal(&out, &before, sizeof(out));
}

/* Each byte of it counts: the version, the flag, the nonce and the point. */
static void test_another_opening(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(openings); i++) {
		struct ri_seal_openings other;
		size_t size;

		begin(NULL);
		other = openings;
		*((unsigned char *)&other + i) ^= 1;
		assert_int_equal(ri_seal_begin(&centre, job_key, RI_SEAL_CENTRE, &other,
			centre_scalar), 0);
		size = make(&node.out, "hello");
		assert_broken(&centre.in, frame, size);
		size = make(&centre.out, "stop");
		assert_broken(&node.in, frame, size);
	}
}

static void test_swapped_openings(void **state)
{
	struct ri_seal_openings other;

	(void)state;
	memcpy(other.node, openings.centre, RI_SEAL_OPENING);
	memcpy(other.centre, openings.node, RI_SEAL_OPENING);
	assert_int_equal(ri_seal_begin(&centre, job_key, RI_SEAL_CENTRE, &other, node_scalar), 0);
	assert_broken(&centre.in, frame, make(&node.out, "hello"));
}

/* Two sides of one role do not hear each other, and nobody takes its own frame for another's. */
static void test_swapped_roles(void **state)
{
	struct ri_seal_pair other;
	size_t size;

	(void)state;
	assert_int_equal(ri_seal_begin(&other, job_key, RI_SEAL_NODE, &openings, node_scalar), 0);
	size = make(&node.out, "hello");
	assert_broken(&other.in, frame, size);
	assert_broken(&node.in, frame, size);
	assert_opens(&centre.in, frame, size, "hello");
	assert_int_equal(ri_seal_begin(&other, job_key, RI_SEAL_CENTRE, &openings, centre_scalar),
		0);
	size = make(&centre.out, "stop");
	assert_broken(&other.in, frame, size);
	assert_broken(&centre.in, frame, size);
}

static void test_replayed(void **state)
{
	size_t size = make(&node.out, "hello");

	(void)state;
	assert_opens(&centre.in, frame, size, "hello");
	assert_broken(&centre.in, frame, size);
}

/* The second before the first, and the second where the first was dropped: the same. */
static void test_reordered(void **state)
{
	size_t size;

	(void)state;
	make(&node.out, "hello");
	size = ri_seal_frame(&node.out, "hello", 5, second);
	assert_memory_not_equal(frame, second, size);
	assert_broken(&centre.in, second, size);
}

/* One that lost bytes at its end, and the next frame follows. */
static void test_truncated(void **state)
{
	unsigned char stream[64];
	size_t size, next;

	(void)state;
	for (size_t lost = 1; lost < 23; lost++) {
		begin(NULL);
		size = make(&node.out, "hello");
		next = ri_seal_frame(&node.out, "world", 5, second);
		assert_int_equal(size, 23);
		memcpy(stream, frame, size - lost);
		memcpy(stream + size - lost, second, next);
		assert_broken(&centre.in, stream, size - lost + next);
	}
}

/* Of the length too: it may also be a longer frame that has not come, and that is none then. */
static void test_each_bit_flipped(void **state)
{
	size_t size = make(&node.out, "hello");

	(void)state;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		unsigned char changed[RI_SEAL_FRAME] = { 0 };

		begin(NULL);
		memcpy(changed, frame, size);
		changed[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (bit >= 8 * RI_SEAL_LENGTH)
			assert_int_equal(open_copy(&centre.in, changed, size), RI_SEAL_BROKEN);
		else
			assert_int_not_equal(open_copy(&centre.in, changed, size), RI_SEAL_OPENED);
		assert_broken(&centre.in, changed, sizeof(changed));
	}
}

static void test_length_at_its_limits(void **state)
{
	static unsigned char text[RI_SEAL_TEXT + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 31);
	assert_int_equal(ri_seal_frame(&node.out, text, RI_SEAL_TEXT, frame), RI_SEAL_FRAME);
	assert_int_equal(open_copy(&centre.in, frame, RI_SEAL_FRAME - 1), RI_SEAL_MORE);
	assert_int_equal(open_copy(&centre.in, frame, RI_SEAL_FRAME), RI_SEAL_OPENED);
	assert_int_equal(opened.length, RI_SEAL_TEXT);
	assert_memory_equal(opened.text, text, RI_SEAL_TEXT);
	assert_opens(&centre.in, frame, ri_seal_frame(&node.out, text, 0, frame), "");
	assert_opens(&centre.in, frame, ri_seal_frame(&node.out, NULL, 0, frame), "");

	memset(second, 0x5a, sizeof(second));
	memcpy(frame, second, sizeof(frame));
	assert_int_equal(ri_seal_frame(&node.out, text, RI_SEAL_TEXT + 1, frame), 0);
	assert_int_equal(ri_seal_frame(&node.out, text, SIZE_MAX, frame), 0);
	assert_memory_equal(frame, second, sizeof(frame));
	assert_opens(&centre.in, frame, make(&node.out, "next"), "next");
}

/* One byte more than a text may have: no wait for the rest of it. */
static void test_announced_too_long(void **state)
{
	static const unsigned char lengths[][RI_SEAL_LENGTH] = { { 0x20, 1 }, { 0x21, 0 },
		{ 0x80, 0 }, { 0xff, 0xff } };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		begin(NULL);
		assert_broken(&centre.in, lengths[i], RI_SEAL_LENGTH);
	}
	begin(NULL);
	assert_int_equal(open_copy(&centre.in, (const unsigned char *)"\x20", 2), RI_SEAL_MORE);
}

static void test_the_count_ends(void **state)
{
	size_t size;

	(void)state;
	node.out.count = centre.in.count = UINT64_MAX - 1;
	size = make(&node.out, "last");
	assert_opens(&centre.in, frame, size, "last");
	assert_int_equal(node.out.count, UINT64_MAX);
	for (int i = 0; i < 3; i++)
		assert_int_equal(make(&node.out, "one more"), 0);
	assert_int_equal(node.out.count, UINT64_MAX);
	assert_broken(&centre.in, frame, size);
	assert_int_equal(centre.in.count, UINT64_MAX);
}

static void test_wiped(void **state)
{
	static const struct ri_seal_pair nothing;
	static const struct ri_seal zero_key = { .live = true };
	struct ri_seal forged = zero_key;
	size_t size = ri_seal_frame(&forged, "hello", 5, second);

	(void)state;
	ri_seal_wipe(&centre, sizeof(centre));
	assert_memory_equal(&centre, &nothing, sizeof(centre));
	assert_int_equal(make(&centre.out, "stop"), 0);
	assert_broken(&centre.in, second, size);
	ri_seal_wipe(job_key, sizeof(job_key));
	for (size_t i = 0; i < sizeof(job_key); i++)
		assert_int_equal(job_key[i], 0);
}

/* The control of the line above: with its key, that frame opens. */
static void test_a_key_of_zeroes_that_lives(void **state)
{
	struct ri_seal one = { .live = true }, other = one;

	(void)state;
	assert_opens(&other, frame, make(&one, "hello"), "hello");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_known_keys, begin),
		cmocka_unit_test_setup(test_known_frames, begin),
		cmocka_unit_test_setup(test_both_directions, begin),
		cmocka_unit_test_setup(test_several_in_one_buffer, begin),
		cmocka_unit_test_setup(test_a_part_wants_more, begin),
		cmocka_unit_test_setup(test_another_secret, begin),
		cmocka_unit_test_setup(test_another_job, begin),
		cmocka_unit_test_setup(test_a_long_secret_counts_whole, begin),
		cmocka_unit_test_setup(test_a_short_secret_is_refused, begin),
		cmocka_unit_test_setup(test_without_a_secret, begin),
		cmocka_unit_test_setup(test_a_known_point, begin),
		cmocka_unit_test_setup(test_another_scalar, begin),
		cmocka_unit_test_setup(test_points_of_low_order, begin),
		cmocka_unit_test_setup(test_another_opening, begin),
		cmocka_unit_test_setup(test_swapped_openings, begin),
		cmocka_unit_test_setup(test_swapped_roles, begin),
		cmocka_unit_test_setup(test_replayed, begin),
		cmocka_unit_test_setup(test_reordered, begin),
		cmocka_unit_test_setup(test_truncated, begin),
		cmocka_unit_test_setup(test_each_bit_flipped, begin),
		cmocka_unit_test_setup(test_length_at_its_limits, begin),
		cmocka_unit_test_setup(test_announced_too_long, begin),
		cmocka_unit_test_setup(test_the_count_ends, begin),
		cmocka_unit_test_setup(test_wiped, begin),
		cmocka_unit_test_setup(test_a_key_of_zeroes_that_lives, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
