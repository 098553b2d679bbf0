"""On a CPU both libraries are done when the call returns: what then decides is the build and the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from measure.accelerator import apple
from measure.experiment import Case, Experiment, RustProgram, SourceLines, everywhere
from measure.experiments.accelerator_matmul import TORCH
from measure.experiments.cpu_matmul import MOST_THREADS, without_amx, without_avx512
from measure.record import Machine

TIMER = "utils/benchmark/utils/timer.py"

BUILDS: dict[str, Callable[[Machine], str | None]] = {
    "default": everywhere,
    "amx": without_amx,
    "x86v4": without_avx512,
}
"""The builds with rayon: burn's default features, alone or with the kernels that only some CPUs have."""


def without_accelerate(machine: Machine) -> str | None:
    """Why burn's feature of that name does nothing here, in Chinese; None where it does."""
    return None if apple(machine) else "burn 的 accelerate feature 接的是 macOS 的 Accelerate 库，别的系统上编译不了"


def thread_counts(machine: Machine) -> dict[int | str, int]:
    """The settings of threads by name, and what they come to here."""
    return {1: 1, "all": min(MOST_THREADS, machine.cores)}


def rust(mode: str, threads: dict[int | str, int], unset: bool = True) -> list[Case]:
    """Every build of Flex in a mode of the program, with threads unset (if wanted) and set."""
    template = Case("burn-template", RustProgram("exec-cpu"), args=(mode,), params={"threads": "unset"})
    found = [template]
    for build, missing in BUILDS.items():
        free = replace(template, name=f"burn-{build}", program=RustProgram(f"exec-{build}"), missing=missing)
        found += [free] if unset else []
        for name, n in threads.items():
            found.append(replace(free, params={"threads": name}, env={"RAYON_NUM_THREADS": str(n)}, threads=n))
    return found


def cases(machine: Machine) -> tuple[Case, ...]:
    """Torch is told its threads by argument, the Rust builds by rayon's variable or not at all."""
    threads = thread_counts(machine)
    torch = [
        Case("torch", TORCH, args=("mm", "--threads", str(n)), params={"threads": name}, threads=n) for name, n in threads.items()
    ]
    accelerate = RustProgram("exec-accelerate", features_of=("burn-ndarray",))
    return (
        *torch,
        *rust("mm", threads),
        Case("burn-accelerate", accelerate, args=("mm",), params={"threads": "unset"}, missing=without_accelerate),
    )


EXPERIMENT = Experiment(
    id="cpu-timing",
    question="CPU 上要不要同步？快慢由什么决定？",
    cases=cases,
    rounds=5,
    timeout=180.0,
    estimate=40.0,
    excerpts=(
        SourceLines("timer-doc", None, "torch", TIMER, "Callable which returns the current time", r"measuring the time"),
        SourceLines("timer-threads-doc", None, "torch", TIMER, "num_threads:", r"threadpool size which"),
    ),
)
