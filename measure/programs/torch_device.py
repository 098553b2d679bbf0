"""Where PyTorch computes: how to wait there, and the clock of that device. A test can put something else in its place."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Protocol

import torch

from measure.programs.process import fail
from measure.protocol import Report


class Device(Protocol):
    """What the programs need to know of a device."""

    @property
    def name(self) -> str:
        """As torch spells it."""

    @property
    def clock(self) -> str | None:
        """What its own clock is called in lines; None where it has none."""

    def sync(self) -> None:
        """Wait until all that was launched is done."""

    def timed[T](self, work: Callable[[], T]) -> tuple[T, int]:
        """The result of `work`, and the nanoseconds it took by the device's own clock."""

    def adapter(self) -> str:
        """The hardware, as it names itself."""


class Cpu:
    """A call that has returned is done."""

    name = "cpu"
    clock = None

    def sync(self) -> None:
        """Nothing is ever under way."""

    def timed[T](self, work: Callable[[], T]) -> tuple[T, int]:
        """There is no such clock."""
        raise NotImplementedError("a CPU has no clock of its own")

    def adapter(self) -> str:
        """The record's machine says it already."""
        return "cpu"


class Mps:
    """Apple's GPU."""

    name = "mps"
    clock = "mps.Event time"

    def sync(self) -> None:
        """Wait for the command queue."""
        torch.mps.synchronize()

    # --8<-- [start:mps-clock]
    def timed[T](self, work: Callable[[], T]) -> tuple[T, int]:
        """Events on the stream before and after."""
        before, after = (torch.mps.Event(enable_timing=True) for _ in range(2))
        before.record()
        result = work()
        after.record()
        after.synchronize()
        return result, round(before.elapsed_time(after) * 1e6)

    # --8<-- [end:mps-clock]

    def adapter(self) -> str:
        """The name of the chip."""
        return str(torch.backends.mps.get_name()) if hasattr(torch.backends.mps, "get_name") else "Apple GPU"


class Cuda:
    """NVIDIA's GPU, the first one."""

    name = "cuda"
    clock = "cuda.Event time"

    def sync(self) -> None:
        """Wait for all streams of the device."""
        torch.cuda.synchronize()

    # --8<-- [start:cuda-clock]
    def timed[T](self, work: Callable[[], T]) -> tuple[T, int]:
        """Events on the stream before and after."""
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        before.record()
        result = work()
        after.record()
        after.synchronize()
        return result, round(before.elapsed_time(after) * 1e6)

    # --8<-- [end:cuda-clock]

    def adapter(self) -> str:
        """The name of the card."""
        return str(torch.cuda.get_device_name())


DEVICES: dict[str, tuple[Callable[[], Device], Callable[[], bool]]] = {
    "cpu": (Cpu, lambda: True),
    "mps": (Mps, torch.backends.mps.is_available),
    "cuda": (Cuda, torch.cuda.is_available),
}
"""How to make each device, and whether it is there."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the programs that choose a device."""
    parser.add_argument("--device", choices=tuple(DEVICES), default="cpu", help="在哪个设备上算")
    parser.add_argument("--threads", type=int, help="torch.set_num_threads 的值；不给就用 PyTorch 的默认值")
    parser.add_argument("--quick", action="store_true", help="只重复 3 次，其余一样")


def choose(args: argparse.Namespace) -> Device:
    """The device that was asked for, with the thread count that was asked for."""
    if args.threads is not None:
        if args.threads < 1:
            fail(f"--threads 至少是 1，这里是 {args.threads}")
        torch.set_num_threads(args.threads)
    make, there = DEVICES[args.device]
    if not there():
        fail(f"PyTorch 在这台机器上没有 {args.device}")
    return make()


def observed(report: Report, device: Device, product: torch.Tensor, threads: int | None) -> None:
    """Facts: what the result says of dtype and device, threads read back, version."""
    if product.device.type != device.name or product.dtype != torch.float32:
        fail(f"结果是 {product.dtype}，在 {product.device} 上，不是 {device.name} 上的 f32")
    if threads not in (None, torch.get_num_threads()):
        fail(f"要 {threads} 个线程，计时之后是 {torch.get_num_threads()}")
    report.fact("dtype", "f32")
    report.fact("device", device.name)
    report.fact("adapter", device.adapter())
    report.fact("software", False)
    report.fact("threads", torch.get_num_threads())
    report.fact("version-torch", str(torch.__version__))
