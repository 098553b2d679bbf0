"""Exact values and the NumPy TRG, against published figures and against sums that can be done by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("numpy", reason="这个环境里没有 numpy；用 scripts/build --live 装好的环境跑")

import numpy as np

from measure.programs import ising

ONSAGER = {0.3: 0.790559070951263, 0.4: 0.879363820774948, 0.5: 1.025792812694918}
TRG = {0.3: 0.790559063800966, 0.4: 0.879363060306852, 0.5: 1.025792858455947}


@pytest.mark.parametrize(("beta", "lnz"), ONSAGER.items())
def test_exact_values_are_those_of_the_publication(beta: float, lnz: float) -> None:
    assert ising.exact_lnz(beta) == pytest.approx(lnz, abs=1e-14)


def test_exact_values_agree_with_the_high_temperature_series() -> None:
    """Loops of 4, 6, 8 and 10 bonds; the next term is near 37 t¹²."""
    t = math.tanh(0.05)
    series = math.log(2) + 2 * math.log(math.cosh(0.05)) + t**4 + 2 * t**6 + 4.5 * t**8 + 12 * t**10
    assert ising.exact_lnz(0.05) == pytest.approx(series, abs=1e-13)


@pytest.mark.parametrize("beta", ising.BETAS)
def test_the_energy_is_the_slope_of_the_exact_value(beta: float) -> None:
    """Richardson's extrapolation of two central differences: an error near h⁴."""
    h = 1e-3

    def slope(h: float) -> float:
        return (ising.exact_lnz(beta + h) - ising.exact_lnz(beta - h)) / (2 * h)

    assert ising.exact_energy(beta) == pytest.approx(-(4 * slope(h) - slope(2 * h)) / 3, abs=1e-6)


def test_the_energy_at_the_critical_point() -> None:
    assert ising.exact_energy(math.log(1 + math.sqrt(2)) / 2) == pytest.approx(-math.sqrt(2), abs=1e-12)


@pytest.mark.parametrize(
    ("truncations", "partition"),
    [
        ((), lambda b: 2 * math.exp(2 * b)),  # one spin that is its own neighbour on all sides
        ((4,), lambda b: 2 * math.exp(4 * b) + 2 * math.exp(-4 * b)),  # two spins, four bonds between them
        ((4, 16), lambda b: (2 * math.cosh(2 * b)) ** 4 + (2 * math.sinh(2 * b)) ** 4),  # a ring of four, each bond doubled
    ],
)
def test_without_truncation_a_small_torus_is_exact(truncations: tuple[int, ...], partition: object) -> None:
    """Wrong powers of two, a root left out or a leg in the wrong place do not survive this."""
    assert callable(partition)
    for beta in (0.2, 0.7):
        lnz = ising.trg(beta, truncations).lnz
        assert lnz == pytest.approx(math.log(partition(beta)) / 2 ** len(truncations), abs=1e-13)


@pytest.mark.parametrize(("beta", "lnz"), TRG.items())
def test_trg_gives_the_published_values(beta: float, lnz: float) -> None:
    result = ising.trg(beta)
    assert result.lnz == pytest.approx(lnz, abs=1e-12)
    assert result.ranks[:5] == (2, 4, 4, 16, 16)
    assert len(result.ranks) == len(result.matrices) == 20


@pytest.mark.parametrize(
    "truncations", [(2, 4, 4) + (15,) * 17, (2, 4, 3) + (16,) * 17, (1, 4, 4) + (16,) * 17, (2, 4, 4) + (16,) * 4]
)
def test_another_truncation_does_not_pass_for_this_one(truncations: tuple[int, ...]) -> None:
    assert abs(ising.trg(0.3, truncations).lnz - TRG[0.3]) > 1e-10


def test_orders_of_contraction_agree_with_the_plain_sum() -> None:
    random = np.random.default_rng(1)
    s3, s4, s1, s2 = (random.random((3, 3, 4)) for _ in range(4))
    plain = np.einsum("wxa,yxb,yzc,wzd->abcd", s3, s4, s1, s2, optimize=False)
    for path in (ising.CHAIN, ising.PAIRWISE):
        np.testing.assert_allclose(ising.contract(s3, s4, s1, s2, path), plain, rtol=1e-13)


def test_the_stored_matrices_are_what_they_are_said_to_be() -> None:
    random, trg = ising.stored("random"), ising.stored("trg")
    np.testing.assert_array_equal(random, ising.make("random"))
    assert np.linalg.norm(trg) == pytest.approx(1, abs=1e-12)
    values = np.linalg.svd(trg, compute_uv=False)
    assert (values > ising.NEGLIGIBLE).sum() == 49
    np.testing.assert_allclose(values[:12], np.linalg.svd(ising.make("trg"), compute_uv=False)[:12], atol=1e-3)


def test_stored_matrices_lie_column_after_column() -> None:
    numbers = np.frombuffer(ising.stored_file("random").read_bytes(), "<f8")
    assert numbers.size == 256 * 256
    assert (ising.stored("random")[1, 0], ising.stored("random")[0, 1]) == (numbers[1], numbers[256])
