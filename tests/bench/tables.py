# SPDX-License-Identifier: Apache-2.0
"""Turns measurements into aligned tables, with the design's targets."""

MISSING = "-"


def ratio(value, base):
    if value is None or not base:
        return None
    return value / base


def show(value, digits=2):
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return str(value)


def judge(value, limit, what):
    """'<= 0.30 of tini-static: met', or nothing where nothing was measured."""
    if value is None:
        return f"<= {limit} {what}: not measured"
    verdict = "met" if value <= limit else "missed"
    return f"<= {limit} {what}: {verdict}"


def print_table(title, header, rows):
    """First column to the left, numbers to the right, last one free text."""
    rows = [[show(cell) for cell in row] for row in rows]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    widths = [max(len(row[i]) for row in [header] + rows)
              for i in range(len(header))]
    print(f"\n{title}\n")
    for row in [header] + rows:
        cells = []
        for i, cell in enumerate(row):
            left = i == 0 or header[i].startswith("target")
            cells.append(cell.ljust(widths[i]) if left
                         else cell.rjust(widths[i]))
        print("  " + "  ".join(cells).rstrip())


class Topic:
    """Rows of one topic in one environment: name -> numbers or a reason."""

    def __init__(self, rows, problems):
        self.rows = rows
        self.problems = problems

    def get(self, name, field):
        return self.rows.get(name, {}).get(field)

    def of(self, name, base, field):
        return ratio(self.get(name, field), self.get(base, field))

    def names(self):
        return list(self.rows) + [n for n in self.problems
                                  if n not in self.rows]

    def lines(self, columns, target):
        """One line per variant; columns is a function of the name."""
        lines = []
        for name in self.names():
            if name in self.rows:
                lines.append([name] + columns(name) + [target(name)])
            else:
                width = len(columns(name))
                lines.append([name] + [MISSING] * width
                             + [self.problems[name]])
        return lines


def us(nanoseconds):
    return None if nanoseconds is None else f"{nanoseconds / 1000:.1f}"


def millis(nanoseconds):
    return None if nanoseconds is None else f"{nanoseconds / 1e6:.2f}"


def add_extra(rows):
    """What each init adds to the bare payload."""
    bare = rows.get("bare", {}).get("total")
    for row in rows.values():
        row["added"] = row["total"] - bare if bare else None


def start_target(topic, name, env):
    if env != "azureml":
        return ""
    if name == "rankinit-checks":
        return judge(topic.of(name, "tini-static", "added"), 1.0, "of tini-static")
    if name == "rankinit-always":
        return "; ".join(
            judge(topic.of(name, peer, "added"), 0.6, f"of {peer}")
            for peer in ("tini-static", "catatonit"))
    return ""


def start(topic, env, rounds):
    header = ["variant", "added/tini-static", "/catatonit", "/floor",
              "total/bare", "main/bare", "cpu/bare", "added us", "total us",
              "quartiles", "main us", "cpu us", "target (added)"]

    def columns(name):
        get = topic.get
        q1, q3 = get(name, "total_q1"), get(name, "total_q3")
        return [topic.of(name, "tini-static", "added"),
                topic.of(name, "catatonit", "added"),
                topic.of(name, "floor", "added"),
                topic.of(name, "bare", "total"),
                topic.of(name, "bare", "main"),
                topic.of(name, "bare", "cpu"),
                us(get(name, "added")), us(get(name, "total")),
                f"{us(q1)}-{us(q3)}",
                us(get(name, "main")), us(get(name, "cpu"))]

    print_table(
        f"Start-up as PID 1, environment {env}, median of {rounds}", header,
        topic.lines(columns, lambda name: start_target(topic, name, env)))


def ranks(topic, count):
    header = ["variant", "total/spawnloop", "total/mpirun", "total us",
              "rounds", "target"]

    def columns(name):
        return [topic.of(name, "spawnloop", "total"),
                f"{topic.of(name, 'mpirun', 'total'):.4f}"
                if topic.of(name, "mpirun", "total") else None,
                us(topic.get(name, "total")), topic.get(name, "rounds")]

    def target(name):
        if not name.startswith("rankinit"):
            return ""
        return "; ".join([
            judge(topic.of(name, "spawnloop", "total"), 1.5 if count <= 8 else 1.2,
                  "of spawnloop"),
            judge(topic.of(name, "mpirun", "total"), 0.05, "of mpirun")])

    print_table(f"{count} ranks started and waited for", header,
                topic.lines(columns, target))


def death(topic, count):
    header = ["variant", "/mpirun", "/torchrun", "verdict ms", "end ms", "quartiles", "rounds"]

    def fine(value):
        return None if value is None else f"{value:.4f}"

    def columns(name):
        get = topic.get
        return [fine(topic.of(name, "mpirun", "median")),
                fine(topic.of(name, "torchrun", "median")),
                millis(get(name, "verdict")), millis(get(name, "median")),
                f"{millis(get(name, 'q1'))}-{millis(get(name, 'q3'))}", get(name, "rounds")]

    print_table(f"From the death of one of {count} ranks to the verdict and the end of the job",
                header + [""], topic.lines(columns, lambda name: ""))


