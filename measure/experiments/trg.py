"""TRG of the 2D Ising model in JAX and in tenferro: from the call that returns at once to the gradient, on any width, on a busy machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from measure.experiment import Case, Experiment, PythonProgram, RustProgram
from measure.record import Machine

FOLK_FLAGS = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
"""What people pass around to keep XLA on one thread. Dashes before the second word make JAX abort."""

JAX = PythonProgram("timing_jax", packages=("jax", "numpy", "scipy"))


def tenferro(package: str) -> RustProgram:
    """A Rust program of the tenferro volume; the record keeps which kernels and providers were compiled in."""
    return RustProgram(package, dependency="tenferro-trg", features_of=("tenferro-cpu", "tenferro-linalg"))


def widths(machine: Machine) -> dict[int | str, int]:
    """Widths of an engine by name: one thread, the fast cores, and all cores where that is more."""
    fast = machine.cores - machine.efficiency_cores
    found: dict[int | str, int] = {1: 1, "performance": fast}
    if machine.cores > fast:
        found["all"] = machine.cores
    return found


def every_width(name: str, program: RustProgram, wanted: Mapping[int | str, int], args: tuple[str, ...] = ()) -> list[Case]:
    """One case for each width, read back from the engine."""
    return [
        Case(name, program, args=("--width", str(n), *args), params={"width": width}, threads=n) for width, n in wanted.items()
    ]


def cases(machine: Machine) -> tuple[Case, ...]:
    """JAX is told its threads in the ways people pass around, tenferro by the width of its engine."""
    staged, known = tenferro("trg-staged"), widths(machine)
    value = ("--only", "value")
    hogs = ("--hogs", str(machine.cores), "--quantity", "value", "--budget", "60")
    found = [
        Case("jax", JAX, params={"setting": "as-is"}),
        Case("jax", JAX, args=value, params={"setting": "folk-flags"}, env=FOLK_FLAGS),
        Case("jax", JAX, args=value, params={"setting": "openblas-one"}, env={"OPENBLAS_NUM_THREADS": "1"}),
        Case("jax", JAX, args=(*value, "--pin"), params={"setting": "one-core"}),
        Case("jax-checkpoint", JAX, args=("--checkpoint", "--only", "value_and_grad"), params={"setting": "as-is"}),
        *every_width("tenferro", staged, known),
        *every_width(
            "tenferro", staged, {"more": 2 * machine.cores}, args=("--quantity", "value", "--reps", "2", "--budget", "20")
        ),
        Case("tenferro-whole", tenferro("trg-whole"), args=("--limit", "10")),
        *every_width("tenferro-busy", staged, {1: 1}, args=hogs),
        *(
            replace(case, rounds=1)
            for case in every_width("tenferro-busy", staged, {"performance": known["performance"]}, args=hogs)
        ),
    ]
    return tuple(found)


EXPERIMENT = Experiment(
    id="trg",
    question="20 步 TRG 求值一次、求值加梯度一次各要多久？时钟该在哪里停？",
    cases=cases,
    rounds=3,
    timeout=600.0,
    estimate=150.0,
)
