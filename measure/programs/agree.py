"""Do PyTorch's results agree with float64, and with burn's to the last bit? The inputs are stored, the same bytes for all.

    python measure/programs/agree.py --device cpu --threads 1

`--write` makes the stored inputs anew: sin(k) and cos(k), float32, little-endian, row after row.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import numpy as np
import torch

from measure.programs.burn_lines import ERROR, WAY
from measure.programs.exec_gpu import TOLERANCE, statistics
from measure.programs.process import require
from measure.programs.torch_device import Device, add_options, choose, observed
from measure.protocol import Report, time_launch

type Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
type Single = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

SIZE = 256
REPS = 20
INPUTS = Path(__file__).parent / "inputs"
FILES = (INPUTS / "agree-a.f32", INPUTS / "agree-b.f32")
DIGEST = "5e4961c52d7a6df8edaa5b5206d62bd95464ebd382e95ecc2aaa5d9fe21c12fc"
"""SHA-256 of both files, one after the other."""


def exact() -> tuple[Array, Array]:
    """sin(k) and cos(k) in f64."""
    k = np.arange(SIZE * SIZE, dtype=np.float64).reshape(SIZE, SIZE)
    return np.sin(k), np.cos(k)


def write() -> None:
    """Make the files."""
    for file, values in zip(FILES, exact(), strict=True):
        file.write_bytes(values.astype("<f4").tobytes())


def stored() -> tuple[Single, Single]:
    """What is in the files, if it is what it should be."""
    content = [file.read_bytes() for file in FILES]
    found = hashlib.sha256(b"".join(content)).hexdigest()
    if found != DIGEST:
        raise SystemExit(f"agree.py：存的输入变了（SHA-256 是 {found}）；恢复它们：git checkout measure/programs/inputs")
    a, b = (np.frombuffer(part, "<f4").reshape(SIZE, SIZE) for part in content)
    return a, b


def digest(values: Single) -> str:
    """SHA-256 of the numbers, float32, little-endian, row after row."""
    return hashlib.sha256(np.ascontiguousarray(values, "<f4").tobytes()).hexdigest()


def distance(values: Single, reference: Array) -> float:
    """The largest difference; NaN if there is one. Another shape or dtype is no result."""
    if values.shape != reference.shape or values.dtype != np.float32:
        return float("nan")
    return float(np.abs(values - reference).max())


def agree(report: Report, device: Device, reps: int) -> torch.Tensor:
    """Errors against float64, and digests by which results can be compared to the bit."""
    read_a, read_b = stored()
    a, b = (torch.tensor(values, device=device.name) for values in (read_a, read_b))
    reference = read_a.astype(np.float64) @ read_b.astype(np.float64)
    product = a @ b
    result = product.cpu().numpy()
    error = distance(result, reference)
    require(error < TOLERANCE, f"{SIZE}x{SIZE} matmul", error)
    _, timing = time_launch(reps, lambda: a @ b, lambda _: device.sync())
    print(WAY.format(device=device.name, size=SIZE, way="with sync", **statistics(timing.samples)), flush=True)
    report.record("matmul-256", timing, warm_up=1)
    print(ERROR.format(what=f"torch {device.name}", error=f"{error:.3e}"), flush=True)

    total = np.float32(a.sum().item())
    exponentials = a.exp().cpu().numpy()
    report.fact("max-error", error)
    report.fact("reference-max", float(np.abs(reference).max()))
    report.fact("sum-error", abs(float(total) - float(read_a.astype(np.float64).sum())))
    report.fact("elementwise-error", distance(exponentials, np.exp(read_a.astype(np.float64))))
    report.fact("result-sha256", digest(result))
    report.fact("sum-bits", total.view(np.uint32).item().to_bytes(4, "big").hex())
    report.fact("elementwise-sha256", digest(exponentials))
    report.fact("input-sha256", DIGEST)

    # Once more from k alone: what the library's own sine adds to the error, beside what its order of summation does.
    k = torch.arange(SIZE * SIZE, device=device.name).float().reshape(SIZE, SIZE)
    own_a, own_b = k.sin(), k.cos()
    own_result = (own_a @ own_b).cpu().numpy()
    own = [tensor.cpu().numpy() for tensor in (own_a, own_b)]
    true_a, true_b = exact()
    true_product = true_a @ true_b
    share = own[0].astype(np.float64) @ own[1].astype(np.float64)
    report.fact("own-input-error", max(distance(own[0], true_a), distance(own[1], true_b)))
    report.fact("own-input-sha256", digest(np.stack(own)))
    report.fact("max-error-own-inputs", distance(own_result, true_product))
    report.fact("max-error-of-own-inputs", float(np.abs(share - true_product).max()))
    return product


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="PyTorch 的结果和 float64 参照差多少")
    parser.add_argument("--write", action="store_true", help="重新写存的输入，不测量")
    add_options(parser)
    args = parser.parse_args()
    if args.write:
        write()
        return
    device = choose(args)
    with Report("agree", label=device.name, quick=args.quick) as report:
        observed(report, device, agree(report, device, 3 if args.quick else REPS), args.threads)


if __name__ == "__main__":
    main()
