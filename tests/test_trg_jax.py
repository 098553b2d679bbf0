"""TRG in JAX and the derivative of its SVD, against NumPy, finite differences and the published values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("jax", reason="这个环境里没有 jax；用 scripts/build --live 装好的环境跑")

import jax
import jax.numpy as jnp
import numpy as np

from measure.programs import ising, trg_jax
from measure.programs.trg_jax import at, make_trg

pytestmark = pytest.mark.live

PUBLISHED = {0.3: 0.790559063800966, 0.4: 0.879363060306852, 0.5: 1.025792858455947}
SHORT = (2, 4, 4, 16)
"""Few steps that compile in a moment, the fourth on matrices of 16×16."""

type Evaluate = Callable[[jax.Array], tuple[jax.Array, jax.Array]]


@pytest.fixture(scope="module")
def value_and_grad() -> Evaluate:
    compiled: Evaluate = jax.jit(jax.value_and_grad(make_trg()))
    return compiled


def slope(truncations: tuple[int, ...], beta: float, h: float = 1e-4) -> float:
    """A central difference of the NumPy TRG."""
    return (ising.trg(beta + h, truncations).lnz - ising.trg(beta - h, truncations).lnz) / (2 * h)


@pytest.mark.parametrize("beta", ising.BETAS)
def test_value_and_gradient(value_and_grad: Evaluate, beta: float) -> None:
    lnz, gradient = (float(number) for number in value_and_grad(at(beta)))
    assert lnz == pytest.approx(ising.trg(beta).lnz, abs=1e-12)
    assert lnz == pytest.approx(PUBLISHED.get(beta, lnz), abs=1e-12)
    assert gradient == pytest.approx(slope(ising.TRUNCATIONS, beta), abs=1e-6)
    assert -gradient == pytest.approx(ising.exact_energy(beta), abs=1e-4)  # what 16 singular values allow, worst near β = 0.44


@pytest.mark.parametrize("order", trg_jax.ORDERS)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_every_order_gives_the_same_with_and_without_checkpoint(order: str, checkpoint: bool) -> None:
    trg = jax.jit(jax.value_and_grad(make_trg(order, checkpoint=checkpoint, truncations=SHORT)))
    lnz, gradient = (float(number) for number in trg(at(0.4)))
    assert lnz == pytest.approx(ising.trg(0.4, SHORT).lnz, abs=1e-12)
    assert gradient == pytest.approx(slope(SHORT, 0.4), abs=1e-7)


def test_checkpoint_decomposes_twice() -> None:
    def decompositions(checkpoint: bool) -> int:
        gradient = jax.jit(jax.grad(make_trg(checkpoint=checkpoint, truncations=SHORT)))
        return (gradient.lower(at(0.4)).compile().as_text() or "").count('custom_call_target="lapack_dgesdd')

    assert (decompositions(checkpoint=False), decompositions(checkpoint=True)) == (8, 16)


# ---- the rule of the SVD


def test_the_rule_agrees_with_finite_differences() -> None:
    random = np.random.default_rng(2)
    matrix, direction = (jnp.asarray(random.standard_normal((6, 6))) for _ in range(2))
    h = 1e-6
    _, tangents = jax.jvp(trg_jax.svd, (matrix,), (direction,))
    above, below = trg_jax.svd(matrix + h * direction), trg_jax.svd(matrix - h * direction)
    for tangent, up, down in zip(tangents, above, below, strict=True):
        np.testing.assert_allclose(tangent, (up - down) / (2 * h), atol=1e-7)


DEGENERATE = {
    "equal": np.eye(4),
    "pairs": np.diag([2.0, 2.0, 1.0, 1.0]),
    "zeros": np.diag([3.0, 1.0, 0.0, 0.0]),
    "nothing": np.zeros((4, 4)),
    "rank-one": np.ones((4, 4)),
}


@pytest.mark.parametrize("matrix", DEGENERATE.values(), ids=DEGENERATE)
def test_equal_and_zero_singular_values_stay_finite_both_ways(matrix: np.ndarray) -> None:
    given = jnp.asarray(matrix)
    direction = jnp.asarray(np.random.default_rng(3).standard_normal((4, 4)))
    outputs, tangents = jax.jvp(trg_jax.svd, (given,), (direction,))
    _, back = jax.vjp(trg_jax.svd, given)
    (cotangent,) = back(tuple(jnp.ones_like(output) for output in outputs))
    for array in (*tangents, cotangent):
        assert bool(jnp.isfinite(array).all())


def test_where_jax_divides_by_zero_the_sum_of_squares_has_its_gradient() -> None:
    """‖A‖² as the squared singular values: its gradient is 2A, whatever coincides."""
    for matrix in DEGENERATE.values():
        gradient = jax.grad(lambda a: jnp.sum(trg_jax.svd(a)[1] ** 2))(jnp.asarray(matrix))
        np.testing.assert_allclose(gradient, 2 * matrix, atol=1e-12)


def without_v(matrix: jax.Array) -> trg_jax.Usv:
    """The SVD, with the derivative of Vᵀ left out."""
    u, s, vt = trg_jax.svd(matrix)
    return u, s, jax.lax.stop_gradient(vt)


def with_half_of_s(matrix: jax.Array) -> trg_jax.Usv:
    """The SVD, with a factor missing in the derivative of S."""
    u, s, vt = trg_jax.svd(matrix)
    return u, (s + jax.lax.stop_gradient(s)) / 2, vt


@pytest.mark.parametrize("wrong", [without_v, with_half_of_s])
def test_a_wrong_rule_does_not_pass_the_central_difference(
    wrong: Callable[[jax.Array], trg_jax.Usv], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, beta = trg_jax.svd, 0.4

    def broken(matrix: jax.Array) -> trg_jax.Usv:
        with monkeypatch.context() as inside:
            inside.setattr(trg_jax, "svd", right)
            return wrong(matrix)

    monkeypatch.setattr(trg_jax, "svd", broken)
    gradient = float(jax.jit(jax.grad(make_trg(truncations=SHORT)))(at(beta)))
    assert abs(gradient - slope(SHORT, beta)) > 1e-4
