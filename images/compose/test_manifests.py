# SPDX-License-Identifier: Apache-2.0
"""docs/kubernetes.md: its manifests are ones that the API servers take, and nothing is by hand."""

import copy
import json
import os
import re
import subprocess
import sys

import build
import pytest
import wheels
import yaml
from manifests import BLOCK, Pod, Unknown, blocks, changed, expand, merge, read

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "requirements.txt")
NAMES = ["indexed-job", "jobset", "pytorchjob", "trainjob", "mpijob", "leaderworkerset",
         "deployment"]


@pytest.fixture(scope="module", name="validate")
def fixture_validate():
    """Manifests -> the lines of validate.py, whose packages stay in build/images/schemas."""
    folder = os.path.join(build.OUT, "schemas")
    mark = os.path.join(folder, "done")
    if not os.path.exists(mark) or open(mark, encoding="ascii").read() != \
            wheels.digest([REQUIREMENTS]):
        done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check",
                               "install", "-q", "--no-deps", "--upgrade", "--target", folder,
                               "-r", REQUIREMENTS], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip("pip cannot get the schemas: " + done.stderr.strip()[-200:])
        with open(mark, "w", encoding="ascii") as file:
            file.write(wheels.digest([REQUIREMENTS]))

    def validate(documents):
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "validate.py")],
                              input=json.dumps(documents), capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": folder})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    return validate


def test_they_are_valid(validate):
    assert validate([it for documents in blocks().values() for it in documents]) == []


def rules_of(document):
    """The rules by exit status of the containers in a document."""
    return [rule for it in templates(document) for container in it["spec"]["containers"]
            for rule in container.get("restartPolicyRules", [])]


def test_the_same_pod_again(validate):
    """What the page says to change is taken, and starts again what is worth it and no more."""
    found = changed()
    assert set(found) == {"indexed-job", "jobset"} and validate(list(found.values())) == []
    for name, action in (("indexed-job", "Restart"), ("jobset", "RestartAllContainers")):
        assert rules_of(found[name]) == [
            {"action": action, "exitCodes": {"operator": "In", "values": [220]}}]
        assert not rules_of(blocks()[name][-1]), "the control"
        assert "podFailurePolicy" in json.dumps(found[name])
        wrong = json.loads(json.dumps(found[name]).replace('"exitCodes"', '"exitCode"'))
        assert any("'exitCode' was unexpected" in line for line in validate([wrong]))
    # jobset keps/467-InPlaceRestart, "Webhook validation": what it refuses else
    (node,) = found["jobset"]["spec"]["replicatedJobs"]
    assert node["template"]["spec"]["backoffLimit"] == 2 ** 31 - 1
    assert node["template"]["spec"]["podReplacementPolicy"] == "Failed"
    with pytest.raises(AssertionError, match="a name that the block lacks"):
        merge([{"name": "a"}], [{"name": "b"}])


def at(tree, path):
    for word in path:
        tree = tree[word]
    return tree


POD = ("spec", "template", "spec")
# The control: a block, which of its documents, where in it, what is put there, what is said.
WRONG = [
    ("indexed-job", 0, ("spec", "clusterip"), "None", "'clusterip' was unexpected"),
    ("indexed-job", 1, ("spec", "completionMode"), 2, "2 is not of type"),
    ("indexed-job", 1, (*POD, "containers", 0, "commands"), [], "'commands' was unexpected"),
    ("jobset", 0, ("spec", "failurePolicy", "maxRestart"), 3, "there is no field maxRestart"),
    ("jobset", 0, ("spec", "failurePolicy", "maxRestarts"), "3", "Input should be a valid int"),
    ("jobset", 0, ("spec", "replicatedJobs", 0, "template", *POD, "volumes", 0, "emptydir"), {},
     "there is no field emptydir"),
    ("pytorchjob", 0, ("spec", "nprocPerNode"), 8, "8 is no str"),
    ("pytorchjob", 0, ("spec", "pytorchReplicaSpecs", "Worker", "restartpolicy"), "Never",
     "there is no field restartpolicy"),
    ("pytorchjob", 0, ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec",
                       "initContainers", 0, "arg"), [], "'arg' was unexpected"),
    ("trainjob", 0, ("spec", "mlPolicy", "nodes"), 2, "there is no field nodes"),
    ("trainjob", 0, ("spec", "template", "spec", "replicatedJobs", 0, "template", *POD,
                     "containers", 0, "volumeMounts", 0, "path"), "/", "there is no field path"),
    ("trainjob", 1, ("spec", "runtimeRef"), {"kind": "TrainingRuntime"},
     "Input should be a valid string"),
    ("trainjob", 1, ("spec", "trainer", "nodes"), 2, "there is no field nodes"),
    ("mpijob", 0, ("spec", "slotsPerWorker"), "8", "'8' is no int"),
    ("mpijob", 0, ("spec", "mpiReplicaSpecs", "Workers"), {}, "there is no field Workers"),
    ("mpijob", 0, ("spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers", 0, "env"),
     {}, "is not of type"),
    ("leaderworkerset", 0, ("spec", "leaderWorkerTemplate"), {"size": 2},
     "workerTemplate is missing"),
    ("leaderworkerset", 0, ("spec", "leaderWorkerTemplate", "restartPolicy"), "Always",
     "'Always' is none of"),
    ("deployment", 0, ("spec", "selector"), {"app": "model"}, "'app' was unexpected"),
    ("deployment", 0, ("kind",), "Deployments", "there is no such kind in apps/v1"),
]


