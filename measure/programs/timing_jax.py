"""20 steps of TRG in JAX, at β = 0.30: when a call comes back, when its result is there, and what the first call is made of.

    python measure/programs/timing_jax.py --pin

The value is checked against NumPy and the gradient against a central difference before either is timed in the steady state.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import jax

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import ising, process
from measure.programs.tenferro_lines import AOT, CALL, CHAINED, VALUE
from measure.programs.trg_jax import at, make_trg
from measure.protocol import Report, Timing, doubling, ieee_bits, time_launch, time_then

BETA = 0.3
DIFFERENCE = 1e-4
"""Half the distance of the two values in a central difference; its own error is the square of that times a third derivative."""
TOLERANCE = 1e-12
"""Of a value against NumPy."""
GRADIENT_TOLERANCE = 1e-6
"""Of a gradient against a central difference."""
CHAIN = 10
CHECK_CALLS = 2
"""Of the self-check."""
DECOMPOSITION = 'custom_call_target="lapack_dgesdd'
"""How a compiled program says that it calls LAPACK for an SVD."""

TRANSFORMS: Mapping[str, Callable[..., Any]] = {
    "value": lambda trg: trg,
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
}


def ms(ns: float) -> float:
    """Nanoseconds as printed lines have them."""
    return ns / 10**6


def calls(report: Report, what: str, checkpoint: bool, reps: int, known: Mapping[str, Any]) -> tuple[Any, Timing]:
    """The compiled function and its steady state. Between its first call and that it is checked against what is `known`."""
    beta = at(BETA)
    # --8<-- [start:call]
    call = jax.jit(TRANSFORMS[what](make_trg(checkpoint=checkpoint)))
    first_returned, first_ready = time_launch(1, lambda: call(beta), jax.block_until_ready)
    check(what, call(beta), known)
    returned, ready = time_launch(reps, lambda: call(beta), jax.block_until_ready)
    # --8<-- [end:call]
    metric = what.replace("_", "-")
    waited = doubling(CHECK_CALLS, lambda: jax.block_until_ready(call(beta)), jax.block_until_ready)
    report.fact(f"{metric}-doubling", waited)
    report.record(metric, first_returned, phase="first", scope="call")
    report.record(metric, first_ready, phase="first", scope="ready")
    report.record(metric, returned, warm_up=2, scope="call")
    report.record(metric, ready, warm_up=2, scope="ready")
    line = CALL.format(
        what=what,
        first_returned=ms(first_returned.samples[0]),
        first_ready=ms(first_ready.samples[0]),
        returned=ms(median(returned.samples)),
        ready=ms(median(ready.samples)),
    )
    print(line, flush=True)
    return call, ready


def check(what: str, result: Any, known: Mapping[str, Any]) -> None:
    """The value is that of NumPy; the gradient is the slope of the value."""
    lnz, slope = result if what == "value_and_grad" else (result, result)
    if what != "grad":
        error = abs(float(lnz) - ising.trg(BETA).lnz)
        process.require(error < TOLERANCE, what, error)
    if what != "value":
        error = abs(float(slope) - central_difference(known["value"], BETA))
        process.require(error < GRADIENT_TOLERANCE, what, error)


def central_difference(value: Callable[[jax.Array], jax.Array], beta: float) -> float:
    """The slope of `value` from two of its values."""
    return (float(value(at(beta + DIFFERENCE))) - float(value(at(beta - DIFFERENCE)))) / (2 * DIFFERENCE)


def ahead_of_time(report: Report, what: str, checkpoint: bool) -> None:
    """The parts of a first call, on a function that JAX has not seen before; and how many SVDs the compiled program calls."""
    beta = at(BETA)
    # --8<-- [start:aot]
    fresh = jax.jit(TRANSFORMS[what](make_trg(checkpoint=checkpoint)))
    lowered: list[jax.stages.Lowered] = []
    compiled: list[jax.stages.Compiled] = []
    trace = time_then(1, lambda: fresh.lower(beta), lowered.append)
    compile_ = time_then(1, lowered[0].compile, compiled.append)
    first = time_then(1, lambda: jax.block_until_ready(compiled[0](beta)))
    # --8<-- [end:aot]
    metric = f"{what.replace('_', '-')}-aot"
    for phase, timing in (("trace", trace), ("compile", compile_), ("first", first)):
        report.record(metric, timing, phase=phase)
    text = compiled[0].as_text() or ""
    report.fact("svd-count" if what == "value" else f"svd-count-{what.replace('_', '-')}", text.count(DECOMPOSITION))
    print(
        AOT.format(what=what, trace=ms(trace.samples[0]), compile=ms(compile_.samples[0]), first=ms(first.samples[0])), flush=True
    )


def chained(report: Report, value: Callable[[jax.Array], jax.Array]) -> None:
    """Calls that each take the result of the last, none waited for; then the wait for the last."""
    # --8<-- [start:chained]
    start = at(BETA)
    latest = jax.block_until_ready(start + 0.0 * value(start))  # the warm-up

    def link() -> None:
        nonlocal latest
        latest = start + 0.0 * value(latest)

    links = time_then(CHAIN, link)
    wait = time_then(1, lambda: jax.block_until_ready(latest))
    # --8<-- [end:chained]
    report.record("chained", links, warm_up=1, scope="call")
    report.record("chained-wait", wait, warm_up=1)
    shortest, longest, total = ms(min(links.samples)), ms(max(links.samples)), ms(sum(links.samples))
    print(
        CHAINED.format(calls=CHAIN, min=shortest, max=longest, returned=total, wait=ms(wait.samples[0])),
        flush=True,
    )


def values(report: Report, betas: tuple[float, ...], known: Mapping[str, Any]) -> None:
    """Facts of each β: lnZ/N and the energy against Onsager, the gradient against a central difference, the ranks."""
    for beta in betas:
        params = {"beta": f"{beta:.2f}"}
        lnz, slope = (float(number) for number in known["value_and_grad"](at(beta)))
        reference = ising.trg(beta)
        exact, exact_energy = ising.exact_lnz(beta), ising.exact_energy(beta)
        difference = abs(slope - central_difference(known["value"], beta))
        process.require(abs(lnz - reference.lnz) < TOLERANCE, f"beta={beta:.2f} 的 lnZ/N", abs(lnz - reference.lnz))
        process.require(difference < GRADIENT_TOLERANCE, f"beta={beta:.2f} 的梯度", difference)
        report.fact("lnz", lnz, params=params, bits=ieee_bits(lnz))
        report.fact("exact", exact, params=params)
        report.fact("error", lnz - exact, params=params)
        report.fact("energy", -slope, params=params)
        report.fact("exact-energy", exact_energy, params=params)
        report.fact("energy-error", -slope - exact_energy, params=params)
        report.fact("gradient-difference", difference, params=params)
        report.fact("ranks", " ".join(map(str, reference.ranks)), params=params)
        print(VALUE.format(beta=beta, lnz=lnz, exact=exact, err=lnz - exact), flush=True)


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="JAX 的 20 步 TRG：调用何时返回、结果何时可用、第一次调用花在哪")
    parser.add_argument("--checkpoint", action="store_true", help="给每一步套上 jax.checkpoint")
    process.add_options(parser)
    parser.add_argument("--only", choices=tuple(TRANSFORMS), help="只量这一个，不拆第一次调用，也不算各个 β 的值")
    args = parser.parse_args()
    process.settle(args)
    known: dict[str, Any] = {"value": jax.jit(make_trg())}
    steady: dict[str, Timing] = {}
    wanted = [args.only] if args.only else list(TRANSFORMS)
    with Report("timing-jax", quick=args.quick) as report:
        for what in wanted:
            known[what], steady[what] = calls(report, what, args.checkpoint, 3 if args.quick else 5, known)
        if not args.only:
            for what in wanted:
                ahead_of_time(report, what, args.checkpoint)
            chained(report, known["value"])
            values(report, ising.BETAS[:1] if args.quick else ising.BETAS, known)
        last = known["value"](at(BETA))
        packages = ("jax", "jaxlib", "numpy", "scipy")
        process.observed(report, steady[wanted[0]].cores, packages, dtype=last.dtype, device=last.device.platform)


if __name__ == "__main__":
    main()
