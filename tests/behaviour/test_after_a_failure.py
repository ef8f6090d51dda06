# SPDX-License-Identifier: Apache-2.0
"""
docs/after-a-failure.md: its blocks are run, on what rankinit printed and wrote of five real ends.
Whose program is not here is read by the rules of its manual: LogQL and logfmt (grafana.com/docs,
Loki, "Log queries, logfmt"), Logs Insights (docs.aws.amazon.com, "parse": glob mode), Kusto
(learn.microsoft.com, "parse operator"), evaluateOnExit of AWS Batch (its API reference).
A label that a line lacks is empty in LogQL ("sum by"), and strcontains gives 1 or 0.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter

import pytest

from box import BASE
from cluster import make_cluster
from peek import wait_until
from test_check import ONE, UNMET

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANKINIT = os.path.abspath(os.environ.get("RANKINIT", os.path.join(ROOT, "build", "rankinit")))
BLOCK = re.compile(r"^<!-- (run|part): (\S+) -->\n```(\w+)\n(.*?)^```$", re.M | re.S)
RAISE = [sys.executable, "-ISc", "raise ValueError('cause=xid class=own retry=other_node x')"]
# the options and the command, the environment, and what is counted of it
ENDS = [
    (["--nproc-per-node=2", "--", *RAISE], {}, ("exception", "never")),
    (["--exit-class", "--", *RAISE], {}, ("exception", "never")),
    (["--nproc-per-node=2", "--", "sh", "-c", "kill -KILL $$"], {}, ("killed", "same")),
    (["--restarts=1", "--", "sh", "-c", "kill -KILL $$"], {}, ("killed", "same")),
    ([UNMET, "--", "true"], ONE, ("unfit", "other_node")),
    (["--", "no-such"], {}, ("exec", "never")),
    (["--nproc-per-node=2", "--", "sh", "-c", "echo 'verdict cause=xid' >&2"], {}, None),
]
RESTARTED = ("killed", "same")      # the attempt before, whose report has a name of its own
COUNTED = Counter([(*counted, False) for *_, counted in ENDS if counted] + [(*RESTARTED, True)])
# two nodes that tell of one failure, by the link: the second repeats it
LINKED = {"RANKINIT_LINK": "1", "RANKINIT_LINK_KEY": "d08fbc5a150028b59a73c7852451d26f"}
COUNTED[("exception", "never", False)] += 1


def read():
    with open(os.path.join(ROOT, "docs", "after-a-failure.md"), encoding="utf-8") as file:
        return file.read()


def blocks(what="run"):
    return {name: text for word, name, _, text in BLOCK.findall(read()) if word == what}


@pytest.fixture(scope="module", name="ended")
def fixture_ended(tmp_path_factory):
    """The folder with a report of each end, and all lines of their logs."""
    folder, log = tmp_path_factory.mktemp("ended"), []
    for number, (words, env, _) in enumerate(ENDS):
        done = subprocess.run([RANKINIT, f"--report={folder}/{number}.json", *words],
                              env={**BASE, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        log += done.stderr.splitlines()
    log += end_of_two_nodes(folder)
    assert len(os.listdir(folder)) == len(ENDS) + 1 + 2, log
    return str(folder), log


def end_of_two_nodes(folder):
    """Node 1's rank raises when both are there; the lines of both."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ends = "import os, time\ntime.sleep(1)\nif os.environ['RANK'] == '0': time.sleep(60)\n1 / 0"
    nodes = [subprocess.Popen(
        [RANKINIT, f"--report={folder}/linked{node}.json", "--nnodes=2", f"--node-rank={node}",
         "--master-addr=127.0.0.1", f"--master-port={port}", "--nproc-per-node=1", "--",
         sys.executable, "-ISc", ends], env={**BASE, **LINKED}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for node in (0, 1)]
    said = [node.communicate(timeout=60)[1].splitlines() for node in nodes]
    assert [node.returncode for node in nodes] == [122, 1], said
    return said[0] + said[1]


def shell(script, cwd, **env):
    done = subprocess.run(["sh", "-c", script], env={**BASE, **env}, cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- counting --------------------------------------------------------------------------


def needs_jq():
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")


def test_jq_counts_the_reports(ended):
    needs_jq()
    lines = [line.split() for line in shell(blocks()["jq"], ended[0]).splitlines()]
    assert Counter({(cause, retry, restarted == "true"): int(count)
                    for count, cause, retry, restarted, _ in lines}) == COUNTED
    assert {host for *_, host in lines} == {os.uname().nodename}


def test_prometheus_reads_the_file(ended, tmp_path):
    needs_jq()
    shell(blocks()["prometheus"], ended[0], REPORTS=ended[0], TEXTFILES=str(tmp_path))
    assert os.listdir(tmp_path) == ["rankinit.prom"]
    text = (tmp_path / "rankinit.prom").read_text()
    # prometheus.io/docs, "Exposition formats": the file ends with a line's end, and so each sample
    head, *samples = text.removesuffix("\n").split("\n")
    assert head == "# TYPE rankinit_failures gauge" and text.endswith("\n")
    pattern = r'([a-z_]+)\{cause="(\w+)",retry="(\w+)",restarted="(true|false)"\} (\d+)'
    found = [re.fullmatch(pattern, one).groups() for one in samples]
    assert {name for name, *_ in found} == {"rankinit_failures"}
    assert Counter({(cause, retry, restarted == "true"): int(count)
                    for _, cause, retry, restarted, count in found}) == COUNTED


def logfmt(line):
    """As Loki reads it: keys that stand alone are dropped, quotes are as in JSON."""
    pairs = re.findall(r'([^\s="]+)(?:=("(?:[^"\\]|\\.)*"|[^\s"]*))?', line)
    return {re.sub(r"\W", "_", key): json.loads(value) if value[:1] == '"' else value
            for key, value in pairs if value}


def test_loki_counts_the_lines(ended):
    keys, needle, label, status = re.fullmatch(
        r'sum by \(([\w, ]+)\) \(count_over_time\(\n  \{namespace="training"\} \|= "(.*)" '
        r'\| logfmt \| (\w+) != (\d+) \[1d\]\)\)\n', blocks()["loki"]).groups()
    rows = [logfmt(line) for line in ended[1] if needle in line]
    assert keys == "cause, retry, restarted"
    assert Counter((row["cause"], row["retry"], row.get("restarted", "") == "yes")
                   for row in rows if row[label] != status) == COUNTED
    # the control: that line is there
    assert [row for row in rows if row[label] == status]


def glob_of(pattern):
    """Of Logs Insights: a * is as little as fits."""
    return re.compile("(.*?)".join(map(re.escape, pattern.split("*"))))


def test_cloudwatch_counts_the_lines(ended):
    needle, but, pattern, names, has, field, keys = re.fullmatch(
        r'filter @message like "(.*)" and @message not like "(.*)"\n'
        r'\| parse @message "(.*)" as (.*)\n'
        r'\| fields strcontains\(@message, "(.*)"\) as (\w+)\n'
        r'\| stats count\(\*\) by (.*)\n', blocks()["cloudwatch"]).groups()
    assert pattern.count("*") == len(names.split(", "))
    rows = [{**dict(zip(names.split(", "), glob_of(pattern).search(line).groups())),
             field: has in line} for line in ended[1] if needle in line and but not in line]
    assert Counter(tuple(row[key] for key in keys.split(", ")) for row in rows) == COUNTED


def test_azure_counts_the_lines(ended):
    needle, but, pattern, field, has, keys = re.fullmatch(
        r'ContainerLogV2\n\| where LogMessage contains "(.*)" and LogMessage !contains "(.*)"\n'
        r'\| parse tostring\(LogMessage\) with (.*)\n'
        r'\| extend (\w+) = tostring\(LogMessage\) contains "(.*)"\n'
        r'\| summarize count\(\) by (.*)\n', blocks()["azure"]).groups()
    parts = re.findall(r'\*|"[^"]*"|\w+', pattern)
    wanted = re.compile("".join(
        ".*?" if part == "*" else re.escape(part[1:-1]) if part[0] == '"' else f"(?P<{part}>.*?)"
        for part in parts[:-1]) + ".*")
    assert parts[0] == parts[-1] == "*"
    rows = [{**wanted.fullmatch(line).groupdict(), field: has.lower() in line.lower()}
            for line in ended[1]
            if needle.lower() in line.lower() and but.lower() not in line.lower()]
    assert Counter(tuple(row[key] for key in keys.split(", ")) for row in rows) == COUNTED


def test_what_a_rank_prints_is_not_counted(ended):
    """The control: it is in the log, and in its form."""
    assert any("cause=xid class=own retry=other_node x" in line for line in ended[1])
    assert "verdict cause=xid" in ended[1]


# --- exit statuses ---------------------------------------------------------------------


def test_aws_batch_tries_again_what_is_worth_it():
    """evaluateOnExit: the first condition all of whose patterns fit; without one it is tried."""
    rules = json.loads(blocks()["aws-batch"])["retryStrategy"]["evaluateOnExit"]
    assert len(rules) <= 5
    for rule in rules:
        assert rule["action"] in ("RETRY", "EXIT")
        assert re.fullmatch(r"\d+\*?", rule.get("onExitCode", "0"))
        assert all(re.fullmatch(r"[\w.: ]*\*?", rule.get(it, "")) for it in
                   ("onReason", "onStatusReason"))

    def action(code, status_reason="Essential container in task exited"):
        job = {"onExitCode": str(code), "onReason": "", "onStatusReason": status_reason}
        for rule in rules:
            if all(job[name] == pattern or (pattern[-1] == "*" and
                   job[name].startswith(pattern[:-1]))
                   for name, pattern in rule.items() if name != "action"):
                return rule["action"]
        return "RETRY"
    assert [action(code) for code in (120, 220, 230)] == ["EXIT", "RETRY", "RETRY"]
    assert action(1) == action(125) == "EXIT"
    assert action("", "Host EC2 (instance i-0) terminated.") == "RETRY"


PODS = {"items": [
    {"spec": {"nodeName": node}, "status": {"containerStatuses": [{"state": state}]}}
    for node, state in [("a", {"terminated": {"exitCode": 220}}), ("b", {"running": {}}),
                        ("c", {"terminated": {"exitCode": 230}}),
                        ("c", {"terminated": {"exitCode": 230}}),
                        ("d", {"terminated": {"exitCode": 230}})]]
    + [{"spec": {}, "status": {"phase": "Pending"}}]}


def test_the_bad_nodes_are_cordoned(tmp_path):
    needs_jq()
    (tmp_path / "pods").write_text(json.dumps(PODS))
    (tmp_path / "kubectl").write_text(
        '#!/bin/sh\ncase "$*" in "get pods -o json") cat pods;; *) echo "$*" >>asked;; esac\n')
    (tmp_path / "kubectl").chmod(0o755)
    shell(blocks()["cordon"], tmp_path, PATH=f"{tmp_path}:{BASE['PATH']}")
    assert (tmp_path / "asked").read_text() == "cordon c\ncordon d\n"


def test_the_statuses_are_those_of_the_program():
    with open(os.path.join(ROOT, "lib", "report", "verdict.h"), encoding="utf-8") as file:
        numbers = set(re.findall(r"^\tRI_EXIT_\w+ = (\d+),$", file.read(), re.M))
    text = read().partition("## An exit status for schedulers")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| (\d{3}) \|", text, re.M)) == numbers
    assert set(re.findall(r"\b(?:120|2[123]0)\b", text)) == numbers


def test_every_block_has_a_test():
    assert set(blocks()) == {"jq", "loki", "cloudwatch", "azure", "prometheus", "aws-batch",
                             "cordon", "slurm"}
    assert len(re.findall(r"^```\w+$", read(), re.M)) == len(BLOCK.findall(read()))
    # of a manifest: images/compose/test_manifests.py
    assert set(blocks("part")) == {"indexed-job", "jobset"}


# --- Slurm -----------------------------------------------------------------------------

# In the place of torchrun and, on node 1, of a rankinit that requires what no node has.
TORCHRUN = """#!/bin/sh
sleep 1
[ "$SLURMD_NODENAME" = n0 ] && exec sleep 60
case $(cat what) in never) exec python3 -c 'raise ValueError(17)';; same) kill -KILL $$;; esac
"""
WRAPPER = f"""#!/bin/sh
[ "$SLURMD_NODENAME$(cat what)" = n1other_node ] && set -- {UNMET} "$@"
exec {RANKINIT} "$@"
"""


@pytest.fixture(scope="module", name="slurm")
def fixture_slurm(tmp_path_factory):
    needs_jq()
    made = make_cluster(tmp_path_factory.mktemp("again"), 3, "linuxproc")
    yield made
    made.close()


def state_of(slurm, number):
    return dict(re.findall(r"(\w+)=(\S*)", slurm.run("scontrol", "show", "job", number)))


def submit(slurm, folder, what):
    """The script on n0 and n1: the number of its job, when it has done all that it does."""
    for name, text in ("torchrun", TORCHRUN), ("rankinit", WRAPPER):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "what").write_text(what)
    (folder / ".rankinit-key").write_text("d08fbc5a150028b59a73c7852451d26f")
    script = blocks()["slurm"].replace("#SBATCH --gpus-per-node=8\n", "#SBATCH --overcommit\n")
    (folder / "job.sh").write_text(script)
    env = {"HOME": str(folder), "PATH": f"{folder}:{BASE['PATH']}"}
    number = slurm.run("sbatch", "--parsable", "--nodelist=n0,n1", f"--chdir={folder}",
                       f"{folder}/job.sh", **env).strip()
    wait_until(lambda: is_over(state_of(slurm, number)), f"the end of {folder}", 60)
    return number


def is_over(state):
    """Or it waits to be started again."""
    return state["Restarts"] != "0" or \
        state["JobState"] not in ("PENDING", "RUNNING", "COMPLETING")


@pytest.mark.parametrize("what, status, restarts", [
    ("never", "120:0", "0"), ("same", "0:0", "1"), ("other_node", "230:0", "0")])
def test_a_batch_script_starts_itself_again(slurm, tmp_path, what, status, restarts):
    number = submit(slurm, tmp_path, what)
    state = state_of(slurm, number)
    following = [state_of(slurm, one)["ExcNodeList"]
                 for one in slurm.run("squeue", "-h", "-o", "%A").split() if one != number]
    slurm.run("scancel", "--user=root")
    log = (tmp_path / f"slurm-{number}.out").read_text()
    assert (state["Restarts"], state["ExitCode"]) == (restarts, status), log
    assert f"retry={what} " in log
    assert following == (["n1"] if what == "other_node" else [])


def test_a_cluster_starts_such_jobs_again(slurm, tmp_path):
    (line,) = re.findall(r"^`(RequeueExit=\S+)` in slurm.conf", read(), re.M)
    with open(f"{slurm.folder}/slurm.conf", "a", encoding="ascii") as file:
        file.write(line + "\n")
    slurm.run("scontrol", "reconfigure")
    for status, restarts in ("120", "0"), ("220", "1"), ("230", "1"):
        number = slurm.run("sbatch", "--parsable", f"--output={tmp_path}/log", "--wrap",
                           f"exit {status}").strip()
        wait_until(lambda: is_over(state_of(slurm, number)), status, 60)  # pylint: disable=W0640
        assert state_of(slurm, number)["Restarts"] == restarts, status
