/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an image asks of NVIDIA's driver, NVIDIA_REQUIRE_CUDA and its like:
 * "cuda>=12.8 brand=tesla,driver>=535,driver<536". Words are alternatives, and
 * all conditions of a word have to hold (NVIDIA container toolkit,
 * internal/requirements; libnvidia-container src/cli/dsl.c).
 */
#ifndef RI_DEMAND_REQUIRE_H
#define RI_DEMAND_REQUIRE_H

#include <stdbool.h>

/* The larger the better. */
enum ri_require {
	RI_REQUIRE_BROKEN,	/* it cannot be read */
	RI_REQUIRE_UNMET,
	RI_REQUIRE_UNKNOWN,	/* it hangs on what is not known here */
	RI_REQUIRE_MET,
};

/* What is known of this machine. Of the brand and the architecture of GPUs nothing is. */
struct ri_require_facts {
	const char *driver;	/* "580.95.05"; NULL: unknown */
	const char *cuda;	/* the newest that the driver is for; NULL: unknown */
	bool newer;		/* perhaps a newer one */
};

/* An empty text asks for nothing. */
enum ri_require ri_require_judge(const char *text, const struct ri_require_facts *facts);

#endif
