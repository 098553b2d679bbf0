"""TRG of the 2D Ising model in JAX, on the CPU and in f64, with an SVD that can be differentiated where singular values coincide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp

from measure.programs.ising import TRUNCATIONS

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

type Usv = tuple[jax.Array, jax.Array, jax.Array]
type Contraction = Callable[[jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]

# --8<-- [start:svd]
EPS = 1e-12
"""tenferro's default: a gap g between squared singular values counts as g / (g² + EPS²) where 1 / g would blow up."""


@jax.custom_jvp
def svd(matrix: jax.Array) -> Usv:
    """U, S, Vᵀ of a square matrix."""
    u, s, vt = jnp.linalg.svd(matrix, full_matrices=False)
    return u, s, vt


@svd.defjvp
def _svd_rule(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[Usv, Usv]:
    u, s, vt = svd(*primals)
    inner = u.T @ tangents[0] @ vt.T
    gap = (s + s[:, None]) * (s - s[:, None])
    broadened = gap / (gap**2 + EPS**2)
    columns, rows = inner * s, inner * s[:, None]
    du = u @ (broadened * (columns + columns.T))
    dvt = (broadened * (rows + rows.T)).T @ vt
    return (u, s, vt), (du, jnp.diagonal(inner), dvt)


# --8<-- [end:svd]


def at(beta: float) -> jax.Array:
    """A β to call with. Every call has to have this type: a plain float has another one, for which JAX would compile again."""
    return jnp.asarray(beta, jnp.float64)


def local_tensor(beta: jax.Array) -> jax.Array:
    """The tensor T[u, r, d, l] of one spin, each leg half a bond."""
    even, odd = jnp.sqrt(jnp.cosh(beta)), jnp.sqrt(jnp.sinh(beta))
    half_bond = jnp.stack([jnp.stack([even, odd]), jnp.stack([even, -odd])])
    return jnp.einsum("su,sr,sd,sl->urdl", half_bond, half_bond, half_bond, half_bond)


def unfold(tensor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The two matrices that cut the tensor across its diagonals: rows (u, l) against (d, r), and (u, r) against (d, l)."""
    size = len(tensor) ** 2
    return tensor.transpose(0, 3, 2, 1).reshape(size, size), tensor.reshape(size, size)


def factors(u: jax.Array, s: jax.Array, vt: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """The largest singular values, their roots on either side: two tensors of two legs each and the new one."""
    kept = min(most, len(s))
    legs = math.isqrt(len(u))
    root = jnp.sqrt(s[:kept])
    return (u[:, :kept] * root).reshape(legs, legs, kept), (vt[:kept].T * root).reshape(legs, legs, kept)


# --8<-- [start:orders]
def chain(s3: jax.Array, s4: jax.Array, s1: jax.Array, s2: jax.Array) -> jax.Array:
    """((S3 S4) S1) S2: two products over tensors of five legs."""
    corner = jnp.tensordot(s3, s4, axes=(1, 1))  # w a y b
    side = jnp.tensordot(corner, s1, axes=(2, 0))  # w a b z c
    return jnp.tensordot(side, s2, axes=((0, 3), (0, 1)))  # a b c d


def pairwise(s3: jax.Array, s4: jax.Array, s1: jax.Array, s2: jax.Array) -> jax.Array:
    """(S3 S4)(S1 S2): no tensor has more than four legs."""
    left = jnp.tensordot(s3, s4, axes=(1, 1))  # w a y b
    right = jnp.tensordot(s1, s2, axes=(1, 1))  # y c w d
    return jnp.tensordot(left, right, axes=((0, 2), (2, 0)))  # a b c d


def einsum(s3: jax.Array, s4: jax.Array, s1: jax.Array, s2: jax.Array) -> jax.Array:
    """The order that einsum finds for itself."""
    return jnp.einsum(FORMULA, s3, s4, s1, s2)


# --8<-- [end:orders]

FORMULA = "wxa,yxb,yzc,wzd->abcd"
ORDERS: Mapping[str, Contraction] = MappingProxyType({"chain": chain, "pairwise": pairwise, "einsum": einsum})


# --8<-- [start:step]
def normalise(tensor: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The logarithm of the norm, and the tensor without it."""
    norm = jnp.linalg.norm(tensor)
    return jnp.log(norm), tensor / norm


def coarsen(tensor: jax.Array, most: int, contract: Contraction) -> jax.Array:
    """The tensor of a lattice with half as many sites."""
    first, second = unfold(tensor)
    s1, s3 = factors(*svd(first), most)
    s2, s4 = factors(*svd(second), most)
    return contract(s3, s4, s1, s2)


# --8<-- [end:step]


def trace(tensor: jax.Array) -> jax.Array:
    """The last tensor closed on itself in both directions."""
    return jnp.einsum("urur->", tensor)


def make_trg(
    order: str = "chain", *, checkpoint: bool = False, truncations: tuple[int, ...] = TRUNCATIONS
) -> Callable[[jax.Array], jax.Array]:
    """A fresh function β → lnZ/N. With `checkpoint`, its gradient keeps the tensors between steps and computes the rest again.

    The norm stays outside of what is computed again. There XLA may add its squares in another order; that other last bit can turn
    the sign of a singular vector or the basis of a degenerate space, and what comes back from the next step is in the old one.
    """
    contract = ORDERS[order]
    # --8<-- [start:checkpoint]
    one = jax.checkpoint(coarsen, static_argnums=(1, 2)) if checkpoint else coarsen
    # --8<-- [end:checkpoint]

    def lnz(beta: jax.Array) -> jax.Array:
        tensor, total = local_tensor(beta), jnp.zeros(())
        for done, most in enumerate(truncations):
            log_norm, tensor = normalise(tensor)
            total += log_norm / 2**done
            tensor = one(tensor, most, contract)
        return total + jnp.log(trace(tensor)) / 2.0 ** len(truncations)

    return lnz
