# SPDX-License-Identifier: Apache-2.0
"""--blame with dumps of torch's Flight Recorder: which collective each rank entered at last."""

import pickle

import pytest

from box import refused
from reports import BEGAN, STOPPED, WAITED, names, page, report
from test_blame import measured

NODES, RANKS = 4, 8
LAST = 7            # the collective that seven of eight ranks have entered at last
WHY = "it is no dump of torch's Flight Recorder"


def an_entry(number, op="nccl:all_reduce", state="completed", group=("0", "default_pg"),
             size=4, at=50.0, **more):
    """As torch 2.13 writes one, without what tells where in the program it was."""
    return {"record_id": number, "pg_id": 0, "process_group": group, "collective_seq_id": number,
            "p2p_seq_id": 0, "op_id": number, "profiling_name": op, "state": state,
            "time_created_ns": int((BEGAN + at) * 1e9), "input_sizes": [[size, 2]],
            "input_dtypes": ["Float"], "output_sizes": [[size, 2]], "output_dtypes": ["Float"],
            "time_discovered_started_ns": None, "retired": True, "timeout_ms": 600000,
            "is_p2p": False, "frames": [{"name": "step", "filename": "train.py", "line": 16}],
            "duration_ms": 0.5, **more}


def a_dump(*entries, version="2.10"):
    return {"version": version, "pg_config": {"0": {"name": "0", "desc": "default_pg",
            "ranks": str(list(range(RANKS)))}}, "comm_lib_version": "", "pg_status": {"0": {
                "last_enqueued_collective": 7, "last_started_collective": -1,
                "last_completed_collective": 6}}, "entries": list(entries)}


def came_to(last, op="nccl:all_reduce", pending=True, **more):
    """It entered all up to this one, and waits in that, or in none."""
    entries = [an_entry(number) for number in range(max(last - 3, 1), last + 1)]
    entries[-1] = an_entry(last, op, "started" if pending else "completed", **more)
    return a_dump(*entries)


def behind(last=LAST - 1):
    return came_to(last, pending=False)


def gloo(last, **more):
    return a_dump(*(an_entry(number, "gloo:all_reduce", "scheduled", **more)
                    for number in range(1, last + 1)))


def job(**more):
    """Eight ranks, all of which waited in vain, but for rank 5, which was told to stop."""
    ends = [WAITED] * RANKS
    ends[5] = STOPPED
    return [report(node, NODES, *ends[2 * node:2 * node + 2], **more) for node in range(NODES)]


@pytest.fixture
def judge(blame, tmp_path):
    """The answer to the job's reports and these dumps beside them, by rank."""
    def run(dumps, protocol=2, documents=None):
        for rank, dump in dumps.items():
            data = dump if isinstance(dump, bytes) else pickle.dumps(dump, protocol)
            (tmp_path / f"flight_{rank}").write_bytes(data)
        return blame(*(documents or job()))
    return run


def all_but(odd, dump=None):
    return {rank: odd if rank == 5 else dump or came_to(LAST) for rank in range(RANKS)}


SENTENCE = f"rank 5 never entered all_reduce {LAST} of group default_pg, in which ranks 0-4, 6-7 " \
    "wait"


def left_open(document):
    return (document["finding"], document["suspects"]) == ("unknown", [])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_one_that_never_came(judge, box, tmp_path, protocol):
    document = judge(all_but(behind()), protocol)
    assert (document["finding"], names(document)) == ("held", [(2, 5)])
    assert (document["out_of_step"], document["skipped"]) == (SENTENCE, [])
    assert page(box, tmp_path).startswith(
        "rank 5 of node 2 (gpu-0002) did not come when all others waited for it: look at what it "
        f"did last\n    report: {tmp_path}/2.json\ncollectives: {SENTENCE}\n")


def test_the_control_without_dumps(judge):
    document = judge({})
    assert left_open(document) and document["out_of_step"] is None


