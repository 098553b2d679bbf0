"""On a CPU both libraries are done when the call returns: what then decides is the build and the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from measure.experiment import Case, Experiment, RustProgram, everywhere
from measure.experiments.accelerator_matmul import TORCH
from measure.experiments.cpu_matmul import MOST_THREADS, without_amx, without_avx512
from measure.record import Machine

BUILDS: dict[str, Callable[[Machine], str | None]] = {
    "default": everywhere,
    "amx": without_amx,
    "x86v4": without_avx512,
}
"""The builds with rayon: burn's default features, alone or with the kernels that only some CPUs have."""


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
    return (*torch, *rust("mm", threads))


EXPERIMENT = Experiment(
    id="cpu-timing",
    question="CPU 上要不要同步？快慢由什么决定？",
    cases=cases,
    rounds=5,
    timeout=180.0,
    estimate=40.0,
)