def deaths(topic, count):
    header = ["variant", "verdict ms", "end ms", "quartiles", "memory kB", "rounds", ""]

    def columns(name):
        get = topic.get
        return [millis(get(name, "verdict")), millis(get(name, "median")),
                f"{millis(get(name, 'q1'))}-{millis(get(name, 'q3'))}", get(name, "memory_kb"),
                get(name, "rounds")]

    print_table(f"{count} ranks print an exception and fail at once", header,
                topic.lines(columns, lambda name: ""))


def nodes(rows, problems, bound):
    """rows: name -> {before, after} in ns; None: more than so many seconds."""
    def cells(row, moment):
        took, peer = row[moment], rows.get("torchrun", {}).get(moment, 0)
        if took is None:
            return [f"> {bound} s", None]
        if peer is None:
            return [f"{took / 1e6:.0f} ms", f"< {took / (bound * 1e9):.4f}"]
        return [f"{took / 1e6:.0f} ms", ratio(took, peer)]

    print_table("One rank dies: until the ranks of the other node are gone", [
        "variant", "before they have met", "/torchrun", "after it", "/torchrun", ""], [
        [name, *cells(row, "before"), *cells(row, "after"), ""] for name, row in rows.items()] + [
        [name, None, None, None, None, reason] for name, reason in problems.items()])


def restart(rows, problems):
    """rows: (nodes, name) -> {ended, median, q1, q3, rounds} in ns."""
    def ms(nanoseconds):
        return f"{nanoseconds / 1e6:.1f}"

    def target(count, name, median):
        limit = 50 if count == 1 else 250 if count <= 4 else 1000
        return judge(median / 1e6, limit, "ms") if name == "rankinit" else ""

    def cells(count, name, row):
        peer = rows.get((count, "torchrun"))
        return [name, count, ms(row["ended"]), ratio(row["ended"], peer and peer["ended"]),
                ms(row["median"]), f"{ms(row['q1'])}-{ms(row['q3'])}",
                ratio(row["median"], peer and peer["median"]), row["rounds"],
                target(count, name, row["median"])]

    print_table("From the death of a rank to the end of the others, and to the first lines of all "
                "the new ones", [
        "variant", "nodes", "others ms", "/torchrun", "new ms", "quartiles", "/torchrun", "rounds",
        "target"], [
        cells(*key, row) for key, row in rows.items()] + [
        [name, count, None, None, None, None, None, None, reason]
        for (count, name), reason in problems.items()])


def size(rows, problems):
    """rows: nodes -> step -> {ms, cpu, peak}, cpu in ns and peak in kB."""
    steps = {"come": "all come", "look": "all look", "fail": "one fails, all hear the verdict",
             "start": "all come again, and start"}
    print_table("Node 0 of a large job: its helper, and how long until all nodes have done it", [
        "nodes", "what", "ms", "ms of CPU", "MB at most", ""], [
        [count, steps[step], row["ms"], f"{row['cpu'] / 1e6:.0f}", f"{row['peak'] / 1024:.1f}", ""]
        for count, found in rows.items() for step, row in found.items()] + [
        [count, None, None, None, None, reason] for count, reason in problems.items()])


def autopsy(rows, problems, ranks):
    """rows: name -> {clock, cpu} in ms for each rank."""
    ours = rows.get("rankinit --autopsy", {"clock": 0, "cpu": 0})
    print_table(f"Python stacks of {ranks} waiting ranks, for each of them; rankinit looks twice, "
                "200 ms apart", ["variant", "ms of CPU", "/rankinit", "ms", ""], [
        [name, f"{row['cpu']:.1f}", ratio(row["cpu"], ours["cpu"]) if ours["cpu"] else None,
         f"{row['clock']:.1f}", ""] for name, row in rows.items()] + [
        [name, None, None, None, reason] for name, reason in problems.items()])


def launched(slept, seconds):
    """slept: name of the process -> how often"""
    print_table(f"In front of a launcher: voluntary context switches in the first {seconds} s",
                ["process", "switches"], [[name, count] for name, count in slept.items()])


def behind(private, starts, ranks):
    """private: kB of each rankinit; starts: name -> {median, p10, rounds} in ns"""
    alone = starts["mpirun alone"]["p10"]
    print_table(f"{ranks} ranks behind mpirun that end at once; private memory of each rankinit "
                f"that stays: {private[0]} to {private[-1]} kB, target "
                f"{judge(private[-1], 128, 'kB')}",
                ["variant", "median ms", "10 % ms", "/mpirun alone", "rounds"], [
        [name, f"{row['median'] / 1e6:.0f}", f"{row['p10'] / 1e6:.0f}", ratio(row["p10"], alone),
         row["rounds"]] for name, row in starts.items()])


