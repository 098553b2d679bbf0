"""One evaluation of TRG op by op, each op waited for: how much of every step is SVD, how much contraction, how much the rest.

python measure/programs/trg_inside.py --library numpy
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import ising, process, trg_jax
from measure.programs.tenferro_lines import INSIDE
from measure.protocol import Report, Timing, time_then

BETA = 0.3
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Library:
    """The pieces of TRG in one library; `svd` and `contract` are single calls."""

    local_tensor: Callable[[Any], Any]
    norm: Callable[[Any], Any]
    unfold: Callable[[Any], Any]
    svd: Callable[[Any], Any]
    factors: Callable[..., Any]
    contract: Callable[..., Any]
    trace: Callable[[Any], Any]
    ready: Callable[[Any], Any]
    """Waits for a result."""
    packages: tuple[str, ...]


LIBRARIES: Mapping[str, Library] = {
    "jax": Library(
        trg_jax.local_tensor,
        jnp.linalg.norm,
        trg_jax.unfold,
        jax.jit(trg_jax.svd),
        trg_jax.factors,
        jax.jit(trg_jax.chain),
        trg_jax.trace,
        jax.block_until_ready,
        ("jax", "jaxlib", "scipy"),
    ),
    "numpy": Library(
        ising.local_tensor,
        np.linalg.norm,
        ising.unfold,
        ising.svd,
        ising.factors,
        partial(ising.contract, path=ising.CHAIN),
        ising.trace,
        lambda result: result,
        ("numpy",),
    ),
}


@dataclass
class Evaluation:
    """One evaluation in progress: its value, and the nanoseconds of each step by part."""

    library: Library
    lnz: float = 0.0
    dtype: str = ""
    steps: list[dict[str, int]] = field(default_factory=list)

    def timed(self, part: str, work: Callable[..., Any], *args: Any) -> Any:
        """Do a piece of work, wait for it, and book its time."""
        start = perf_counter_ns()
        result = self.library.ready(work(*args))
        self.steps[-1][part] += perf_counter_ns() - start
        return result

    def run(self) -> None:
        """All steps. What is neither SVD nor contraction is the rest, the overhead between ops included."""
        lib = self.library
        tensor = lib.ready(lib.local_tensor(BETA))
        for done, most in enumerate(ising.TRUNCATIONS):
            start = perf_counter_ns()
            self.steps.append({"svd": 0, "contraction": 0})
            norm = lib.ready(lib.norm(tensor))
            self.lnz += math.log(norm) / 2**done
            first, second = lib.ready(lib.unfold(tensor / norm))
            s1, s3 = lib.ready(lib.factors(*self.timed("svd", lib.svd, first), most))
            s2, s4 = lib.ready(lib.factors(*self.timed("svd", lib.svd, second), most))
            tensor = self.timed("contraction", lib.contract, s3, s4, s1, s2)
            self.steps[-1]["rest"] = perf_counter_ns() - start - sum(self.steps[-1].values())
        self.lnz += math.log(lib.ready(lib.trace(tensor))) / 2**ising.STEPS
        self.dtype = str(tensor.dtype)

    def total(self, part: str) -> int:
        """Nanoseconds of all steps."""
        return sum(step[part] for step in self.steps)


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="TRG 求值一次，时间花在哪：每一步的 SVD、收缩和其余部分")
    parser.add_argument("--library", choices=tuple(LIBRARIES), default="jax", help="用哪个库（默认 jax）")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    reps = 3 if args.quick else 5
    library = LIBRARIES[args.library]
    warm_up = Evaluation(library)
    warm_up.run()
    error = abs(warm_up.lnz - ising.trg(BETA).lnz)
    process.require(error < TOLERANCE, "lnZ/N", error)
    evaluations: list[Evaluation] = []

    def evaluate() -> None:
        evaluations.append(Evaluation(library))
        evaluations[-1].run()

    with Report("trg-inside", quick=args.quick) as report:
        whole = time_then(reps, evaluate)
        for round_, (evaluation, ns) in enumerate(zip(evaluations, whole.samples, strict=True)):
            parts = {part: evaluation.total(part) / 10**6 for part in ("svd", "contraction", "rest")}
            print(INSIDE.format(round=round_, **parts, whole=ns / 10**6), flush=True)
        report.record("inside-whole", whole, warm_up=1)
        for part in ("svd", "contraction", "rest"):
            totals = Timing(tuple(one.total(part) for one in evaluations), whole.cores)
            report.record(f"inside-{part}-total", totals, warm_up=1)
            for step in range(ising.STEPS):
                samples = Timing(tuple(one.steps[step][part] for one in evaluations), whole.cores)
                report.record(f"inside-{part}", samples, warm_up=1, params={"step": step + 1})
        process.observed(report, whole.cores, library.packages, dtype=warm_up.dtype)


if __name__ == "__main__":
    main()
