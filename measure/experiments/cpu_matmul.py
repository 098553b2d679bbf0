"""Why is the same matmul many times slower in burn than in PyTorch? Five builds of one program that differ only in features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from measure.experiment import Case, Experiment, PythonProgram, RustProgram, SourceLines, everywhere
from measure.record import Machine

MOST_THREADS = 8
"""More threads than this are never asked for: beyond it the libraries differ in how they use efficiency cores."""

AVX512 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
"""What the x86-64-v4 level adds; gemm's kernels of feature `x86-v4` need it."""

TORCH = PythonProgram("cpu_bench", packages=("torch",))


def without_amx(machine: Machine) -> str | None:
    """AMX is a unit of Apple's chips that only they have."""
    return None if machine.cpu.startswith("Apple") else "apple-amx 只有 Apple 芯片能用，这台机器不是"


def without_avx512(machine: Machine) -> str | None:
    """The kernels of `x86-v4` are AVX-512."""
    absent = [flag for flag in AVX512 if flag not in machine.flags]
    return f"x86-v4 需要 AVX-512，这颗 CPU 没有 {'、'.join(absent)}" if absent else None


BUILDS: dict[str, Callable[[Machine], str | None]] = {
    "simd": everywhere,
    "default": everywhere,
    "amx": without_amx,
    "x86v4": without_avx512,
}
"""The builds with rayon, and what hardware each is for."""


def cases(machine: Machine) -> tuple[Case, ...]:
    """Torch is told its threads by argument, the Rust builds by rayon's variable or not at all."""
    every = min(MOST_THREADS, machine.cores)
    threads: dict[int | str, int] = {1: 1, "all": every}
    found = [Case("torch", TORCH, args=("--threads", str(n)), params={"threads": name}, threads=n) for name, n in threads.items()]
    found.append(Case("burn-template", RustProgram("pitb-exec-cpu"), params={"threads": "unset"}))
    for build, missing in BUILDS.items():
        unset = Case(f"burn-{build}", RustProgram(f"pitb-exec-cpu-{build}"), params={"threads": "unset"}, missing=missing)
        found.append(unset)
        for name, n in threads.items():
            found.append(replace(unset, params={"threads": name}, env={"RAYON_NUM_THREADS": str(n)}, threads=n))
    return tuple(found)


EXPERIMENT = Experiment(
    id="cpu-matmul",
    question="同一个矩阵乘，burn 为什么比 PyTorch 慢？",
    cases=cases,
    rounds=5,
    timeout=180.0,
    estimate=40.0,
    excerpts=(
        SourceLines("parallelism", "pitb-exec-cpu", "burn-flex", "src/ops/matmul.rs", "fn get_parallelism(", r"^\}"),
        SourceLines("flex-default", "pitb-exec-cpu", "burn-flex", "Cargo.toml", "default = [", r"^\]"),
        SourceLines("simd-feature", "pitb-exec-cpu", "burn-flex", "Cargo.toml", "simd = [", r"^\]"),
        SourceLines("simd-uses", "pitb-exec-cpu", "burn-flex", "src", 'feature = "simd"'),
    ),
)
