"""How often verdicts are wrong, on synthetic data whose truth is known.

    python -m measure.programs.verdicts --trials 10000

The logarithm of a sample is a normal deviate on top of what its process adds: processes differ by 0 to 2 times as much as the samples
of one. Every verdict is given by the functions that pages use. A false claim is one that is shown although it is not so, at the
hardest point where it is not so; a miss is a true claim that is not shown, where the effect is four deviations of what is compared.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import cast

import numpy as np

from measure import claims
from measure.claims import Verdict
from measure.quantity import Basis, Quantity, constant, difference, ratio
from measure.record import Statistic
from measure.stats import FLOOR, Form, Runs, level, median_error
from measure.view import Family, SeriesView

RUNS = 5
WITHIN = 0.1
"""Deviation of the logarithms of the samples of one process."""
SPREADS = (0.0, 0.25, 0.5, 1.0, 2.0)
"""What processes differ by, as a multiple of that."""
SIZES = ((20, 20), (200, 200), (20, 200))
"""Samples in a run, on either side of a comparison."""
FALSE_LIMIT = 0.01
MISS_LIMIT = 0.02
SMALLEST = {20: 0.525, 200: 0.40}
"""Deviation of the smallest of so many standard normal deviates, by simulation."""
BASIS = Basis("synthetic", "synthetic")


@dataclass(frozen=True)
class Synthetic:
    """A series as verdicts see one: what its runs came to. It stands in for a `SeriesView`."""

    name: str
    medians: tuple[float, ...]
    lows: tuple[float, ...]
    processes: tuple[str, ...]
    sampling: float

    @property
    def typical(self) -> Quantity:
        """Judged by run medians, whose spread is at least what the samples let it be."""
        return self._quantity(self.medians, "", self.sampling)

    def by_run(self, name: Statistic) -> Quantity:
        """Judged by one statistic of each run."""
        return self._quantity(self.medians, "/median", 0.0) if name == "median" else self._quantity(self.lows, "/min", 0.0)

    def _quantity(self, values: tuple[float, ...], of: str, sampling: float) -> Quantity:
        runs = Runs(f"{self.name}{of}", values, self.processes, sampling)
        return Quantity(median(values), "s", self.name, basis=BASIS, form=Form(level(runs)))

    def times(self, factor: float, lows: float | None = None) -> Synthetic:
        """The same runs, `factor` times as slow; their smallest samples `lows` times."""
        low = factor if lows is None else lows
        return replace(self, medians=tuple(factor * x for x in self.medians), lows=tuple(low * x for x in self.lows))


@dataclass(frozen=True)
class Trial:
    """Independent series of equal truth, and one more from the processes of the first."""

    a: Synthetic
    b: Synthetic
    c: Synthetic
    d: Synthetic
    beside_a: Synthetic
    effect: float
    """The factor that four deviations of a run median make, of the side that varies more."""
    low_effect: float
    """The same of a run's smallest sample."""


def trials(count: int, spread: float, sizes: tuple[int, int], seed: int) -> Iterator[Trial]:
    """Synthetic data: the sides of a comparison alternate between the two sizes."""
    random = np.random.default_rng([seed, round(100 * spread), *sizes])
    effect, low_effect = (
        math.exp(4 * WITHIN * math.hypot(spread, of_samples))
        for of_samples in (math.sqrt(math.pi / 2 / min(sizes)), SMALLEST[min(sizes)])
    )
    for _ in range(count):
        offsets = spread * WITHIN * random.standard_normal((4, RUNS))
        made = []
        for name, of, n in zip("abcde", (0, 1, 2, 3, 0), (*sizes, *sizes, sizes[0]), strict=True):
            samples = np.exp(offsets[of][:, None] + WITHIN * random.standard_normal((RUNS, n)))
            medians, lows = (tuple(found.tolist()) for found in (np.median(samples, axis=1), samples.min(axis=1)))
            sampling = math.sqrt(fmean(median_error(run) ** 2 for run in samples.tolist()))
            made.append(Synthetic(name, medians, lows, tuple(f"{of}:{k}" for k in range(RUNS)), sampling))
        a, b, c, d, e = made
        yield Trial(a, b, c, d, e, effect, low_effect)


def _family(*members: Synthetic) -> Family:
    return Family("size", {k: cast(SeriesView, member) for k, member in enumerate(members)})


def _flips(a: Synthetic, b: Synthetic) -> Verdict:
    return claims.flips(cast(SeriesView, a), cast(SeriesView, b), "min", "median")


def either_way(verdict: Verdict) -> bool:
    """Whether a comparison of equals was decided, for one side or the other."""
    return verdict.state != "noise"


def shown(verdict: Verdict) -> bool:
    """Whether a claim that is not so would stand on the page."""
    return verdict.state == "holds"


def missed(verdict: Verdict) -> bool:
    """Whether a claim that is so would not."""
    return verdict.state != "holds"


def denied(verdict: Verdict) -> bool:
    """Whether a claim that is so would be told to be false."""
    return verdict.state == "fails"


MARGIN = 0.1
"""The `within` of equivalences here."""

