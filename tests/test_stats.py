"""Closed forms against published tables, hand calculations, numerical integration and a simulation."""

import math
import random
import statistics

import pytest

from measure.stats import (
    FEW_RUNS_MARGIN,
    LEVEL,
    Form,
    Level,
    LogEstimate,
    Runs,
    State,
    above,
    estimate,
    exactly,
    level,
    median_error,
    near,
    percentile,
    t_quantile,
)

# From the usual printed tables of Student's t, such as 1.3.6.7.2 of the NIST/SEMATECH e-Handbook of Statistical Methods.
T_TABLE = {
    (0.95, 3): 2.353,
    (0.95, 10): 1.812,
    (0.975, 1): 12.706,
    (0.975, 2): 4.303,
    (0.975, 3): 3.182,
    (0.975, 4): 2.776,
    (0.975, 10): 2.228,
    (0.975, 30): 2.042,
    (0.995, 1): 63.657,
    (0.995, 2): 9.925,
    (0.995, 3): 5.841,
    (0.995, 4): 4.604,
    (0.995, 5): 4.032,
    (0.995, 8): 3.355,
    (0.995, 10): 3.169,
    (0.995, 30): 2.750,
    (0.995, 100): 2.626,
}


def exps(series: str, *logs: float) -> Runs:
    return Runs(series, tuple(math.exp(x) for x in logs))


@pytest.mark.parametrize(("p", "df"), T_TABLE)
def test_t_quantile_is_in_the_table(p: float, df: int) -> None:
    assert t_quantile(p, df) == pytest.approx(T_TABLE[p, df], rel=1e-3)


def t_cdf(x: float, df: float) -> float:
    """By Simpson's rule on the density, from 0 to x."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    n, h = 2000, x / 2000
    total = sum((1 if i in (0, n) else 4 if i % 2 else 2) * math.pow(1 + (i * h) ** 2 / df, -(df + 1) / 2) for i in range(n + 1))
    return 0.5 + scale * total * h / 3


@pytest.mark.parametrize("df", [2.2, 2.5, 3.2, 4.7, 7.3, 8.0, 19.5])
def test_t_quantile_of_broken_degrees_of_freedom(df: float) -> None:
    assert 1 - t_cdf(t_quantile(LEVEL, df), df) == pytest.approx(1 - LEVEL, rel=0.01)


def test_between_one_and_two_degrees_the_wider_quantile_is_taken() -> None:
    assert t_quantile(0.995, 1.5) >= t_quantile(0.995, 1) > t_quantile(0.995, 2)


@pytest.mark.parametrize("samples", [[3.0], [1.0, 2.0], [5.0, 1.0, 4.0, 2.0], [0.1 * i * i for i in range(21)]])
def test_percentiles_are_those_of_the_statistics_module(samples: list[float]) -> None:
    assert percentile(samples, 50) == pytest.approx(statistics.median(samples))
    if len(samples) > 1:
        assert percentile(samples, 90) == pytest.approx(statistics.quantiles(samples, n=10, method="inclusive")[8])
    assert (percentile(samples, 0), percentile(samples, 100)) == (min(samples), max(samples))


def ratio(a: Runs, b: Runs) -> Level:
    return level(a) / level(b)


def test_estimate_is_welchs_interval() -> None:
    """Variances 1 and 1: standard error √(2/3), four degrees of freedom, and t = 4.604 at 0.995, 4.908 at 0.996."""
    e = estimate(ratio(exps("a", 1, 2, 3), exps("b", 0, 1, 2)))
    assert e.centre == pytest.approx(1.0)
    assert e.halfwidth / math.sqrt(2 / 3) == pytest.approx(4.908, abs=1e-3)
    assert t_cdf(e.halfwidth / math.sqrt(2 / 3), 4) == pytest.approx(LEVEL, abs=1e-5)


def test_degrees_of_freedom_lie_halfway_to_those_of_equal_variances() -> None:
    """Variances 4 and 5/3 of 3 and 4 runs: of the squared error 16/21 is the first side's, 4/7 if they were equal."""
    a, b = exps("a", 0, 2, 4), exps("b", 0, 1, 2, 3)
    first = (16 / 21 + 4 / 7) / 2
    df = 1 / (first**2 / 2 + (1 - first) ** 2 / 3)
    assert estimate(ratio(a, b)).halfwidth == pytest.approx(t_quantile(LEVEL, df) * math.sqrt(4 / 3 + 5 / 12))