def test_the_control_in_which_all_came(judge):
    """A healthy job's: all have ended, or all wait in the same one."""
    for dump in (behind(LAST), came_to(LAST), gloo(LAST)):
        document = judge(all_but(dump, dump))
        assert left_open(document) and document["out_of_step"] is None


def test_the_one_that_called_another(judge, box, tmp_path):
    document = judge(all_but(came_to(LAST, "nccl:broadcast")))
    assert (document["finding"], names(document)) == ("held", [(2, 5)])
    assert document["out_of_step"] == \
        f"in group default_pg rank 5 waits in broadcast {LAST} (numel 8), ranks 0-4, 6-7 in " \
        f"all_reduce {LAST} (numel 8)"
    assert "called another collective than all others\n" in page(box, tmp_path)
    document = judge(all_but(came_to(LAST, size=5)))
    assert names(document) == [(2, 5)] and "all_reduce 7 (numel 10)" in document["out_of_step"]


def test_gloo_says_what_a_rank_entered_and_no_more(judge):
    document = judge(all_but(gloo(LAST - 1), gloo(LAST)))
    assert (document["finding"], names(document)) == ("held", [(2, 5)])
    assert document["out_of_step"] == f"rank 5 never entered all_reduce {LAST} of group " \
        "default_pg, which ranks 0-4, 6-7 entered"


def test_gloo_with_a_rank_that_was_in_another_group(judge):
    """It may wait there, for one of the others."""
    odd = gloo(LAST - 1)
    odd["entries"].append(an_entry(1, "gloo:all_reduce", "scheduled", ("1", "tp")))
    document = judge(all_but(odd, gloo(LAST)))
    assert left_open(document)
    assert document["out_of_step"].startswith("rank 5 never entered all_reduce 7 ")


@pytest.mark.parametrize("pending", [
    an_entry(3, state="scheduled", group=("1", "tp")),
    an_entry(3, "nccl:send 5->6", "scheduled", is_p2p=True)])
def test_a_rank_that_waits_itself_is_not_named(judge, pending):
    odd = behind()
    odd["entries"].append(pending)
    document = judge(all_but(odd))
    assert left_open(document) and document["out_of_step"] == SENTENCE


def test_a_missing_dump_proves_nothing(judge):
    dumps = all_but(behind())
    del dumps[6]
    document = judge(dumps)
    assert left_open(document)
    assert document["out_of_step"] == SENTENCE.replace("6-7", "7") + "; 1 of 8 ranks do not tell"


def test_two_are_not_one(judge):
    document = judge({**all_but(behind()), 2: behind(LAST - 2)})
    assert left_open(document) and document["out_of_step"].startswith("ranks 2, 5 never entered ")


def test_a_smaller_group_is_told_and_names_nobody(judge):
    group = ("3", "tp")
    waits = a_dump(an_entry(4, state="started", group=group))
    came = a_dump(an_entry(3, group=group))
    document = judge({rank: came if rank == 1 else waits for rank in range(4)})
    assert left_open(document)
    assert document["out_of_step"] == "rank 1 never entered all_reduce 4 of group 3(tp), in " \
        "which ranks 0, 2-3 wait; 4 of 8 ranks do not tell"


def split(ranks, last, state):
    """A group that torch split off with others, which all have its name."""
    return {**a_dump(an_entry(last, state=state, group=("1", "tp"))),
            "pg_config": {"1": {"name": "1", "desc": "tp", "ranks": str(ranks)}}}


@pytest.mark.parametrize("ranks", [[4, 5], list(range(RANKS))])
def test_groups_of_one_name(judge, ranks):
    """Two of them have nothing to do with each other; the control is one of all ranks."""
    others = [rank for rank in range(RANKS) if rank not in (4, 5)]
    dumps = {rank: split(ranks, 3, "completed") if rank in (4, 5) else
             split(others if len(ranks) == 2 else ranks, 4, "started") for rank in range(RANKS)}
    document = judge(dumps)
    assert left_open(document)
    assert document["out_of_step"] == (None if len(ranks) == 2 else (
        "ranks 4-5 never entered all_reduce 4 of group 1(tp), in which ranks 0-3, 6-7 wait"))


