/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --exit-class: what a scheduler that reads nothing but exit statuses may know of a failure.
 *
 * Kubeflow's policy ExitCode starts again what ends with 128 or more and gives up below
 * (training-operator pkg/util/train/train_util.go, IsRetryableExitCode). Slurm's srun ends with
 * the highest status of its tasks (srun(1), RETURN VALUE). So the more hope there is, the
 * higher is the status, and none is one of rankinit's own (122 to 127) or 128 + a signal (up to
 * 192).
 */
#ifndef RI_REPORT_EXIT_CLASS_H
#define RI_REPORT_EXIT_CLASS_H

#include "report/causes.h"

enum ri_exit_class {
	RI_EXIT_NEVER = 120,
	RI_EXIT_SAME = 220,
	RI_EXIT_OTHER_NODE = 230,
};

/*
 * The class of what would else end with this status; 0 stays 0. A healthy node that the link
 * stopped (122) is no reason to take another one, whatever the job failed of.
 */
int ri_exit_class(int status, enum ri_retry retry);

#endif
