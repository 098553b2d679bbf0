"""Whether a record still answers for the files in the checkout.

A record's inputs are what its result depends on by intention: sources, this experiment's part of the locks, parameters,
the protocol. They are hashed the same on every machine, so a clone can tell without torch and without Rust.
What happens to be installed is not an input; `drift` reports it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Literal

from measure import cargo
from measure.experiment import Experiment, PythonProgram, RustProgram
from measure.protocol import PROTOCOL_VERSION
from measure.record import Machine, Measured
from measure.store import Store, StoreError, clash, load_file

ROOT = cargo.ROOT
PYTHON_LOCK = "requirements/live.txt"

NOMINAL = Machine(label="nominal", cpu="nominal", cores=8, memory_gib=0, system="nominal")
"""The machine that parameters are expanded for when they are hashed, so that hashes are the same everywhere."""


class InputError(Exception):
    """An input that cannot be read, so that nobody can tell what is stale. The message names the file and the cure."""


Difference = Literal["changed", "added", "removed"]


class State(StrEnum):
    """What a record is worth to somebody on this machine."""

    FRESH = "fresh"
    STALE = "stale"
    MISSING = "missing"
    FOREIGN = "foreign"
    PUBLISHED = "published"
    BROKEN = "broken"


@dataclass(frozen=True)
class Status:
    """The state of one experiment on one machine."""

    experiment: str
    machine: str
    state: State
    changed: tuple[str, ...] = ()
    """The inputs that differ. A foreign record can have some too."""
    finished: str = ""
    not_here: str = ""
    """Why this machine cannot run the experiment now; empty where it can, and for records of other machines."""
    note: str = ""


@dataclass(frozen=True)
class Reasons:
    """What is behind a state."""

    inputs: dict[str, Difference]
    """The inputs that are not as they were when the record was made."""
    drift: tuple[str, ...]
    """What is installed here in another version, for a record that was made here."""
    failures: tuple[str, ...]
    """Of the last attempt, where there is no good record."""


def reasons(found: Status, experiment: Experiment, store: Store, root: Path = ROOT) -> Reasons:
    """Why a record has the state that was found."""
    if found.state is State.MISSING:
        return Reasons({}, (), tuple(failures(store.path("failed", found.machine, experiment.id))))
    if found.state not in (State.FRESH, State.STALE, State.FOREIGN):
        return Reasons({}, (), ())
    record = store.load(experiment.id, found.machine)
    assert isinstance(record, Measured), "the state says so"
    here = found.state is not State.FOREIGN
    return Reasons(differences(record, experiment, root), drift(record, root) if here else (), ())


def failures(attempt: Path) -> Iterator[str]:
    """What went wrong; nothing where there was no attempt, or one that cannot be read."""
    with suppress(StoreError):
        kept = load_file(attempt) if attempt.exists() else None
        for failure in kept.failures if isinstance(kept, Measured) else ():
            where = " ".join([failure.case, *(f"{key}={value}" for key, value in failure.params.items())])
            yield f"{where}，第 {failure.round} 轮：{failure.reason}"


def inputs(experiment: Experiment, root: Path = ROOT) -> dict[str, str]:
    """SHA-256 of all that the experiment's result depends on, by a name a reader understands. Raises `InputError`."""
    root = root.resolve()
    programs = {case.program for case in experiment.cases(NOMINAL)}
    found = {"parameters": _sha(_parameters(experiment)), "protocol": _sha(str(PROTOCOL_VERSION))}
    for program in programs:
        if isinstance(program, PythonProgram):
            found |= _python(program, root)
    found |= {name: _file(root / name, root) for name in experiment.data}
    packages = sorted({program.package for program in programs if isinstance(program, RustProgram)})
    if packages:
        found |= _rust(packages, root)
    return dict(sorted(found.items()))


def changed(record: Measured, experiment: Experiment, root: Path = ROOT) -> tuple[str, ...]:
    """The inputs that are not as they were when the record was made, sorted."""
    return tuple(differences(record, experiment, root))


def differences(record: Measured, experiment: Experiment, root: Path = ROOT) -> dict[str, Difference]:
    """What became of the inputs that are not as they were when the record was made, by name, sorted."""
    now, then = inputs(experiment, root), record.inputs
    return {
        name: "changed" if name in now and name in then else "added" if name in now else "removed"
        for name in sorted(now.keys() | then.keys())
        if now.get(name) != then.get(name)
    }


