"""What this machine can measure, and what to install for the rest.

Nothing is built or run to find out; at most a compiler is asked for its version.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from measure import accelerator, cargo, machine, staleness
from measure.experiment import Experiment, PythonProgram, RustProgram
from measure.record import Machine
from measure.runner import describe
from measure.store import Store, clash

PCI = Path("/sys/bus/pci/devices")
"""Where Linux lists what is plugged in, with or without a driver."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LEAST_FREE = 1 << 30
"""Bytes below which not even a finished build can be measured in peace."""


class State(StrEnum):
    """What a check found."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing of the book stays unmeasured for it."""
    MISSING = "missing"
    """Something cannot be measured that this hardware could."""


@dataclass(frozen=True)
class Check:
    """One thing that measuring, or testing, leans on."""

    name: str
    state: State
    found: str
    """What is there, or what is not and how to get it."""


@dataclass(frozen=True)
class Absent:
    """A case that a record of this machine would not have."""

    case: str
    reason: str


@dataclass(frozen=True)
class Prospect:
    """What would become of one experiment here."""

    experiment: str
    not_here: str
    """What software it lacks; empty where there is all."""
    cases: int
    """How many of its cases have their hardware here."""
    absent: tuple[Absent, ...]
    minutes: float
    """How long it takes, as its author estimates, builds apart."""


@dataclass(frozen=True)
class Report:
    """The whole finding."""

    machine: Machine
    checks: tuple[Check, ...]
    experiments: tuple[Prospect, ...]

    @property
    def well(self) -> bool:
        """Whether all can be measured that the hardware allows."""
        return all(check.state is not State.MISSING for check in self.checks) and not any(p.not_here for p in self.experiments)


def examine(experiments: Iterable[Experiment], store: Store, root: Path = cargo.ROOT) -> Report:
    """Look at this machine. Raises `MachineError` if it cannot be named, `InputError` if a lock cannot be read."""
    here = machine.this_machine(store.fingerprint)
    known = list(experiments)
    wanted = [case.program for e in known for case in e.cases(here) if case.missing(here) is None]
    packages = sorted({p for program in wanted if isinstance(program, PythonProgram) for p in program.packages})
    rust = _rust(root) if any(isinstance(program, RustProgram) for program in wanted) else ()
    no_rust = next((check.found for check in rust if check.state is State.MISSING), "")
    checks = (
        _label(here, store),
        _reference(here, store, root),
        Check("Python", State.OK, platform.python_version()),
        *(_package(package, root) for package in packages),
        *rust,
        _gpu(here),
        _load(here),
        *_disk(store),
        _browser(),
    )
    return Report(here, checks, tuple(_prospect(e, here, no_rust, root) for e in known))


def _prospect(experiment: Experiment, here: Machine, no_rust: str, root: Path) -> Prospect:
    reasons = [(case, case.missing(here)) for case in experiment.cases(here)]
    present = [case for case, reason in reasons if reason is None]
    not_here = staleness.missing_software(experiment, here, root) or ""
    if not not_here and any(isinstance(case.program, RustProgram) for case in present):
        not_here = no_rust
    return Prospect(
        experiment.id,
        not_here,
        len(present),
        tuple(Absent(describe(case.name, case.params), reason) for case, reason in reasons if reason is not None),
        round(experiment.rounds * experiment.estimate / 60, 1),
    )


def _label(here: Machine, store: Store) -> Check:
    known = store.fingerprint(here.label)
    if known is not None and known != here.model_dump():
        return Check("机器名", State.MISSING, clash(here.label))
    plain = machine.this_machine().label
    if plain != here.label:
        return Check("机器名", State.NOTE, f"{here.label}（{plain} 已经是另一台机器的名字）")
    return Check("机器名", State.OK, here.label + ("" if known is None else "，这里已有它的记录"))


def _reference(here: Machine, store: Store, root: Path) -> Check:
    """The machine whose numbers pages show without being asked."""
    try:
        label = reference(root / "mkdocs.yml")
    except (OSError, ValueError) as error:
        return Check("参考机器", State.NOTE, f"mkdocs.yml：读不懂（{error}）")
    if not label:
        return Check("参考机器", State.NOTE, "mkdocs.yml 没有写 extra.measure.reference")
    if label == here.label:
        return Check("参考机器", State.OK, f"{label}，就是这台")
    if not any(path.parent.name == label for path in store.files()):
        return Check("参考机器", State.NOTE, f"{label}，没有一份记录。改 mkdocs.yml 的 extra.measure.reference")
    return Check("参考机器", State.OK, f"{label}，不是这台；这台测的显示在各页的 m/{here.label}/")


