"""PyTorch on a GPU or on the CPU: one matmul timed in every way, for the first time and after.

    python measure/programs/exec_gpu.py mm --device cpu --threads 1

`mm` times one shape right and wrong, `first` the first call of a process, `warm` what a warm-up is good for that nobody waits for.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import torch
from torch.utils.benchmark import Timer

from measure.programs.burn_lines import FIRST, FIRST_SYNCED, INIT, WARM_UP, WAY
from measure.programs.process import require
from measure.programs.torch_device import Device, add_options, choose, observed
from measure.protocol import Report, Timing, doubling, time_launch, time_then

SIZE = 1024
SMALL, LARGE = 512, 2048
"""To see whether a call takes longer where there is more to do. On a CPU nobody doubts it."""
REPS, CHECK_REPS = 20, 3
TOLERANCE = 5e-2
"""Above what TF32 makes of sums of up to 2048 products below 1, and below what any wrong product is."""


def mm(report: Report, device: Device, args: argparse.Namespace) -> torch.Tensor:
    """One shape, timed right and wrong."""
    a, b = operands(SIZE, device)
    reps = 3 if args.quick else REPS
    report.fact("matmul-max-error", largest_error(SIZE, a @ b))  # reading it back ends the warm-up
    say = partial(way, report, device, SIZE)
    # --8<-- [start:launch]
    returned, ready = time_launch(reps, lambda: a @ b, lambda _product: device.sync())
    # --8<-- [end:launch]
    say("no sync", returned, scope="call")
    say("with sync", ready)

    def synced() -> torch.Tensor:
        product = a @ b
        device.sync()
        return product

    report.fact("matmul-doubling", doubling(CHECK_REPS, synced, lambda last: last[0, 0].item()))
    if device.clock is not None:
        say(device.clock, clocked(reps, device, lambda: a @ b), scope="device")
    (a @ b).sum().item()
    # --8<-- [start:readback]
    read_back = time_then(reps, lambda: (a @ b).sum().item())
    # --8<-- [end:readback]
    say("+ sum().item()", read_back, scope="readback")

    # --8<-- [start:dropped]
    def drop_first() -> None:
        product = a @ b
        del product
        device.sync()

    # --8<-- [end:dropped]
    say("dropped before sync", time_then(reps, drop_first), metric="matmul-dropped")
    timer(report, device, reps, a, b)
    if device.clock:
        other_sizes(report, device, reps)
    return a @ b


def other_sizes(report: Report, device: Device, reps: int) -> None:
    """Does a call take longer where there is more to do?"""
    a, b = operands(SMALL, device)
    largest_error(SMALL, a @ b)
    returned, ready = time_launch(reps, lambda: a @ b, lambda _: device.sync())
    way(report, device, SMALL, "no sync", returned, scope="call")
    way(report, device, SMALL, "with sync", ready)
    for size in (SMALL, SIZE, LARGE):
        left, right = operands(size, device)
        device.sync()
        kept: list[torch.Tensor] = []
        returned = time_then(reps, partial(torch.matmul, left, right), kept.append)
        way(report, device, size, "no sync, in a row", returned, metric="matmul-in-a-row", scope="call", warm_up=0)
        device.sync()


def clocked(reps: int, device: Device, work: Callable[[], torch.Tensor]) -> Timing:
    """The same calls on the device's own clock."""
    times: list[int] = []
    around = time_then(reps, lambda: device.timed(work), lambda result: times.append(result[1]))
    return Timing(tuple(times), around.cores)


