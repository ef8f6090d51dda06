#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""device.py RANKINIT OUT [--ranks=N]: what device.sh does, see there."""

import csv
import ctypes
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
QUIET = (2, 3, 13, 21, 22, 25)      # NVML has no such thing, as nvidia-smi's [N/A]
ABSENT = ("[N/A]", "N/A", "[Not Supported]", "[GPU requires reset]", "")
MIB = 1 << 20
WORDS = {"Yes": 1, "No": 0, "Enabled": 1, "Disabled": 0, "None": 0, "Reset": 1, "Reboot": 2,
         "Drain P2P": 3, "Drain and Reset": 4}

# question of the probe, which of its numbers -> nvidia-smi's names of it (new, old), unit.
# What changes from one moment to the next is told and not compared.
FIELDS = {
    ("memory", 0): (["memory.total"], MIB),
    ("memory", 1): (["memory.free"], MIB),
    ("memory", 2): (["memory.reserved"], MIB),
    ("ecc", 0): (["ecc.errors.uncorrected.volatile.total"], 1),
    ("mig", 0): (["mig.mode.current"], 1),
    ("recovery", 0): (["gpu_recovery_action"], 1),
}
REMAP = ["correctable", "uncorrectable", "pending", "failure"]
MOVES = {("processes", 0)}
NEAR = {("memory", 0): MIB, ("memory", 1): 64 * MIB, ("memory", 2): 64 * MIB}
# question, number -> an element of "nvidia-smi -q -x", wherever it stands in a GPU's
ELEMENTS = {("sram", 0): "sram_threshold_exceeded"}
SECONDS = 100       # of one program
KEPT = 4 << 20      # bytes of one file
# where images for GPUs have the driver's libraries, if the loader does not know of them
FOLDERS = ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu",
           "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib"]


def run(words, **more):
    """As subprocess.run; what does not end or start is 124 or 127, and no exception."""
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace",
                              check=False, timeout=SECONDS, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"no end within {SECONDS} s")
    except OSError as err:
        return subprocess.CompletedProcess(words, 127, "", str(err))


def find_library():
    """Make the loader find libnvidia-ml, where it does not by itself."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        found = [folder for folder in FOLDERS if glob.glob(f"{folder}/libnvidia-ml.so.1")]
        old = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = ":".join(found + ([old] if old else []))


def query(kind, name):
    """A column of nvidia-smi, a text for each GPU; None where it knows no such name."""
    done = run(["nvidia-smi", f"--query-{kind}={name}", "--format=csv,noheader,nounits"])
    if done.returncode != 0:
        return None
    return [row[0].strip() if row else "" for row in csv.reader(io.StringIO(done.stdout))]


def number(text, unit):
    """As the probe has it; None for what nvidia-smi does not tell."""
    if text in ABSENT:
        return None
    if text in WORDS:
        return WORDS[text] * unit
    try:
        return int(text, 0) * unit
    except ValueError:
        return text


def read_probe(text):
    """GPU -> (address, uuid, {question: numbers or -error})"""
    gpus, at = {}, None
    for line in text.splitlines():
        words = line.split() or [""]
        if words[0] == "try":
            at = words[1:]
        elif words[0] not in ("ok", "error"):
            continue
        elif at and at[0] == "gpu":
            gpus[int(at[1])] = (words[1], words[2], {}) if words[0] == "ok" else ("-", "-", {})
        elif at and at[0] == "ask":
            gpus[int(at[1])][2][at[2]] = [int(word) for word in words[1:]] \
                if words[0] == "ok" else -int(words[1])
    return gpus


def query_elements():
    """question -> texts, by nvidia-smi's XML; no text where there is none."""
    try:
        gpus = ElementTree.fromstring(run(["nvidia-smi", "-q", "-x"]).stdout).findall("gpu")
    except ElementTree.ParseError:
        gpus = []
    return {key: [getattr(gpu.find(f".//{path}"), "text", None) or "" for gpu in gpus]
            for key, path in ELEMENTS.items()}


