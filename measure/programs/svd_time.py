"""One SVD of a 256×256 matrix, U, S and Vᵀ all asked for: of a matrix that TRG decomposes, and of a random one.

    python measure/programs/svd_time.py --library scipy-gesdd

The inputs are stored, and every library reads the same bytes. What it finds is checked before it is timed: U S Vᵀ is the matrix,
U and V are orthogonal.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import ising, process, trg_jax
from measure.programs.tenferro_lines import SVD
from measure.protocol import Report, doubling, ieee_bits, time_then

CHECK_REPS = 5
"""Of the self-check."""
TOLERANCE = 1e-12
"""Of the greatest error of one entry, for a matrix of norm 1."""

# --8<-- [start:libraries]
jitted = jax.jit(trg_jax.svd)

LIBRARIES: Mapping[str, Callable[[Any], Any]] = {
    "jax": lambda matrix: jax.block_until_ready(jitted(matrix)),
    "numpy": lambda matrix: np.linalg.svd(matrix, full_matrices=False),
    "scipy-gesdd": lambda matrix: scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesdd"),
    "scipy-gesvd": lambda matrix: scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd"),
}
# --8<-- [end:libraries]

NAMES = {"jax": "jax jit svd", "numpy": "numpy svd", "scipy-gesdd": "scipy gesdd", "scipy-gesvd": "scipy gesvd"}


def measure(report: Report, library: str, name: str, reps: int) -> tuple[float, Any]:
    """First and steady calls for one stored matrix, and what is determined of the result. Gives the cores in use, and S."""
    matrix = ising.stored(name)
    given = jnp.asarray(matrix) if library == "jax" else matrix
    svd = LIBRARIES[library]
    results: list[Any] = []
    first = time_then(1, lambda: svd(given), results.append)
    u, s, vt = (np.asarray(part) for part in results[0])
    reconstruction = float(np.abs((u * s) @ vt - matrix).max())
    identity = np.eye(ising.SIZE)
    orthogonality = float(max(np.abs(u.T @ u - identity).max(), np.abs(vt @ vt.T - identity).max()))
    scale = float(np.linalg.norm(matrix))
    process.require(reconstruction < TOLERANCE * scale, f"{name}：U S Vᵀ", reconstruction)
    process.require(orthogonality < TOLERANCE * 10, f"{name}：U 和 V 的正交性", orthogonality)
    steady = time_then(reps, lambda: svd(given))
    params = {"matrix": name}
    report.fact(
        "svd-doubling", doubling(min(reps, CHECK_REPS), lambda: svd(given), lambda last: float(last[1][0])), params=params
    )
    report.record("svd", first, phase="first", params=params)
    report.record("svd", steady, warm_up=1, params=params)
    report.fact("checksum", float(u.sum() + s.sum() + vt.sum()), params=params)
    singular_sum = float(s.sum())
    report.fact("singular-sum", singular_sum, params=params, bits=ieee_bits(singular_sum))
    report.fact("rank", int((s > ising.NEGLIGIBLE).sum()), params=params)
    report.fact("reconstruction-error", reconstruction, params=params)
    report.fact("orthogonality-error", orthogonality, params=params)
    report.fact("input-sha256", hashlib.sha256(ising.stored_file(name).read_bytes()).hexdigest(), params=params)
    print(SVD.format(what=NAMES[library], matrix=name, n=reps, min=min(steady.samples) / 10**6), flush=True)
    return steady.cores, results[0][1]


def main() -> None:
    """Measure, check and report."""
    parser = argparse.ArgumentParser(description="256×256 矩阵的一次 SVD")
    parser.add_argument("--library", choices=tuple(LIBRARIES), default="jax", help="用哪个库（默认 jax）")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    with Report("svd-time", quick=args.quick) as report:
        for name in ising.STORED:
            cores, singular_values = measure(report, args.library, name, 3 if args.quick else 30)
        packages = {"jax": ("jax", "jaxlib", "scipy"), "numpy": ("numpy",)}.get(args.library, ("scipy",))
        process.observed(report, cores, packages, dtype=singular_values.dtype)


if __name__ == "__main__":
    main()