def test_a_side_without_spread_adds_none() -> None:
    e = estimate(ratio(exps("a", 0, 2, 4), exps("b", 1, 1, 1)))  # two degrees of freedom, all of the first side
    assert e.centre == pytest.approx(1.0)
    assert e.halfwidth == pytest.approx(t_quantile(LEVEL, 2) * math.sqrt(4 / 3))


def test_runs_without_any_spread_are_certain_beyond_the_floor() -> None:
    e = estimate(ratio(exps("a", 1, 1, 1), exps("b", 0, 0, 0)))
    assert e.halfwidth == 0.0
    assert e.margin == pytest.approx(math.log(1.02))


def test_weights_and_constants_enter_as_powers() -> None:
    a, b, c = (level(exps(name, x, x, x)) for name, x in (("a", 1), ("b", 2), ("c", 3)))
    assert estimate(exactly(math.exp(0.5)) * a * c * c / b).centre == pytest.approx(1 - 2 + 6 + 0.5)
    assert (a / a).powers == {}


def test_numbers_without_uncertainty_are_compared_exactly() -> None:
    assert above(estimate(exactly(1.0000001))) == "holds"
    assert above(estimate(exactly(3) * exactly(0.1) / exactly(0.3))) == "noise"  # 1.0000000000000002


def test_a_sum_counts_each_power_by_its_part() -> None:
    """By calculus, d log(a + b) = (a dlog a + b dlog b) / (a + b)."""
    a, b = exps("a", *[math.log(3)] * 3), exps("b", *[math.log(1)] * 3)
    both = level(a) + level(b)
    assert both.log == pytest.approx(math.log(4))
    assert both.powers == {a: pytest.approx(0.75), b: pytest.approx(0.25)}


def test_what_is_subtracted_goes_to_the_other_side() -> None:
    """So a − b against c − d is a + d against b + c; (a − b)(c − d) is ac + bd less ad + bc."""
    a, b, c, d = (level(exps(name, *[math.log(x)] * 3)) for name, x in (("a", 5), ("b", 2), ("c", 7), ("d", 3)))
    assert Form(a, b).against(Form(c, d)).log == pytest.approx(math.log(8 / 9))
    assert Form(a).against(Form(c)).log == pytest.approx(math.log(5 / 7))
    assert Form(a, b).over(c).against(Form(exactly(1))).log == pytest.approx(math.log(5 / (2 + 7)))
    product = Form(a, b) * Form(c, d)
    assert product.minus is not None
    assert math.exp(product.plus.log) == pytest.approx(41)
    assert math.exp(product.minus.log) == pytest.approx(29)
    assert (Form(a, b) + Form(c)).against(Form(exactly(1))).log == pytest.approx(math.log(12 / 3))
    assert (Form(a) - Form(c, d)).against(Form(b)).log == pytest.approx(math.log(8 / 9))


def test_series_of_the_same_processes_are_taken_together() -> None:
    """Two parts that rise and fall together have a ratio that does not vary, and a sum that varies as each of them does."""
    processes = ("r:0", "r:1", "r:2")
    a = Runs("a", tuple(math.exp(x) for x in (0, 1, 2)), processes)
    b = Runs("b", tuple(math.exp(x) for x in (1, 2, 3)), processes)
    assert estimate(ratio(a, b)).halfwidth == pytest.approx(0.0, abs=1e-9)
    total = level(a) + level(b)
    assert estimate(total / exactly(1)).halfwidth == pytest.approx(t_quantile(LEVEL, 2) * math.sqrt(1 / 3))


def test_run_medians_vary_at_least_as_their_samples_let_them() -> None:
    """Medians that agree by chance, of samples that leave each of them uncertain by 0.5."""
    a, b = exps("a", 0.0, 0.01, 0.02), exps("b", 0.0, 1.0, 2.0)
    e = estimate(ratio(Runs("a", a.medians, sampling=0.5), b))
    bound = 0.25 / 3
    first = (bound / (bound + 1 / 3) + 1 / 2) / 2
    df = 1 / (first**2 / (2 * 100) + (1 - first) ** 2 / 2)  # the samples count for no more than a hundredfold
    assert e.halfwidth == pytest.approx(t_quantile(LEVEL, df) * math.sqrt(bound + 1 / 3))
    assert estimate(ratio(Runs("a", a.medians, sampling=0.005), b)) == estimate(ratio(a, b))


