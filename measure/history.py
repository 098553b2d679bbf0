"""Records as they are in the working tree, as a commit holds them, or with one of them replaced: the two sides of a comparison.

A commit is read with git's own commands. Nothing is checked out, and the working tree stays as it is.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from measure.record import Measured, Published
from measure.store import KINDS, Records, Store, StoreError, load_file, parse

WORKING_TREE = "工作区"
ONE_RECORD = re.compile(r"([a-z0-9-]+)@([a-z0-9-]+)")
"""`<experiment>@<machine>`. Git's own `@` stands alone or before a brace."""


class HistoryError(Exception):
    """A side that is not there. The message names it and says what can be written instead."""


@dataclass(frozen=True)
class Side:
    """Records under a name that people use, and what could not be read among them."""

    name: str
    records: Records
    problems: tuple[str, ...] = ()
    chosen: tuple[str, str] | None = None
    """(machine, experiment) where one record was asked for and not all."""


def sides(names: tuple[str, ...], store: Store) -> tuple[Side, Side]:
    """What to compare with what.

    Nothing: HEAD with the working tree; a commit: it with the working tree; two commits; two records, each a file or
    `<experiment>@<machine>`. Raises `HistoryError`.
    """
    records = [name for name in names if is_record(name)]
    if len(names) > 2:
        raise HistoryError(f"最多两个，这里有 {len(names)} 个：{'、'.join(names)}")
    if records and len(records) < 2:
        raise HistoryError(
            f"{records[0]} 是一份记录，要和另一份记录比：measure diff {records[0]} <文件或 实验@机器>。不写参数就比 HEAD 和工作区"
        )
    if records:
        old, new = (one_record(name, store) for name in records)
        if old.chosen is not None and new.chosen is not None and old.chosen[1] != new.chosen[1]:
            raise HistoryError(f"{names[0]} 是 {old.chosen[1]} 的记录，{names[1]} 是 {new.chosen[1]} 的：两个实验没有可比的")
        return old, new
    old = at_commit(names[0] if names else "HEAD", store)
    return old, at_commit(names[1], store) if len(names) == 2 else working_tree(store)


def is_record(name: str) -> bool:
    """Whether this names one record and not a commit."""
    return name.endswith(".json") or Path(name).is_file() or ONE_RECORD.fullmatch(name) is not None


def working_tree(store: Store) -> Side:
    """All records that can be read now."""
    records: Records = {}
    problems: list[str] = []
    for path in store.files():
        try:
            _add(records, load_file(path))
        except StoreError as error:
            problems.append(str(error))
    return Side(WORKING_TREE, records, tuple(problems))


def one_record(name: str, store: Store) -> Side:
    """The working tree with this one record in its place. Raises `HistoryError`."""
    record: Measured | Published | None
    found = ONE_RECORD.fullmatch(name)
    if not found and not Path(name).is_file():
        raise HistoryError(f"{name}：没有这个文件。measure list 列出有哪些记录，也可以写成 实验@机器")
    try:
        record = store.load(found[1], found[2]) if found else load_file(Path(name))
    except StoreError as error:
        raise HistoryError(str(error)) from None
    if record is None:
        assert found is not None
        raise HistoryError(
            f"{found[2]} 没有 {found[1]} 的记录。有记录的机器：{'、'.join(store.machines(found[1])) or '（没有）'}"
        )
    side = working_tree(store)
    key = (record.machine.label, record.experiment)
    return Side(name, side.records | {key: record}, (), key)


def at_commit(name: str, store: Store) -> Side:
    """All records that a commit holds. Raises `HistoryError`."""
    here = next(folder for folder in (store.root, *store.root.parents) if folder.is_dir())
    top = Path(_git(here, "rev-parse", "--show-toplevel").decode().strip())
    commit = _git(here, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", wrong=_no_commit(name)).decode().strip()
    folder = store.root.resolve().relative_to(top.resolve())
    listing = _git(top, "ls-tree", "-r", "-z", commit, "--", folder.as_posix()).decode()
    records: Records = {}
    problems: list[str] = []
    for kind in KINDS:
        for entry in filter(None, listing.split("\0")):
            about, path = entry.split("\t", 1)
            inside = PurePosixPath(path).relative_to(folder.as_posix())
            if len(inside.parts) != 3 or inside.parts[0] != kind or inside.suffix != ".json":
                continue
            content = _git(top, "cat-file", "blob", about.split(" ")[2])
            try:
                _add(records, parse(content, PurePosixPath(f"{name}:{path}"), "现在的程序读不了它，换一个更新的提交"))
            except StoreError as error:
                problems.append(str(error))
    return Side(name, records, tuple(problems))


def _add(records: Records, record: Measured | Published) -> None:
    """Take a record in; of two of one name, the one that came first (`KINDS`)."""
    records.setdefault((record.machine.label, record.experiment), record)


def _no_commit(name: str) -> str:
    return f"没有 {name}：不是提交，也不是文件。写提交（HEAD~3、a1b2c3d）、记录的文件，或 实验@机器；git log 列出有哪些提交"


def _git(folder: Path, *arguments: str, wrong: str = "") -> bytes:
    """Stdout of git. Raises `HistoryError` with `wrong`, or with what git says."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise HistoryError("没有 git，读不了以前的记录。安装 git，或者比较两份记录：measure diff <文件> <文件>") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise HistoryError(wrong or f"{folder}：git {arguments[0]} 失败（{said or done.returncode}）。要在 git 仓库里运行")
    return done.stdout
