"""Records on their way to another machine: one file that holds a machine's records, and taking such a file in.

A bundle is one JSON document and no archive: it has no file names that could lead elsewhere, no links, and nothing to unpack.
Its digests find accidents and hasty edits; they do not say who made it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import ValidationError

from measure import publish
from measure.protocol import PROTOCOL_VERSION
from measure.record import SCHEMA_VERSION, Machine, Measured, Model, Name
from measure.store import Store, StoreError, clash, dumps, load_file, strict_json, write

BUNDLE_VERSION: Final = 1
MOST_BYTES = 64 << 20
"""A bundle beyond this size is not read: all records of a machine are a few MiB."""


class BundleError(Exception):
    """A bundle that cannot be made or taken in. `problems` names all that is wrong, each with its cure; nothing was changed."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class Entry(Model):
    """What a bundle says of one record, so that a look at its head tells what is in it."""

    experiment: Name
    finished: str
    protocol: int
    schema_version: int
    sha256: str
    """Of the file as the store writes it."""

    @classmethod
    def of(cls, record: Measured) -> Self:
        """The entry that belongs to a record."""
        return cls(
            experiment=record.experiment,
            finished=record.finished,
            protocol=record.protocol,
            schema_version=record.schema_version,
            sha256=hashlib.sha256(dumps(record).encode()).hexdigest(),
        )


class Bundle(Model):
    """The records of one machine, sorted by experiment."""

    bundle_version: Literal[1]
    machine: Machine
    contents: tuple[Entry, ...]
    records: tuple[Measured, ...]

    @classmethod
    def of(cls, records: Iterable[Measured]) -> Self:
        """The bundle of these records, which are of one machine: the same bytes in whatever order they come."""
        ordered = tuple(sorted(records, key=lambda record: record.experiment))
        contents = tuple(map(Entry.of, ordered))
        return cls(bundle_version=BUNDLE_VERSION, machine=ordered[0].machine, contents=contents, records=ordered)

    def renamed(self, label: str) -> Self:
        """The same records under another label. Raises `BundleError` for one that cannot be a name."""
        try:
            machine = Machine.model_validate(self.machine.model_dump() | {"label": label})
        except ValidationError:
            raise BundleError(f"机器名 {label!r} 不能用：只能有小写字母、数字和连字符，例如 --as linux-epyc-2c") from None
        return self.of(record.model_copy(update={"machine": machine}) for record in self.records)


@dataclass(frozen=True)
class Taken:
    """What taking in one record does."""

    experiment: str
    what: Literal["new", "replaced", "same"]
    finished: str
    was: str
    """When the record that was here was finished; empty where there was none."""


def collect(names: Iterable[str], store: Store, label: str, *, all_of_them: bool = True) -> Bundle:
    """The measured records of these experiments on one machine; without `all_of_them` those there are. Raises `BundleError`."""
    records: list[Measured] = []
    problems: list[str] = []
    for name in names:
        try:
            path = store.path("measured", label, name)
            if not path.exists():
                if all_of_them:
                    problems.append(f"{name}：{label} 没有测得的记录。测一次：measure run {name}")
                continue
            record = load_file(path)
        except StoreError as error:
            problems.append(str(error))
            continue
        assert isinstance(record, Measured)
        problems += _flaws(record)
        records.append(record)
    if len({record.machine.model_dump_json() for record in records}) > 1:
        problems.append(f"{label} 下的记录来自不同的机器（指纹不同）。measure list 列出各份记录；留下一台机器的")
    if not records and not problems:
        problems.append(f"{label} 没有测得的记录，没有什么可以导出。measure list 列出有哪些（--machine）")
    if problems:
        raise BundleError(*dict.fromkeys(problems))
    return Bundle.of(records)


def save(bundle: Bundle, path: Path) -> None:
    """Write it, whole or not at all. Raises `StoreError`."""
    write(path, bundle)


def read(path: Path) -> Bundle:
    """A bundle whose every part has been checked: form, versions, digests, and that each record is what its entry says.

    Raises `BundleError`.
    """
    cure = "重新导出：measure export"
    try:
        if not path.is_file():
            raise BundleError(f"{path}：没有这个文件")
        if path.stat().st_size > MOST_BYTES:
            raise BundleError(f"{path}：超过 {MOST_BYTES >> 20} MiB，不像记录包")
        text = path.read_bytes().decode("utf-8-sig")
        data = strict_json(text)
    except ValueError as error:
        raise BundleError(f"{path}：记录包损坏（{error}）。{cure}") from None
    except OSError as error:
        raise BundleError(f"{path}：读不了（{error.strerror}）") from None
    _refuse_newer(path, data)
    try:
        bundle = Bundle.model_validate_json(text, strict=True)
    except ValidationError as error:
        said = error.errors(include_input=False)[:10]
        raise BundleError(
            *(f"{path}：记录包损坏（{_printable('.'.join(map(str, e['loc'])))}：{_printable(e['msg'])}）" for e in said), cure
        ) from None
    problems = [f"{path}：{problem}。{cure}" for problem in _disagreements(bundle)]
    problems += [f"{path}：{flaw}" for record in bundle.records for flaw in _flaws(record)]
    if problems:
        raise BundleError(*problems)
    return bundle


