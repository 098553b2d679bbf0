"""What does a clock read on an accelerator: the call, the wait, the device's own time, or nothing at all?"""

from __future__ import annotations

from measure.accelerator import burn_device, torch_device, without_burn_device, without_torch_device
from measure.experiment import Case, Experiment, PythonProgram, RustProgram, SourceLines
from measure.record import Machine

TORCH = PythonProgram("exec_gpu", packages=("torch",))
GPU_PACKAGE = "exec-gpu"


def torch_gpu(machine: Machine, mode: str, *args: str, **params: str) -> Case:
    """The accelerator that PyTorch has here."""
    device = torch_device(machine)
    return Case("torch-gpu", TORCH, args=(mode, "--device", device, *args), params=params, missing=without_torch_device)


def burn_gpu(machine: Machine, mode: str, *args: str, **params: str) -> Case:
    """The GPU that burn has here, or a software device, which wants a folder of its own."""
    device = burn_device(machine)
    program = RustProgram(GPU_PACKAGE, features_of=("burn-dispatch", "burn-cubecl"), features=(device,))
    return Case(
        "burn-gpu",
        program,
        args=(mode, "--device", device, *args),
        params=params,
        env={"XDG_RUNTIME_DIR": "/tmp"} if device == "wgpu" else {},  # noqa: S108 - the loader only asks for a folder that exists
        missing=without_burn_device,
    )


def cases(machine: Machine) -> tuple[Case, ...]:
    """Both libraries on this machine's accelerator. They are never compared with those of another machine."""
    return torch_gpu(machine, "mm"), burn_gpu(machine, "mm")


EXPERIMENT = Experiment(
    id="accelerator-matmul",
    question="GPU 上同一个矩阵乘，时钟读在哪里才量到计算本身？",
    cases=cases,
    rounds=3,
    timeout=300.0,
    estimate=60.0,
    excerpts=(
        SourceLines("flush-doc", GPU_PACKAGE, "burn-backend", "src/backend/profile.rs", "Execute everything queued", r"pub fn flush\("),
        SourceLines("profile-doc", GPU_PACKAGE, "burn-tensor", "src/device.rs", "The window spans the stream", r"reads as no time"),
        SourceLines("sync-doc", GPU_PACKAGE, "burn-tensor", "src/device.rs", "Synchronize the device", r"pub fn sync\("),
    ),
)  # fmt: skip
