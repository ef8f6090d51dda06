/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealing of the connections between the nodes of a job: who does not know the
 * job's key can neither read nor make a frame, and a frame that was changed, dropped,
 * repeated or moved does not open.
 *
 * A frame is RI_SEAL_LENGTH bytes, big-endian, of how long its text is, then the text
 * encrypted, then RI_SEAL_TAG bytes that prove all of it. Each direction of a connection
 * has a key of its own, which both sides' openings make new, and counts its frames.
 *
 * An opening ends with a point of X25519 (RFC 7748), of which its side alone has the scalar, for
 * this connection. The keys are made of the shared point, too: who recorded a connection and
 * learns the secret later cannot read it, because the scalars are gone.
 *
 * Nothing here asks for randomness, time or memory.
 */
#ifndef RI_LINK_SEAL_H
#define RI_LINK_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RI_SEAL_SECRET = 32,	/* bytes of a secret, at least */
	RI_SEAL_KEY = 32,
	RI_SEAL_LIFE = 16,	/* of a centre */
	RI_SEAL_SCALAR = 32,
	RI_SEAL_POINT = 32,
	RI_SEAL_OPENING = 69,	/* what is said in the clear: docs/link.md; its point is last */
	RI_SEAL_LENGTH = 2,
	RI_SEAL_TAG = 16,
	RI_SEAL_TEXT = 8192,	/* bytes of a text, at most; it may be empty */
	RI_SEAL_FRAME = RI_SEAL_LENGTH + RI_SEAL_TEXT + RI_SEAL_TAG,
};

/*
 * The key of a job: of the secret that its nodes share and of its name, so that jobs with
 * one secret have different keys. secret is NULL where there is none: then the key only
 * keeps jobs apart, any program can make it, and a frame that it opens proves nothing.
 * Returns -1, and leaves out as it is, where the secret has less than RI_SEAL_SECRET bytes.
 */
int ri_seal_job_key(unsigned char out[RI_SEAL_KEY], const char *job, const void *secret,
	size_t secret_length);

/*
 * The key of the attempt behind the one that has this key, whose centre had this life, drawn at
 * random: no frame of another attempt, or of another run of the job, opens with it. The first
 * attempt has the job's own.
 */
void ri_seal_next_key(unsigned char out[RI_SEAL_KEY], const unsigned char key[RI_SEAL_KEY],
	const unsigned char life[RI_SEAL_LIFE]);

/* One direction. All zero, it is over: it makes no frame and opens none. */
struct ri_seal {
	unsigned char key[RI_SEAL_KEY];
	uint64_t count;		/* of the frames so far; at UINT64_MAX it is over */
	bool live;
};

/* A connection as one side has it. */
struct ri_seal_pair {
	struct ri_seal out;	/* what it sends */
	struct ri_seal in;	/* what it receives */
};

enum ri_seal_side {
	RI_SEAL_NODE,		/* it connected */
	RI_SEAL_CENTRE,
};

/*
 * The point of a scalar, which is RI_SEAL_SCALAR bytes drawn at random for one connection, and
 * secret until ri_seal_begin; wipe it then.
 */
void ri_seal_point(unsigned char point[RI_SEAL_POINT], const unsigned char scalar[RI_SEAL_SCALAR]);

/* All that both sides said in the clear, each with a nonce drawn at random; none is secret. */
struct ri_seal_openings {
	unsigned char node[RI_SEAL_OPENING];
	unsigned char centre[RI_SEAL_OPENING];
};

/*
 * Begin a connection; scalar is that of this side's point. A frame of the other side opens only
 * if that has the same key, the other role and heard the same openings; an own nonce that was never
 * used before makes sure that no frame of an earlier connection opens. Returns -1, and leaves out
 * as it is, where the other side's point is of low order: all scalars share the same one with it.
 */
int ri_seal_begin(struct ri_seal_pair *out, const unsigned char job_key[RI_SEAL_KEY],
	enum ri_seal_side side, const struct ri_seal_openings *openings,
	const unsigned char scalar[RI_SEAL_SCALAR]);

/*
 * Make the next frame of length bytes of text, which is not in frame. Returns its size; 0,
 * and no frame, where the text is longer than RI_SEAL_TEXT or the direction is over.
 */
size_t ri_seal_frame(struct ri_seal *seal, const void *text, size_t length,
	unsigned char frame[RI_SEAL_FRAME]);

enum ri_seal_result {
	RI_SEAL_OPENED,
	RI_SEAL_MORE,		/* the beginning of a frame, which RI_SEAL_FRAME bytes never are */
	RI_SEAL_BROKEN,		/* no frame that comes next; the direction is over from now on */
};

/* A frame that was opened. */
struct ri_seal_opened {
	size_t used;		/* its bytes; the next frame begins behind them */
	size_t length;		/* of its text */
	unsigned char text[RI_SEAL_TEXT];
};

/*
 * Open the frame that count bytes begin with, more of which may follow. Where it is not
 * RI_SEAL_OPENED nothing was used, and *out has no meaning.
 */
enum ri_seal_result ri_seal_open(struct ri_seal *seal, const void *bytes, size_t count,
	struct ri_seal_opened *out);

/*
 * Overwrite what is secret, a key or a whole pair, with zeroes, in a way that no compiler
 * leaves out. A pair is over then.
 */
void ri_seal_wipe(void *secret, size_t size);

#endif