def status(experiment: Experiment, store: Store, label: str, here: Machine, root: Path = ROOT) -> Status:
    """The state of `experiment` on the machine `label`, seen from the machine `here`."""
    not_here = (missing_software(experiment, here, root) or "") if label == here.label else ""
    try:
        record = store.load(experiment.id, label)
    except StoreError as error:
        return Status(experiment.id, label, State.BROKEN, not_here=not_here, note=str(error))
    if record is None:
        return Status(experiment.id, label, State.MISSING, not_here=not_here)
    if not isinstance(record, Measured):
        return Status(experiment.id, label, State.PUBLISHED, not_here=not_here, note=record.source)
    if record.quick:
        path = store.path("measured", label, experiment.id)
        return Status(
            experiment.id, label, State.BROKEN, not_here=not_here, note=f"{path}：是 --quick 的记录，不能用。重新运行 measure run"
        )
    differ = changed(record, experiment, root)
    if record.machine != here:
        note = clash(label) if label == here.label else ""
        return Status(experiment.id, label, State.FOREIGN, differ, record.finished, not_here, note)
    return Status(experiment.id, label, State.STALE if differ else State.FRESH, differ, record.finished, not_here)


def missing_software(experiment: Experiment, here: Machine, root: Path = ROOT) -> str | None:
    """Why the experiment cannot run here, in Chinese, or None. Imports none of the packages it asks about."""
    if os.name != "posix":
        return "只在 Linux 和 macOS 上能测"
    programs = [case.program for case in experiment.cases(here) if case.missing(here) is None]
    for package in sorted({p for program in programs if isinstance(program, PythonProgram) for p in program.packages}):
        problem = missing_package(package, root)
        if problem is not None:
            return problem
    if any(isinstance(program, RustProgram) for program in programs):
        return cargo.missing()
    return None


def missing_package(package: str, root: Path = ROOT) -> str | None:
    """Why a Python package cannot be used: absent, or in another version than the lock's. None where it can."""
    wanted = pinned(package, root)
    try:
        have = metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"没有安装 {package}。安装：scripts/build --live"
    if have.split("+")[0] != wanted.split("+")[0]:
        return f"装的是 {package} {have}，{PYTHON_LOCK} 锁定的是 {wanted}。安装：scripts/build --live"
    return None


