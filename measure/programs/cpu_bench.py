"""PyTorch on the CPU: a square matmul, a training step of a small MLP, and the matmuls of that step alone.

    python measure/programs/cpu_bench.py --threads 1

Each result is checked against float64 before it is timed; the thread count is read back after the timing.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.protocol import Report, doubling, time_then

SIZE = 1024
CHECK_REPS = 5
"""Of the self-check."""
BATCH, INPUTS, HIDDEN, CLASSES = 256, 784, 512, 10
MLP = f"MLP {INPUTS}-{HIDDEN}-{CLASSES} batch {BATCH}"
TOLERANCE = 1e-2
"""For sums of up to 1024 products below 1: f32 is off by far less, TF32 and bf16 by more."""
DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16"}


def matmul(report: Report, reps: int) -> None:
    """The product of two random square matrices. Its dtype, device and error are facts of the run."""
    # --8<-- [start:matmul]
    left, right = torch.rand(SIZE, SIZE), torch.rand(SIZE, SIZE)
    exact = left.double() @ right.double()
    product = left @ right  # the warm-up
    error = (product - exact).abs().max().item()
    require(error < TOLERANCE, f"{SIZE}x{SIZE} matmul", error)
    timing = time_then(reps, lambda: left @ right)
    # --8<-- [end:matmul]
    report.series("matmul", f"{SIZE}x{SIZE} matmul", timing, warm_up=1)
    report.fact("dtype", DTYPES[product.dtype])
    report.fact("device", product.device.type)
    report.fact("matmul-max-error", error)
    report.fact("matmul-doubling", doubling(min(reps, CHECK_REPS), lambda: left @ right, lambda last: last[0, 0].item()))


def train_step(report: Report, reps: int) -> None:
    """Forward, cross entropy, backward, SGD, on one fixed batch."""
    images, classes = torch.rand(BATCH, INPUTS), torch.randint(CLASSES, (BATCH,))
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    expected = loss_in_float64(model, images, classes)
    # --8<-- [start:step]
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    cross_entropy = nn.CrossEntropyLoss()

    def step() -> Any:
        sgd.zero_grad()
        loss = cross_entropy(model(images), classes)
        loss.backward()
        sgd.step()
        return loss

    warm_up = [step().item() for _ in range(3)]
    # --8<-- [end:step]
    error = abs(warm_up[0] - expected)
    require(error < TOLERANCE / 100, f"{MLP} loss", error)  # a mean of values near 2.3
    require(warm_up[2] < warm_up[0], f"{MLP} loss after two steps", warm_up[2] - warm_up[0])
    timing = time_then(reps, step)
    report.series("train-step", f"{MLP} train step", timing, warm_up=3)
    report.fact("step-loss-error", error)


def loss_in_float64(model: nn.Sequential, images: torch.Tensor, classes: torch.Tensor) -> float:
    """The loss of the untrained model from its definition, without the modules that are timed."""
    w1, b1, w2, b2 = (p.detach().double() for p in model.parameters())
    logits = (images.double() @ w1.T + b1).clamp(min=0) @ w2.T + b2
    chosen = logits[torch.arange(len(classes)), classes]
    return float((logits.exp().sum(1).log() - chosen).mean())


def mlp_matmuls(report: Report, reps: int) -> None:
    """Two products forward and three backward, in the shapes of the training step and with nothing between them.

    There is no third one backward through the first layer: nobody asks for the gradient of the images.
    """
    images, w1 = torch.rand(BATCH, INPUTS), torch.rand(INPUTS, HIDDEN)
    hidden, w2 = torch.rand(BATCH, HIDDEN), torch.rand(HIDDEN, CLASSES)
    d_hidden, d_logits = torch.rand(BATCH, HIDDEN), torch.rand(BATCH, CLASSES)
    pairs = [(images, w1), (hidden, w2), (hidden.T, d_logits), (d_logits, w2.T), (images.T, d_hidden)]

    def work() -> list[torch.Tensor]:
        return [left @ right for left, right in pairs]

    exact = [left.double() @ right.double() for left, right in pairs]
    error = max((got - want).abs().max().item() for got, want in zip(work(), exact, strict=True))
    require(error < TOLERANCE, f"{MLP} matmuls", error)
    for _ in range(2):
        work()
    report.series("mlp-matmuls", f"{MLP} matmuls", time_then(reps, work), warm_up=3)


def require(good: bool, what: str, error: float) -> None:
    """End the program rather than report the time of a wrong result (NaN is never good)."""
    if not good:
        raise SystemExit(f"cpu_bench.py：{what} 的结果不对，和 float64 参照相差 {error:.3g}；不报时间")


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="PyTorch 在 CPU 上的 matmul 和训练步")
    parser.add_argument("--threads", type=int, help="torch.set_num_threads 的值；不给就用 PyTorch 的默认值")
    parser.add_argument("--quick", action="store_true", help="只重复 3 次，其余一样")
    args = parser.parse_args()
    if args.threads is not None:
        if args.threads < 1:
            parser.error(f"--threads 至少是 1，这里是 {args.threads}")
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    reps = 3 if args.quick else 20
    with Report("cpu-bench", label=f"torch threads {threads}", quick=args.quick) as report:
        matmul(report, reps)
        train_step(report, reps)
        mlp_matmuls(report, reps)
        if not threads == torch.get_num_threads() == (args.threads or threads):
            raise SystemExit(f"cpu_bench.py：要 {args.threads} 个线程，开始时是 {threads}，计时之后是 {torch.get_num_threads()}")
        blas = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
        report.fact("threads", torch.get_num_threads())
        report.fact("blas", blas[1].lower() if blas else "unknown")
        report.fact("version-torch", str(torch.__version__))
        report.fact("version-python", platform.python_version())


if __name__ == "__main__":
    main()
