"""What the doctor finds, on a machine of which every part can be taken away."""

from __future__ import annotations

import json
import os
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from measure import accelerator, cargo, cli, doctor, machine, staleness
from measure.doctor import Report, State
from measure.experiment import Case, Experiment, PythonProgram, RustProgram
from measure.record import Conditions, Machine
from measure.store import Store
from tests.records import measured, runs

ROOT = Path(__file__).parent.parent
Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 - the shape of shutil's own


def no_gpu(here: Machine) -> str | None:
    return "这台机器没有 GPU"


EXPERIMENTS = (
    Experiment("python", "?", lambda m: (Case("torch", PythonProgram("p", ("torch",))),), rounds=3, timeout=1, estimate=40),
    Experiment(
        "both", "?", lambda m: (
            Case("numpy", PythonProgram("q", ("numpy",)), params={"threads": 1}),
            Case("burn", RustProgram("r")),
            Case("gpu", RustProgram("g"), params={"mode": "warm"}, missing=no_gpu),
        ), rounds=2, timeout=1, estimate=30,
    ),
    Experiment("gpu-only", "?", lambda m: (Case("cuda", PythonProgram("c", ("cupy",)), missing=no_gpu),), rounds=1, timeout=1, estimate=1),
)  # fmt: skip


@pytest.fixture(autouse=True)
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A quiet machine with all the software, called `lab`."""
    monkeypatch.setenv("MEASURE_MACHINE", "lab")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    monkeypatch.setattr(machine, "conditions", lambda: Conditions(at="2026-11-30T08:00:00Z", load=0.25, busy=0.0))
    monkeypatch.setattr(staleness, "missing_package", lambda package, root: None)
    monkeypatch.setattr(staleness, "pinned", lambda package, root: "2.15.0")
    monkeypatch.setattr(cargo, "missing", lambda: None)
    monkeypatch.setattr(cargo, "compiler", lambda root: {"release": "1.95.0"})
    monkeypatch.setattr(accelerator, "NVIDIA", tmp_path / "nvidiactl")
    monkeypatch.setattr(accelerator, "without_burn_device", lambda here: None)
    monkeypatch.setattr(doctor, "PCI", tmp_path / "pci")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(doctor, "_chinese_font", lambda: True)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 << 30, 0, 100 << 30))


def examine(store: Store, *experiments: Experiment) -> Report:
    return doctor.examine(experiments or EXPERIMENTS, store)


def check(report: Report, name: str) -> tuple[State, str]:
    (found,) = [(c.state, c.found) for c in report.checks if c.name == name]
    return found


def test_a_machine_with_all_software_measures_what_its_hardware_allows(store: Store) -> None:
    report = examine(store)
    assert report.well
    python, both, gpu = report.experiments
    assert (python.experiment, python.not_here, python.cases, python.absent, python.minutes) == ("python", "", 1, (), 2.0)
    assert (both.cases, [(a.case, a.reason) for a in both.absent]) == (2, [("gpu mode=warm", "这台机器没有 GPU")])
    assert (gpu.cases, gpu.not_here) == (0, "")
    assert {c.name for c in report.checks} >= {"numpy", "torch", "Rust", "C 编译器"}
    assert "cupy" not in {c.name for c in report.checks}  # its only case lacks the hardware anyway


def gone(what: str) -> Callable[[pytest.MonkeyPatch, Path], None]:
    return lambda patch, tmp_path: patch.setattr(shutil, "which", lambda name: None if name == what else f"/bin/{name}")


def nvidia(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pci" / "0000:01:00.0").mkdir(parents=True)
    (tmp_path / "pci" / "0000:01:00.0" / "vendor").write_text("0x10de\n", encoding="ascii")


def no_toolchain(root: Path) -> dict[str, str]:
    raise cargo.CargoError("rustc 失败（退出码 1）：\nno default toolchain")


@pytest.mark.parametrize(
    ("take_away", "name", "says", "not_here"),
    [
        (lambda p, _: p.setattr(cargo, "missing", lambda: "没有 cargo。安装 Rust"), "Rust", "安装 Rust", ["both"]),
        (lambda p, _: p.setattr(cargo, "compiler", lambda root: {"release": "1.94.9"}), "Rust", "要 1.95 或更新的版本。升级", ["both"]),
        (lambda p, _: p.setattr(cargo, "compiler", no_toolchain), "Rust", "rustup.rs", ["both"]),
        (gone("cc"), "C 编译器", "安装：", ["both"]),
        (lambda p, _: p.setattr(accelerator, "without_burn_device", lambda here: "没有 Vulkan 驱动。apt-get install x"), "GPU", "apt-get", []),
        (nvidia, "GPU", "没有装驱动", []),
        (lambda p, _: p.setattr(shutil, "disk_usage", lambda folder: Usage(1 << 30, 1 << 30, 1 << 29)), "磁盘（编译）", "空闲 0.5 GiB，不够", []),
        (lambda p, _: p.setattr(os, "access", lambda path, mode: False), "磁盘（记录）", "不能写", []),
    ],
    ids=["no cargo", "old rustc", "no toolchain", "no cc", "no Vulkan", "NVIDIA without driver", "full disk", "read-only"],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_cure(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take_away: Callable[[pytest.MonkeyPatch, Path], None],
    name: str, says: str, not_here: list[str],
) -> None:  # fmt: skip
    take_away(monkeypatch, tmp_path)
    report = examine(store)
    state, found = check(report, name)
    assert state is State.MISSING
    assert says in found
    assert not report.well
    assert [p.experiment for p in report.experiments if p.not_here] == not_here


def test_a_missing_package_stops_the_experiments_that_need_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str, root: Path) -> str | None:
        return "没有安装 torch。安装：scripts/build --live" if package == "torch" else None

    monkeypatch.setattr(staleness, "missing_package", missing)
    report = examine(store)
    assert check(report, "torch") == (State.MISSING, "没有安装 torch。安装：scripts/build --live")
    assert check(report, "numpy")[0] is State.OK
    assert [p.experiment for p in report.experiments if p.not_here] == ["python"]
    assert not report.well


def test_rust_is_not_asked_for_where_nothing_needs_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cargo, "missing", lambda: "没有 cargo")
    assert examine(store, EXPERIMENTS[0]).well


def test_a_busy_machine_and_a_missing_browser_are_only_notes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "conditions", lambda: Conditions(at="2026-11-30T08:00:00Z", load=1.5, busy=0.75))
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == "cc" else None)
    report = examine(store)
    cores = report.machine.cores
    assert check(report, "负载") == (State.NOTE, f"{cores} 核中空闲 {cores / 4:.1f} 个，1 分钟负载 1.50。测量之前停掉别的程序")
    assert check(report, "浏览器和字体")[0] is State.NOTE
    assert report.well


def test_c45_the_label_of_another_machine(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused where it was given; made another where it was not."""
    assert check(examine(store), "机器名") == (State.OK, "lab")
    here = machine.this_machine()
    store.save(measured(*runs("torch", (1.0,)), machine=here))
    assert check(examine(store), "机器名") == (State.OK, "lab，这里已有它的记录")
    store.path("measured", "lab", "x").unlink()
    store.save(measured(*runs("torch", (1.0,)), machine=here.model_copy(update={"cpu": "another"})))
    report = examine(store)
    state, found = check(report, "机器名")
    assert state is State.MISSING
    assert "MEASURE_MACHINE=" in found
    assert not report.well
    monkeypatch.delenv("MEASURE_MACHINE")
    plain = machine.this_machine().label
    other = here.model_copy(update={"cpu": "another", "label": plain})
    store.save(measured(*runs("torch", (1.0,)), machine=other))
    state, found = check(examine(store), "机器名")
    assert state is State.NOTE
    assert found.startswith(f"{plain}-")


