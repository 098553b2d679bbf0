"""What do ten calls cost if nobody waits for any of them until the end?"""

from __future__ import annotations

from measure.experiment import Case, Experiment, PythonProgram
from measure.record import Machine


def cases(machine: Machine) -> tuple[Case, ...]:
    """One program, which does both."""
    return (Case("jax", PythonProgram("timing_pipeline", packages=("jax", "numpy", "scipy"))),)


EXPERIMENT = Experiment(
    id="jax-pipeline",
    question="连续调用十次、最后才等，和每次都等，总时间差多少？",
    cases=cases,
    rounds=3,
    timeout=120.0,
    estimate=25.0,
)
