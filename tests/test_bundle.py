"""Bundles: the same bytes for the same records, checked to the last field, taken in whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from measure import bundle, publish
from measure.bundle import Bundle, BundleError
from measure.record import Failure, Measured
from measure.store import Store, dumps
from tests.records import LAB, measured, runs

ROOT = Path(__file__).parent.parent
KNOWN = ("x", "y")


def record(experiment: str, *samples: float, **changed: object) -> Measured:
    return measured(*runs("torch", samples or (0.021, 0.022)), experiment=experiment, **changed)


OLD = "2026-11-30T00:01:00+00:00"  # as the records of tests/records.py were finished
NEW = "2026-11-30T09:01:00Z"


@pytest.fixture
def there(tmp_path: Path) -> Store:
    """The machine that measured: two new records."""
    store = Store(tmp_path / "there")
    for experiment in KNOWN:
        store.save(record(experiment, 0.5, 0.6, finished=NEW))
    return store


@pytest.fixture
def here(tmp_path: Path) -> Store:
    """Where they are wanted: an older record of `x`, and one that has nothing to do with it."""
    store = Store(tmp_path / "here")
    store.save(record("x"))
    store.save(record("x", machine=LAB.model_copy(update={"label": "desk"})))
    return store


@pytest.fixture
def file(there: Store, tmp_path: Path) -> Path:
    path = tmp_path / "lab.bundle.json"
    bundle.save(bundle.collect(KNOWN, there, "lab"), path)
    return path


def contents(store: Store) -> dict[str, bytes]:
    return {p.relative_to(store.root).as_posix(): p.read_bytes() for p in sorted(store.root.rglob("*")) if p.is_file()}


def take_in(path: Path, store: Store, **how: bool) -> list[tuple[str, str]]:
    return [(t.experiment, t.what) for t in bundle.take_in(bundle.read(path), store, KNOWN, **how)]


def refused(path: Path, store: Store) -> str:
    """What is said of a bundle that must not come in; nothing has changed."""
    before = contents(store)
    with pytest.raises(BundleError) as error:
        take_in(path, store)
    assert contents(store) == before
    return str(error.value)


def test_records_arrive_byte_for_byte_with_the_digests_that_the_head_names(there: Store, here: Store, file: Path) -> None:
    kept = here.path("measured", "desk", "x").read_bytes()
    assert take_in(file, here) == [("x", "replaced"), ("y", "new")]
    assert {**contents(there), "measured/desk/x.json": kept} == contents(here)
    head = json.loads(file.read_text(encoding="utf-8"))
    for entry in head["contents"]:
        content = here.path("measured", "lab", entry["experiment"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert [(e["experiment"], e["finished"], e["protocol"], e["schema_version"]) for e in head["contents"]] == [
        ("x", NEW, 1, 1),
        ("y", NEW, 1, 1),
    ]
    assert head["machine"]["cpu"] == "Test CPU"


def test_the_same_records_give_the_same_bytes(there: Store, here: Store, file: Path, tmp_path: Path) -> None:
    """C28, C43: whatever the order of the names, the hash seed and the locale, and after a journey."""
    take_in(file, here)
    again = tmp_path / "again.json"
    bundle.save(bundle.collect(("y", "x"), here, "lab"), again)
    assert again.read_bytes() == file.read_bytes()
    script = (
        "import sys; from pathlib import Path; from measure import bundle; from measure.store import Store\n"
        "bundle.save(bundle.collect({'y', 'x'}, Store(Path(sys.argv[1])), 'lab'), Path(sys.argv[2]))"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "7", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", script, there.root, again], check=True, env=env, cwd=ROOT)
    assert again.read_bytes() == file.read_bytes()


def test_a_second_time_nothing_happens(here: Store, file: Path) -> None:
    """C46: no record appears twice."""
    take_in(file, here)
    before = contents(here)
    assert take_in(file, here) == [("x", "same"), ("y", "same")]
    assert contents(here) == before


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"quick": True}, "x：是 --quick 的试跑"),
        ({"failures": (Failure(case="torch", round=1, reason="退出码 1"),)}, "x：有失败的运行"),
        ({"runs": ()}, "一次也没有运行"),
    ],
)
def test_what_does_not_travel(there: Store, here: Store, file: Path, changed: dict[str, object], says: str) -> None:
    """Neither out of a store nor, if somebody bundled it all the same, into one."""
    bad = record("x", 0.5).model_copy(update={"finished": NEW, **changed})
    there.path("measured", "lab", "x").write_text(dumps(bad), encoding="utf-8")
    with pytest.raises(BundleError, match="measure run x --force") as error:
        bundle.collect(KNOWN, there, "lab")
    assert says in str(error.value)
    bundle.save(Bundle.of([bad]), file)
    assert says in refused(file, here)


def test_failed_attempts_stay_at_home(there: Store) -> None:
    there.save_attempt(record("x", failures=(Failure(case="torch", round=1, reason="退出码 1"),)))
    made = bundle.collect(KNOWN, there, "lab")
    assert [r.failures for r in made.records] == [(), ()]


def test_all_problems_of_an_export_are_listed(there: Store) -> None:
    """C14: a damaged file is named, not passed over."""
    there.path("measured", "lab", "x").write_text("{", encoding="utf-8")
    with pytest.raises(BundleError) as error:
        bundle.collect(("x", "y", "z"), there, "lab")
    damaged, missing = error.value.problems
    assert "损坏" in damaged
    assert "measure run z" in missing
    assert [r.experiment for r in bundle.collect(("y", "z"), there, "lab", all_of_them=False).records] == ["y"]
    with pytest.raises(BundleError, match="没有什么可以导出"):
        bundle.collect(("z",), there, "lab", all_of_them=False)
    with pytest.raises(BundleError, match="名字") as error:
        bundle.collect(("x", "y"), there, "../lab", all_of_them=False)
    assert len(error.value.problems) == 1


def edited(change: Callable[[Any], object]) -> Callable[[str], str]:
    """A change of the document rather than of its text."""

    def apply(text: str) -> str:
        data = json.loads(text)
        change(data)
        return json.dumps(data, ensure_ascii=False)

    return apply


def one(data: Any) -> Any:
    return data["records"][0]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: "", "文件是空的"),
        (lambda text: text[: len(text) // 2], "损坏"),
        (lambda text: "PK\x03\x04" + text, "损坏"),
        (lambda text: "[" * 100_000, "损坏"),
        (lambda text: "[]", "损坏"),
        (lambda text: text.replace("0.5,", "NaN,", 1), "NaN 不是 JSON 数字"),
        (lambda text: text.replace("0.5,", "1e999,", 1), "损坏"),
        (lambda text: text.replace('"quick": false', '"quick": false, "quick": false', 1), "两次"),
        (lambda text: text.replace('"计时 µs', '"\\ud800', 1).replace("计时", "\\ud800", 1), "损坏"),
        (lambda text: text.replace("0.5,", "0.4,", 1), "x 和目录里写的不符"),
        (lambda text: text.replace("Test CPU", "Best CPU", 1), "x 不是 lab 这台机器的"),
        (edited(lambda d: one(d)["machine"].update(label="desk")), "x 不是 lab 这台机器的"),
        (edited(lambda d: one(d).update(experiment="y")), "不是一一对应"),
        (edited(lambda d: one(d).update(experiment="../y")), "records.0.experiment"),
        (edited(lambda d: d["contents"][0].update(experiment="/etc/passwd")), "contents.0.experiment"),
        (edited(lambda d: d["contents"][0].update(finished=OLD)), "x 和目录里写的不符"),
        (edited(lambda d: d["contents"].pop()), "不是一一对应"),
        (edited(lambda d: d["records"].pop()), "不是一一对应"),
        (edited(lambda d: d["records"].reverse()), "不是一一对应"),
        (edited(lambda d: [d[key].append(d[key][0]) for key in ("records", "contents")]), "不是一一对应"),
        (edited(lambda d: d.update(records=[], contents=[])), "里面没有记录"),
        (edited(lambda d: one(d).update(origin="published")), "损坏"),
        (edited(lambda d: one(d)["runs"][0]["series"][0].update(samples=[0.0])), "not positive"),
        (edited(lambda d: d.update({"a\x1b[2J\u202e": 1})), "a\ufffd[2J\ufffd"),
        (edited(lambda d: d.update(bundle_version=2)), "记录包的格式是第 2 版，这里只认识到第 1 版。更新这个项目"),
        (edited(lambda d: one(d).update(schema_version=7)), "第 1 份记录的格式是第 7 版"),
        (edited(lambda d: d["records"][1].update(protocol=99)), "第 2 份记录的协议是第 99 版"),
        (edited(lambda d: d.update(records=1)), "损坏"),
        (edited(lambda d: d.pop("machine")), "损坏"),
    ],
)
def test_a_bundle_that_is_not_as_it_was_made(here: Store, file: Path, damage: Callable[[str], str], says: str) -> None:
    """C14, C27, C40: refused as a whole, with file and reason, whatever the other records are worth."""
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    said = refused(file, here)
    assert says in said
    assert str(file) in said
    assert all(line.isprintable() for line in said.splitlines())


def test_files_that_cannot_be_a_bundle(here: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "没有这个文件" in refused(tmp_path / "none.json", here)
    assert "没有这个文件" in refused(tmp_path, here)
    assert "没有这个文件" in refused(Path("/dev/zero"), here)  # without an end
    file.write_bytes(file.read_bytes().decode().encode("gb18030"))
    assert "损坏" in refused(file, here)
    monkeypatch.setattr(bundle, "MOST_BYTES", file.stat().st_size - 1)
    assert "不像记录包" in refused(file, here)


def test_c45_another_machine_under_the_same_label_is_refused_and_can_come_in_under_another(
    here: Store, there: Store, file: Path
) -> None:
    other = LAB.model_copy(update={"cpu": "Other CPU"})
    bundle.save(Bundle.of(record(name, 0.5, machine=other, finished=NEW) for name in KNOWN), file)
    said = refused(file, here)
    assert "MEASURE_MACHINE" in said
    assert "measure import --as" in said
    renamed = bundle.read(file).renamed("lab-two")
    bundle.take_in(renamed, here, KNOWN)
    found = here.load("y", "lab-two")
    assert isinstance(found, Measured)
    assert found.machine == other.model_copy(update={"label": "lab-two"})
    assert here.load("y", "lab") is None
    with pytest.raises(BundleError, match=r"机器名 '\.\./x' 不能用"):
        renamed.renamed("../x")


def test_the_label_of_published_figures_is_taken(here: Store, file: Path) -> None:
    """C45: a measured record would stand in the place of a published one."""
    path = here.path("published", "lab", "other")
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert "已发表" in refused(file, here)


def test_an_older_record_does_not_replace_a_newer_one_unless_told_to(here: Store, there: Store, file: Path) -> None:
    here.save(record("x", 0.7, finished=NEW))
    assert f"x：这里的记录测于 {NEW}，包里的测于 {NEW}，不比它新" in refused(file, here)
    assert take_in(file, here, older=True) == [("x", "replaced"), ("y", "new")]
    assert here.load("x", "lab") == there.load("x", "lab")


def test_an_unknown_experiment_is_refused(here: Store, file: Path) -> None:
    with pytest.raises(BundleError, match="没有实验 y"):
        bundle.take_in(bundle.read(file), here, ("x",))
    assert here.load("x", "lab") == record("x")


def test_a_damaged_record_here_is_left_for_its_owner(here: Store, file: Path) -> None:
    """C14."""
    here.path("measured", "lab", "x").write_text("{", encoding="utf-8")
    assert "git checkout" in refused(file, here)


@pytest.mark.parametrize("first", [True, False], ids=["no folder yet", "a folder of the label"])
def test_a_full_disk_leaves_all_old_records(
    here: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The second record does not fit: the first does not come in either."""
    store = Store(tmp_path / "empty") if first else here
    calls: list[int] = []
    fsync = os.fsync

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        fsync(number)

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in refused(file, store)
    assert len(calls) == 2
    monkeypatch.undo()
    assert len(take_in(file, store)) == 2