def test_the_reference_machine(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine.this_machine()
    config = tmp_path / "mkdocs.yml"
    for text, says in [
        ("extra: {measure: {reference: lab}}", "lab，就是这台"),
        ("extra: {measure: {reference: desk}}", "desk，没有一份记录"),
        ("x: !!python/name:measure.late.slugify\ny: !ENV [A, 1]\nextra:\n  measure:\n    reference: desk", "desk，没有一份记录"),
        ("extra: {measure: 1}", "没有写 extra.measure.reference"),
        ("nothing", "没有写"),
        ("a: [", "读不懂"),
    ]:
        config.write_text(text, encoding="utf-8")
        assert says in doctor._reference(here, store, tmp_path).found, text
    config.write_text("extra: {measure: {reference: desk}}", encoding="utf-8")
    store.save(measured(*runs("torch", (1.0,)), machine=here.model_copy(update={"label": "desk"})))
    assert doctor._reference(here, store, tmp_path).found == "desk，不是这台；这台测的显示在各页的 m/lab/"
    config.unlink()
    assert "读不懂" in doctor._reference(here, store, tmp_path).found


def test_the_reference_of_this_book_has_records() -> None:
    assert Store().machines("cpu-matmul")
    assert doctor.reference(ROOT / "mkdocs.yml") in Store().machines("cpu-matmul")


def test_the_command(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 0 only when all can be measured that the hardware allows."""
    monkeypatch.setattr(cli, "load_all", lambda: {e.id: e for e in EXPERIMENTS})

    def call(*args: str) -> Any:
        return CliRunner().invoke(cli.main, ["--records", str(store.root), "doctor", *args])

    result = call()
    assert result.exit_code == 0, result.output
    assert "gpu mode=warm" in result.stdout
    found = json.loads(call("--json").stdout)
    assert found["well"] is True
    assert found["machine"]["label"] == "lab"
    assert {e["experiment"]: e["cases"] for e in found["experiments"]} == {"python": 1, "both": 2, "gpu-only": 0}
    monkeypatch.setattr(cargo, "missing", lambda: "没有 cargo")
    result = call()
    assert result.exit_code == 1
    assert "没有 cargo" in result.stdout
    assert json.loads(call("--json").stdout)["well"] is False
    monkeypatch.setenv("MEASURE_MACHINE", "My Desk")
    result = call()
    assert result.exit_code == 1
    assert "MEASURE_MACHINE=" in result.stderr


def test_the_real_machine_can_be_examined(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """With nothing put in its place, whatever is installed: a finding, no exception."""
    monkeypatch.undo()
    from measure.experiment import load_all

    known = load_all()
    report = doctor.examine(known.values(), Store())
    assert [p.experiment for p in report.experiments] == list(known)
    for prospect in report.experiments:
        whole = known[prospect.experiment].cases(report.machine)
        assert prospect.cases + len(prospect.absent) == len(whole)
