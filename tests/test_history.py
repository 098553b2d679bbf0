"""Both sides of a comparison: the working tree, a commit that is read without touching it, and single records."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from measure import history
from measure.history import HistoryError, at_commit, one_record, sides
from measure.record import Measured, Published, PublishedSeries
from measure.store import Store, dumps
from tests.records import LAB, measured, rounds


def record(slow: float, experiment: str = "x", label: str = "lab") -> Measured:
    machine = LAB.model_copy(update={"label": label})
    return measured(*rounds("slow", slow, slow, slow)).model_copy(update={"experiment": experiment, "machine": machine})


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
    command = ["git", *who, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A repository of three commits: nothing, one record, another in its place and a damaged one; then two more, not committed."""
    top = tmp_path / "仓库 a"
    top.mkdir()
    (top / "README").write_text("", encoding="utf-8")
    made = Store(top / "in" / "records")
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "nothing")
    made.save(record(0.010))
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    made.save(record(0.020))
    (made.root / "measured" / "lab" / "bad.json").write_text("{", encoding="utf-8")
    (made.root / "measured" / "lab" / "notes.txt").write_text("", encoding="utf-8")
    git(top, "add", ".")
    git(top, "commit", "-qm", "two")
    (made.root / "measured" / "lab" / "bad.json").unlink()
    made.save(record(0.030))
    made.save(record(0.040, "y", "box"))
    return made


def slow(side: history.Side, machine: str = "lab", experiment: str = "x") -> float:
    found = side.records[machine, experiment]
    assert isinstance(found, Measured)
    return found.runs[0].series[0].samples[1]


def test_a_commit_is_read_and_nothing_moves(store: Store) -> None:
    before = {path: path.read_bytes() for path in store.root.rglob("*.*")}
    state = git(store.root, "status", "--porcelain")
    assert slow(at_commit("HEAD~1", store)) == 0.010
    assert slow(at_commit("HEAD", store)) == 0.020
    assert slow(at_commit("main~1", store)) == 0.010
    assert slow(at_commit("@", store)) == 0.020
    assert at_commit("HEAD~2", store).records == {}
    assert {path: path.read_bytes() for path in store.root.rglob("*.*")} == before
    assert git(store.root, "status", "--porcelain") == state


def test_a_damaged_record_of_a_commit_is_named_and_the_others_are_read(store: Store) -> None:
    """C14: never taken for one that is not there."""
    side = at_commit("HEAD", store)
    assert side.records.keys() == {("lab", "x")}
    (problem,) = side.problems
    assert problem.startswith("HEAD:in/records/measured/lab/bad.json：记录损坏")
    assert "换一个更新的提交" in problem
    (store.root / "measured" / "lab" / "x.json").write_text("", encoding="utf-8")
    (problem,) = history.working_tree(store).problems
    assert "文件是空的" in problem


def test_a_measured_record_goes_before_a_published_one(store: Store) -> None:
    printed = store.root / "published" / "lab" / "x.json"
    printed.parent.mkdir(parents=True)
    figure = PublishedSeries.model_validate(
        {"case": "slow", "metric": "matmul", "phase": "steady", "scope": "ready", "printed": {"min": {"text": "9", "unit": "ms"}}}
    )
    whole = {
        "schema_version": 1, "origin": "published", "experiment": "x", "machine": LAB, "source": "", "conditions": "", "versions": {},
        "series": (figure,),
    }  # fmt: skip
    printed.write_text(dumps(Published.model_validate(whole)), encoding="utf-8")
    git(store.root, "add", ".")
    git(store.root, "commit", "-qm", "published")
    assert slow(history.working_tree(store)) == slow(at_commit("HEAD", store)) == 0.030
    store.path("measured", "lab", "x").unlink()
    assert isinstance(history.working_tree(store).records["lab", "x"], Published)


def test_what_is_compared(store: Store, tmp_path: Path) -> None:
    kept = tmp_path / "lab" / "x.json"
    kept.parent.mkdir()
    kept.write_text(dumps(record(0.050)), encoding="utf-8")
    for names, expected in (
        ((), (0.020, 0.030)),
        (("HEAD~1",), (0.010, 0.030)),
        (("HEAD~1", "HEAD"), (0.010, 0.020)),
        (("HEAD", "HEAD~1"), (0.020, 0.010)),
        ((str(kept), "x@lab"), (0.050, 0.030)),
    ):
        old, new = sides(names, store)
        assert (slow(old), slow(new)) == expected
        assert (old.name, new.name) == tuple(names) + ("HEAD", "工作区")[len(names) :] if names else ("HEAD", "工作区")
    old, new = sides(("x@lab", str(kept)), store)
    assert (old.chosen, new.chosen) == (("lab", "x"), ("lab", "x"))
    assert slow(new, "box", "y") == 0.040  # all else is as it is in the working tree


@pytest.mark.parametrize("name", ["HEAD@{1}", "@", "@{-1}", "main", "a1b2c3d", "v1.0"])
def test_names_of_commits_are_not_taken_for_records(name: str) -> None:
    assert not history.is_record(name)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("nope",), "没有 nope：不是提交，也不是文件"),
        (("HEAD~9",), "没有 HEAD~9"),
        (("HEAD", "nope"), "没有 nope"),
        (("--all",), "没有 --all"),
        (("x@lab",), "x@lab 是一份记录，要和另一份记录比"),
        (("x@lab", "HEAD"), "x@lab 是一份记录，要和另一份记录比"),
        (("nope.json", "x@lab"), "nope.json：没有这个文件"),
        (("x@lab", "x@box"), "box 没有 x 的记录。有记录的机器：lab"),
        (("x@lab", "z@box"), "box 没有 z 的记录。有记录的机器：（没有）"),
        (("x@lab", "y@box"), "两个实验没有可比的"),
        (("HEAD", "HEAD", "HEAD"), "最多两个"),
    ],
)
def test_what_is_not_there(store: Store, names: tuple[str, ...], says: str) -> None:
    with pytest.raises(HistoryError) as error:
        sides(names, store)
    assert says in str(error.value)


def test_outside_a_repository_and_without_git(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(HistoryError, match="要在 git 仓库里运行"):
        at_commit("HEAD", Store(tmp_path / "elsewhere"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="没有 git"):
        at_commit("HEAD", store)


def test_a_damaged_file_as_one_side(store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    with pytest.raises(HistoryError, match="记录损坏"):
        one_record(str(tmp_path / "x.json"), store)
