"""`jit(grad(f))` of a function of 1000 numbers in JAX, thousands of short calls: f(x) = Σ (x sin x + x²/2).

python measure/programs/ad_vec_timing.py --torch
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median, quantiles

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import process
from measure.programs.tenferro_lines import VECTOR
from measure.protocol import Report, time_then

N = 1000
TRIALS = 3
CALLS, QUICK_CALLS = 2000, 100
TOLERANCE = 1e-14
"""Of one entry of the gradient; the greatest is near 2.4."""


def measure(report: Report, calls: int) -> None:
    """All trials of one compiled gradient."""
    import jax  # not above: torch has to come first, if it is wanted
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

    # --8<-- [start:vector]
    def f(x: jax.Array) -> jax.Array:
        return jnp.sum(x * jnp.sin(x) + x**2 / 2)

    x = jnp.arange(N) / N
    gradient = jax.jit(jax.grad(f))
    # --8<-- [end:vector]
    result = gradient(x)  # the warm-up
    error = float(jnp.abs(result - (jnp.sin(x) + x * jnp.cos(x) + x)).max())
    process.require(error < TOLERANCE, "梯度", error)
    imported = "torch" in sys.modules
    for trial in range(TRIALS):
        timing = time_then(calls, lambda: jax.block_until_ready(gradient(x)))
        report.record("grad", timing, warm_up=1 + trial * calls, params={"trial": trial})
        p90 = quantiles(timing.samples, n=10, method="inclusive")[-1]
        low, middle, high = (ns / 10**3 for ns in (min(timing.samples), median(timing.samples), p90))
        print(VECTOR.format(torch=imported, trial=trial, min=low, median=middle, p90=high), flush=True)
    report.fact("torch-imported", imported)
    report.fact("checksum", float(gradient(x).sum()))
    report.fact("max-error", error)
    packages = ("jax", "jaxlib", "torch") if imported else ("jax", "jaxlib")
    process.observed(report, timing.cores, packages, dtype=result.dtype, device=result.device.platform)


def main() -> None:
    """Import torch or not, then measure, check and report."""
    parser = argparse.ArgumentParser(description="JAX 的 jit(grad(f))，1000 个数，三轮，每轮 2000 次")
    parser.add_argument("--torch", action="store_true", help="先 import torch，并设成 1 个线程")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    if args.torch:
        import torch

        torch.set_num_threads(1)
    with Report("ad-vec-timing", quick=args.quick) as report:
        measure(report, QUICK_CALLS if args.quick else CALLS)


if __name__ == "__main__":
    main()