def test_the_error_of_a_median_is_that_of_normal_samples() -> None:
    """√(π/2n) of their deviation, on average over many; nothing is said of a few."""
    rng = random.Random(20260103)  # noqa: S311 - not a secret
    for n in (20, 200):
        errors = [median_error([math.exp(rng.gauss(0, 0.03)) for _ in range(n)]) for _ in range(400)]
        assert statistics.fmean(errors) == pytest.approx(0.03 * math.sqrt(math.pi / 2 / n), rel=0.06)
    assert (median_error([1.0, 2.0, 3.0]), median_error([0.0, *[1.0] * 19])) == (0.0, 0.0)
    assert median_error([1.0] * 2000) == 0.0


@pytest.mark.parametrize(
    ("e", "state"),
    [
        (LogEstimate(0.30, 0.10, 0.02), "holds"),
        (LogEstimate(-0.30, 0.10, 0.02), "fails"),
        (LogEstimate(0.30, 0.40, 0.02), "noise"),  # the interval holds 0
        (LogEstimate(0.01, 0.00, 0.02), "noise"),  # certain, and too small to matter
        (LogEstimate(0.00, 0.00, 0.00), "noise"),
    ],
)
def test_above(e: LogEstimate, state: State) -> None:
    assert above(e) == state


@pytest.mark.parametrize(
    ("centre", "halfwidth", "state"),
    [(0.01, 0.03, "holds"), (0.01, 0.06, "noise"), (0.20, 0.06, "fails"), (-0.20, 0.06, "fails"), (0, 1, "noise")],
)
def test_near_is_equivalence_and_not_absence_of_proof(centre: float, halfwidth: float, state: State) -> None:
    """log(1.05) = 0.0488 either way."""
    limit = math.log(1.05)
    assert near(LogEstimate(limit + centre, halfwidth, 0.02), LogEstimate(limit - centre, halfwidth, 0.02)) == state


def close(a: Runs, b: Runs, margin: float | None = None) -> State:
    return near(estimate(exactly(1.05) * ratio(a, b), margin), estimate(exactly(1.05) * ratio(b, a), margin))


@pytest.mark.parametrize("medians", [(1.0,), (1.0, 1.0)])
def test_c18_few_runs_prove_only_large_effects_and_no_equality(medians: tuple[float, ...]) -> None:
    """One stored sample has no spread of zero: it has none."""
    few, equal, double = Runs("few", medians), Runs("equal", (1.0, 1.0, 1.0)), Runs("double", (2.0, 2.0, 2.0))
    assert estimate(ratio(few, equal)).halfwidth == FEW_RUNS_MARGIN
    assert above(estimate(ratio(double, few))) == "holds"
    assert above(estimate(ratio(Runs("a", (1.19,)), few))) == "noise"
    assert close(few, equal) == "noise"
    assert close(double, few) == "fails"


def test_printed_figures_are_judged_by_their_margin() -> None:
    one = Runs("one", (1.0,))
    assert above(estimate(ratio(Runs("a", (1.06,)), one), margin=1.05)) == "holds"
    assert above(estimate(ratio(Runs("a", (1.04,)), one), margin=1.05)) == "noise"
    assert close(Runs("a", (1.04,)), one, margin=1.05) == "holds"
    assert close(Runs("a", (1.06,)), one, margin=1.05) == "fails"


def test_pairing_that_only_loses_is_not_used() -> None:
    """A ratio within processes that hardly differ: eight degrees of freedom tell more than four. A sum gains nothing by it."""
    processes = tuple(f"r:{k}" for k in range(5))
    a = Runs("a", tuple(math.exp(0.1 * x) for x in (0, 1, 2, 3, 4)), processes, sampling=0.01)
    b = Runs("b", tuple(math.exp(0.1 * x) for x in (3, 1, 4, 0, 2)), processes, sampling=0.01)
    apart = estimate(ratio(Runs("a", a.medians, sampling=0.01), Runs("b", b.medians, sampling=0.01)))
    assert estimate(ratio(a, b)).halfwidth == apart.halfwidth
    assert apart.halfwidth == pytest.approx(t_quantile(LEVEL, 8) * 0.1 * math.sqrt(2 * 2.5 / 5))
    alone = [level(Runs(r.series, r.medians, sampling=0.01)) for r in (a, b)]
    assert estimate((level(a) + level(b)) / exactly(1)).halfwidth != estimate((alone[0] + alone[1]) / exactly(1)).halfwidth
    bare = Runs("a", a.medians, processes), Runs("b", b.medians, processes)
    assert estimate(ratio(*bare)).halfwidth > apart.halfwidth
