"""The 2D Ising model on the square lattice: Onsager's exact values, and the tensor renormalization group (TRG) in NumPy.

    python -m measure.programs.ising --write

`lnz` is always the logarithm of the partition function per spin. The NumPy TRG is the reference that the JAX one is checked against;
`--write` makes the two matrices that every SVD is timed on.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]

BETAS = (0.3, 0.4, 0.5, 0.6, 0.7)
STEPS = 20
CHI = 16
TRUNCATIONS = (2, 4, 4) + (CHI,) * (STEPS - 3)
"""The most singular values that each step keeps."""
NEGLIGIBLE = 1e-12
"""Singular values up to this count as zero where ranks are counted; tensors have norm 1."""

INPUTS = Path(__file__).parent / "inputs"
STORED = ("trg", "random")
"""The stored matrices: what TRG decomposes in step 11 at β = 0.3, and one of uniform random numbers."""
SIZE = CHI * CHI
STORED_STEP = 11


# ---- exact values


def exact_lnz(beta: float) -> float:
    """Onsager's lnZ/N. The midpoint rule converges geometrically here, since the integrand is periodic and smooth."""
    points = 4096
    complement = 2 * math.tanh(2 * beta) ** 2 - 1
    angles = ((i + 0.5) * math.pi / (2 * points) for i in range(points))
    roots = (math.hypot(math.cos(angle), complement * math.sin(angle)) for angle in angles)
    mean = math.fsum(math.log1p(root) for root in roots) / points
    return math.log(2) / 2 + math.log(math.cosh(2 * beta)) + mean / 2


def exact_energy(beta: float) -> float:
    """The internal energy per spin, -d(lnZ/N)/dβ; its elliptic integral comes from an arithmetic-geometric mean."""
    complement = 2 * math.tanh(2 * beta) ** 2 - 1
    upper, lower = 1.0, abs(complement)
    while upper - lower > 1e-15:
        upper, lower = (upper + lower) / 2, math.sqrt(upper * lower)
    elliptic = math.pi / (upper + lower)
    return -(1 + 2 / math.pi * complement * elliptic) / math.tanh(2 * beta)


# ---- TRG


def local_tensor(beta: float) -> Array:
    """The tensor T[u, r, d, l] of one spin, each leg half a bond."""
    even, odd = math.sqrt(math.cosh(beta)), math.sqrt(math.sinh(beta))
    half_bond = np.array([[even, odd], [even, -odd]])
    tensor: Array = np.einsum("su,sr,sd,sl->urdl", half_bond, half_bond, half_bond, half_bond)
    return tensor


def unfold(tensor: Array) -> tuple[Array, Array]:
    """The two matrices that cut the tensor across its diagonals: rows (u, l) against (d, r), and (u, r) against (d, l)."""
    size = len(tensor) ** 2
    return tensor.transpose(0, 3, 2, 1).reshape(size, size), tensor.reshape(size, size)


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """U, S, Vᵀ."""
    u, s, vt = np.linalg.svd(matrix)
    return u, s, vt


def factors(u: Array, s: Array, vt: Array, most: int) -> tuple[Array, Array]:
    """The largest singular values, their roots on either side: two tensors of two legs each and the new one."""
    kept = min(most, len(s))
    legs = math.isqrt(len(u))
    root = np.sqrt(s[:kept])
    return (u[:, :kept] * root).reshape(legs, legs, kept), (vt[:kept].T * root).reshape(legs, legs, kept)


CHAIN = ("einsum_path", (0, 1), (0, 2), (0, 1))
"""((S3 S4) S1) S2: NumPy puts a product at the end of its list, so the next of the four is at 0 and the product behind it."""
PAIRWISE = ("einsum_path", (0, 1), (0, 1), (0, 1))
"""(S3 S4)(S1 S2)."""


def contract(s3: Array, s4: Array, s1: Array, s2: Array, path: tuple[str | tuple[int, int], ...] = PAIRWISE) -> Array:
    """The four corners around a plaquette."""
    tensor: Array = np.einsum("wxa,yxb,yzc,wzd->abcd", s3, s4, s1, s2, optimize=path)
    return tensor


@dataclass(frozen=True)
class Trg:
    """What one evaluation gives."""

    lnz: float
    matrices: tuple[Array, ...]
    """The first matrix that each step decomposed."""
    ranks: tuple[int, ...]
    """How many singular values of it are not negligible."""


def trg(beta: float, truncations: tuple[int, ...] = TRUNCATIONS) -> Trg:
    """TRG with one step for each truncation."""
    tensor, lnz = local_tensor(beta), 0.0
    matrices, ranks = [], []
    for done, most in enumerate(truncations):
        norm = float(np.linalg.norm(tensor))
        lnz += math.log(norm) / 2**done
        first, second = unfold(tensor / norm)
        u, s, vt = svd(first)
        s1, s3 = factors(u, s, vt, most)
        s2, s4 = factors(*svd(second), most)
        tensor = contract(s3, s4, s1, s2)
        matrices.append(first)
        ranks.append(int((s > NEGLIGIBLE).sum()))
    lnz += math.log(trace(tensor)) / 2 ** len(truncations)
    return Trg(lnz, tuple(matrices), tuple(ranks))


def trace(tensor: Array) -> float:
    """The last tensor closed on itself in both directions."""
    return float(np.einsum("urur->", tensor))


# ---- the stored matrices


def stored_file(name: str) -> Path:
    """Little-endian float64, column after column, and nothing else."""
    return INPUTS / f"svd-{SIZE}-{name}.f64"


def stored(name: str) -> Array:
    """A stored matrix."""
    return np.fromfile(stored_file(name), "<f8").reshape(SIZE, SIZE, order="F").astype(np.float64)


def make(name: str) -> Array:
    """A matrix as it was before it was stored. Another LAPACK may give the one from TRG other signs and other last bits."""
    if name == "random":
        return np.random.default_rng(0).random((SIZE, SIZE))
    return trg(0.3).matrices[STORED_STEP - 1]


def main() -> None:
    """Print the values, or store the matrices."""
    parser = argparse.ArgumentParser(description="二维 Ising 模型的精确值和 NumPy 的 TRG")
    parser.add_argument("--write", action="store_true", help=f"重新生成 {INPUTS.name}/ 里的两个矩阵")
    args = parser.parse_args()
    if args.write:
        for name in STORED:
            stored_file(name).write_bytes(make(name).astype("<f8").tobytes(order="F"))
            print(f"写好 {stored_file(name).name}")
        return
    for beta in BETAS:
        result = trg(beta)
        print(
            f"beta={beta:.2f} lnZ/N={result.lnz:.15f} exact={exact_lnz(beta):.15f} u={exact_energy(beta):.12f} ranks={result.ranks}"
        )


if __name__ == "__main__":
    main()