@pytest.mark.parametrize("at, why", [
    (-30, "its last entry was not made while its rank ran"),
    (90, "its last entry was not made while its rank ran")])
def test_dumps_of_another_attempt(judge, at, why):
    dumps = {rank: a_dump(*(an_entry(number, at=at) for number in range(1, rank + 2)))
             for rank in range(RANKS)}
    document = judge(dumps)
    assert left_open(document) and document["out_of_step"] is None
    assert {one["why"] for one in document["skipped"]} == {why}


def test_an_older_dump_of_the_same_rank(judge, tmp_path):
    (tmp_path / "old_5").write_bytes(pickle.dumps(came_to(LAST, at=51), 2))
    document = judge(all_but(came_to(LAST - 1, pending=False, at=52)))
    assert names(document) == [(2, 5)]
    assert document["skipped"] == [{"file": str(tmp_path / "old_5"),
                                    "why": "there is a newer dump of its rank"}]


def watched(silent=None):
    """The job's watchdogs have told, in upper case, all but one's."""
    documents = job()
    for one in documents:
        for rank in one["ranks"]:
            number = rank["rank"]
            work = {"group": "default_pg", "op": "ALLREDUCE", "sequence": 9, "enqueued": 9,
                    "completed": 8}
            rank["work"] = None if number == silent else work if number != 5 else \
                {"group": "default_pg", "op": "", "enqueued": 8, "completed": 8}
    return documents


def test_the_words_of_watchdogs_weigh_more(judge):
    document = judge(all_but(came_to(LAST), came_to(LAST)), documents=watched())
    assert names(document) == [(2, 5)]
    assert document["out_of_step"].startswith("rank 5 never entered ALLREDUCE 9 ")


def test_dumps_are_not_compared_with_words(judge):
    """Rank 6 has a dump, and the others words: that names nobody."""
    document = judge({6: came_to(LAST)}, documents=watched(silent=6))
    assert left_open(document)
    assert document["out_of_step"] == "rank 5 never entered ALLREDUCE 9 of group default_pg, in " \
        "which ranks 0-4, 7 wait; 1 of 8 ranks do not tell"


class Call:
    def __reduce__(self):
        return print, ("never",)