def hosts(took):
    """took: {(kind, count): ns}"""
    rows = []
    for kind, count in sorted(took):
        ms = took[kind, count] / 1e6
        tenth = took.get((kind, count // 10))
        rows.append([f"{kind}, {count} hosts", f"{ms:.1f}",
                     ratio(took[kind, count], tenth) if tenth else None,
                     judge(ms, 20, "ms") if count == 100_000 else ""])
    print_table("Added to a start by a list of hosts", ["variant", "ms", "/a tenth", "target"],
                rows)


def checks(took):
    """took: {"own": ns, "wall": ns}"""
    names = {"own": "as they say themselves", "wall": "the whole run, less --version"}
    print_table("All default checks on a recorded machine with eight GPUs and adapters",
                ["variant", "ms", "target"],
                [[name, f"{took[kind] / 1e6:.1f}", judge(took[kind] / 1e6, 10, "ms")]
                 for kind, name in names.items()])


def judge_rate(value, limit, what):
    """As judge, where more is better."""
    if value is None:
        return f">= {limit} {what}: not measured"
    verdict = "met" if value >= limit else "missed"
    return f">= {limit} {what}: {verdict}"


def output(topic, count):
    header = ["variant", "rate/cat", "/torchrun-tee", "MB/s", "quartiles", "target"]

    def columns(name):
        get = topic.get
        return [topic.of(name, "cat", "rate"), topic.of(name, "torchrun-tee", "rate"),
                show(get(name, "rate"), 0),
                f"{show(get(name, 'q1'), 0)}-{show(get(name, 'q3'), 0)}"]

    def target(name):
        if name != "rankinit-prefix":
            return ""
        return "; ".join([
            judge_rate(topic.of(name, "cat", "rate"), 0.5, "of cat"),
            judge_rate(topic.of(name, "torchrun-tee", "rate"), 10, "of torchrun's tee")])

    print_table(f"Lines of 100 bytes from {count} rank{'s' if count > 1 else ''}", header,
                topic.lines(columns, target))


def compared(topic, title, field, extra, target):
    """A table of one value with its four ratios, and further columns."""
    header = (["variant", "/tini-static", "/catatonit", "/bare", "/floor"]
              + [text for text, _ in extra] + ["target"])

    def columns(name):
        return ([topic.of(name, peer, field)
                 for peer in ("tini-static", "catatonit", "bare", "floor")]
                + [value(topic.get(name, field_of))
                   for _, (field_of, value) in extra])

    print_table(title, header, topic.lines(columns, target))


def plain(value):
    return value


def deaf(topic, env):
    compared(topic, f"Deaf to SIGTERM after exec, environment {env}",
             "window",
             [("window us", ("window", us)), ("lost", ("lost", plain)),
              ("trials", ("trials", plain)), ("misfits", ("misfits", plain)),
              ("last lost us", ("latest", us))],
             lambda name: "")


def latency(topic, env, rounds):
    def target(name):
        if not name.startswith("rankinit"):
            return ""
        return judge(topic.of(name, "floor", "median"), 1.25,
                     "of floor (noise)")

    compared(topic,
             f"Signal latency, one CPU, environment {env}, median of {rounds}",
             "median",
             [("median us", ("median", us)), ("q1", ("q1", us)),
              ("q3", ("q3", us))], target)


def idle(topic, env, seconds):
    def target(name):
        if not name.startswith("rankinit"):
            return ""
        return "; ".join([
            judge(topic.get(name, "wakeups"), 0, "wake-ups"),
            judge(topic.get(name, "private_kb"), 64, "kB")])

    compared(topic, f"Idle for {seconds} s, environment {env}; ratios of private memory",
             "private_kb",
             [("wake-ups", ("wakeups", plain)), ("private kB", ("private_kb", plain)),
              ("Rss kB", ("rss_kb", plain)), ("address space kB", ("space_kb", plain))],
             target)


def system_calls(topic, env):
    compared(topic, f"System calls, environment {env}; ratios of the total",
             "total",
             [(name, (name, plain)) for name in
              ("start", "child", "after", "others", "total")],
             lambda name: "")


def container(rows, layer):
    lines = [[name, ratio(row["total"], rows["bare"]["total"]), us(row["added"]),
              us(row["total"]), f"{us(row['q1'])}-{us(row['q3'])}", ""]
             for name, row in rows.items()]
    print_table("docker run --rm of a program that ends at once", [
        "variant", "total/bare", "added us", "total us", "quartiles", "target"], lines)
    print(f"\n  The layer with rankinit: {layer['bytes']} bytes, compressed {layer['compressed']}")
