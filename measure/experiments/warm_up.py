"""Is a warm-up any good whose result nobody waits for?"""

from __future__ import annotations

from measure.experiment import Case, Experiment
from measure.experiments.accelerator_matmul import burn_gpu, torch_gpu
from measure.record import Machine

KEPT = ("no", "yes")
"""Whether the warm-up's result is dropped at once or kept unread."""


def cases(machine: Machine) -> tuple[Case, ...]:
    """Dropped at once or kept unread with a cold cache; dropped once more with a warm one."""
    cold = [burn_gpu(machine, "warm", "--kept", kept, "--cache", "cold", kept=kept, cache="cold") for kept in KEPT]
    torch = [torch_gpu(machine, "warm", "--kept", kept, kept=kept) for kept in KEPT]
    return (*cold, burn_gpu(machine, "warm", "--kept", "no", "--cache", "warm", kept="no", cache="warm"), *torch)


EXPERIMENT = Experiment(
    id="warm-up",
    question="热身不等结果，第一次正式计时会是多少？",
    cases=cases,
    rounds=3,
    timeout=300.0,
    estimate=80.0,
)
