# SPDX-License-Identifier: Apache-2.0
"""
Pods as containers of Docker: what the kubelet does with a pod template, as arguments of docker run.

Where its rules were read: kubernetes.io/docs, "Define a Command and Arguments for a Container",
"Define Dependent Environment Variables", "Volumes, emptyDir", "Configure a Security Context". A
field that is not known here is an error, so that nothing in a manifest is passed over.
"""

import os
import re

import build
import yaml

PAGE = os.path.join(build.TOP, "docs", "kubernetes.md")
BLOCK = re.compile(r"^<!-- run: (\S+) -->\n```yaml\n(.*?)^```$", re.M | re.S)
# Of the pod: what other containers, the scheduler or a controller make of it.
OF_POD = {"containers", "initContainers", "volumes", "securityContext", "hostname", "subdomain",
          "restartPolicy", "terminationGracePeriodSeconds"}
OF_CONTAINER = {"name", "image", "command", "args", "env", "envFrom", "volumeMounts", "resources",
                "securityContext", "livenessProbe", "readinessProbe"}
NOT_HERE = {"nvidia.com/gpu"}    # limits of what this machine need not have
UNITS = {"Ki": 2 ** 10, "Mi": 2 ** 20, "Gi": 2 ** 30}


def read():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def blocks():
    """name -> the documents of each block of the page."""
    return {name: list(yaml.safe_load_all(text)) for name, text in BLOCK.findall(read())}


CHANGE = re.compile(r"^<!-- change: (\S+) -->\n```yaml\n(.*?)^```$", re.M | re.S)


def merge(whole, part):
    """The part over the whole; items of lists by their names, as `kubectl patch` has it."""
    if isinstance(part, dict):
        return {**whole, **{key: merge(whole[key], it) if key in whole else it
                            for key, it in part.items()}}
    if isinstance(part, list) and part and "name" in part[0]:
        names = {it["name"]: it for it in part}
        assert set(names) <= {it["name"] for it in whole}, "a name that the block lacks"
        return [merge(it, names.get(it["name"], {})) for it in whole]
    return part


def changed():
    """name -> the last document of a block of the page, with what the page says to change in it."""
    return {name: merge(blocks()[name][-1], yaml.safe_load(text))
            for name, text in CHANGE.findall(read())}


class Unknown(Exception):
    """A field whose meaning nobody wrote down here."""


def known(fields, names, where):
    more = set(fields) - set(names)
    if more:
        raise Unknown(f"{where}: {', '.join(sorted(more))}")


def size(text):
    """A quantity in bytes."""
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * UNITS[unit]


def expand(text, env):
    """$(NAME) of the container's own variables; others stay, and $$ is a $."""
    return re.sub(r"\$\$|\$\((\w+)\)",
                  lambda match: "$" if match[0] == "$$" else env.get(match[1], match[0]), text)


class Pod:
    """
    A pod of a template. folder: a new one, for its volumes; images: the name in a manifest -> the
    one here; secrets: name -> its keys and values; fields: path of a fieldRef -> value; env and
    mounts: what the controller adds to each container, as names and values, and (path here, path
    there) that are only read.
    """

    def __init__(self, template, folder, images, secrets=None, fields=None, env=None, mounts=()):
        known(template, {"metadata", "spec"}, "template")
        self.spec = template["spec"]
        known(self.spec, OF_POD, "pod")
        self.folder, self.images, self.mounts = str(folder), images, mounts
        self.secrets, self.fields, self.added = secrets or {}, fields or {}, env or {}
        self.volumes = {it["name"]: it for it in self.spec.get("volumes", [])}
        (self.container,) = self.spec["containers"]

    def init_containers(self):
        """docker run's words for each, in their order."""
        return [["--rm", *self.words(it)] for it in self.spec.get("initContainers", [])]

    def words(self, container, options=()):
        """docker run's words for one container."""
        known(container, OF_CONTAINER, container["name"])
        env = self.environment(container)
        command = [expand(it, env) for it in container.get("command", [])]
        args = [expand(it, env) for it in container.get("args", [])]
        made = [*options, *self.user(container), *self.limits(container)]
        for name, value in env.items():
            made += ["--env", f"{name}={value}"]
        for mount in container.get("volumeMounts", []):
            made += self.mount(mount)
        for here, there in self.mounts:
            made += ["--volume", f"{here}:{there}:ro"]
        if command:
            made += ["--entrypoint", command[0]]
        return [*made, self.images[container["image"]], *command[1:], *args]

    def main_container(self, options=()):
        """The same for the one that the pod is about, with the time that a stop has."""
        grace = self.spec.get("terminationGracePeriodSeconds", 30)
        return self.words(self.container, ["--stop-timeout", str(grace), *options])

    def environment(self, container):
        """`env`, to which a controller adds, wins over `envFrom`."""
        found = {}
        for source in container.get("envFrom", []):
            known(source, {"secretRef"}, "envFrom")
            found.update(self.secrets[source["secretRef"]["name"]])
        found.update(self.added)
        for it in container.get("env", []):
            found[it["name"]] = (expand(it["value"], found) if "value" in it
                                 else self.value_from(it["valueFrom"]))
        return found

    def value_from(self, source):
        known(source, {"secretKeyRef", "fieldRef"}, "valueFrom")
        if "secretKeyRef" in source:
            return self.secrets[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
        return self.fields[source["fieldRef"]["fieldPath"]]

    def user(self, container):
        context = {**self.spec.get("securityContext", {}), **container.get("securityContext", {})}
        known(context, {"runAsUser", "runAsGroup"}, "securityContext")
        if "runAsUser" not in context:
            return []
        group = f":{context['runAsGroup']}" if "runAsGroup" in context else ""
        return ["--user", f"{context['runAsUser']}{group}"]

    @staticmethod
    def limits(container):
        known(container.get("resources", {}), {"limits"}, "resources")
        limits = container.get("resources", {}).get("limits", {})
        known(limits, {"memory", *NOT_HERE}, "limits")
        return ["--memory", str(size(limits["memory"]))] if "memory" in limits else []

    def mount(self, mount):
        """An emptyDir is everybody's folder; one in memory has its size, and may run programs."""
        known(mount, {"name", "mountPath"}, "volumeMount")
        volume = self.volumes[mount["name"]]
        known(volume, {"name", "emptyDir"}, "volume")
        known(volume["emptyDir"], {"medium", "sizeLimit"}, "emptyDir")
        if volume["emptyDir"].get("medium") == "Memory":
            limit = size(volume["emptyDir"]["sizeLimit"])
            return ["--tmpfs", f"{mount['mountPath']}:rw,exec,mode=1777,size={limit}"]
        path = os.path.join(self.folder, mount["name"])
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)
        return ["--volume", f"{path}:{mount['mountPath']}"]
