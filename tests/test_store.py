"""Files of records: whole or not at all, strict, the same bytes everywhere, never mistaken for something else."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import store
from measure.record import Failure, Measured
from measure.store import NotWrittenError, Store, StoreError
from tests import elsewhere
from tests.records import measured, runs


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Store, Measured, Path]:
    kept = Store(tmp_path / "records")
    record = measured(*runs("torch", (0.021, 0.022), (0.0215, 0.023)))
    return kept, record, kept.save(record)


def test_what_is_saved_is_found(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, path = saved
    assert path == kept.root / "measured" / "lab" / "x.json"
    assert kept.load("x", "lab") == record
    assert kept.machines("x") == ("lab",)
    assert kept.load("x", "other") is None
    assert kept.load("other", "lab") is None


def test_every_float_reads_back_equal(tmp_path: Path) -> None:
    rng = random.Random(3)  # noqa: S311 - not a secret
    samples = [rng.uniform(1, 10) * 10.0 ** rng.randint(-8, 3) for _ in range(500)] + [5e-9, 1 / 3, 0.1 + 0.2, 1e22, 1.0]
    record = measured(*runs("torch", tuple(samples)))
    read = store.load_file(Store(tmp_path).save(record))
    assert isinstance(read, Measured)
    assert read.runs[0].series[0].samples == tuple(samples)
    assert store.dumps(read) == store.dumps(record)


def test_the_text_is_sorted_compact_strict_json() -> None:
    tricky = '[\n1,\n2\n] "x" [1, 2]\u2028'
    record = measured(*runs("torch", (0.25, 0.5, 2.0)), versions={"torch": tricky})
    text = store.dumps(record)
    assert '"samples": [0.25, 0.5, 2.0],\n' in text
    data = json.loads(text)
    assert data["versions"]["torch"] == tricky
    assert text == store.dumps(record)
    assert list(data) == sorted(data)
    plain = json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False)
    assert "".join(text.split()) == "".join(plain.split()), "only white space is saved"


def test_c46_a_second_record_replaces_the_first(saved: tuple[Store, Measured, Path]) -> None:
    kept, _, path = saved
    new = measured(*runs("torch", (0.5,)))
    assert kept.save(new) == path
    assert kept.load("x", "lab") == new
    assert list(kept.files()) == [path]


def cut_in_half(text: str) -> str:
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_in_half, "损坏"),
        (lambda _: "", "文件是空的"),
        (lambda _: "\n", "文件是空的"),
        (lambda _: "12,5", "损坏"),
        (lambda _: "[]", "损坏"),
        (lambda _: "null", "损坏"),
        (lambda _: "[" * 100_000, "损坏"),
        (lambda text: text.replace("0.021", "NaN"), "NaN"),
        (lambda text: text.replace("0.021", "Infinity"), "Infinity"),
        (lambda text: text.replace("0.021", "1e999"), "损坏"),
        (lambda text: text.replace("0.021", "null"), "损坏"),
        (lambda text: text.replace("0.021", '"0.021"'), "损坏"),
        (lambda text: text.replace('"quick": false', '"quick": false, "quick": true'), "两次"),
        (lambda text: text.replace('"quick": false', '"quick": 0'), "quick"),
        (lambda text: text.replace('"quick": false,', ""), "quick"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 2'), "第 2 版"),
        (lambda text: text.replace('"label": "lab"', '"label": "other"'), "和文件名不符"),
        (lambda text: text.replace('"experiment": "x"', '"experiment": "other"'), "和文件名不符"),
    ],
)
def test_c14_c27_a_damaged_file_is_named_and_left_alone(
    saved: tuple[Store, Measured, Path], damage: Callable[[str], str], said: str
) -> None:
    kept, record, path = saved
    damaged = damage(path.read_text(encoding="utf-8"))
    path.write_text(damaged, encoding="utf-8")
    with pytest.raises(StoreError, match=said) as error:
        kept.load("x", "lab")
    assert str(path) in str(error.value)
    with pytest.raises(StoreError):
        kept.save(record)  # a file nobody can read may be another machine's
    assert path.read_text(encoding="utf-8") == damaged


def test_c40_bytes_that_are_not_utf8_are_an_error_and_a_bom_is_none(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, path = saved
    good = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + good)
    assert kept.load("x", "lab") == record
    path.write_bytes(good.decode().encode("gb18030"))
    with pytest.raises(StoreError, match="损坏"):
        kept.load("x", "lab")


def test_c14_ctrl_c_while_writing_leaves_the_old_record_only(
    saved: tuple[Store, Measured, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, record, path = saved

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kept.save(measured(*runs("torch", (0.5,))))
    assert kept.load("x", "lab") == record
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_c14_a_full_disk_leaves_the_old_record_and_says_so(
    saved: tuple[Store, Measured, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, record, path = saved

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"x\.json：磁盘满了（No space left.*腾出空间.*没有动"):
        kept.save(measured(*runs("torch", (0.5,))))
    assert kept.load("x", "lab") == record
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_c14_what_a_killed_writer_left_is_no_record(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, path = saved
    path.with_name("tmpabc.tmp").write_text("{", encoding="utf-8")
    assert list(kept.files()) == [path]
    assert kept.load("x", "lab") == record


def test_c14_the_next_writer_removes_what_a_killed_one_left(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, path = saved
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], check=True, capture_output=True, text=True)
    left = path.with_name(f".{path.name}.{int(dead.stdout)}.tmp")
    at_work = path.with_name(f".{path.name}.{os.getppid()}.tmp")
    for file in (left, at_work):
        file.write_text("{", encoding="utf-8")
    kept.save(record)
    assert sorted(path.parent.iterdir()) == sorted([at_work, path])


def test_c14_whether_a_record_could_be_written_is_known_beforehand(
    saved: tuple[Store, Measured, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, _, path = saved
    kept.try_out("lab", "x")
    assert list(path.parent.iterdir()) == [path]

    def full(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(NotWrittenError, match="磁盘满了"):
        kept.try_out("lab", "x")
    assert list(path.parent.iterdir()) == [path]


def test_c45_another_machine_under_the_same_label_is_refused(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, _ = saved
    for experiment in ("x", "other"):
        impostor = measured(
            *runs("torch", (0.5,)), experiment=experiment, machine=record.machine.model_copy(update={"cpu": "Other"})
        )
        with pytest.raises(StoreError, match="MEASURE_MACHINE"):
            kept.save(impostor)
    assert kept.load("x", "lab") == record


def test_a_failed_attempt_lies_beside_and_is_never_loaded(saved: tuple[Store, Measured, Path]) -> None:
    kept, record, path = saved
    failed = measured(*runs("torch", (0.5,)), failures=(Failure(case="torch", round=2, reason="超时"),))
    with pytest.raises(StoreError, match="失败"):
        kept.save(failed)
    beside = kept.save_attempt(failed)
    assert beside == kept.root / "failed" / "lab" / "x.json"
    assert kept.load("x", "lab") == record
    assert list(kept.files()) == [path]
    kept.save(record)
    assert not beside.exists()


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "*", "CON", "con", "", "加法 1"])
def test_c40_no_name_leads_out_of_the_store(saved: tuple[Store, Measured, Path], name: str) -> None:
    kept, _, _ = saved
    for experiment, machine in ((name, "lab"), ("x", name)):
        with pytest.raises(StoreError, match="名字"):
            kept.load(experiment, machine)
    assert kept.machines(name) == ()


@pytest.mark.parametrize("country", ["ASCII", "decimal commas"])
def test_c40_c28_the_locale_changes_no_byte(saved: tuple[Store, Measured, Path], tmp_path: Path, country: str) -> None:
    _, _, path = saved
    locale = elsewhere.ASCII if country == "ASCII" else elsewhere.with_decimal_commas()
    script = (
        "import sys; from pathlib import Path; from measure import store\n"
        "store.write(Path(sys.argv[2]), store.load_file(Path(sys.argv[1])))"
    )
    copy = tmp_path / "copy" / path.name
    env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "7", **locale}
    subprocess.run([sys.executable, "-c", script, path, copy], check=True, env=env, cwd=Path(store.__file__).parent.parent)
    assert copy.read_bytes() == path.read_bytes()
    assert "计时 µs".encode() in copy.read_bytes()


@pytest.mark.parametrize("path", list(Store().files()), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_committed_records_are_as_the_store_writes_them(path: Path) -> None:
    assert store.dumps(store.load_file(path)).encode() == path.read_bytes()