@pytest.mark.parametrize("name, number, path, value, words", WRONG,
                         ids=lambda it: it if isinstance(it, str) else "")
def test_what_is_wrong_is_said(validate, name, number, path, value, words):
    document = copy.deepcopy(blocks()[name][number])
    at(document, path[:-1])[path[-1]] = value
    said = validate([document])
    assert any(words in line for line in said), said


def templates(tree):
    """The pod templates in a document."""
    if isinstance(tree, dict):
        if "containers" in tree.get("spec", {}):
            yield tree
        for it in tree.values():
            yield from templates(it)
    elif isinstance(tree, list):
        for it in tree:
            yield from templates(it)


def test_the_page_has_every_kind():
    assert list(blocks()) == NAMES
    assert len(re.findall(r"^```yaml$", read(), re.M)) == len(NAMES) + len(changed())
    for name, text in BLOCK.findall(read()):
        assert text.count("\n") < 55, name


def holds(whole, part):
    """Are these fields there, with these values?"""
    return all(whole.get(name) == it for name, it in part.items())


def test_the_rules_are_those_of_the_page_about_failures():
    with open(os.path.join(build.TOP, "docs", "after-a-failure.md"), encoding="utf-8") as file:
        found = re.findall(r"^<!-- part: (\S+) -->\n```yaml\n(.*?)^```$", file.read(), re.M | re.S)
    parts = {name: yaml.safe_load(text) for name, text in found}
    job, runtime = parts["indexed-job"], blocks()["trainjob"][0]["spec"]["template"]
    assert holds(blocks()["indexed-job"][1]["spec"], job)
    for jobs in blocks()["jobset"][0], runtime:
        assert holds(jobs["spec"], parts["jobset"])
        (node,) = jobs["spec"]["replicatedJobs"]
        (container,) = node["template"]["spec"]["template"]["spec"]["containers"]
        rules = json.loads(json.dumps(job["podFailurePolicy"]).replace("training",
                                                                       container["name"]))
        assert holds(node["template"]["spec"], {"podFailurePolicy": rules, "backoffLimit": 0})
    for name in ("indexed-job", "jobset", "pytorchjob", "trainjob"):
        text = json.dumps(blocks()[name])
        assert "--exit-class" in text and "ExitCode" in text


def test_what_no_schema_says():
    """The rules of webhooks: a policy needs Never, and two operators look for their container."""
    for name, documents in blocks().items():
        for document in documents:
            for template in templates(document):
                never = template["spec"].get("restartPolicy") == "Never"
                assert never or "podFailurePolicy" not in json.dumps(document), name
            # training-operator v1.9 pkg/apis/kubeflow.org/v1/pytorch_types.go, trainer v2
            # pkg/constants/constants.go
            wanted = {"PyTorchJob": "pytorch", "TrainingRuntime": "node"}.get(document["kind"])
            assert wanted is None or {it["spec"]["containers"][0]["name"]
                                      for it in templates(document)} == {wanted}


def test_the_time_of_a_stop_fits():
    """What rankinit gives the ranks is shorter than what Kubernetes gives rankinit."""
    for name, text in BLOCK.findall(read()):
        for grace in re.findall(r"--grace=(\d+)", text):
            (whole,) = set(re.findall(r"terminationGracePeriodSeconds: (\d+)", text))
            assert 0 < int(whole) - int(grace) <= 10, name


def test_no_pod_has_a_place_written_by_hand():
    for name, text in BLOCK.findall(read()):
        assert not re.search(r"(NODE_RANK|node.rank|\bRANK|INDEX)[= :]+['\"]?\d", text), name


def test_a_field_that_is_not_known_is_an_error(tmp_path):
    (document,) = blocks()["deployment"]
    template = document["spec"]["template"]
    for where, field in ((template["spec"], "hostNetwork"),
                         (template["spec"]["containers"][0], "lifecycle"),
                         (template["spec"]["volumes"][0], "hostPath")):
        where[field] = {}
        with pytest.raises(Unknown, match=field):
            Pod(template, tmp_path, {"IMAGE": "image"}).main_container()
        del where[field]
    assert "--stop-timeout" in Pod(template, tmp_path, {"IMAGE": "image"}).main_container()


def test_words_are_those_that_the_kubelet_makes():
    env = {"A": "1", "B": "$(A)"}
    assert [expand(it, env) for it in ("$(A)$(C)", "$$(A)", "$A", "$(B)")] == [
        "1$(C)", "$(A)", "$A", "$(A)"]
