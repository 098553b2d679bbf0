"""Closed forms for judging measurements. A run (one process) is the unit; nothing here draws random numbers.

Times are compared as logarithms of run medians, so that a ratio is a difference and its uncertainty adds up. A comparison is
Welch's t-test (B. L. Welch, Biometrika 34, 1947) with a floor under the effect; an equivalence is two one-sided tests
(D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, mean, variance
from typing import Literal

State = Literal["holds", "fails", "noise"]

LEVEL = 0.995
"""One-sided confidence of a verdict: two directions together are wrong in at most 1 % of comparisons of equals."""
FLOOR = math.log(1.02)
"""Effects below 2 % are noise whatever their significance: rebuilding a program moves its times by as much."""
FEW_RUNS_MARGIN = math.log(1.20)
"""With fewer than three runs on a side there is no usable spread; then each ratio is taken to be 20 % uncertain."""


def percentile(samples: Sequence[float], p: float) -> float:
    """The p-th percentile (0 to 100) by linear interpolation between order statistics (NumPy's default, type 7 of Hyndman and Fan)."""
    ordered = sorted(samples)
    position = (len(ordered) - 1) * p / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def t_quantile(p: float, df: float) -> float:
    """The p-quantile (p > 0.5) of Student's t with `df` ≥ 1 degrees of freedom, which need not be whole.

    G. W. Hill, Algorithm 396, Commun. ACM 13 (1970); better than 0.1 % for the levels used here.
    """
    tail = 2 * (1 - p)
    if df < 2:  # between Cauchy and t with two degrees there is no need for finesse: take the wider
        return 1 / math.tan(tail * math.pi / 2)
    if df == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (df - 0.5)
    b = 48 / (a * a)
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * df
    x = d * tail
    y = x ** (2 / df)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(tail / 2)
        y = x * x
        if df < 5:
            c += 0.3 * (df - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        inner = 1 / (((df + 6) / (df * y) - 0.089 * d - 0.822) * (df + 2) * 3) + 0.5 / (df + 4)
        y = (inner * y - 1) * (df + 1) / (df + 2) + 1 / y
    return math.sqrt(df * y)


@dataclass(frozen=True)
class Runs:
    """The medians of the runs of one series, under a name: two series may print the same digits and stay two."""

    series: str
    medians: tuple[float, ...]


@dataclass(frozen=True)
class LogEstimate:
    """The logarithm of a product of powers of series: where it lies, and how far it may be off."""

    centre: float
    halfwidth: float
    """Of the confidence interval at `LEVEL` a side; the margin for few runs, 0 for figures that have no runs or no spread."""
    margin: float
    """An effect must exceed this to count."""


def log_centre(factors: Mapping[Runs, float], constant: float = 1.0) -> float:
    """Where log(constant · Π series^weight) lies: each series by the mean of the logarithms of its run medians."""
    return math.log(constant) + sum(weight * mean(map(math.log, runs.medians)) for runs, weight in factors.items())


def estimate(factors: Mapping[Runs, float], constant: float = 1.0, margin: float | None = None) -> LogEstimate:
    """Estimate log(constant · Π series^weight) from run medians.

    `factors` maps each series to its weight; series are independent. A `margin` (a ratio above 1, for figures
    without samples) replaces the test by the bare effect.
    """
    centre = log_centre(factors, constant)
    if margin is not None:
        return LogEstimate(centre, 0.0, math.log(margin))
    if any(len(runs.medians) < 3 for runs in factors):
        return LogEstimate(centre, FEW_RUNS_MARGIN, FEW_RUNS_MARGIN)
    parts = []
    for runs, weight in factors.items():
        n = len(runs.medians)
        parts.append((weight**2 * variance(map(math.log, runs.medians)) / n, n - 1))
    squared = sum(part for part, _ in parts)
    if squared == 0:
        return LogEstimate(centre, 0.0, FLOOR)
    df = squared**2 / sum(part**2 / freedom for part, freedom in parts)
    return LogEstimate(centre, t_quantile(LEVEL, max(df, 1.0)) * math.sqrt(squared), FLOOR)


def above(e: LogEstimate) -> State:
    """Is the estimated quantity greater than 1?"""
    if abs(e.centre) < e.margin or abs(e.centre) <= e.halfwidth:
        return "noise"
    return "holds" if e.centre > 0 else "fails"


def near(e: LogEstimate, within: float) -> State:
    """Does the estimated quantity lie within a factor (1 + `within`) of 1? Equivalence, not absence of proof."""
    limit = math.log1p(within)
    if abs(e.centre) + e.halfwidth <= limit:
        return "holds"
    return "fails" if abs(e.centre) - e.halfwidth > limit else "noise"
