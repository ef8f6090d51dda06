# SPDX-License-Identifier: Apache-2.0
"""
One thing of a machine that runs is switched, and some checks say something
else then: these, and no others.
"""

import json
import os
import shutil
from dataclasses import dataclass, field

from test_check_hosts import grow


@dataclass
class Toggle:
    change: str             # shell commands, or options of docker run: the one thing
    said: dict              # check -> (its lines before, those after), without the id; or fact
    words: list = field(default_factory=list)   # variables and options of rankinit
    both: str = ""          # the same as change, for the control as well


def said_of(document):
    """check -> ["STATUS CODE SUBJECT"], fact -> its value"""
    said = {}
    for one in document["checks"]:
        said.setdefault(one["id"], []).append(
            f"{one['status']} {one['code'] or '-'} {one['subject']}")
    return said | document.get("facts", {})


def parse(done):
    """What --check=json has said, in which no check went wrong itself."""
    assert done.returncode in (0, 123), done.stderr.decode()
    document = json.loads(done.stdout)
    assert document["fit"] == (done.returncode == 0)
    # an image that leaves a check to the machine of the job is no fault of the check
    wrong = [one for one in document["checks"] if (one["code"] or "").startswith("check.")
             and one["code"] != "check.image"]
    assert wrong == []
    return document


def changed(toggle, look):
    """look(change) -> a document; check -> what it says without the change and with it."""
    before, after = (said_of(look(change)) for change in ("", toggle.change))
    assert [name for name in before if "." in name] == [name for name in after if "." in name], \
        "the same checks in the same order"
    return {name: (before.get(name), after.get(name)) for name in {**before, **after}
            if before.get(name) != after.get(name)}


def make_image(machine, rankinit, root, device):
    """
    A recorded machine as an image that can run: what the kernel shows and the
    nodes are left to whoever runs it, but for sysfs. There the adapters have
    the numbers of a device that is really there. root/nodes lists the nodes,
    root/driver is proc/driver, where nobody can make files.
    """
    grow(machine, root)
    nodes = [os.path.relpath(os.path.join(folder, name), root + "/dev")
             for folder, _, names in os.walk(root + "/dev") for name in names]
    with open(root + "/nodes", "w", encoding="ascii") as file:
        file.writelines(name + "\n" for name in sorted(nodes))
    verbs = root + "/sys/class/infiniband_verbs"
    for name in os.listdir(verbs):
        if name.startswith("uverbs"):
            with open(f"{verbs}/{name}/dev", "w", encoding="ascii") as file:
                file.write(device + "\n")
    os.rename(root + "/proc/driver", root + "/driver")
    for folder in ("proc", "dev", "sys/fs/cgroup"):
        shutil.rmtree(f"{root}/{folder}")
        os.mkdir(f"{root}/{folder}")
    shutil.copy(rankinit, root + "/rankinit")
    return root
