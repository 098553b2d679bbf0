"""Ten calls of a jitted function without waiting, then the wait for all of them, against ten calls that are each waited for.

python measure/programs/timing_pipeline.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

import jax

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import process
from measure.programs.tenferro_lines import PIPELINE
from measure.programs.timing_jax import BETA, check, ms
from measure.programs.trg_jax import at, make_trg
from measure.protocol import Report, Timing, time_launch, time_then

ROUNDS = 3
CALLS, QUICK_CALLS = 10, 3


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="连续调用 10 次 JAX 的 TRG：最后才等，和每次都等")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    calls = QUICK_CALLS if args.quick else CALLS
    beta, value = at(BETA), jax.jit(make_trg())
    check("value", value(beta), {})  # the warm-up
    rounds: dict[str, list[Timing]] = {"dispatched": [], "all-ready": [], "each-waited": []}
    with Report("timing-pipeline", quick=args.quick) as report:
        for number in range(ROUNDS):
            # --8<-- [start:pipeline]
            dispatched, ready = time_launch(1, lambda: [value(beta) for _ in range(calls)], jax.block_until_ready)
            waited = time_then(1, lambda: [jax.block_until_ready(value(beta)) for _ in range(calls)])
            # --8<-- [end:pipeline]
            for metric, timing in (("dispatched", dispatched), ("all-ready", ready), ("each-waited", waited)):
                rounds[metric].append(timing)
            times = {"dispatched": dispatched, "ready": ready, "waited": waited}
            figures = {name: ms(timing.samples[0]) for name, timing in times.items()}
            print(PIPELINE.format(round=number, calls=calls, **figures), flush=True)
        for metric, timings in rounds.items():
            joined = Timing(tuple(t.samples[0] for t in timings), fmean(t.cores for t in timings))
            report.record(metric, joined, warm_up=1, scope="call" if metric == "dispatched" else "ready")
        report.fact("calls", calls)
        last = value(beta)
        cores = fmean(t.cores for t in rounds["each-waited"])
        process.observed(report, cores, ("jax", "jaxlib", "scipy"), dtype=last.dtype, device=last.device.platform)


if __name__ == "__main__":
    main()
