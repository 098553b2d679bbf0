"""Closed forms for judging measurements. A run (one process) is the unit; nothing here draws random numbers.

Times are compared as logarithms of run medians, so that a ratio is a difference and its uncertainty adds up. A comparison is
Welch's t-test (B. L. Welch, Biometrika 34, 1947) with a floor under the effect; an equivalence is two one-sided tests
(D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). How often they are wrong is simulated in `measure/programs/verdicts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, fmean
from typing import Literal

State = Literal["holds", "fails", "noise"]

LEVEL = 0.996
"""One-sided confidence of a verdict. Two directions together are wrong in 0.8 % of comparisons of equals, so that the 1 % that
is promised has room; at 0.995 a simulation of 10,000 comparisons would break it every other time."""
FLOOR = math.log(1.02)
"""Effects below 2 % are noise whatever their significance: rebuilding a program moves its times by as much."""
FEW_RUNS_MARGIN = math.log(1.20)
"""With fewer than three runs on a side there is no usable spread; then each ratio is taken to be 20 % uncertain."""
ROUNDING = 1e-12
"""Numbers without uncertainty that differ by less are equal but for floating point."""
ENOUGH_SAMPLES = 10
"""From here on the samples of a run say how uncertain its median is; fewer are swayed by the first ones of a process."""


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


def median_error(samples: Sequence[float]) -> float:
    """The standard error of the logarithm of the median, from the samples alone; 0 where they are too few to tell.

    From the distance of two order statistics on either side of the median, whatever the distribution (R. M. Price and
    D. G. Bonett, J. Stat. Comput. Simul. 68, 2001).
    """
    n = len(samples)
    if n < ENOUGH_SAMPLES or min(samples) <= 0:
        return 0.0
    ordered = sorted(samples)
    rank, deviations = _beside_the_median(n)
    return math.log(ordered[n - rank] / ordered[rank - 1]) / (2 * deviations)


@cache
def _beside_the_median(n: int) -> tuple[int, float]:
    """The rank of an order statistic some two standard errors below the median of n samples, and how many exactly."""
    rank = max(1, round((n + 1) / 2 - math.sqrt(n)))
    return rank, -NormalDist().inv_cdf(sum(math.comb(n, k) for k in range(rank)) / 2**n)


@dataclass(frozen=True)
class Runs:
    """The medians of the runs of one series, under a name: two series may print the same digits and stay two."""

    series: str
    medians: tuple[float, ...]
    processes: tuple[str, ...] = ()
    """The processes they come from, in the same order. Series of the same processes share what tells one process from the next;
    without any, a series stands alone."""
    sampling: float = 0.0
    """Standard error of the logarithm of a median within its run (`median_error`): they differ at least by that."""


@dataclass(frozen=True)
class Level:
    """A positive quantity near where the data put it: its logarithm, and the power with which each series enters.

    Products are exact. In a sum each term's powers count by its part (the delta method), good as long as a series varies
    by much less than itself.
    """

    log: float
    powers: Mapping[Runs, float]

    def __mul__(self, other: Level) -> Level:
        return Level(self.log + other.log, _added((self.powers, 1.0), (other.powers, 1.0)))

    def __truediv__(self, other: Level) -> Level:
        return Level(self.log - other.log, _added((self.powers, 1.0), (other.powers, -1.0)))

    def __add__(self, other: Level) -> Level:
        largest = max(self.log, other.log)
        one, two = math.exp(self.log - largest), math.exp(other.log - largest)
        powers = _added((self.powers, one / (one + two)), (other.powers, two / (one + two)))
        return Level(largest + math.log(one + two), powers)


def exactly(value: float) -> Level:
    """A positive number without uncertainty."""
    return Level(math.log(value), {})


def level(runs: Runs) -> Level:
    """Where a series lies: by the mean of the logarithms of its run medians."""
    return Level(fmean(map(math.log, runs.medians)), {runs: 1.0})


@dataclass(frozen=True)
class Form:
    """What a verdict about a quantity goes by: a level, less another where the quantity is a difference.

    The two are kept apart, because the logarithm of a difference of near values is far from linear. A comparison brings what is
    subtracted to the other side, so that sums are compared with sums.
    """

    plus: Level
    minus: Level | None = None

    def __mul__(self, other: Form) -> Form:
        plus, minus = self.plus * other.plus, None
        if self.minus and other.minus:
            plus += self.minus * other.minus
        for one, two in ((self.minus, other.plus), (self.plus, other.minus)):
            if one and two:
                minus = one * two if minus is None else minus + one * two
        return Form(plus, minus)

    def over(self, divisor: Level) -> Form:
        """Divided by something positive."""
        return Form(self.plus / divisor, self.minus and self.minus / divisor)

    def __add__(self, other: Form) -> Form:
        minus = self.minus + other.minus if self.minus and other.minus else self.minus or other.minus
        return Form(self.plus + other.plus, minus)

    def __sub__(self, other: Form) -> Form:
        plus = self.plus + other.minus if other.minus else self.plus
        return Form(plus, other.plus + self.minus if self.minus else other.plus)

    def against(self, other: Form) -> Level:
        """The ratio of the two, what is subtracted on either side brought to the other: above 1 where `self` is the greater."""
        rest = self - other
        assert rest.minus is not None, "a difference has two sides"
        return rest.plus / rest.minus


@dataclass(frozen=True)
class LogEstimate:
    """The logarithm of a ratio: where it lies, and how far it may be off."""

    centre: float
    halfwidth: float
    """Of the confidence interval at `LEVEL` a side; the margin for few runs, 0 for figures that have no runs or no spread."""
    margin: float
    """An effect must exceed this to count."""


def estimate(ratio: Level, margin: float | None = None) -> LogEstimate:
    """How sure a ratio is.

    Series of the same processes are taken together, process by process, so that what they share is neither counted twice nor
    lost; others are independent. Where pairing can only lose (`_may_stand_apart`) the narrower interval of the two counts. A `margin` (a ratio above 1, for figures without samples) replaces the test by the bare effect.

    The variances of few runs are themselves uncertain, and Satterthwaite's degrees of freedom more so. They are taken halfway
    between those of the variances that were observed and those of runs that vary alike on all sides.
    """
    centre = ratio.log
    if not ratio.powers:
        return LogEstimate(centre, 0.0, ROUNDING)
    if margin is not None:
        return LogEstimate(centre, 0.0, math.log(margin))
    if any(len(runs.medians) < 3 for runs in ratio.powers):
        return LogEstimate(centre, FEW_RUNS_MARGIN, FEW_RUNS_MARGIN)
    together: dict[tuple[str, ...], list[tuple[Runs, float]]] = {}
    for runs, power in ratio.powers.items():
        together.setdefault(runs.processes or (runs.series,), []).append((runs, power))
    groups = list(together.values())
    halfwidth = _halfwidth(groups)
    if halfwidth and all(len(group) == 1 or _may_stand_apart(group) for group in groups):
        halfwidth = min(halfwidth, _halfwidth([[series] for group in groups for series in group]))
    return LogEstimate(centre, halfwidth, FLOOR)


def _may_stand_apart(group: Sequence[tuple[Runs, float]]) -> bool:
    """Whether taking series of the same processes for independent could only widen the interval.

    What they share cancels at least in part where their powers do. Independent series are twice as many runs to tell the spread by,
    which is what counts where processes differ little; the samples have to say how little that can be.
    """
    powers = [power for _, power in group]
    return sum(powers) ** 2 <= sum(power**2 for power in powers) and all(runs.sampling for runs, _ in group)


def _halfwidth(groups: Sequence[Sequence[tuple[Runs, float]]]) -> float:
    """Of the interval around what the groups come to, which are independent of each other; 0 where nothing varies."""
    parts = [part for part in map(_part, groups) if part.squared]
    squared, alike = sum(part.squared for part in parts), sum(part.alike for part in parts)
    if not squared:
        return 0.0
    df = 1 / sum(((part.squared / squared + part.alike / alike) / 2) ** 2 / part.df for part in parts)
    return t_quantile(LEVEL, df) * math.sqrt(squared)


@dataclass(frozen=True)
class _Part:
    """What the series of the same processes add to the squared standard error of a ratio."""

    squared: float
    alike: float
    """The same, if the medians of all series had a variance of 1 and were independent."""
    df: float


def _part(series: Sequence[tuple[Runs, float]]) -> _Part:
    n = len(series[0][0].medians)
    by_process = zip(*([power * math.log(median) for median in runs.medians] for runs, power in series), strict=True)
    sums = [math.fsum(terms) for terms in by_process]
    centre = fmean(sums)
    spread, df = math.fsum((x - centre) ** 2 for x in sums) / (n - 1), n - 1.0
    runs, power = series[0]
    least = (power * runs.sampling) ** 2 if len(series) == 1 else 0.0
    if spread < least:  # the less they differ, the more it is the samples of all runs that tell
        spread, df = least, df * least / max(spread, least / 100)
    return _Part(spread / n, sum(power**2 for _, power in series) / n, df)


def _added(*terms: tuple[Mapping[Runs, float], float]) -> dict[Runs, float]:
    """Powers, weighted and added up; those that cancel are left out."""
    powers: dict[Runs, float] = {}
    for mapping, weight in terms:
        for runs, power in mapping.items():
            powers[runs] = powers.get(runs, 0.0) + weight * power
    return {runs: power for runs, power in powers.items() if abs(power) > ROUNDING}


def above(e: LogEstimate) -> State:
    """Is the estimated quantity greater than 1?"""
    if abs(e.centre) < e.margin or abs(e.centre) <= e.halfwidth:
        return "noise"
    return "holds" if e.centre > 0 else "fails"


def near(*limits: LogEstimate) -> State:
    """Does each limit exceed what it limits (ratios above 1)? Equivalence, not absence of proof."""
    if all(e.centre >= e.halfwidth for e in limits):
        return "holds"
    return "fails" if any(e.centre < -e.halfwidth for e in limits) else "noise"
