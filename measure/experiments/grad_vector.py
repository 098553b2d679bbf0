"""Minimum or median? The gradient of a function of a vector, two thousand calls at a time."""

from __future__ import annotations

from measure.experiment import Case, Experiment, PythonProgram
from measure.experiments.trg import every_width, tenferro, widths
from measure.record import Machine


def cases(machine: Machine) -> tuple[Case, ...]:
    """JAX with and without torch in the same process; tenferro on one thread and on the fast cores."""
    alone = PythonProgram("ad_vec_timing", packages=("jax",))
    beside = PythonProgram("ad_vec_timing", packages=("jax", "torch"))
    return (
        Case("jax", alone, params={"torch": "no"}),
        Case("jax", beside, args=("--torch",), params={"torch": "first"}),
        *every_width("tenferro", tenferro("ad-vec-timing"), widths(machine)),
    )


EXPERIMENT = Experiment(
    id="grad-vector",
    question="报最小值还是中位数？换一个，谁快的结论会不会反过来？",
    cases=cases,
    rounds=5,
    timeout=60.0,
    estimate=10.0,
)
