/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsodium says to call sodium_init() first (doc.libsodium.org/usage). It chooses variants
 * for newer processors, seeds randomness, which may wait for the machine, and prepares
 * guarded memory. None of that is used here, and what is used works without it
 * (github.com/jedisct1/libsodium/issues/908).
 */
#include "link/seal.h"

#include <string.h>

#include <sodium.h>

_Static_assert(RI_SEAL_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(RI_SEAL_TAG == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
_Static_assert(RI_SEAL_KEY == crypto_generichash_BYTES, "hash");
_Static_assert(RI_SEAL_SCALAR == crypto_scalarmult_curve25519_SCALARBYTES, "scalar");
_Static_assert(RI_SEAL_POINT == crypto_scalarmult_curve25519_BYTES, "point");
_Static_assert(RI_SEAL_TEXT < 1 << 8 * RI_SEAL_LENGTH, "length");

/* What a hash is of is its first bytes, with their '\0': no two kinds have the same input. */
static const char of_secret[] = "rankinit link 1: secret";
static const char of_job[] = "rankinit link 1: job";
static const char of_public_job[] = "rankinit link 1: job without a secret";
static const char of_attempt[] = "rankinit link 1: attempt";
static const char to_centre[] = "rankinit link 1: node to centre";
static const char to_node[] = "rankinit link 1: centre to node";

/*
 * BLAKE2b, keyed with a key of RI_SEAL_KEY bytes or with none (doc.libsodium.org, "Generic
 * hashing": key may be NULL with a length of 0, and takes 16 to 64 bytes). These fail for
 * sizes alone, which are constant here; the last one wipes its state.
 */
static void begin_hash(crypto_generichash_state *state, const unsigned char *key, const char *kind)
{
	crypto_generichash_init(state, key, key == NULL ? 0 : RI_SEAL_KEY, RI_SEAL_KEY);
	crypto_generichash_update(state, (const unsigned char *)kind, strlen(kind) + 1);
}

static void end_hash(crypto_generichash_state *state, unsigned char out[RI_SEAL_KEY],
	const void *rest, size_t length)
{
	crypto_generichash_update(state, rest, length);
	crypto_generichash_final(state, out, RI_SEAL_KEY);
}

int ri_seal_job_key(unsigned char out[RI_SEAL_KEY], const char *job, const void *secret,
	size_t secret_length)
{
	crypto_generichash_state state;
	unsigned char key[RI_SEAL_KEY];

	if (secret == NULL) {
		begin_hash(&state, NULL, of_public_job);
		end_hash(&state, out, job, strlen(job));
		return 0;
	}
	if (secret_length < RI_SEAL_SECRET)
		return -1;
	/* it may be longer than a key of BLAKE2b */
	begin_hash(&state, NULL, of_secret);
	end_hash(&state, key, secret, secret_length);
	begin_hash(&state, key, of_job);
	end_hash(&state, out, job, strlen(job));
	ri_seal_wipe(key, sizeof(key));
	return 0;
}

void ri_seal_next_key(unsigned char out[RI_SEAL_KEY], const unsigned char key[RI_SEAL_KEY],
	const unsigned char life[RI_SEAL_LIFE])
{
	crypto_generichash_state state;

	begin_hash(&state, key, of_attempt);
	end_hash(&state, out, life, RI_SEAL_LIFE);
}

/*
 * doc.libsodium.org, "Point*scalar multiplication": it clamps the scalar; -1 for low order. The
 * base point of X25519 is 9 (RFC 7748, 4.1), multiplied as any other: the function of its own has
 * a table of 30 kB, which images/builder/deps.sh therefore leaves out.
 */
void ri_seal_point(unsigned char point[RI_SEAL_POINT], const unsigned char scalar[RI_SEAL_SCALAR])
{
	static const unsigned char base[RI_SEAL_POINT] = { 9 };

	/* it fails for points of low order alone */
	if (crypto_scalarmult_curve25519(point, scalar, base) != 0)
		return;
}

static void begin_direction(struct ri_seal *seal, const unsigned char job_key[RI_SEAL_KEY],
	const char *direction, const struct ri_seal_openings *openings,
	const unsigned char shared[RI_SEAL_POINT])
{
	crypto_generichash_state state;

	begin_hash(&state, job_key, direction);
	crypto_generichash_update(&state, openings->node, RI_SEAL_OPENING);
	crypto_generichash_update(&state, openings->centre, RI_SEAL_OPENING);
	end_hash(&state, seal->key, shared, RI_SEAL_POINT);
	seal->count = 0;
	seal->live = true;
}

int ri_seal_begin(struct ri_seal_pair *out, const unsigned char job_key[RI_SEAL_KEY],
	enum ri_seal_side side, const struct ri_seal_openings *openings,
	const unsigned char scalar[RI_SEAL_SCALAR])
{
	bool is_node = side == RI_SEAL_NODE;
	const unsigned char *theirs = is_node ? openings->centre : openings->node;
	unsigned char shared[RI_SEAL_POINT];

	if (crypto_scalarmult_curve25519(shared, scalar,
		theirs + RI_SEAL_OPENING - RI_SEAL_POINT) != 0)
		return -1;
	begin_direction(is_node ? &out->out : &out->in, job_key, to_centre, openings, shared);
	begin_direction(is_node ? &out->in : &out->out, job_key, to_node, openings, shared);
	ri_seal_wipe(shared, sizeof(shared));
	return 0;
}

/*
 * The number of the frame, big-endian, at the end of the cipher's nonce. A key must never
 * have a nonce twice ("XChaCha20-Poly1305-IETF" at doc.libsodium.org): no count comes twice.
 */
enum { CIPHER_NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES };

static void write_nonce(unsigned char nonce[CIPHER_NONCE], uint64_t count)
{
	memset(nonce, 0, CIPHER_NONCE);
	for (int i = 1; i <= 8; i++, count >>= 8)
		nonce[CIPHER_NONCE - i] = (unsigned char)count;
}

static bool is_over(const struct ri_seal *seal)
{
	return !seal->live || seal->count == UINT64_MAX;
}

size_t ri_seal_frame(struct ri_seal *seal, const void *text, size_t length,
	unsigned char frame[RI_SEAL_FRAME])
{
	unsigned char nonce[CIPHER_NONCE];

	if (is_over(seal) || length > RI_SEAL_TEXT)
		return 0;
	frame[0] = (unsigned char)(length >> 8);
	frame[1] = (unsigned char)length;
	write_nonce(nonce, seal->count++);
	/* the same page: the tag follows the encrypted text; nsec is always NULL */
	crypto_aead_xchacha20poly1305_ietf_encrypt(frame + RI_SEAL_LENGTH, NULL, text, length,
		frame, RI_SEAL_LENGTH, NULL, nonce, seal->key);
	return RI_SEAL_LENGTH + length + RI_SEAL_TAG;
}

static enum ri_seal_result end_direction(struct ri_seal *seal)
{
	seal->live = false;
	return RI_SEAL_BROKEN;
}

enum ri_seal_result ri_seal_open(struct ri_seal *seal, const void *bytes, size_t count,
	struct ri_seal_opened *out)
{
	const unsigned char *frame = bytes;
	unsigned char nonce[CIPHER_NONCE];
	size_t length;

	if (is_over(seal))
		return end_direction(seal);
	if (count < RI_SEAL_LENGTH)
		return RI_SEAL_MORE;
	length = (size_t)frame[0] << 8 | frame[1];
	if (length > RI_SEAL_TEXT)
		return end_direction(seal);
	if (count < RI_SEAL_LENGTH + length + RI_SEAL_TAG)
		return RI_SEAL_MORE;
	write_nonce(nonce, seal->count);
	/* the same page: -1 where the tag does not prove it, and no text */
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(out->text, NULL, NULL,
		frame + RI_SEAL_LENGTH, length + RI_SEAL_TAG, frame, RI_SEAL_LENGTH, nonce,
		seal->key) != 0)
		return end_direction(seal);
	seal->count++;
	out->used = RI_SEAL_LENGTH + length + RI_SEAL_TAG;
	out->length = length;
	return RI_SEAL_OPENED;
}

void ri_seal_wipe(void *secret, size_t size)
{
	sodium_memzero(secret, size);	/* doc.libsodium.org, "Secure memory" */
}
