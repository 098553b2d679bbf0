"""Where records lie, and the only code that reads or writes them.

Files are strict JSON (no NaN), UTF-8 whatever the locale, with sorted keys, and replaced whole: a reader sees the old
record or the new one, never half of either.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, NoReturn

import psutil
from pydantic import TypeAdapter, ValidationError

from measure import disk
from measure.record import ADAPTER, SCHEMA_VERSION, Measured, Model, Name, Published

ROOT = Path(__file__).parent / "records"
Records = dict[tuple[str, str], Measured | Published]
"""Records by machine and experiment."""
Kind = Literal["measured", "published", "failed"]
KINDS: tuple[Kind, ...] = ("measured", "published")
"""The folders that records are loaded from, in this order."""

TRIAL = 1 << 20
"""Bytes that have to fit beside a record before it is measured."""


RESTORE = "恢复它：git checkout 这个文件，或重新运行 measure run"
"""What to do about a damaged record."""


class StoreError(Exception):
    """A record file that cannot be used as it is. The message names the file and the cure; the file is left alone."""


class NotWrittenError(StoreError):
    """The disk refused a record. What was there before is as it was."""


@dataclass(frozen=True)
class Store:
    """The records below one folder: `<kind>/<machine>/<experiment>.json`.

    `failed` holds attempts that did not give a whole record. Nothing that loads a record looks there.
    """

    root: Path = ROOT

    def path(self, kind: Kind, machine: str, experiment: str) -> Path:
        """The file of one record, whether or not it is there. Raises `StoreError` for a name that could lead out of the store."""
        for name in (machine, experiment):
            if not _is_name(name):
                raise StoreError(f"{name!r} 不能做记录的名字：只用小写字母、数字和连字符")
        return self.root / kind / machine / f"{experiment}.json"

    def machines(self, experiment: str) -> tuple[str, ...]:
        """The labels of all machines that have a record of `experiment`, sorted."""
        return tuple(sorted({path.parent.name for path in self.files() if path.stem == experiment}))

    def files(self) -> Iterator[Path]:
        """Every record file, in a fixed order."""
        for kind in KINDS:
            yield from sorted(self.root.glob(f"{kind}/*/*.json"))

    def find(self, experiment: str, machine: str) -> Path | None:
        """The file that holds `experiment` on `machine`; a measured record goes before a published one."""
        for kind in KINDS:
            path = self.path(kind, machine, experiment)
            if path.exists():
                return path
        return None

    def load(self, experiment: str, machine: str) -> Measured | Published | None:
        """The record, or None where there is no file.

        Raises `StoreError` for a file that is cut off, empty, not JSON, of another schema, or of another record than its
        name says. Such a file is never taken for "not measured yet".
        """
        path = self.find(experiment, machine)
        return None if path is None else load_file(path)

    def save(self, record: Measured) -> Path:
        """Replace the record of this experiment and machine by a whole new one; removes an older failed attempt."""
        if record.failures:
            raise StoreError(f"{record.experiment}：有失败的运行，不能作为记录保存")
        path = self.path("measured", record.machine.label, record.experiment)
        self.load(record.experiment, record.machine.label)  # a damaged file is for its owner to look at, not for us to replace
        known = self.fingerprint(record.machine.label)
        if known is not None and known != record.machine.model_dump():
            raise StoreError(clash(record.machine.label))
        write(path, record)
        self.path("failed", record.machine.label, record.experiment).unlink(missing_ok=True)
        return path

    def save_attempt(self, record: Measured) -> Path:
        """Keep an attempt that failed beside the good record, which stays as it is."""
        path = self.path("failed", record.machine.label, record.experiment)
        write(path, record)
        return path

    def try_out(self, machine: str, experiment: str) -> None:
        """Raise `NotWrittenError` if a record could not be written now: better known before hours of measuring than after."""
        path = self.path("measured", machine, experiment)
        with _beside(path) as temporary:
            temporary.write_bytes(bytes(TRIAL))

    def fingerprint(self, label: str) -> dict[str, object] | None:
        """The machine that the measured records under `label` describe; None where there are none that can be read."""
        for path in sorted(self.root.glob(f"measured/{label}/*.json")):
            with suppress(StoreError):  # whoever needs that record will say what is wrong with it
                return load_file(path).machine.model_dump()
        return None


def _is_name(text: str) -> bool:
    try:
        TypeAdapter(Name).validate_python(text)
    except ValidationError:
        return False
    return True


def clash(label: str) -> str:
    """What to say when records of another machine lie under this label."""
    return f"机器名 {label} 下的记录来自另一台机器（指纹不同）。给这台机器另起一个名字：MEASURE_MACHINE=<名字>"


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} 不是 JSON 数字")


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("同一个键出现两次")
    return out


def strict_json(text: str) -> object:
    """What a JSON document holds. Raises ValueError, also for an empty text, NaN, a key that appears twice, and nesting without end."""
    if not text.strip():
        raise ValueError("文件是空的")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_duplicates)
    except RecursionError:
        raise ValueError("嵌套太深") from None


def load_file(path: Path) -> Measured | Published:
    """Read and check one record file. Raises `StoreError`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}：读不了（{error.strerror}）") from None
    return parse(content, path)


def parse(content: bytes, path: PurePath, cure: str = RESTORE) -> Measured | Published:
    """Check what a record file holds; `path` may lie in a commit. Raises `StoreError`."""
    try:
        text = content.decode("utf-8-sig")
        data = strict_json(text)
    except ValueError as error:
        raise StoreError(f"{path}：记录损坏（{error}）。{cure}") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise StoreError(f"{path}：记录的格式是第 {version} 版，这里只认识到第 {SCHEMA_VERSION} 版。更新这个项目")
    try:
        record = ADAPTER.validate_json(text.encode(), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{path}：记录损坏（{where}：{first['msg']}；共 {error.error_count()} 处）。{cure}") from None
    if (record.machine.label, record.experiment) != (path.parent.name, path.stem):
        raise StoreError(f"{path}：里面是 {record.machine.label} 的 {record.experiment}，和文件名不符。{cure}")
    return record


def dumps(document: Model) -> str:
    """A document as text: sorted keys, one sample list a line, floats in the shortest form that reads back equal."""
    text = json.dumps(document.model_dump(mode="json"), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    # A line break is never inside a string, so what starts with "[" and one, and holds no quote or bracket, is a list of numbers.
    return (
        re.sub(r'\[\n[^"\[\]{}]+\]', lambda found: re.sub(r"\n *", " ", found[0]).replace("[ ", "[").replace(" ]", "]"), text)
        + "\n"
    )


def write(path: Path, document: Model) -> None:
    """Write beside the target, flush to disk, then replace in one step. Raises `NotWrittenError` when the disk refuses."""
    data = dumps(document).encode()
    with _beside(path) as temporary:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside `path` for this process alone; nothing is left under it, nor under those of writers that were killed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{path.name}.*.tmp"):
            writer = left.suffixes[-2].removeprefix(".")
            if writer.isdecimal() and not psutil.pid_exists(int(writer)):
                left.unlink(missing_ok=True)
        yield temporary
    except OSError as error:
        raise NotWrittenError(f"{disk.refusal(error, path)}。原来的文件没有动") from None
    finally:  # also for Ctrl-C
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
