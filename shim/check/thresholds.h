/* SPDX-License-Identifier: Apache-2.0 */
/* From where on a number is worth a word: thresholds.def says where each comes from. */
#ifndef RI_SHIM_CHECK_THRESHOLDS_H
#define RI_SHIM_CHECK_THRESHOLDS_H

enum ri_threshold {
#define RI_THRESHOLD(symbol, number, what, source) RI_THRESHOLD_##symbol = (number),
#include "check/thresholds.def"
#undef RI_THRESHOLD
};

#endif