def test_where_folders_cannot_be_exchanged(here: Store, there: Store, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "exchange", lambda a, b: False)
    take_in(file, here)
    assert here.load("x", "lab") == there.load("x", "lab")
    assert here.load("y", "lab") == there.load("y", "lab")
    assert not (here.root / ".import").exists()


DYING = """
import os, sys
from pathlib import Path
from measure import bundle
from measure.store import Store

file, home = Path(sys.argv[1]), Path(sys.argv[2])
made = bundle.read(file)
old = Store(home).load("x", "lab")
left = 0

def die(event, arguments):
    global left
    if left and event.split(".")[0] in ("open", "os", "shutil", "ctypes"):
        left -= 1
        if left == 0:
            os._exit(9)

sys.addaudithook(die)
for step in range(1, 500):
    if (child := os.fork()) == 0:
        left = step
        bundle.take_in(made, Store(home), ("x", "y"))
        left = 0
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    store = Store(home)
    x, y = store.load("x", "lab"), store.load("y", "lab")
    state = "old" if (x, y) == (old, None) else "new" if (x, y) == made.records else "broken"
    print(code, state, *store.machines("x"))
    if state == "new":
        store.save(old)
        store.path("measured", "lab", "y").unlink()
    if code != 9:
        break
"""


def test_a_killed_import_leaves_all_old_or_all_new_records(here: Store, file: Path) -> None:
    """C14: killed before every step in turn that touches a file; the next import works without help."""
    done = subprocess.run([sys.executable, "-c", DYING, file, here.root], cwd=ROOT, check=True, capture_output=True, text=True)
    *killed, last = done.stdout.splitlines()
    assert last == "0 new desk lab"
    assert len(killed) > 20
    assert set(killed) == {"9 old desk lab", "9 new desk lab"}
    assert killed == sorted(killed, reverse=True), "one step changes everything"


TEXT = dumps(Bundle.of(record(name, 0.5, finished=NEW) for name in KNOWN)).encode()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 20), st.binary(max_size=8) | st.sampled_from([b"1e9", b"{", b'"', b"null"])), min_size=1, max_size=4)
)  # fmt: skip
def test_any_bytes_are_a_whole_bundle_or_refused(tmp_path: Path, cuts: list[tuple[int, int, bytes]]) -> None:
    """Whatever is cut out and put in: the same records as before, or one clear refusal."""
    data = TEXT
    for at, length, put in cuts:
        data = data[:at] + put + data[at + length :]
    file = tmp_path / "fuzzed.json"
    file.write_bytes(data)
    try:
        found = bundle.read(file)
    except BundleError as refusal:
        said = str(refusal).splitlines()
    else:
        said = [] if dumps(found).encode() == TEXT else ["something else\0"]
    assert all(line.isprintable() for line in said)
