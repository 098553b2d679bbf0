"""What does the first matmul of a process cost, on which line, and what does a cache on disk save the next process?"""

from __future__ import annotations

from dataclasses import replace

from measure.experiment import Case, Experiment, RustProgram
from measure.experiments.accelerator_matmul import TORCH, burn_gpu, torch_gpu
from measure.record import Machine


def cases(machine: Machine) -> tuple[Case, ...]:
    """Every run is a process of its own; a warm one lets another go first. On the CPU there is no such cache."""
    return (
        *(burn_gpu(machine, "first", "--cache", cache, cache=cache) for cache in ("cold", "warm")),
        # It fills one cache and then another; whether it found one is a fact, for which one run is enough.
        replace(burn_gpu(machine, "first", "--cache", "elsewhere", cache="elsewhere"), rounds=1),
        *(torch_gpu(machine, "first", "--cache", cache, cache=cache) for cache in ("as-is", "warm")),
        Case("torch-cpu", TORCH, args=("first", "--device", "cpu")),
        Case("burn-cpu", RustProgram("exec-default"), args=("first",)),
    )


EXPERIMENT = Experiment(
    id="first-call",
    question="进程里的第一次矩阵乘慢在哪一行？缓存能省下多少？",
    cases=cases,
    rounds=3,
    timeout=300.0,
    estimate=90.0,
)