def query_processes(uuids):
    done = run(["nvidia-smi", "--query-compute-apps=gpu_uuid", "--format=csv,noheader"])
    return None if done.returncode else [str(done.stdout.split().count(one)) for one in uuids]


class Device:
    """One run: what was found, in lines, and whether anything was wrong."""

    def __init__(self, rankinit, out):
        self.rankinit, self.out = os.path.abspath(rankinit), os.path.abspath(out)
        self.checks, self.bad = {}, 0
        self.keep("summary.txt", "")

    def say(self, line, bad=False):
        """At once into the summary, too: the time may be over before the end."""
        line = ("DIFFERS  " if bad else "") + line
        self.bad += bad
        print(line, flush=True)
        with open(os.path.join(self.out, "summary.txt"), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def keep(self, name, text):
        with open(os.path.join(self.out, name), "w", encoding="utf-8") as file:
            file.write(text[:KEPT])

    def step(self, function, *words):
        """One that fails is told, and the others still run."""
        try:
            return function(*words)
        except Exception as err:        # pylint: disable=broad-exception-caught
            self.say(f"{function.__name__} failed: {type(err).__name__}: {err}", True)
            return None

    # the probe's answers beside nvidia-smi's

    def probe(self):
        begun = time.monotonic()
        done = run([os.path.join(os.path.dirname(self.rankinit), "rankinit-probe"), "nvml"])
        took = time.monotonic() - begun
        self.keep("probe.txt", done.stdout)
        self.keep("nvidia-smi.txt", run(["nvidia-smi", "-q"]).stdout
                  + run(["nvidia-smi", "nvlink", "-s"]).stdout)
        if not done.stdout.rstrip().endswith("end"):
            self.say(f"rankinit-probe did not come to its end: {done.stderr}", True)
        gpus = read_probe(done.stdout)
        self.say(f"rankinit-probe nvml: {len(gpus)} GPUs in {took * 1000:.0f} ms")
        return gpus

    def compare_one(self, key, gpu, ours, theirs):
        name = f"GPU {gpu} {key[0]} {key[1]}"
        shown = "not told" if ours is None else ours
        if ours == theirs or key in MOVES or (
                key in NEAR and isinstance(theirs, int) and ours is not None
                and abs(ours - theirs) <= NEAR[key]):
            moves = ", moves" if key in MOVES and ours != theirs else ""
            self.say(f"{name}: {shown}, nvidia-smi {theirs}{moves}")
        elif theirs is None or ours is None:
            # the one tells "0" or an error where the other tells nothing
            self.say(f"{name}: {shown}, nvidia-smi {theirs}: told by one of them")
        else:
            self.say(f"{name}: {shown}, nvidia-smi {theirs}", True)

    def compare(self, gpus):
        columns = {key: (next((found for found in (query("gpu", name) for name in names)
                               if found is not None), None), unit)
                   for key, (names, unit) in FIELDS.items()}
        for i, name in enumerate(REMAP):
            columns[("remap", i)] = (query("remapped-rows", f"remapped_rows.{name}"), 1)
        columns.update({key: (column, 1) for key, column in query_elements().items()})
        addresses, uuids = query("gpu", "pci.bus_id") or [], query("gpu", "uuid") or []
        columns["processes", 0] = (query_processes(uuids), 1)
        if len(addresses) != len(gpus):
            self.say(f"{len(gpus)} GPUs, nvidia-smi {len(addresses)}", True)
        for gpu, (address, uuid, answers) in gpus.items():
            if gpu < len(addresses):
                self.say(f"GPU {gpu}: {address} {uuid}",
                         (address, uuid) != (addresses[gpu], uuids[gpu]))
            for question, answer in answers.items():
                if isinstance(answer, int) and -answer not in QUIET:
                    self.say(f"GPU {gpu} {question}: NVML error {-answer}", True)
            for key, (column, unit) in columns.items():
                answer = answers.get(key[0], -13)
                ours = answer[key[1]] if isinstance(answer, list) else None
                if column is None or gpu >= len(column):
                    self.say(f"GPU {gpu} {key[0]} {key[1]}: {ours}, nvidia-smi has no such name")
                else:
                    self.compare_one(key, gpu, ours, number(column[gpu], unit))

    # what the checks say

    def look(self, name, *words, env=None):
        begun = time.monotonic()
        done = run([self.rankinit, "--check=json", *words], env={**os.environ, **(env or {})})
        took = time.monotonic() - begun
        try:
            self.checks[name] = json.loads(done.stdout)
            checks = self.checks[name]["checks"]
            self.keep("checks.json", json.dumps(self.checks, indent=1))
        except (ValueError, KeyError):
            self.say(f"{name}: --check said {done.stdout[:200]!r} {done.stderr[:200]!r}", True)
            return []
        self.say(f"{name}: exit {done.returncode}, {len(checks)} results in {took * 1000:.0f} ms")
        return checks

    def check(self):
        for one in self.look("check", "--expect=deep", "--checks=gpu.*,ib.*"):
            if one["status"] != "skip":
                self.say(f"  {one['status']} {one['id']} {one['code'] or '-'} {one['subject']}: "
                         f"{one['text']}")
        hidden = self.look("hidden", "--expect=deep", "--checks=gpu.health,gpu.busy",
                           env={"CUDA_VISIBLE_DEVICES": ""})
        if {one["status"] for one in hidden} - {"skip"}:
            self.say("with CUDA_VISIBLE_DEVICES= the checks still speak", True)

    # the machine, as tests/hosts has them

    def record(self):
        """NAME.tree for tests/hosts/grow.py; identifiers and the name are replaced."""
        uuids, lines = {}, ["# recorded by tests/device.sh; names, identifiers are replaced"]

        def disguise(text):
            text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", lambda found:
                          uuids.setdefault(found[0], f"00000000-0000-0000-0000-{len(uuids):012d}"),
                          text)
            # ids of containers
            text = re.sub(r"\b[0-9a-f]{32,}\b", lambda found: "0" * len(found[0]), text)
            return text.replace(os.uname().nodename, "node-0")
        for path in files():
            try:
                with open("/" + path, encoding="utf-8", errors="replace") as file:
                    text = disguise(file.read(65536))
            except OSError:
                continue
            body = text[:-1] if text.endswith("\n") else text
            if "\n." in "\n" + body and any(line == "." for line in body.split("\n")):
                continue
            if "\n" in body or " mode 0" in body:
                lines += [path + " <<", *body.split("\n"), "."]
            elif body == body.strip():
                lines.append(f"{path} = {body}".rstrip())
        for path in nodes():
            lines.append(f"{path} = mode 0{os.stat('/' + path).st_mode & 0o777:o}")
        self.keep("machine.tree", "\n".join(lines) + "\n")
        self.say(f"machine.tree: {len(lines)} lines")

    def replay(self):
        """What was recorded says of the GPUs what the machine says."""
        sys.path.insert(0, os.path.join(HERE, "hosts"))
        from grow import grow_lines     # pylint: disable=import-outside-toplevel,import-error
        with open(os.path.join(self.out, "machine.tree"), encoding="utf-8") as file, \
                tempfile.TemporaryDirectory() as folder:
            root = os.path.join(folder, "machine")
            grow_lines("machine.tree", file.read().splitlines(), root)
            found = [{(one["id"], one["status"], one["code"]) for one in
                      self.look(name, "--checks=gpu.dev,gpu.count", *words)}
                     for name, words in (("live", []), ("recorded", [f"--root={root}"]))]
        for one in sorted(found[0] ^ found[1], key=str):
            self.say(f"live and recorded: {one}", True)

    # ranks

    def start(self, name, count, *command):
        done = run([self.rankinit, f"--nproc-per-node={count}", "--", *command])
        self.keep(f"{name}.txt", done.stdout + done.stderr)
        for line in (done.stdout + done.stderr).splitlines()[:40]:
            self.say("  " + line)
        return done

    def plain_ranks(self, count, gpus):
        """One for each GPU, each with a number of its own."""
        done = self.start("plain", count, "sh", "-c",
                          'echo "plain rank $RANK of $WORLD_SIZE, local $LOCAL_RANK"')
        found = sorted(re.findall(r"plain rank (\d+) of (\d+), local (\d+)", done.stdout))
        wanted = gpus if count == "gpu" else int(count)
        good = done.returncode == 0 and found == sorted(
            (str(i), str(wanted), str(i)) for i in range(wanted))
        self.say(f"--nproc-per-node={count}: {len(found)} ranks, exit {done.returncode}", not good)

    def ranks(self, count):
        if run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]).returncode:
            self.say("ranks: skipped, Python finds no torch that sees a GPU")
            return
        done = self.start("ranks", count, sys.executable, "-B",
                          os.path.join(HERE, "device_rank.py"))
        sums = re.findall(r"rank \d+ of (\d+): sum (\d+) over (\w+)", done.stdout)
        good = done.returncode == 0 and sums and all(
            len(sums) == int(world) and int(total) == int(world) * (int(world) + 1) // 2
            for world, total, _ in sums)
        self.say(f"ranks: {len(sums)} with {sums[0][2] if sums else 'nothing'}, exit "
                 f"{done.returncode}", not good)

    def busy(self):
        """Somebody else's gibibytes are seen, and no longer when they are gone."""
        with subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "device_holder.py")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            held = holder.stdout.readline().strip()
            checks = self.look("busy", "--expect=deep", "--checks=gpu.busy") if held else []
            holder.stdin.close()
        if not held:
            self.say("busy: skipped, Python gets no memory of a GPU by libcuda or torch")
        elif not any(one["code"] == "gpu.busy.others" for one in checks):
            self.say("3 GiB of another process are not seen", True)


