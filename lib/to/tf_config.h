/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TF_CONFIG as JSON: one that is there already, as TensorFlow would read it,
 * and the one of a job. jansson's hash must have been seeded.
 */
#ifndef RI_TO_TF_CONFIG_H
#define RI_TO_TF_CONFIG_H

#include "base/arena.h"
#include "base/error.h"

struct ri_tf_config {
	size_t tasks;		/* in its cluster; 0: a job of this process alone */
	const char *reason;	/* why TensorFlow would refuse it; NULL: it would not */
};

/* Never fails: what is no TF_CONFIG has a reason. */
void ri_tf_config_read(struct ri_tf_config *out, const char *text);

/* Of the first task on each host: what TensorFlow's own examples and Kubeflow use. */
enum { RI_TF_PORT = 2222 };

/* The tasks of a job, as many on each host, and which one this is. */
struct ri_tf_job {
	const char *const *hosts;
	uint64_t count;		/* of hosts */
	uint64_t local;		/* tasks on each */
	uint64_t index;		/* of this one, on all hosts in order */
	uint64_t ps_from;	/* the first one that is a parameter server */
	bool chief;
};

/*
 * TF_CONFIG, in the arena. NULL when out of memory, and RI_CODE_EXEC_TOO_BIG
 * where it is longer than the kernel lets a variable be.
 */
const char *ri_tf_config_render(const struct ri_tf_job *job, struct ri_arena *arena,
	struct ri_error *err);

#endif
