"""Does it pay to contract the four tensors of a TRG step in pairs instead of one after another?"""

from __future__ import annotations

from measure.experiment import Case, Experiment, PythonProgram
from measure.experiments.trg import tenferro
from measure.record import Machine

JAX = PythonProgram("contraction_order", packages=("jax", "numpy", "scipy"))


def cases(machine: Machine) -> tuple[Case, ...]:
    """Both orders in both libraries, next to each other in every round; and the path that einsum picks by itself."""
    staged = tenferro("trg-staged")
    found = [
        Case(
            f"tenferro-{order}", staged, args=("--width", "1", "--order", order, "--beta", "0.30"), params={"width": 1}, threads=1
        )
        for order in ("chain", "pairwise")
    ]
    found += [Case(f"jax-{order}", JAX, args=("--order", order)) for order in ("chain", "pairwise", "einsum")]
    return tuple(found)


EXPERIMENT = Experiment(
    id="contraction-order",
    question="四个张量一个接一个地收缩，还是两两配对地收缩？整个 TRG 因此快多少？",
    cases=cases,
    rounds=5,
    timeout=300.0,
    estimate=60.0,
)