def _refuse_newer(path: Path, data: object) -> None:
    """A bundle from a later version of the project is no damaged one."""
    if not isinstance(data, dict):
        return
    records = data.get("records")
    found = {
        "记录包的格式": (data.get("bundle_version"), BUNDLE_VERSION),
        **{
            f"第 {n} 份记录的{what}": (record.get(key), known)
            for n, record in enumerate(records if isinstance(records, list) else (), 1)
            if isinstance(record, dict)
            for what, key, known in (("格式", "schema_version", SCHEMA_VERSION), ("协议", "protocol", PROTOCOL_VERSION))
        },
    }
    newer = [(what, version, known) for what, (version, known) in found.items() if isinstance(version, int) and version > known]
    if newer:
        raise BundleError(
            *(f"{path}：{what}是第 {version} 版，这里只认识到第 {known} 版。更新这个项目" for what, version, known in newer[:10])
        )


def _disagreements(bundle: Bundle) -> list[str]:
    """Where the head of a bundle and its records part ways."""
    problems = []
    names = [record.experiment for record in bundle.records]
    listed = {entry.experiment: entry for entry in bundle.contents}
    if not names:
        problems.append("里面没有记录")
    if names != sorted(set(names)) or [entry.experiment for entry in bundle.contents] != names:
        problems.append("目录和记录不是一一对应")
    for record in bundle.records:
        if listed.get(record.experiment, Entry.of(record)) != Entry.of(record):
            problems.append(f"{record.experiment} 和目录里写的不符（SHA-256、时间或版本），在路上坏了或者改过")
        if record.machine != bundle.machine:
            problems.append(f"{record.experiment} 不是 {bundle.machine.label} 这台机器的")
    return problems


def _flaws(record: Measured) -> list[str]:
    """Why a record must not travel."""
    cure = f"重新测：measure run {record.experiment} --force"
    flaws = []
    if record.quick:
        flaws.append(f"{record.experiment}：是 --quick 的试跑。{cure}")
    if record.failures or not record.runs:
        flaws.append(f"{record.experiment}：有失败的运行，或者一次也没有运行。{cure}")
    return flaws


def _printable(text: str) -> str:
    """What a stranger's file calls its fields, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def compare(bundle: Bundle, store: Store, known: Collection[str], *, older: bool = False) -> tuple[Taken, ...]:
    """What taking in each record would do. Raises `BundleError` if any of them must not come in; `older` lets old ones replace newer."""
    label = bundle.machine.label
    there = store.fingerprint(label)
    problems = []
    if there is not None and there != bundle.machine.model_dump():
        problems.append(f"{clash(label)}，在那里重新测和导出；或者在这里用另一个名字收下：measure import --as <名字>")
    if any(store.root.glob(f"published/{label}/*.json")):
        problems.append(f"{label} 是已发表的数字的名字，测得的记录不能混进去。用另一个名字收下：measure import --as <名字>")
    taken: list[Taken] = []
    for record in bundle.records:
        name = record.experiment
        if name not in known:
            problems.append(f"没有实验 {name}，它的记录没有用处。更新这个项目，或者导出时只选别的实验")
            continue
        try:
            path = store.path("measured", label, name)
            old = load_file(path) if path.exists() else None
        except StoreError as error:
            problems.append(str(error))
            continue
        if not isinstance(old, Measured):
            taken.append(Taken(name, "new", record.finished, ""))
        elif old == record:
            taken.append(Taken(name, "same", record.finished, old.finished))
        else:
            if not older and record.finished <= old.finished:  # both in UTC, to the second, in one form
                problems.append(
                    f"{name}：这里的记录测于 {old.finished}，包里的测于 {record.finished}，不比它新。要换成包里的，加 --older"
                )
            taken.append(Taken(name, "replaced", record.finished, old.finished))
    if problems:
        raise BundleError(*problems)
    return tuple(taken)


def take_in(bundle: Bundle, store: Store, known: Collection[str], *, older: bool = False) -> tuple[Taken, ...]:
    """Put all records of the bundle into the store, or none. Raises `BundleError`; then the store is as it was.

    Call it with the lock of the machine held: a measurement that ended in between would lose its record.
    """
    taken = compare(bundle, store, known, older=older)
    changed = {one.experiment for one in taken if one.what != "same"}
    records = [record for record in bundle.records if record.experiment in changed]
    if not records:
        return taken
    place = store.root / "measured" / bundle.machine.label
    stage = store.root / ".import"  # beside the folders that records are loaded from, so that nothing takes it for one
    new = stage / place.name
    moved = 0
    try:
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir(parents=True)
        if place.exists():
            shutil.copytree(place, new)
        for record in records:
            write(new / f"{record.experiment}.json", record)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            new.rename(place)
        elif not publish.exchange(new, place):  # then one by one: each record is whole all the same
            for record in records:
                (new / f"{record.experiment}.json").replace(place / f"{record.experiment}.json")
                moved += 1
    except OSError as error:
        left = f"已经收下 {moved} 份，排除原因后再运行一次会收齐" if moved else "原来的记录没有动"
        raise BundleError(f"{place}：写不进去（{error.strerror or error}）。{left}") from None
    except StoreError as error:
        raise BundleError(str(error)) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return taken
