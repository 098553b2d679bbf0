"""How long does one 256×256 SVD take in each library, and what part of a TRG evaluation are all of them?"""

from __future__ import annotations

from measure.experiment import Case, Experiment, PythonProgram
from measure.experiments.trg import every_width, tenferro, widths
from measure.record import Machine

PYTHON = PythonProgram("svd_time", packages=("jax", "numpy", "scipy"))
INSIDE = PythonProgram("trg_inside", packages=("jax", "numpy", "scipy"))


def cases(machine: Machine) -> tuple[Case, ...]:
    """One SVD alone in every library, then the SVDs of every step inside one evaluation."""
    found = [
        Case("jax", PYTHON, args=("--library", "jax"), params={"setting": "as-is"}),
        Case("jax", PYTHON, args=("--library", "jax", "--pin"), params={"setting": "one-core"}),
        *(Case(name, PYTHON, args=("--library", name), params={"setting": "as-is"}) for name in ("numpy", "scipy-gesdd", "scipy-gesvd")),
        *every_width("tenferro", tenferro("svd-time"), widths(machine)),
        Case("jax-inside", INSIDE, args=("--library", "jax")),
        Case("numpy-inside", INSIDE, args=("--library", "numpy")),
        *every_width("tenferro-inside", tenferro("trg-inside"), {1: 1}),
    ]  # fmt: skip
    return tuple(found)


EXPERIMENT = Experiment(
    id="svd-256",
    question="一次 256×256 的 SVD 要多久？TRG 的时间有多少花在 SVD 上？",
    cases=cases,
    rounds=3,
    timeout=180.0,
    estimate=30.0,
    data=("measure/programs/inputs/svd-256-trg.f64", "measure/programs/inputs/svd-256-random.f64"),
)