def drift(record: Measured, root: Path = ROOT) -> tuple[str, ...]:
    """What is installed here in another version than the record was made with. Worth knowing, not staleness."""
    here = {"python": platform.python_version()}
    if "rustc" in record.versions and cargo.missing() is None:
        with suppress(cargo.CargoError):  # no toolchain behind the command: nothing to compare
            here["rustc"] = cargo.compiler(root)["release"]
    for name in record.versions.keys() - here.keys():
        try:
            here[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # not a Python package, or not installed
    return tuple(
        f"{name}：记录 {record.versions[name]}，这里 {here[name]}"
        for name in sorted(here.keys() & record.versions.keys())
        if not _same_version(here[name], record.versions[name])
    )


def _same_version(one: str, other: str) -> bool:
    """A package may leave what follows its release (`+cu132`) out of its metadata, and say it when it runs."""
    whole = "+" in one and "+" in other
    return one == other if whole else one.split("+")[0] == other.split("+")[0]


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _file(file: Path, root: Path) -> str:
    """The hash of a file with line endings made equal: what git does to them on some systems changes no result."""
    return hashlib.sha256(_bytes(file, root).replace(b"\r\n", b"\n")).hexdigest()


def _bytes(file: Path, root: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{_name(file, root)}：读不了（{error.strerror}）") from None


def _name(file: Path, root: Path) -> str:
    """A file as a reader knows it."""
    if not file.is_relative_to(root):
        raise InputError(f"{file.name}：在仓库之外，过期没有说不清。把它移进仓库")
    return file.relative_to(root).as_posix()


def _parameters(experiment: Experiment) -> str:
    """What is asked for, as the experiment's own text says it."""
    cases = [
        {
            "name": case.name,
            "program": asdict(case.program),
            "args": case.args,
            "params": dict(case.params),
            "env": dict(case.env),
            "threads": case.threads,
            **({"rounds": case.rounds} if case.rounds is not None else {}),
        }
        for case in experiment.cases(NOMINAL)
    ]
    asked = {
        "id": experiment.id,
        "rounds": experiment.rounds,
        "cases": cases,
        "excerpts": [asdict(e) for e in experiment.excerpts],
    }
    return json.dumps(asked, sort_keys=True)


def _python(program: PythonProgram, root: Path) -> dict[str, str]:
    start = root / "measure" / "programs" / f"{program.module}.py"
    found = {_name(file, root): _file(file, root) for file in _imported(start, root)}
    pins = _requirements(root)
    for package in program.packages:
        pinned(package, root)
        reached: set[str] = set()
        waiting = {normal(package)}
        while waiting:
            name = waiting.pop()
            reached.add(name)
            waiting |= {other for other, (_, via) in pins.items() if name in via} - reached
        found[f"{PYTHON_LOCK}: {package}"] = _sha("\n".join(sorted(pins[name][0] for name in reached)))
    return found


def _imported(start: Path, root: Path) -> set[Path]:
    """The program and all files of the project it imports, however deep. Empty `__init__.py` are left out."""
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        for name in {"measure.programs", *_module_names(_bytes(file, root), _name(file, root))}:
            parts = name.split(".")
            # a program run by its path also finds its neighbours
            for base in (root, file.parent):
                for n in range(1, len(parts) + 1):
                    stem = base.joinpath(*parts[:n])
                    waiting += [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()]
    return {file for file in found if file.name != "__init__.py" or file.stat().st_size}


@cache  # most programs import the same few modules
def _module_names(source: bytes, where: str) -> frozenset[str]:
    """Every dotted name that an import of the file may refer to."""
    try:
        tree = ast.parse(source, where)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{where}：第 {getattr(error, 'lineno', '?')} 行不是合法的 Python（{error}）") from None
    package = PurePosixPath(where).parent.parts
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*parents, *([node.module] if node.module else [])))
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def normal(name: str) -> str:
    """The form in which names of Python distributions are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements(root: Path) -> dict[str, tuple[str, frozenset[str]]]:
    """For each distribution in the lock: its requirement without hashes, and what asks for it (`# via`)."""
    try:
        return _pins((root / PYTHON_LOCK).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{PYTHON_LOCK}：没有这个文件，不知道记录过期没有。恢复它：git checkout {PYTHON_LOCK}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{PYTHON_LOCK}：读不了（{error}）") from None


@cache
def _pins(lock: str) -> dict[str, tuple[str, frozenset[str]]]:
    found: dict[str, tuple[str, frozenset[str]]] = {}
    name = ""
    for line in lock.splitlines():
        if match := re.match(r"([A-Za-z0-9][\w.-]*)(\[.*?\])?==", line):
            name = normal(match[1])
            found[name] = (line.rstrip("\\ "), frozenset())
        elif name and (via := re.match(r"\s+#\s+(?:via\s+)?([A-Za-z0-9][\w.-]*)", line)) and via[1] != "via":
            requirement, old = found[name]
            found[name] = (requirement, old | {normal(via[1])})
    return found


def pinned(package: str, root: Path) -> str:
    """The version of a package in the lock. Raises `InputError` if it is not there."""
    pin = _requirements(root).get(normal(package))
    if pin is None:
        raise InputError(f"{PYTHON_LOCK}：没有锁定 {package}。把它加进 pyproject.toml 的 live，再运行 scripts/lock")
    return pin[0].split("==")[1].split(";")[0].strip()


def _rust(packages: list[str], root: Path) -> dict[str, str]:
    """The packages with the path dependencies and shared sources they reach, the workspace's settings, their part of the lock."""
    workspace = root / cargo.WORKSPACE
    shared = _toml(workspace / "Cargo.toml", root)
    settings = shared.get("workspace", {})
    inherited: dict[str, object] = {}
    found: dict[str, str] = {}
    waiting = [workspace / package for package in packages]
    while waiting:
        folder = waiting.pop()
        if _name(folder, root) in found:
            continue
        found[_name(folder, root)] = _folder(folder, root)
        if not (folder / "Cargo.toml").is_file():
            continue  # a source folder that a crate beside it points at
        crate = _toml(folder / "Cargo.toml", root)
        sources = [
            (folder / product["path"]).resolve().parent
            for product in (*crate.get("bin", ()), crate.get("lib", {}))
            if "path" in product
        ]
        waiting += [source for source in sources if not source.is_relative_to(folder)]
        for table in (crate, *crate.get("target", {}).values()):
            for name, wish in (table.get("dependencies", {}) | table.get("build-dependencies", {})).items():
                base = folder
                if isinstance(wish, dict) and wish.get("workspace"):
                    base, wish = workspace, settings.get("dependencies", {}).get(name)
                    inherited[name] = wish
                if isinstance(wish, dict) and "path" in wish:
                    waiting.append((base / wish["path"]).resolve())
    common = {"profile": shared.get("profile"), "patch": shared.get("patch"), "inherited": inherited}
    common |= {key: settings.get(key) for key in ("resolver", "package")}
    found[f"{cargo.WORKSPACE}/Cargo.toml"] = _sha(json.dumps(common, sort_keys=True))
    for name in (".cargo/config.toml", "rust-toolchain.toml"):
        if (workspace / name).is_file():
            found[f"{cargo.WORKSPACE}/{name}"] = _file(workspace / name, root)
    for package in packages:
        try:
            entries = cargo.closure(package, root)
        except cargo.CargoError as error:
            raise InputError(str(error)) from None
        locked = [[entry.get(key, "") for key in ("name", "version", "source", "checksum")] for entry in entries]
        found[f"{cargo.WORKSPACE}/Cargo.lock: {package}"] = _sha(json.dumps(locked))
    return found


def _folder(folder: Path, root: Path) -> str:
    """One hash for all files below a folder, with their names; hidden files and build output left out."""
    names = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    kept = sorted(name for name in names if name.parts[0] != "target" and not any(part.startswith(".") for part in name.parts))
    if not kept:
        raise InputError(f"{_name(folder, root)}：没有这个 crate")
    return _sha("\n".join(f"{name.as_posix()} {_file(names[name], root)}" for name in kept))


def _toml(file: Path, root: Path) -> cargo.Table:
    try:
        return tomllib.loads(_bytes(file, root).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{_name(file, root)}：读不懂（{error}）") from None
