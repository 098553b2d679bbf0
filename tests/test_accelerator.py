"""What a machine offers, told from its description and from files, without the hardware."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from measure import accelerator
from measure.record import Machine

M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, efficiency_cores=4, memory_gib=32, system="macOS arm64", virtual=False)
X86 = Machine(label="x86", cpu="Some x86", cores=4, memory_gib=8, system="Linux x86_64")


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Linux machine with neither driver."""
    monkeypatch.setattr(accelerator, "NVIDIA", tmp_path / "nvidiactl")
    monkeypatch.setattr(accelerator, "DRIVERS", (tmp_path / "icd.d",))
    monkeypatch.setattr(sys, "platform", "linux")


def test_apple_has_metal_and_mps() -> None:
    assert (accelerator.torch_device(M2), accelerator.burn_device(M2)) == ("mps", "metal")
    assert accelerator.without_torch_device(M2) is None
    assert accelerator.without_burn_device(M2) is None


def test_a_virtual_mac_has_no_gpu_to_speak_of() -> None:
    virtual = M2.model_copy(update={"virtual": True})
    assert accelerator.without_torch_device(virtual) is not None


def test_nvidia_brings_cuda_to_both(tmp_path: Path) -> None:
    (tmp_path / "nvidiactl").touch()
    assert (accelerator.torch_device(X86), accelerator.burn_device(X86)) == ("cuda", "cuda")
    assert accelerator.without_torch_device(X86) is None
    assert accelerator.without_burn_device(X86) is None


def test_without_a_gpu_burn_takes_a_software_device_if_there_is_one(tmp_path: Path) -> None:
    assert accelerator.burn_device(X86) == "wgpu"
    assert "MPS" in (accelerator.without_torch_device(X86) or "")
    assert "mesa-vulkan-drivers" in (accelerator.without_burn_device(X86) or "")
    (tmp_path / "icd.d").mkdir()
    assert accelerator.without_burn_device(X86) is not None
    (tmp_path / "icd.d" / "lvp_icd.x86_64.json").touch()
    assert accelerator.without_burn_device(X86) is None
