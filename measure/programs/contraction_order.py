"""Two orders of contracting the four tensors of a TRG step, and the one einsum picks: a single contraction, and the whole TRG.

python measure/programs/contraction_order.py --order pairwise
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import ising, process
from measure.programs.tenferro_lines import VALUE
from measure.programs.timing_jax import BETA, TOLERANCE, check
from measure.programs.trg_jax import FORMULA, ORDERS, at, factors, make_trg, svd, unfold
from measure.protocol import Report, ieee_bits, time_then


def corners() -> tuple[jax.Array, ...]:
    """S3, S4, S1, S2 as the stored matrix gives them, all legs 16 wide."""
    legs = (ising.CHI,) * 4
    s1, s3 = factors(*svd(jnp.asarray(ising.stored("trg"))), ising.CHI)
    tensor = jnp.asarray(ising.stored("trg")).reshape(legs).transpose(0, 3, 2, 1)  # u l d r, back to u r d l
    s2, s4 = factors(*svd(unfold(tensor)[1]), ising.CHI)
    return s3, s4, s1, s2


def single(report: Report, order: str, reps: int) -> None:
    """One contraction by itself."""
    s3, s4, s1, s2 = corners()
    contract = jax.jit(ORDERS[order])
    exact = ising.contract(np.asarray(s3), np.asarray(s4), np.asarray(s1), np.asarray(s2))
    error = float(np.abs(np.asarray(contract(s3, s4, s1, s2)) - exact).max())  # the warm-up
    process.require(error < TOLERANCE, f"{order} 收缩", error)
    timing = time_then(reps, lambda: jax.block_until_ready(contract(s3, s4, s1, s2)))
    report.series("contraction", f"{ising.CHI}x{ising.CHI}x{ising.CHI}x{ising.CHI} contraction", timing, warm_up=1)


def whole(report: Report, order: str, reps: int) -> float:
    """Value and gradient of all 20 steps. Gives the cores in use."""
    beta = at(BETA)
    value, grad = jax.jit(make_trg(order)), jax.jit(jax.grad(make_trg(order)))
    lnz, slope = float(value(beta)), float(grad(beta))  # the warm-up
    check("value", lnz, {})
    check("grad", slope, {"value": value})
    timing = time_then(reps, lambda: jax.block_until_ready(value(beta)))
    report.series("value", "TRG value", timing, warm_up=1)
    report.series("grad", "TRG grad", time_then(reps, lambda: jax.block_until_ready(grad(beta))), warm_up=1)
    exact = ising.exact_lnz(BETA)
    print(VALUE.format(beta=BETA, lnz=lnz, exact=exact, err=lnz - exact))
    report.fact("lnz", lnz, bits=ieee_bits(lnz))
    report.fact("energy", -slope)
    return timing.cores


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="TRG 一步里四个张量的收缩次序")
    parser.add_argument("--order", choices=tuple(ORDERS), default="chain", help="收缩次序（默认 chain）")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    with Report("contraction-order", label=f"jax {args.order}", quick=args.quick) as report:
        single(report, args.order, 3 if args.quick else 30)
        cores = whole(report, args.order, 3 if args.quick else 5)
        if args.order == "einsum":
            path, _ = jnp.einsum_path(FORMULA, *corners(), optimize="optimal")
            report.fact("path", " ".join(str(pair) for pair in path))
        process.observed(report, cores, ("jax", "jaxlib", "scipy"), dtype=at(BETA).dtype)


if __name__ == "__main__":
    main()
