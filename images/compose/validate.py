#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Says what is wrong in manifests: what an API server would not take, one line each.

usage: validate.py <DOCUMENTS.json    (a list; with the packages of requirements.txt on PYTHONPATH)

Kinds of Kubernetes itself, and the pod and job templates in all others, are read by the schemas
of kubernetes-validate, of two versions. For the others: kubeflow-trainer-api has models of
TrainJob, TrainingRuntime and JobSet, kubeflow-training tables of PyTorchJob; of MPIJob and
LeaderWorkerSet no package has any, so their fields stand here.
"""

import ast
import glob
import importlib
import importlib.util
import json
import os
import re
import sys

import kubernetes_validate

# The first one has pod failure policies that are stable; of the last are rules by exit status.
VERSIONS = ("1.31", kubernetes_validate.latest_version())


def core(document, where):
    """A document of a kind that Kubernetes has itself."""
    for version in VERSIONS["restartPolicyRules" in json.dumps(document):]:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = "".join(f".{it}" for it in error.absolute_path)
            yield f"{where}{path}: {error.message} (Kubernetes {version})"
            return


def pod(template, where):
    yield from core({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {},
                     "template": template}, where)


def job(template, where):
    yield from core({"apiVersion": "batch/v1", "kind": "Job", **template}, where)


# --- by hand ------------------------------------------------------------------------------

# A field's name -> its type, its words, or its own fields; one that has to be there begins with
# "!". mpi-operator pkg/apis/kubeflow/v2beta1/types.go, MPIJobSpec, RunPolicy, ReplicaSpec
REPLICAS = {"replicas": int, "restartPolicy": ("Never", "OnFailure"), "!template": pod}
MPIJOB = {
    "slotsPerWorker": int,
    "runPolicy": {"cleanPodPolicy": ("None", "Running", "All"), "ttlSecondsAfterFinished": int,
                  "activeDeadlineSeconds": int, "backoffLimit": int, "suspend": bool},
    "!mpiReplicaSpecs": {"!Launcher": REPLICAS, "Worker": REPLICAS},
    "sshAuthMountPath": str,
    "launcherCreationPolicy": ("AtStartup", "WaitForWorkersReady"),
    "mpiImplementation": ("OpenMPI", "Intel", "MPICH"),
}
# lws api/leaderworkerset/v1/leaderworkerset_types.go, LeaderWorkerSetSpec
LEADERWORKERSET = {
    "replicas": int,
    "!leaderWorkerTemplate": {
        "leaderTemplate": pod, "!workerTemplate": pod, "size": int,
        "restartPolicy": ("Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart",
                          "None")},
    "startupPolicy": ("LeaderCreated", "LeaderReady"),
    "networkConfig": {"!subdomainPolicy": ("Shared", "UniquePerReplica")},
}


def by_hand(value, rule, where):
    if isinstance(rule, dict):
        yield from fields(value, {name.lstrip("!"): it for name, it in rule.items()}, where)
        for name in rule:
            if name.startswith("!") and name[1:] not in value:
                yield f"{where}: {name[1:]} is missing"
    elif isinstance(rule, tuple):
        if value not in rule:
            yield f"{where}: {value!r} is none of {', '.join(rule)}"
    elif isinstance(rule, type):
        if type(value) is not rule:
            yield f"{where}: {value!r} is no {rule.__name__}"
    else:
        yield from rule(value, where)


def fields(value, rules, where):
    for name, it in value.items():
        if name not in rules:
            yield f"{where}: there is no field {name}"
        else:
            yield from by_hand(it, rules[name], f"{where}.{name}")


# --- by the tables of kubeflow-training -----------------------------------------------------

SCALARS = {"str": str, "int": int, "bool": bool}


def tables():
    """class -> (its fields, their types), of the models' files; to import them takes a client."""
    (folder,) = importlib.util.find_spec("kubeflow.training").submodule_search_locations
    found = {}
    for path in glob.glob(os.path.join(folder, "models", "*.py")):
        with open(path, encoding="utf-8") as file:
            for node in ast.parse(file.read()).body:
                if isinstance(node, ast.ClassDef):
                    had = {it.targets[0].id: ast.literal_eval(it.value) for it in node.body
                           if isinstance(it, ast.Assign)
                           and it.targets[0].id in ("openapi_types", "attribute_map")}
                    found[node.name] = {had["attribute_map"][name]: kind
                                        for name, kind in had["openapi_types"].items()}
    return found


def by_table(value, kind, where, known):
    inner = re.fullmatch(r"dict\(str, (.*)\)|list\[(.*)\]", kind)
    if kind in SCALARS:
        yield from by_hand(value, SCALARS[kind], where)
    elif kind == "V1PodTemplateSpec":
        yield from pod(value, where)
    elif kind in known:
        for name, it in value.items():
            if name not in known[kind]:
                yield f"{where}: there is no field {name}"
            else:
                yield from by_table(it, known[kind][name], f"{where}.{name}", known)
    elif inner:
        each = value.items() if inner[1] else enumerate(value)
        for name, it in each:
            yield from by_table(it, inner[1] or inner[2], f"{where}.{name}", known)
    elif kind != "V1ObjectMeta":
        yield f"{where}: {kind} is not known here"


def pytorchjob(document, where):
    yield from by_table(document, "KubeflowOrgV1PyTorchJob", where, tables())


# --- by the models of kubeflow-trainer-api --------------------------------------------------


def lost(given, read, where):
    """What the model has not kept, since it has no such field."""
    if isinstance(given, dict) and isinstance(read, dict):
        for name, it in given.items():
            if name not in read:
                yield f"{where}: there is no field {name}"
            else:
                yield from lost(it, read[name], f"{where}.{name}")
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for at, (one, other) in enumerate(zip(given, read)):
            yield from lost(one, other, f"{where}.{at}")


def by_model(name):
    def check(document, where):
        models = importlib.import_module("kubeflow_trainer_api.models")
        try:
            read = getattr(models, name).from_dict(document)
        except ValueError as error:
            yield f"{where}: {' '.join(str(error).split())}"
            return
        yield from lost(document, read.to_dict(), where)
        jobs = document["spec"] if name == "JobsetV1alpha2JobSet" else \
            document["spec"].get("template", {}).get("spec", {})
        for it in jobs.get("replicatedJobs", []):
            yield from job(it["template"], f"{where}.{it['name']}")
    return check


OTHERS = {
    ("kubeflow.org/v1", "PyTorchJob"): pytorchjob,
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): by_model("TrainerV1alpha1TrainJob"),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"):
        by_model("TrainerV1alpha1TrainingRuntime"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): by_model("JobsetV1alpha2JobSet"),
    ("kubeflow.org/v2beta1", "MPIJob"):
        lambda document, where: by_hand(document["spec"], MPIJOB, f"{where}.spec"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"):
        lambda document, where: by_hand(document["spec"], LEADERWORKERSET, f"{where}.spec"),
}


def problems(document):
    kind = (document.get("apiVersion"), document.get("kind"))
    if kind in OTHERS:
        yield from OTHERS[kind](document, kind[1])
        return
    try:
        yield from core(document, str(kind[1]))
    except kubernetes_validate.SchemaNotFoundError:
        yield f"{kind[1]}: there is no such kind in {kind[0]}"


if __name__ == "__main__":
    for each in json.load(sys.stdin):
        for line in problems(each):
            print(line)