def files():
    """What checks read of a machine, as far as it says nothing of who uses it."""
    found = ["proc/self/status", "proc/self/limits", "proc/self/cgroup", "proc/self/uid_map",
             "proc/uptime", "proc/sys/kernel/osrelease", "sys/module/nvidia/version"]
    for top in ("proc/driver/nvidia", "proc/driver/nvidia-caps", "proc/driver/nvidia-nvswitch"):
        for folder, _, names in os.walk("/" + top):
            found += [os.path.join(folder, name)[1:] for name in names]
    pci = "sys/bus/pci/devices"
    gpus = "/proc/driver/nvidia/gpus"
    for address in os.listdir(gpus) if os.path.isdir(gpus) else []:
        found += [f"{pci}/{address}/{name}" for name in
                  ("numa_node", "local_cpulist", "current_link_width", "max_link_width",
                   "vendor", "device")]
    return sorted(set(found))


def nodes():
    found = [f"dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")]
    caps = "/dev/nvidia-caps"
    found += [f"dev/nvidia-caps/{name}" for name in
              (os.listdir(caps) if os.path.isdir(caps) else [])]
    return sorted(path for path in found if not os.path.isdir("/" + path))


def main(rankinit, out, *options):
    count = dict(option.split("=", 1) for option in options).get("--ranks", "gpu")
    device = Device(rankinit, out)
    find_library()
    gpus = device.step(device.probe) or {}
    device.step(device.compare, gpus)
    device.step(device.check)
    device.step(device.record)
    device.step(device.replay)
    device.step(device.plain_ranks, count, len(gpus))
    device.step(device.busy)
    device.step(device.ranks, count)
    device.say(f"{device.bad} differ" if device.bad else "all is as nvidia-smi has it")
    return 1 if device.bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