FALSE: dict[str, Callable[[Trial], bool]] = {
    "compare": lambda t: either_way(claims.compare(t.a.typical, ">", t.b.typical)),
    "compare in one process": lambda t: either_way(claims.compare(t.a.typical, ">", t.beside_a.typical)),
    "compare with a constant": lambda t: either_way(claims.compare(t.a.typical, ">", constant("1 s"))),
    "ratio": lambda t: either_way(claims.compare(ratio(t.a.typical, t.b.typical), ">", ratio(t.c.typical, t.d.typical))),
    "share": lambda t: either_way(claims.compare(ratio(t.a.times(0.8).typical, t.beside_a.typical), ">", 0.8)),
    "difference": lambda t: either_way(claims.compare(difference(t.a.times(3).typical, t.b.typical), ">", t.c.times(2).typical)),
    "ordered": lambda t: shown(claims.ordered(t.a.typical, t.b.typical, t.c.times(t.effect**2).typical)),
    "all_over": lambda t: shown(claims.all_over("size", _family(t.a, t.c.times(t.effect**2)), ">", _family(t.b, t.d))),
    "flips": lambda t: shown(_flips(t.a.times(1.5, lows=1), t.c)),
    "same, at its limit": lambda t: shown(claims.same(t.a.times(1 + MARGIN).typical, t.b.typical, MARGIN)),
    "same, of equals": lambda t: denied(claims.same(t.a.typical, t.b.typical, MARGIN)),
    "parts, at the limit": lambda t: shown(
        claims.parts(t.c.times(2).typical, t.a.times(1 + MARGIN).typical, t.beside_a.times(1 + MARGIN).typical, within=MARGIN)
    ),
    "parts, of equals": lambda t: denied(claims.parts(t.c.times(2).typical, t.a.typical, t.beside_a.typical, within=MARGIN)),
}
"""Whether a false claim was made."""

MISSES: dict[str, tuple[int, Callable[[Trial], bool]]] = {
    "compare": (1, lambda t: missed(claims.compare(t.a.times(t.effect).typical, ">", t.b.typical))),
    "compare in one process": (1, lambda t: missed(claims.compare(t.a.times(t.effect).typical, ">", t.beside_a.typical))),
    "compare with a constant": (1, lambda t: missed(claims.compare(t.a.times(t.effect).typical, ">", constant("1 s")))),
    "ratio": (
        1,
        lambda t: missed(
            claims.compare(ratio(t.a.times(t.effect ** math.sqrt(2)).typical, t.b.typical), ">", ratio(t.c.typical, t.d.typical))
        ),
    ),
    "share": (1, lambda t: missed(claims.compare(ratio(t.a.times(0.8 * t.effect).typical, t.beside_a.typical), ">", 0.8))),
    "difference": (
        1,
        lambda t: missed(claims.compare(difference(t.a.times(3 * t.effect).typical, t.b.typical), ">", t.c.times(2).typical)),
    ),
    "ordered": (
        2,
        lambda t: missed(claims.ordered(t.a.typical, t.b.times(t.effect).typical, t.c.times(t.effect**2).typical)),
    ),
    "all_over": (
        2,
        lambda t: missed(claims.all_over("size", _family(t.a.times(t.effect), t.c.times(t.effect)), ">", _family(t.b, t.d))),
    ),
    "flips": (2, lambda t: missed(_flips(t.a.times(t.effect, lows=1 / t.low_effect), t.c))),
}
"""How many effects the claim is made of, each of which may be missed; and whether it was."""


@dataclass(frozen=True)
class Rate:
    """How often one verdict went wrong, of how often it may."""

    kind: str
    verdict: str
    spread: float
    sizes: tuple[int, int]
    rate: float
    limit: float

    @property
    def kept(self) -> bool:
        """Whether the limit is."""
        return self.rate <= self.limit

    def __str__(self) -> str:
        sign = " " if self.kept else "!"
        return (
            f"{sign} {self.kind:5} {self.verdict:24} spread {self.spread:<4} n {self.sizes}: {self.rate:.2%} (≤ {self.limit:.0%})"
        )


def rates(count: int, seed: int = 1, spreads: Sequence[float] = SPREADS, verdicts: Sequence[str] = ()) -> Iterator[Rate]:
    """Simulate `count` trials of some verdicts; of all where none is named."""
    false = {name: is_wrong for name, is_wrong in FALSE.items() if name in (verdicts or FALSE)}
    misses = {name: of for name, of in MISSES.items() if name in (verdicts or MISSES)}
    for spread in spreads:
        for sizes in SIZES:
            wrong: Counter[tuple[str, str]] = Counter()
            for trial in trials(count, spread, sizes, seed):
                wrong.update(("false", name) for name, is_wrong in false.items() if is_wrong(trial))
                wrong.update(("miss", name) for name, (_, is_wrong) in misses.items() if is_wrong(trial))
            for name in false:
                yield Rate("false", name, spread, sizes, wrong["false", name] / count, FALSE_LIMIT)
            for name, (effects, _) in misses.items():
                yield Rate("miss", name, spread, sizes, wrong["miss", name] / count, effects * MISS_LIMIT)


def main() -> int:
    """Print every rate; 1 if a limit was broken."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spread", type=float, choices=SPREADS, help="only this one")
    parser.add_argument("--verdicts", nargs="*", choices=sorted({*FALSE, *MISSES}), default=[], help="only these")
    options = parser.parse_args()
    broken = 0
    for rate in rates(options.trials, options.seed, SPREADS if options.spread is None else (options.spread,), options.verdicts):
        print(rate, flush=True)
        broken += not rate.kept
    print(f"{broken} limits broken; effects below {math.expm1(FLOOR):.0%} count as noise")
    return int(broken > 0)


if __name__ == "__main__":
    raise SystemExit(main())
