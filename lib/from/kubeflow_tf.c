/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source "kubeflow_tf": a pod of Kubeflow's TFJob, whose TF_CONFIG names the
 * services of its replicas. A job with one replica has none.
 */
#include <string.h>

#include "from/cluster.h"

static const struct ri_variable reads[] = {
	{ .name = "TF_CONFIG",
	  .meaning = "JSON: the services of the cluster, and this pod's place among them",
	  .cite = "Kubeflow training-operator v1.9 pkg/controller.v1/tensorflow/tensorflow.go" },
	{ .name = NULL },
};

/* "JOB-worker-0.NAMESPACE.svc:2222", perhaps with a domain */
static bool detect(const struct ri_env *env)
{
	const char *value = ri_env_get(env, "TF_CONFIG");

	return ri_source_sees(env, "TF_CONFIG") &&
		(strstr(value, ".svc:") != NULL || strstr(value, ".svc.") != NULL);
}

const struct ri_source ri_source_kubeflow_tf = {
	.name = "kubeflow_tf",
	.summary = "pod of a Kubeflow TFJob: chief and workers are nodes",
	.identity = RI_SCOPE_NODE,
	.shares = "TF_CONFIG",
	.reads = reads,
	.detect = detect,
	.read = ri_cluster_claim_tf,
};