def hostile():
    nested = []
    for _ in range(40):
        nested = [nested, nested]
    own = []
    own.append(own)
    sound = pickle.dumps(came_to(LAST), 2)
    yield "a call", pickle.dumps({"version": "2.10", "entries": [Call()]}, 2), WHY
    yield "a class", b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", WHY
    yield "lists of lists", pickle.dumps({"version": "2.1", "entries": nested}, 4), WHY
    yield "itself", pickle.dumps({"version": "2.1", "entries": own}, 4), WHY
    yield "depth", b"\x80\x02" + b"(]" * 4000000 + b".", WHY
    yield "a count", b"\x80\x02}X\xff\xff\xff\x7fversion", WHY
    yield "a long count", b"\x80\x04}\x8d\xff\xff\xff\xff\xff\xff\xff\xff", WHY
    yield "a memo", b"\x80\x02}r\xff\xff\xff\x7f.", WHY
    yield "memos", b"\x80\x04N" + b"\x94" * 8000000 + b".", WHY
    yield "items", b"\x80\x02]" + b"Na" * 4000000 + b".", WHY
    yield "values", b"\x80\x02" + b"N" * 8000000 + b".", WHY
    yield "one entry too often", pickle.dumps(a_dump(*[an_entry(1)] * 16385), 2), WHY
    yield "half of one", sound[:len(sound) // 2], WHY
    yield "too large", b"\x80\x02" + b"N" * (9 << 20), "it is larger than any report"
    yield "no dict", pickle.dumps([], 2), WHY
    yield "no entries", pickle.dumps({"version": "2.1"}, 2), WHY
    yield "no version", pickle.dumps({"entries": []}, 2), WHY
    yield "another version", pickle.dumps(a_dump(version="3.0"), 2), \
        "it is a dump of another version of torch's Flight Recorder"
    yield "none", pickle.dumps(a_dump(), 2), "it has no entries"
    yield "names", pickle.dumps(a_dump(an_entry(1, group=("\x1b[2J", "\nrank 9"))), 2), WHY
    yield "numbers", pickle.dumps(a_dump(an_entry(-1)), 2), WHY
    yield "a large number", pickle.dumps(a_dump(an_entry(2 ** 70)), 2), WHY
    yield "two backends", pickle.dumps(a_dump(an_entry(1), an_entry(2, "gloo:barrier")), 2), WHY


@pytest.mark.parametrize("data, why", [pytest.param(data, why, id=name)
                                       for name, data, why in hostile()])
def test_what_is_no_dump(judge, box, tmp_path, data, why):
    document = judge({**all_but(behind()), 6: data})
    assert left_open(document)
    assert document["skipped"] == [{"file": str(tmp_path / "flight_6"), "why": why}]
    said = page(box, tmp_path)
    assert f"\nskipped: {tmp_path}/flight_6: {why}\n" in said and "\x1b" not in said
    assert "never\n" not in said


def test_an_op_that_is_no_name(judge, box, tmp_path):
    document = judge(all_but(came_to(LAST, "nccl:\x1b[2J\nrank 9")))
    assert left_open(document) and document["out_of_step"] is None
    assert "\x1b" not in page(box, tmp_path)


def test_a_name_without_a_rank(box, tmp_path, blame):
    (tmp_path / "x.json").write_bytes(pickle.dumps(behind(), 2))
    document = blame(*job())
    assert document["skipped"] == [{"file": str(tmp_path / "x.json"), "why": "its name does not "
                                    "end with the number of a rank"}]
    (tmp_path / "x.json").rename(tmp_path / "flight_800")
    document = blame(*job())
    assert document["skipped"] == [{"file": str(tmp_path / "flight_800"),
                                    "why": "no report here has its rank"}]


def test_other_files_of_the_folder_are_no_dumps(blame, tmp_path):
    (tmp_path / "log.1").write_text("text")
    (tmp_path / "core.2").write_bytes(b"\x7fELF")
    (tmp_path / "folder_3").mkdir()
    assert blame(*job())["skipped"] == []


def test_dumps_alone(box, tmp_path):
    path = tmp_path / "flight_0"
    path.write_bytes(pickle.dumps(behind(), 2))
    result = box.run("--blame", str(tmp_path), place="below")
    assert "dumps of Flight Recorder alone" in refused(result, 125, "blame.none", str(path))


def test_memory(tmp_path, judge, box):
    """2,000 entries, as torch keeps, with deep stacks; and a pickle that takes all it may."""
    frames = [{"name": "f", "filename": "train.py", "line": line} for line in range(60)]
    many = a_dump(*(an_entry(number, frames=frames) for number in range(1, 2001)))
    document = judge({rank: many for rank in range(RANKS)})
    assert left_open(document) and document["skipped"] == []
    wide = an_entry(1, **{str(number): number for number in range(40)})
    full = pickle.dumps(a_dump(*[wide] * 16384), 2)
    (tmp_path / "flight_3").write_bytes(full)
    (tmp_path / "flight_4").write_bytes(b"\x80\x02]" + b"]a" * 4000000 + b".")
    out, said = measured(box.rankinit, "--blame", str(tmp_path), most=32)
    print(f"\n{said}")
    assert f"skipped: {tmp_path}/flight_4: {WHY}\n" in out.decode()
    assert "flight_3" not in out.decode()
