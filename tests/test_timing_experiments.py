"""The experiments behind the page on timing: their cases on machines that are not here, and each run for real, quickly."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from measure import accelerator, runner
from measure.experiment import Case, Experiment, RustProgram
from measure.experiments import accelerator_matmul, cpu_timing, first_call, numeric_agreement, warm_up
from measure.machine import this_machine
from measure.record import Machine, Run
from measure.store import Store

M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, efficiency_cores=4, memory_gib=32, system="macOS arm64")
X86 = Machine(label="x86", cpu="Some x86", flags=("avx2", "fma"), cores=4, memory_gib=8, system="Linux x86_64")
GPU = (accelerator_matmul.EXPERIMENT, first_call.EXPERIMENT, warm_up.EXPERIMENT)
ALL = (*GPU, cpu_timing.EXPERIMENT, numeric_agreement.EXPERIMENT)


@pytest.fixture
def no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux with no accelerator at all."""
    monkeypatch.setattr(accelerator, "NVIDIA", tmp_path / "nvidiactl")
    monkeypatch.setattr(accelerator, "DRIVERS", (tmp_path / "icd.d",))
    monkeypatch.setattr(sys, "platform", "linux")


def absent(experiment: Experiment, machine: Machine) -> set[str]:
    return {case.name for case in experiment.cases(machine) if case.missing(machine) is not None}


def of(name: str, experiment: Experiment, machine: Machine) -> list[Case]:
    return [case for case in experiment.cases(machine) if case.name == name]


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("experiment", ALL, ids=lambda e: e.id)
def test_what_is_absent_where(experiment: Experiment) -> None:
    gpu, builds = {"torch-gpu", "burn-gpu"}, {"burn-amx", "burn-x86v4", "burn-accelerate"}
    names = {case.name for case in experiment.cases(X86)}
    assert absent(experiment, X86) == (gpu | builds) & names
    assert absent(experiment, M2) == {"burn-x86v4"} & names


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("experiment", GPU, ids=lambda e: e.id)
def test_the_device_is_that_of_the_machine(experiment: Experiment, tmp_path: Path) -> None:
    def devices(machine: Machine) -> set[tuple[str, str, object]]:
        found: set[tuple[str, str, object]] = set()
        for case in experiment.cases(machine):
            if case.name in ("torch-gpu", "burn-gpu"):
                features = case.program.features if isinstance(case.program, RustProgram) else None
                found.add((case.name, case.args[case.args.index("--device") + 1], features))
        return found

    assert devices(M2) == {("torch-gpu", "mps", None), ("burn-gpu", "metal", ("metal",))}
    assert ("burn-gpu", "wgpu", ("wgpu",)) in devices(X86)
    (tmp_path / "nvidiactl").touch()
    assert devices(X86) == {("torch-gpu", "cuda", None), ("burn-gpu", "cuda", ("cuda",))}


def test_every_case_is_told_apart_by_its_parameters() -> None:
    for experiment in ALL:
        for machine in (M2, X86):
            cases = experiment.cases(machine)
            assert len({(case.name, tuple(case.params.items())) for case in cases}) == len(cases)


def test_caches_and_kinds() -> None:
    assert [c.params["cache"] for c in of("burn-gpu", first_call.EXPERIMENT, M2)] == ["cold", "warm", "elsewhere"]
    kept = [(c.params["kept"], c.params["cache"]) for c in of("burn-gpu", warm_up.EXPERIMENT, M2)]
    assert kept == [("no", "cold"), ("yes", "cold"), ("no", "warm")]
    for case in (*of("burn-gpu", warm_up.EXPERIMENT, M2), *of("torch-gpu", warm_up.EXPERIMENT, M2)):
        assert case.args[case.args.index("--kept") + 1] == case.params["kept"]


def test_threads_of_every_build() -> None:
    grid = {c.params["threads"]: (c.env.get("RAYON_NUM_THREADS"), c.threads) for c in of("burn-amx", cpu_timing.EXPERIMENT, M2)}
    assert grid == {"unset": (None, None), 1: ("1", 1), "all": ("8", 8)}
    assert [c.threads for c in of("torch", numeric_agreement.EXPERIMENT, X86)] == [1, 4]


