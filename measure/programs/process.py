"""What a timed program settles and says about its own process: the cores it may use, the cores it used, its versions."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version
from typing import NoReturn

from measure.programs.tenferro_lines import CORES
from measure.protocol import Report

DTYPES = {"float32": "f32", "float64": "f64"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that all programs beside JAX have in common."""
    parser.add_argument("--pin", action="store_true", help="把整个进程固定在一个核上（要操作系统支持 sched_setaffinity）")
    parser.add_argument("--quick", action="store_true", help="只重复 3 次，其余一样")


def settle(args: argparse.Namespace) -> None:
    """Keep the process to one core, if asked to.

    Libraries count cores and start threads when they are imported, so the program starts anew with the narrowed set, which the
    new process image inherits.
    """
    if not args.pin:
        return
    if not hasattr(os, "sched_setaffinity"):
        fail("--pin 在这个操作系统上不能用：它没有 sched_setaffinity（Linux 才有）；去掉 --pin 再试")
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        os.sched_setaffinity(0, {min(allowed)})
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (itself again)


def observed(report: Report, cores: float, packages: tuple[str, ...], *, dtype: object, device: str = "cpu") -> None:
    """Facts: type and place of the results, cores in use (CPU time over wall time) and allowed, and versions."""
    print(CORES.format(cores=cores), flush=True)
    report.fact("dtype", DTYPES[str(dtype)])
    report.fact("device", device)
    report.fact("cores-observed", round(cores, 2))
    report.fact("cores-allowed", len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for package in packages:
        report.fact(f"version-{package}", version(package))
    report.fact("version-python", platform.python_version())


def require(good: bool, what: str, error: float) -> None:
    """End the program rather than report the time of a wrong result (NaN is never good)."""
    if not good:
        fail(f"{what} 的结果不对，和参照相差 {error:.3g}；不报时间")


def fail(message: str) -> NoReturn:
    """End the program with its name and the reason."""
    raise SystemExit(f"{os.path.basename(sys.argv[0])}：{message}")  # noqa: PTH119 (argv is text)