def reference(config: Path) -> str:
    """The label in `mkdocs.yml`, empty where there is none. Raises OSError or ValueError."""

    class Plain(yaml.SafeLoader):
        """MkDocs gives Python objects to some settings; of those nothing is wanted."""

    Plain.add_multi_constructor("", lambda loader, suffix, node: None)
    try:
        settings = yaml.load(config.read_text(encoding="utf-8"), Plain)  # noqa: S506 - a safe loader
        return str(settings["extra"]["measure"]["reference"])
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    except (KeyError, TypeError):
        return ""


def _package(package: str, root: Path) -> Check:
    problem = staleness.missing_package(package, root)
    if problem is not None:
        return Check(package, State.MISSING, problem)
    return Check(package, State.OK, f"{staleness.pinned(package, root)}，和 {staleness.PYTHON_LOCK} 一致")


def _rust(root: Path) -> tuple[Check, ...]:
    """The toolchain and what it leans on."""
    return _cargo(root), _cc()


def _cargo(root: Path) -> Check:
    with (root / cargo.WORKSPACE / "Cargo.toml").open("rb") as file:
        least = str(tomllib.load(file)["workspace"]["package"]["rust-version"])
    absent = cargo.missing()
    if absent is not None:
        return Check("Rust", State.MISSING, absent)
    try:
        release = cargo.compiler(root)["release"]
    except cargo.CargoError as error:
        return Check("Rust", State.MISSING, f"{error}。安装 Rust {least} 或更新的版本：https://rustup.rs")
    if cargo.version(release) < cargo.version(least):
        return Check("Rust", State.MISSING, f"rustc {release}，要 {least} 或更新的版本。升级：rustup update")
    return Check("Rust", State.OK, f"rustc {release}（要 {least}）")


def _cc() -> Check:
    """Rust links with it, and crates with C sources compile with it."""
    if shutil.which("cc"):
        return Check("C 编译器", State.OK, "cc")
    cure = "xcode-select --install" if platform.system() == "Darwin" else "apt-get install gcc libc6-dev"
    return Check("C 编译器", State.MISSING, f"没有 cc，Rust 程序链接不了。安装：{cure}")


def _gpu(here: Machine) -> Check:
    name = "GPU"
    if accelerator.apple(here):
        return Check(name, State.OK, "Apple GPU（Metal、MPS）")
    if accelerator.cuda():
        return Check(name, State.OK, "NVIDIA，驱动已装")
    if any(vendor.read_text(encoding="ascii").strip() == "0x10de" for vendor in PCI.glob("*/vendor")):
        return Check(name, State.MISSING, "有 NVIDIA 显卡，没有装驱动。安装 NVIDIA 驱动后再运行")
    absent = accelerator.without_burn_device(here)
    if absent is not None:
        return Check(name, State.MISSING, absent)
    return Check(name, State.OK, "没有 Apple 或 NVIDIA 的；burn 用 Vulkan 驱动，可能是软件实现，记录里会写明")


def _load(here: Machine) -> Check:
    now = machine.conditions()
    free = here.cores * (1 - now.busy)
    found = f"{here.cores} 核中空闲 {free:.1f} 个" + ("" if now.load is None else f"，1 分钟负载 {now.load:.2f}")
    if now.busy > machine.QUIET:
        return Check("负载", State.NOTE, f"{found}。测量之前停掉别的程序")
    return Check("负载", State.OK, found)


def _disk(store: Store) -> tuple[Check, ...]:
    """The folders that measuring writes to."""
    folders = {"记录": store.root, "编译": cargo.target_dir(), "临时文件": Path(tempfile.gettempdir())}
    return tuple(_folder(f"磁盘（{what}）", folder) for what, folder in folders.items())


def _folder(name: str, folder: Path) -> Check:
    there = next(f for f in (folder.absolute(), *folder.absolute().parents) if f.exists())
    free = shutil.disk_usage(there).free
    found = f"空闲 {free / 2**30:.1f} GiB"
    if not os.access(there, os.W_OK):
        return Check(name, State.MISSING, f"{there} 不能写。改它的权限")
    if free < LEAST_FREE:
        return Check(name, State.MISSING, f"{found}，不够用。第一次编译要约 5 GiB，torch 和 jax 要约 6 GiB")
    return Check(name, State.OK, found)


def _browser() -> Check:
    """Measuring needs neither; the tests of the site do."""
    wanting = []
    if not any(map(shutil.which, BROWSERS)):
        wanting.append("chromium")
    if not _chinese_font():
        wanting.append("fontconfig fonts-noto-cjk")
    if wanting:
        return Check("浏览器和字体", State.NOTE, f"站点的测试跑不了，测量不受影响。安装：apt-get install {' '.join(wanting)}")
    return Check("浏览器和字体", State.OK, "站点的测试能跑")


def _chinese_font() -> bool:
    if shutil.which("fc-list") is None:
        return False
    return bool(subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True, check=False).stdout.strip())