def facts(run: Run) -> dict[str, object]:
    return {fact.name: fact.value for fact in run.facts}


def measured(experiment: Experiment, tmp_path: Path, **settings: str) -> dict[tuple[str, ...], Run]:
    """One quick round here of the cases that have these settings, or lack such a setting; by case and parameters."""

    def cases(machine: Machine) -> tuple[Case, ...]:
        return tuple(c for c in experiment.cases(machine) if all(c.params.get(k) in (None, v) for k, v in settings.items()))

    record = runner.run(replace(experiment, cases=cases), Store(tmp_path), quick=True)
    here = this_machine()
    wanted = {(c.name, *map(str, c.params.values())) for c in cases(here) if c.missing(here) is None}
    runs = {(run.case, *map(str, run.params.values())): run for run in record.runs}
    assert runs.keys() == wanted
    return runs


@pytest.mark.live
def test_ways_of_timing_for_real(tmp_path: Path) -> None:
    for (case, *_), run in measured(accelerator_matmul.EXPERIMENT, tmp_path).items():
        series = {(s.metric, s.scope, s.params["size"]): s for s in run.series if "timer" not in s.params}
        found = facts(run)
        assert found["dtype"] == "f32"
        assert isinstance(found["matmul-max-error"], float)
        assert found["matmul-max-error"] < 1e-2
        wanted = {("matmul", scope, n) for scope in ("call", "ready") for n in (512, 1024)}
        wanted |= {("matmul-in-a-row", "call", n) for n in (512, 1024, 2048)}
        wanted |= {("matmul", "readback", 1024), ("matmul-dropped", "ready", 1024), ("matmul", "device", 1024)}
        assert wanted <= series.keys(), case
        assert max(series["matmul", "call", 1024].samples) < min(series["matmul", "ready", 1024].samples)


@pytest.mark.live
def test_cold_is_cold_and_warm_is_warm(tmp_path: Path) -> None:
    # a warm run fills a cold cache first; tuning takes half a minute on a software device
    for (case, *params), run in measured(first_call.EXPERIMENT, tmp_path, cache="warm").items():
        phases = {(s.metric, s.phase, s.scope) for s in run.series}
        first = {
            ("device-init", "init", "ready"),
            ("matmul", "first", "call"),
            ("matmul", "first", "ready"),
            ("matmul", "steady", "ready"),
        }
        assert phases == first
        if case == "burn-gpu":
            before, after = facts(run)["cache-entries-before"], facts(run)["cache-entries-after"]
            assert isinstance(before, int)
            assert isinstance(after, int)
            assert (before > 0) == (params == ["warm"])
            assert after > 0


@pytest.mark.live
def test_a_warm_up_for_real(tmp_path: Path) -> None:
    for run in measured(warm_up.EXPERIMENT, tmp_path, cache="cold", kept="no").values():
        assert [(s.metric, s.params, len(s.samples)) for s in run.series] == [("timed-run", {"run": i}, 1) for i in range(3)]


@pytest.mark.live
def test_builds_and_threads_for_real(tmp_path: Path) -> None:
    runs = measured(cpu_timing.EXPERIMENT, tmp_path)
    for run in runs.values():
        assert facts(run)["device"] == "cpu"
    timer = {s.params["timer"] for s in runs["torch", "1"].series if s.metric == "matmul-timer"}
    assert timer == {"default", "same"}


@pytest.mark.live
def test_results_agree(tmp_path: Path) -> None:
    runs = measured(numeric_agreement.EXPERIMENT, tmp_path)
    assert len({facts(run)["input-sha256"] for run in runs.values()}) == 1
    for run in runs.values():
        found = facts(run)
        names = ["max-error", "sum-error", "elementwise-error"]
        # A shader's sine of a large argument may be anything: WGSL bounds its error between -π and π only.
        names += ["max-error-own-inputs"] if found["device"] == "cpu" else []
        for name in names:
            value = found[name]
            assert isinstance(value, float)
            assert value < 1e-4, name
        assert found["reference-max"] == pytest.approx(1.0945934090873841, rel=1e-12)  # NumPy and plain loops in Rust
    flex = [facts(run)["result-sha256"] for (case, *_), run in runs.items() if case.startswith("burn-default")]
    assert len(flex) == 2
