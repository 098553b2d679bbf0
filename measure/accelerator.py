"""Which accelerators this machine offers, found out without loading a library that would use one.

A record's machine names no GPU: what a run really had is a fact of the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from measure.record import Machine

NVIDIA = Path("/dev/nvidiactl")
"""There where NVIDIA's driver is loaded."""

DRIVERS = tuple(Path(folder, "vulkan", "icd.d") for folder in ("/usr/share", "/usr/local/share", "/etc"))
"""Where Linux lists Vulkan drivers."""


def apple(machine: Machine) -> bool:
    """Whether the CPU has Apple's GPU beside it."""
    return machine.cpu.startswith("Apple") and not machine.virtual


def cuda() -> bool:
    """Whether there is NVIDIA's driver."""
    return NVIDIA.exists()


def torch_device(machine: Machine) -> str:
    """The accelerator PyTorch would use."""
    return "mps" if apple(machine) else "cuda"


def without_torch_device(machine: Machine) -> str | None:
    """Why PyTorch has no accelerator here, in Chinese; None where it has one."""
    return None if apple(machine) or cuda() else "PyTorch 的加速器是 MPS 或 CUDA，这台机器没有 Apple GPU，也没有 NVIDIA 驱动"


def burn_device(machine: Machine) -> str:
    """The device burn would use, which is also the name of the feature that brings it."""
    return "metal" if apple(machine) else "cuda" if cuda() else "wgpu"


def without_burn_device(machine: Machine) -> str | None:
    """Why burn has no GPU here, in Chinese. A software device is one: it is slow, and the run says that it is software."""
    if (
        burn_device(machine) != "wgpu"
        or not sys.platform.startswith("linux")
        or any(any(folder.glob("*.json")) for folder in DRIVERS)
    ):
        return None
    return "没有 Vulkan 驱动。没有 GPU 的 Linux 可以装一个软件实现：apt-get install mesa-vulkan-drivers"
