/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a rank wrote, its end has one class, and an address lies in the text. */
#include "fuzz.h"
#include "report/culprit.h"

static void check_peer(struct ri_span text, const struct ri_loss *loss)
{
	struct ri_span peer;

	if (!ri_loss_peer(text, loss, &peer))
		return;
	CHECK(peer.length >= 3 && peer.length < RI_LOSS_ADDRESS);
	CHECK(peer.at >= text.at && peer.at + peer.length <= text.at + text.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = fuzz_string(data, size);
	struct ri_span text = { bytes, size };
	struct ri_rank_outcome rank = {
		.end = size % 2 == 0 ? RI_END_EXITED : RI_END_SIGNALED, .exit_code = 1, .signal = 6,
		.told_to_stop = size % 3 == 0, .course = (enum ri_course)(size % 5 % 3),
		.wrote.tail = text,
	};

	ri_class_find(&rank);
	CHECK(rank.evidence.class != RI_CLASS_NONE && ri_class_words[rank.evidence.class] != NULL);
	if (rank.evidence.words.has_calls)
		for (int i = 0; i < 2; i++)
			CHECK(rank.evidence.words.calls[i].op[0] != '\0' &&
				strlen(rank.evidence.words.calls[i].op) < RI_FINGERPRINT_OP &&
				strlen(rank.evidence.words.calls[i].shape) < RI_FINGERPRINT_SHAPE);
	CHECK((rank.evidence.loss != NULL) == (rank.evidence.class == RI_CLASS_LOSS));
	if (rank.evidence.loss != NULL)
		check_peer(text, rank.evidence.loss);
	free(bytes);
	return 0;
}