def timer(report: Report, device: Device, reps: int, a: torch.Tensor, b: torch.Tensor) -> None:
    """PyTorch's own tool on the same matmul: with the thread count it sets by itself, and with that of the process.

    It sets the count for the time it measures; each sample is one run, as in our own loop.
    """
    # --8<-- [start:timer]
    by_itself = Timer("a @ b", globals={"a": a, "b": b})
    # --8<-- [end:timer]
    threads = by_itself.timeit(1).num_threads
    same = Timer("a @ b", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
    report.fact("timer-threads", threads)
    for setting, tool in (("default", by_itself), ("same", same)):
        taken = tuple(round(tool.timeit(1).mean * 1e9) for _ in range(reps))
        number = threads if setting == "default" else torch.get_num_threads()
        text = f"benchmark.Timer with {number} thread{'s' if number > 1 else ''}"
        print(WAY.format(device=device.name, size=SIZE, way=text, **statistics(taken)), flush=True)
        timing = Timing(taken, 0.0)
        report.record("matmul-timer", timing, warm_up=1, params={"size": SIZE, "timer": setting})


def first(report: Report, device: Device, args: argparse.Namespace) -> torch.Tensor:
    """Bringing up the device, the first matmul of a process, and the ones after it."""
    if args.cache == "warm":  # another process before this one: what it leaves to the next, the library knows
        command = [sys.executable, __file__, "first", "--device", device.name, "--quick"]
        threads = [] if args.threads is None else ["--threads", str(args.threads)]
        environment = {name: value for name, value in os.environ.items() if name != "MEASURE_OUT"}
        subprocess.run([*command, *threads], check=True, env=environment, stdout=subprocess.DEVNULL)

    # --8<-- [start:init]
    def bring_up() -> torch.Tensor:
        there = torch.zeros(1, device=device.name)
        device.sync()
        return there

    init = time_then(1, bring_up)
    # --8<-- [end:init]
    a, b = operands(SIZE, device)
    device.sync()
    returned, ready = time_launch(1, lambda: a @ b, lambda _: device.sync())
    print(INIT.format(device=device.name, time=init.samples[0]))
    synced = ready.samples[0]
    if device.clock is None:
        print(FIRST_SYNCED.format(device=device.name, size=SIZE, synced=synced))
    else:
        print(FIRST.format(device=device.name, size=SIZE, returned=returned.samples[0], synced=synced), flush=True)
    _, steady = time_launch(3 if args.quick else REPS, lambda: a @ b, lambda _: device.sync())
    report.record("device-init", init, phase="init")
    report.record("matmul", returned, phase="first", scope="call", params={"size": SIZE})
    report.record("matmul", ready, phase="first", params={"size": SIZE})
    way(report, device, SIZE, "with sync", steady)
    product = a @ b
    report.fact("matmul-max-error", largest_error(SIZE, product))
    return product


def warm(report: Report, device: Device, args: argparse.Namespace) -> torch.Tensor:
    """Does a warm-up help that nobody waits for? Its result is kept unread or dropped at once; then three runs are timed."""
    a, b = operands(SIZE, device)
    device.sync()

    def synced() -> torch.Tensor:
        product = a @ b
        device.sync()
        return product

    # --8<-- [start:warm-up]
    warm_up = a @ b  # nobody waits for it, nobody reads it
    if args.kept == "no":
        del warm_up
    runs = [time_then(1, synced) for _ in range(3)]
    # --8<-- [end:warm-up]
    for run, timing in enumerate(runs):
        kind = "kept" if args.kept == "yes" else "dropped"
        print(WARM_UP.format(kind=kind, run=run, time=timing.samples[0]), flush=True)
        report.record("timed-run", timing, warm_up=1, phase="first", params={"run": run})
    product = a @ b
    report.fact("matmul-max-error", largest_error(SIZE, product))
    return product


def operands(size: int, device: Device) -> tuple[torch.Tensor, torch.Tensor]:
    """sin(k) and cos(k), worked out in f64 and rounded once."""
    k = torch.arange(size * size, dtype=torch.float64).reshape(size, size)
    return k.sin().float().to(device.name), k.cos().float().to(device.name)


def largest_error(size: int, product: torch.Tensor) -> float:
    """Largest error of a product of `operands`; the program ends where it is wrong."""
    k = torch.arange(size * size, dtype=torch.float64).reshape(size, size)
    error = (product.cpu().double() - k.sin() @ k.cos()).abs().max().item()
    require(error < TOLERANCE, f"{size}x{size} matmul", error)
    return error


def way(
    report: Report,
    device: Device,
    size: int,
    text: str,
    timing: Timing,
    *,
    metric: str = "matmul",
    scope: str = "ready",
    warm_up: int = 1,
) -> None:
    """Print and record one way of timing."""
    print(WAY.format(device=device.name, size=size, way=text, **statistics(timing.samples)), flush=True)
    report.record(metric, timing, warm_up=warm_up, scope=scope, params={"size": size})


def statistics(samples: tuple[int, ...]) -> dict[str, float]:
    """Fields of the line."""
    return {"n": len(samples), "min": min(samples), "median": median(samples)}


MODES: dict[str, Callable[[Report, Device, argparse.Namespace], torch.Tensor]] = {"mm": mm, "first": first, "warm": warm}


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="PyTorch 的 matmul：时钟读在哪里，量到的是什么")
    parser.add_argument("mode", choices=tuple(MODES), help="mm：每种计时写法；first：进程里的第一次；warm：不等结果的热身")
    parser.add_argument("--cache", choices=("as-is", "warm"), default="as-is", help="first：warm 先另起一个进程跑一遍")
    parser.add_argument("--kept", choices=("yes", "no"), default="yes", help="warm：热身的结果留着，还是当场丢掉")
    add_options(parser)
    args = parser.parse_args()
    device = choose(args)
    with Report("exec-gpu", label=device.name, quick=args.quick) as report:
        observed(report, device, MODES[args.mode](report, device, args), args.threads)


if __name__ == "__main__":
    main()
